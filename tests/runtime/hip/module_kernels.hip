// The code object that module.hip loads.
#include <hip/hip_runtime.h>

__device__ int offset = 100;
__constant__ int scale = 3;

extern "C" __global__ void transform(const int* values, int* results, short count, char add) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) results[i] = values[i] * scale + offset + add;
}

struct Pair {
    double first;
    int second;
};

extern "C" __global__ void by_value(Pair pair, Pair* results) { results[threadIdx.x] = {pair.first * threadIdx.x, pair.second}; }
