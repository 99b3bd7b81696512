// An assertion of a kernel that fails says so and ends the process; one that holds does nothing.
#include "check.h"

#include <cassert>
#include <csignal>

__global__ void holds(int* values) { assert(values[threadIdx.x] >= 0); values[threadIdx.x]++; }
__global__ void fails(int* values) { assert(values[threadIdx.x] != 37); }

static int again() {
    std::vector<int> values(64);
    for (int i = 0; i < 64; i++) values[i] = i;
    int* memory = on_device(values);
    holds<<<1, 64>>>(memory);
    EXPECT_SAME(from_device(memory, 64)[63], 64);
    printf("it held\n");
    fflush(stdout);
    fails<<<1, 64>>>(memory);
    hipError_t result = hipDeviceSynchronize();
    printf("hipDeviceSynchronize: %s\n", hipGetErrorName(result));
    fflush(stdout);
    return 3;
}

int main(int count, char**) {
    if (count == 2) return again();
    Ended ended = run_again("fail");
    EXPECT(ended.said.find("it held") != std::string::npos, "it said: %s", ended.said.c_str());
    EXPECT(ended.said.find("Device-side assertion `values[threadIdx.x] != 37' failed.") != std::string::npos, "it said: %s", ended.said.c_str());
    EXPECT(ended.by_signal(SIGABRT), "status 0x%x; it said: %s", ended.status, ended.said.c_str());
    printf("assert: told and ended by SIGABRT\n");
}
