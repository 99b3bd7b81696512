/* A program of csmith as a kernel, or for the host. */
#include PROGRAM
#undef main
#ifdef __AMDGCN__
__attribute__((amdgpu_kernel)) void run(uint32_t *out) { program_main(); *out = checksum; }
#else
#undef printf
int printf(const char *, ...);
int main(void) { program_main(); printf("%08x\n", checksum); return 0; }
#endif
