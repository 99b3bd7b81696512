// Streams run beside each other, events order them, callbacks come when the work before them is done.
#include "check.h"

#include <atomic>

__global__ void fill(int* values, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = value;
}

__global__ void add(int* values, const int* others, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += others[i];
}

static std::atomic<int> called{0};

static void on_done(hipStream_t, hipError_t status, void* data) {
    called += status == hipSuccess ? *(int*)data : 1000;
}

// HIP 5.2 declares hipLaunchHostFunc and does not have it.
#if HIP_VERSION >= 50700000
static void on_host(void* data) { called += *(int*)data; }
#else
static void on_host(hipStream_t, hipError_t, void* data) { called += *(int*)data; }
#define hipLaunchHostFunc(stream, function, data) hipStreamAddCallback(stream, function, data, 0)
#endif

int main() {
    const int count = 3000, streams = 6, groups = (count + 255) / 256;
    std::vector<hipStream_t> stream(streams);
    std::vector<hipEvent_t> filled(streams);
    std::vector<int*> memory(streams);
    for (int s = 0; s < streams; s++) {
        HIP(hipStreamCreateWithFlags(&stream[s], s % 2 ? hipStreamNonBlocking : hipStreamDefault));
        HIP(hipEventCreate(&filled[s]));
        HIP(hipMalloc(&memory[s], count * sizeof(int)));
    }
    hipEvent_t begin, end;
    HIP(hipEventCreate(&begin));
    HIP(hipEventCreate(&end));
    HIP(hipEventRecord(begin, stream[0]));
    for (int s = 0; s < streams; s++) {
        fill<<<groups, 256, 0, stream[s]>>>(memory[s], count, 1 << (4 * s));
        HIP(hipEventRecord(filled[s], stream[s]));
    }
    // The first adds what all others fill, after they have.
    for (int s = 1; s < streams; s++) {
        HIP(hipStreamWaitEvent(stream[0], filled[s], 0));
        add<<<groups, 256, 0, stream[0]>>>(memory[0], memory[s], count);
    }
    HIP(hipEventRecord(end, stream[0]));
    int one = 1, ten = 10;
    HIP(hipStreamAddCallback(stream[0], on_done, &one, 0));
    HIP(hipLaunchHostFunc(stream[0], on_host, &ten));
    int* pinned;
    HIP(hipHostMalloc((void**)&pinned, count * sizeof(int), 0));
    HIP(hipMemcpyAsync(pinned, memory[0], count * sizeof(int), hipMemcpyDeviceToHost, stream[0]));
    HIP(hipStreamSynchronize(stream[0]));
    EXPECT_ALL(pinned, std::vector<int>(count, 0x111111), count);
    EXPECT_SAME(called.load(), 11);
    HIP(hipStreamQuery(stream[0]));
    HIP(hipEventSynchronize(end));
    HIP(hipEventQuery(end));
    float whole = -1, part = -1;
    HIP(hipEventElapsedTime(&whole, begin, end));
    HIP(hipEventElapsedTime(&part, begin, filled[0]));
    EXPECT(part > 0 && part <= whole, "%g ms of %g ms", part, whole);

    // More launches than a queue has packets, none lost.
    HIP(hipMemset(memory[0], 0, count * sizeof(int)));
    fill<<<1, 64, 0, stream[2]>>>(memory[1], 64, 1);
    HIP(hipStreamSynchronize(stream[2]));
    const int launches = 5000;
    for (int i = 0; i < launches; i++) add<<<1, 64, 0, stream[2]>>>(memory[0], memory[1], 64);
    HIP(hipStreamSynchronize(stream[2]));
    EXPECT_ALL(from_device(memory[0], 64), std::vector<int>(64, launches), 64);

    int least, greatest;
    HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
    hipStream_t urgent;
    HIP(hipStreamCreateWithPriority(&urgent, hipStreamNonBlocking, greatest));
    fill<<<groups, 256, 0, urgent>>>(memory[2], count, 42);
    HIP(hipStreamSynchronize(urgent));
    EXPECT_ALL(from_device(memory[2], count), std::vector<int>(count, 42), count);
    HIP(hipStreamDestroy(urgent));
    for (int s = 0; s < streams; s++) {
        HIP(hipStreamDestroy(stream[s]));
        HIP(hipEventDestroy(filled[s]));
        HIP(hipFree(memory[s]));
    }
    HIP(hipHostFree(pinned));
    printf("streams: %d streams, %d launches in order\n", streams, launches);
}
