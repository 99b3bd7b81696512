// Eight host threads allocate, copy and launch at once, on streams of their own and on the one they share.
#include "check.h"

#include <thread>

__device__ int shared_counter = 0;

__global__ void square(const int* from, int* to, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i] * from[i];
    if (i == 0) atomicAdd(&shared_counter, 1);
}

static void work(int thread, int rounds) {
    const int count = 600 + thread;
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
    for (int round = 0; round < rounds; round++) {
        std::vector<int> values(count), expected(count), got(count);
        for (int i = 0; i < count; i++) {
            values[i] = i + 1000 * thread + round;
            expected[i] = values[i] * values[i];
        }
        int *from, *to;
        HIP(hipMalloc(&from, count * sizeof(int)));
        HIP(hipMalloc(&to, count * sizeof(int)));
        hipStream_t where = round % 2 ? stream : 0;
        HIP(hipMemcpyAsync(from, values.data(), count * sizeof(int), hipMemcpyHostToDevice, where));
        square<<<(count + 63) / 64, 64, 0, where>>>(from, to, count);
        HIP(hipMemcpyAsync(got.data(), to, count * sizeof(int), hipMemcpyDeviceToHost, where));
        HIP(hipStreamSynchronize(where));
        EXPECT_ALL(got, expected, count);
        HIP(hipFree(from));
        HIP(hipFree(to));
    }
    HIP(hipStreamDestroy(stream));
}

int main() {
    const int threads = 8, rounds = 25;
    std::vector<std::thread> workers;
    for (int thread = 0; thread < threads; thread++) workers.emplace_back(work, thread, rounds);
    for (auto& worker : workers) worker.join();
    int launches = 0;
    HIP(hipMemcpyFromSymbol(&launches, HIP_SYMBOL(shared_counter), sizeof launches));
    EXPECT_SAME(launches, threads * rounds);
    printf("threads: %d threads, %d launches\n", threads, launches);
}
