// What a faulty kernel does is told as an error of its queue: HIP then ends the process in its own way, by abort.
#include "check.h"

#include <csignal>
#include <cstring>

__global__ void write_to(int* memory) { memory[threadIdx.x] = 1; }
__global__ void trap() { __builtin_trap(); }

static int again(const char* how) {
    int* memory;
    HIP(hipMalloc(&memory, 256));
    write_to<<<1, 64>>>(memory);
    HIP(hipDeviceSynchronize());
    printf("before\n");
    fflush(stdout);
    int on_stack = 5;
    if (!strcmp(how, "null")) write_to<<<1, 64>>>(nullptr);
    if (!strcmp(how, "wild")) write_to<<<1, 64>>>((int*)0x123456789000);
    // The process could write there, the device was not given it.
    if (!strcmp(how, "host")) write_to<<<1, 1>>>(&on_stack);
    if (!strcmp(how, "trap")) trap<<<1, 64>>>();
    hipError_t result = hipDeviceSynchronize();
    printf("%s, %d\n", hipGetErrorName(result), on_stack);
    fflush(stdout);
    return result == hipSuccess ? 0 : 3;
}

int main(int count, char** arguments) {
    if (count == 2) return again(arguments[1]);
    const char* ways[] = {"null", "wild", "host", "trap"};
    for (const char* how : ways) {
        Ended ended = run_again(how);
        EXPECT(ended.said.find("before") == 0, "%s: it said: %s", how, ended.said.c_str());
        EXPECT(ended.by_signal(SIGABRT), "%s: status 0x%x; it said: %s", how, ended.status, ended.said.c_str());
        EXPECT(ended.said.find("HSA_STATUS_ERROR") != std::string::npos, "%s: it said: %s", how, ended.said.c_str());
    }
    printf("fault: %zu kinds, each an error of the queue\n", sizeof ways / sizeof *ways);
}
