// The same loops for the emulator and for the host: `alu` computes, `saxpy` waits for memory.
#define STEP(x, u, v, w)                                                                                               \
  x = __builtin_fmaf(x, u, v), x = 0.75f * x, x = x + w, x = __builtin_fmaf(x, 0.5f, u), x = __builtin_fmaf(x, w, 0.3f), \
  x = x * u, x = 1.0f + x, x = __builtin_fmaf(0.75f, x, v), x = x + v, x = __builtin_fmaf(x, u, w), x = x * 0.5f,      \
  x = __builtin_fmaf(x, u, v)

#pragma STDC FP_CONTRACT OFF

#ifdef __AMDGCN__

#define KERNEL __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256)))
typedef __attribute__((address_space(1))) float *Floats;

static int item(void) { return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); }

KERNEL void alu(Floats data, int times) {
  int i = item();
  float x = data[i], u = 0.5f + i * 1e-5f, v = 0.25f - i * 1e-5f, w = 0.125f + i * 1e-5f;
  for (int n = 0; n < times; n++)
    STEP(x, u, v, w);
  data[i] = x;
}

KERNEL void saxpy(Floats y, Floats x, int size, int items, int times) {
  for (int n = 0; n < times; n++)
    for (int i = item(); i < size; i += items)
      y[i] = __builtin_fmaf(0.001f, x[i], y[i]);
}

#else

#include <stdlib.h>
#include <string.h>

enum { LANES = 64 };

static void alu(float *data, int size, int times) {
  for (int first = 0; first < size; first += LANES) {
    float x[LANES], u[LANES], v[LANES], w[LANES];
    for (int l = 0; l < LANES; l++) {
      int i = first + l;
      x[l] = data[i], u[l] = 0.5f + i * 1e-5f, v[l] = 0.25f - i * 1e-5f, w[l] = 0.125f + i * 1e-5f;
    }
    for (int n = 0; n < times; n++)
      for (int l = 0; l < LANES; l++)
        STEP(x[l], u[l], v[l], w[l]);
    memcpy(data + first, x, sizeof x);
  }
}

static void saxpy(float *restrict y, const float *restrict x, int size, int times) {
  for (int n = 0; n < times; n++) {
    for (int i = 0; i < size; i++)
      y[i] = __builtin_fmaf(0.001f, x[i], y[i]);
    __asm__ volatile("" ::: "memory");
  }
}

// NAME SIZE TIMES: prints the bytes of the result, so that nothing is left out.
#include <stdio.h>
int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  int size = atoi(argv[2]), times = atoi(argv[3]);
  float *y = malloc(size * 4ul), *x = malloc(size * 4ul);
  for (int i = 0; i < size; i++)
    x[i] = y[i] = i;
  if (!strcmp(argv[1], "alu"))
    alu(y, size, times);
  else
    saxpy(y, x, size, times);
  return fwrite(y, 4, size, stdout) != (size_t)size;
}

#endif
