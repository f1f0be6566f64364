"""The loops of a kernel in TTIR, TTGIR and machine code, and how they are pipelined and unrolled."""
