// Variables of the device, constants and managed variables, written and read from both sides.
#include "check.h"

__device__ int counter = 5;
__device__ double table[100];
__constant__ float factors[4] = {1, 2, 3, 4};
__managed__ int managed = 7;
__managed__ float managed_table[10] = {0.5f, 1.5f};

__global__ void use(float* result) {
    int i = threadIdx.x;
    result[i] = factors[i % 4] * (float)table[i] + managed;
    atomicAdd(&counter, 2);
    if (i == 0) managed_table[2] = managed_table[0] + managed_table[1];
}

int main() {
    float* result;
    HIP(hipMalloc(&result, 100 * sizeof(float)));
    int value = 0;
    HIP(hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), sizeof value));
    EXPECT_SAME(value, 5);
    std::vector<double> numbers(100);
    for (int i = 0; i < 100; i++) numbers[i] = i * 0.25;
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(table), numbers.data(), 800));
    float changed[2] = {30, 40};
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(factors), changed, sizeof changed, 2 * sizeof(float)));
    EXPECT_SAME(managed, 7);
    managed = 9;
    use<<<1, 100>>>(result);
    HIP(hipDeviceSynchronize());
    auto got = from_device(result, 100);
    const float factor[4] = {1, 2, 30, 40};
    for (int i = 0; i < 100; i++) EXPECT_SAME(got[i], factor[i % 4] * (float)(i * 0.25) + 9);
    EXPECT_SAME(managed_table[2], 2.0f);
    HIP(hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), sizeof value));
    EXPECT_SAME(value, 205);

    void* address;
    size_t size;
    HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(table)));
    HIP(hipGetSymbolSize(&size, HIP_SYMBOL(table)));
    EXPECT_SAME(size, 800u);
    EXPECT_ALL(from_device((double*)address, 100), numbers, 100);
    HIP(hipMemset(address, 0, 800));
    use<<<1, 100>>>(result);
    HIP(hipMemcpyFromSymbolAsync(&value, HIP_SYMBOL(counter), sizeof value, 0, hipMemcpyDeviceToHost, 0));
    HIP(hipStreamSynchronize(0));
    EXPECT_SAME(value, 405);
    EXPECT_ALL(from_device(result, 100), std::vector<float>(100, 9), 100);
    HIP(hipFree(result));
    printf("globals: 5 variables from both sides\n");
}
