/* A fake libamdhip64.so, like libcuda.c: Triton's own driver for AMD runs without a GPU, and launches nothing.
 *
 * The device is a gfx942. A launch appends a line to the file named by FAKE_CUDA_LOG. Needs Triton's headers:
 *
 *     cc -shared -fPIC -I triton/backends/amd/include -o libamdhip64.so libamdhip64.c
 */
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int handle; /* Every module points here; the handle of a function is its name. */

static void log_line(const char *event, const char *text) {
  const char *path = getenv("FAKE_CUDA_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file)
    return;
  fprintf(file, "%s %s\n", event, text);
  fclose(file);
}

static hipError_t device_properties(hipDeviceProp_t *prop, int device) {
  memset(prop, 0, sizeof *prop);
  strcpy(prop->gcnArchName, "gfx942:sramecc+:xnack-");
  prop->warpSize = 64;
  prop->multiProcessorCount = 304;
  prop->sharedMemPerBlock = 65536;
  prop->regsPerBlock = 65536;
  prop->maxThreadsPerBlock = 1024;
  prop->clockRate = 2100000;
  return 0;
}
static const char *error_text(hipError_t error) { return "fake error"; }
static hipError_t nothing(void) { return 0; }
static hipError_t load(void **module) { return *module = &handle, 0; }
static hipError_t function_named(void **function, void *module, const char *name) {
  log_line("load", name);
  return *function = strdup(name), 0;
}
static hipError_t function_attribute(int *value, int attribute, void *function) {
  return *value = attribute == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 32, 0;
}
static hipError_t launch(void *function) { return log_line("launch", function), 0; }
static hipError_t launch_ex(void *config, void *function) { return launch(function); }
static hipError_t pointer_attribute(void *data, int attribute, uint64_t pointer) {
  return memcpy(data, &pointer, sizeof pointer), 0;
}

static const struct {
  const char *name;
  void *function;
} table[] = {
    {"hipGetDeviceProperties", device_properties},
    {"hipGetErrorString", error_text},
    {"hipModuleLoadData", load},
    {"hipModuleGetFunction", function_named},
    {"hipFuncGetAttribute", function_attribute},
    {"hipDrvLaunchKernelEx", launch_ex},
    {"hipModuleLaunch", launch},
    {"hipPointerGetAttribute", pointer_attribute},
    {"", nothing},
};

hipError_t hipDriverGetVersion(int *version) {
  return *version = 70000000, 0; /* major * 10,000,000 */
}

hipError_t hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                             hipDriverProcAddressQueryResult *status) {
  int entry = 0;
  while (strncmp(symbol, table[entry].name, strlen(table[entry].name)))
    entry++;
  return *function = table[entry].function, 0;
}
