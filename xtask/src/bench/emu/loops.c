// The same loops for the emulator and for the host: `alu` computes, `saxpy` waits for memory. The emulator has `mfma` as
// well: eight matrix products of halves in each turn.
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

typedef _Float16 Halves __attribute__((ext_vector_type(4)));
typedef float Sums __attribute__((ext_vector_type(16)));

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void mfma(Floats data, int times) {
  int i = __builtin_amdgcn_workitem_id_x();
  float x = data[i] * 0.01f;
  Halves a = {x, 0.5f - x, 0.25f, x * x}, b = {1.0f - x, x, 0.125f + x, -x};
  Sums c = {x};
  for (int n = 0; n < times; n++)
#pragma unroll
    for (int m = 0; m < 8; m++)
      c = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);
  float sum = 0;
  for (int m = 0; m < 16; m++)
    sum += c[m];
  data[i] = sum;
}

#else

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

// NAME SIZE TIMES: prints the bytes of the result, so that nothing is left out, and its seconds on standard error.
int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  int size = atoi(argv[2]), times = atoi(argv[3]);
  float *y = malloc(size * 4ul), *x = malloc(size * 4ul);
  for (int i = 0; i < size; i++)
    x[i] = y[i] = i;
  double start = now();
  if (!strcmp(argv[1], "alu"))
    alu(y, size, times);
  else
    saxpy(y, x, size, times);
  fprintf(stderr, "%.9f\n", now() - start);
  return fwrite(y, 4, size, stdout) != (size_t)size;
}

#endif
