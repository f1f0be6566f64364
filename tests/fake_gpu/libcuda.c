/* A fake libcuda.so.1: Triton's own driver runs its whole launch path on a machine without a GPU.
 *
 * Every call succeeds. Modules, functions and contexts are handles that mean nothing; a launch does nothing
 * except append a line to the file named by FAKE_CUDA_LOG. The device has the compute capability in
 * FAKE_CUDA_CAPABILITY (default 90) and the limits of an H100.
 *
 *     cc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so.1 libcuda.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;

static void log_line(const char *event, const char *text) {
  const char *path = getenv("FAKE_CUDA_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file)
    return;
  fprintf(file, "%s %s\n", event, text);
  fclose(file);
}

static int capability(void) {
  const char *text = getenv("FAKE_CUDA_CAPABILITY");
  return text ? atoi(text) : 90;
}

/* The numbers are those of CUdevice_attribute in cuda.h. */
static int device_attribute(int attribute) {
  switch (attribute) {
  case 1:
    return 1024; /* MAX_THREADS_PER_BLOCK */
  case 8:
    return 49152; /* MAX_SHARED_MEMORY_PER_BLOCK */
  case 10:
    return 32; /* WARP_SIZE */
  case 12:
    return 65536; /* MAX_REGISTERS_PER_BLOCK */
  case 13:
    return 1980000; /* CLOCK_RATE, kHz */
  case 16:
    return 132; /* MULTIPROCESSOR_COUNT */
  case 36:
    return 2619000; /* MEMORY_CLOCK_RATE, kHz */
  case 37:
    return 5120; /* GLOBAL_MEMORY_BUS_WIDTH */
  case 75:
    return capability() / 10; /* COMPUTE_CAPABILITY_MAJOR */
  case 76:
    return capability() % 10; /* COMPUTE_CAPABILITY_MINOR */
  case 81:
    return 233472; /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
  case 97:
    return 232448; /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
  default:
    return 0;
  }
}

static int handle; /* Every handle points here. */

CUresult cuInit(unsigned flags) { return 0; }
CUresult cuDriverGetVersion(int *version) { return *version = 13000, 0; }
CUresult cuGetErrorString(CUresult error, const char **text) { return *text = "fake error", 0; }
CUresult cuDeviceGetCount(int *count) { return *count = 1, 0; }
CUresult cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  return *value = device_attribute(attribute), 0;
}
CUresult cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &handle, 0; }
CUresult cuCtxGetCurrent(void **context) { return *context = &handle, 0; }
CUresult cuCtxSetCurrent(void *context) { return 0; }
CUresult cuCtxGetDevice(int *device) { return *device = 0, 0; }
CUresult cuCtxGetLimit(size_t *value, int limit) { return *value = 1 << 20, 0; }
CUresult cuCtxSetLimit(int limit, size_t value) { return 0; }
CUresult cuStreamIsCapturing(void *stream, int *status) { return *status = 0, 0; }

CUresult cuModuleLoadData(void **module, const void *image) { return *module = &handle, 0; }
CUresult cuModuleUnload(void *module) { return 0; }
CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
  log_line("load", name);
  char *copy = strdup(name); /* the handle of a function is its name */
  return *function = copy, 0;
}
/* 0 MAX_THREADS_PER_BLOCK, 4 NUM_REGS (CUfunction_attribute). */
CUresult cuFuncGetAttribute(int *value, int attribute, void *function) {
  return *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : 0, 0;
}
CUresult cuFuncSetAttribute(void *function, int attribute, int value) { return 0; }
CUresult cuFuncSetCacheConfig(void *function, int config) { return 0; }
CUresult cuOccupancyMaxActiveClusters(int *clusters, void *function, const void *config) {
  return *clusters = 66, 0;
}

/* 3 is CU_POINTER_ATTRIBUTE_DEVICE_POINTER. */
CUresult cuPointerGetAttribute(void *data, int attribute, uint64_t pointer) {
  if (attribute == 3)
    memcpy(data, &pointer, sizeof pointer);
  return 0;
}
CUresult cuTensorMapEncodeTiled(void *map) { return memset(map, 0, 128), 0; }
CUresult cuTensorMapEncodeIm2col(void *map) { return memset(map, 0, 128), 0; }

CUresult cuLaunchKernelEx(const void *config, void *function, void **parameters, void **extra) {
  log_line("launch", function);
  return 0;
}
