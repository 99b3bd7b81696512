// The library's tests: plain HIP, which knows nothing of emulated devices.
#include "prefix_sum.h"

#include <cstdio>
#include <numeric>
#include <vector>

#define HIP(call)                                                                                  \
    if (hipError_t error = (call)) {                                                               \
        fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));                              \
        return 1;                                                                                  \
    }

int main() {
    for (int count : {1, 7, 64, 200, 256}) {
        std::vector<int> values(count), expected(count), sums(count);
        std::iota(values.begin(), values.end(), -3);
        std::partial_sum(values.begin(), values.end(), expected.begin());
        int *from, *to;
        HIP(hipMalloc(&from, count * sizeof(int)));
        HIP(hipMalloc(&to, count * sizeof(int)));
        HIP(hipMemcpy(from, values.data(), count * sizeof(int), hipMemcpyHostToDevice));
        prefix_sum<<<1, 256>>>(from, to, count);
        HIP(hipGetLastError());
        HIP(hipMemcpy(sums.data(), to, count * sizeof(int), hipMemcpyDeviceToHost));
        HIP(hipFree(from));
        HIP(hipFree(to));
        if (sums != expected) {
            fprintf(stderr, "wrong sums of %d values\n", count);
            return 1;
        }
    }
    printf("all sums are right\n");
}
