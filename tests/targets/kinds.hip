// HIP kernels: dynamic LDS, launch bounds, a grid limit, a structure by value, a template, a clustered one.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

extern __shared__ int dynamic_lds[];
__device__ int *escape;

__global__ void uses_dynamic_lds(int *out) {
  escape = dynamic_lds;
  out[0] = dynamic_lds[out[1]];
}

struct Big {
  long words[5];
  bool flag;
};
__attribute__((launch_bounds(256, 2))) __global__ void bounded(Big big, float *out) { out[0] = big.words[3]; }
__attribute__((amdgpu_max_num_work_groups(4, 5, 6))) __global__ void limited(float *out) { out[0] = 0; }

template <typename T, int N> __global__ void instance(T *out) { out[N] = N; }
template __global__ void instance<float, 3>(float *);
template __global__ void instance<double, 4>(double *);

#ifdef CLUSTERS
__attribute__((cluster_dims(2, 2, 1))) __global__ void clustered(float *out) { out[0] = 0; }
#endif
