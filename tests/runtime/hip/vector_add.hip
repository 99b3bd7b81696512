// Adds two vectors whose length is no multiple of the workgroup's.
#include "check.h"

__global__ void add(const float* a, const float* b, float* c, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) c[i] = a[i] + b[i];
}

int main() {
    const int count = 10007;
    std::vector<float> a(count), b(count), sum(count);
    for (int i = 0; i < count; i++) {
        a[i] = 0.1f * i;
        b[i] = 1.0f / (i + 1);
        sum[i] = a[i] + b[i];
    }
    float *da = on_device(a), *db = on_device(b), *dc = on_device(std::vector<float>(count + 1, -7.0f));
    hipLaunchKernelGGL(add, dim3((count + 255) / 256), dim3(256), 0, 0, da, db, dc, count);
    HIP(hipGetLastError());
    HIP(hipDeviceSynchronize());
    auto c = from_device(dc, count + 1);
    EXPECT_ALL(c, sum, count);
    EXPECT_SAME(c[count], -7.0f);
    for (float* memory : {da, db, dc}) HIP(hipFree(memory));
    printf("vector_add: %d sums\n", count);
}
