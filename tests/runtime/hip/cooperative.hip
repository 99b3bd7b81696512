// Cooperative groups: the whole grid waits for itself; groups of a workgroup; tiles.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

namespace groups = cooperative_groups;

// Each step reads what a neighbour in another workgroup wrote in the step before.
__global__ void rotate(int* a, int* b, int steps) {
    groups::grid_group grid = groups::this_grid();
    unsigned count = grid.size(), i = grid.thread_rank();
    for (int step = 0; step < steps; step++) {
        b[i] = a[(i + 97) % count] + 1;
        grid.sync();
        int* other = a;
        a = b;
        b = other;
    }
}

__global__ void blocks(unsigned* ranks) {
    __shared__ unsigned values[256];
    groups::thread_block block = groups::this_thread_block();
    unsigned rank = block.thread_rank();
    values[rank] = rank * 3;
    block.sync();
    ranks[blockIdx.x * block.size() + rank] = values[block.size() - 1 - rank] + block.group_index().x;
}

__global__ void tiles(int* sums) {
    auto tile = groups::tiled_partition<16>(groups::this_thread_block());
    int sum = threadIdx.x;
    for (int offset = 8; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
    if (threadIdx.x % 16 == 0) sums[threadIdx.x / 16] = sum;
}

int main() {
    int supported = 0;
    HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
    EXPECT_SAME(supported, 1);
    const int workgroups = 8, threads = 128, count = workgroups * threads;
    int steps = 5;
    std::vector<int> values(count), expected(count), next(count);
    for (int i = 0; i < count; i++) expected[i] = values[i] = i * 17 % 1000;
    int *a = on_device(values), *b = on_device(values);
    void* arguments[] = {&a, &b, &steps};
    HIP(hipLaunchCooperativeKernel((const void*)rotate, dim3(workgroups), dim3(threads), arguments, 0, 0));
    HIP(hipDeviceSynchronize());
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < count; i++) next[i] = expected[(i + 97) % count] + 1;
        std::swap(expected, next);
    }
    EXPECT_ALL(from_device(steps % 2 ? b : a, count), expected, count);

    // More workgroups than the device can hold at once can never meet.
    hipDeviceProp_t properties;
    HIP(hipGetDeviceProperties(&properties, 0));
    dim3 too_many(properties.multiProcessorCount * 4096);
    HIP_FAILS(hipLaunchCooperativeKernel((const void*)rotate, too_many, dim3(1024), arguments, 0, 0), hipErrorCooperativeLaunchTooLarge);

    unsigned* ranks = on_device(std::vector<unsigned>(512, 0));
    blocks<<<2, 256>>>(ranks);
    auto got = from_device(ranks, 512);
    for (unsigned i = 0; i < 512; i++) EXPECT_SAME(got[i], (255 - i % 256) * 3 + i / 256);

    int* sums = on_device(std::vector<int>(16, 0));
    tiles<<<1, 256>>>(sums);
    auto tiled = from_device(sums, 16);
    for (int t = 0; t < 16; t++) EXPECT_SAME(tiled[t], 16 * (16 * t) + 120);
    printf("cooperative: %d workgroups met %d times\n", workgroups, steps);
}
