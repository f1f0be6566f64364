"""How a kernel's stages get in. The only room that imports triton or torch, inside functions and workers."""
