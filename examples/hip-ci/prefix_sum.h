// A small HIP library: sums of all elements before each.
#pragma once

#include <hip/hip_runtime.h>

// One workgroup of 256 items; `count` is at most 256.
__global__ void prefix_sum(const int* values, int* sums, int count) {
    __shared__ int part[256];
    int i = threadIdx.x;
    part[i] = i < count ? values[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        int left = i >= distance ? part[i - distance] : 0;
        // Without this barrier some items read what others have already added to.
        __syncthreads();
        part[i] += left;
        __syncthreads();
    }
    if (i < count) sums[i] = part[i];
}
