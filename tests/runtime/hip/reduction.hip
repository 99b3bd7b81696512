// Sums in LDS, static and dynamic, by shuffles, and by atomics.
#include "check.h"

__global__ void in_static_lds(const int* values, long long* sums, int count) {
    __shared__ long long part[256];
    long long sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += values[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) part[threadIdx.x] += part[threadIdx.x + width];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

extern __shared__ double dynamic_part[];

__global__ void in_dynamic_lds(const int* values, double* largest, int count) {
    double most = -1e30;
    for (int i = threadIdx.x; i < count; i += blockDim.x) most = fmax(most, (double)values[i] / 3.0);
    dynamic_part[threadIdx.x] = most;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) dynamic_part[threadIdx.x] = fmax(dynamic_part[threadIdx.x], dynamic_part[threadIdx.x + width]);
        __syncthreads();
    }
    if (threadIdx.x == 0) *largest = dynamic_part[0];
}

__global__ void by_shuffles(const int* values, unsigned long long* total, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = i < count ? values[i] : 0;
    for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_down(sum, offset);
    if (threadIdx.x % warpSize == 0) atomicAdd(total, (unsigned long long)(long long)sum);
}

__global__ void histogram(const int* values, unsigned* bins, int count) {
    __shared__ unsigned local[64];
    if (threadIdx.x < 64) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) atomicAdd(&local[values[i] & 63], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void votes(unsigned long long* masks, int* counts) {
    bool third = threadIdx.x % 3 == 0;
    unsigned long long mask = __ballot(third);
    int count = __popcll(mask) + (__any(third) ? 1000 : 0) + (__all(third) ? 10000 : 0);
    if (threadIdx.x % warpSize == 0) {
        masks[threadIdx.x / warpSize] = mask;
        counts[threadIdx.x / warpSize] = count;
    }
}

// Votes of a whole workgroup.
__global__ void group_votes(int* answers) {
    bool third = threadIdx.x % 3 == 0;
    int counted = __syncthreads_count(third);
    int any = __syncthreads_or(threadIdx.x == 77), none = __syncthreads_or(threadIdx.x == 1000);
    int all = __syncthreads_and(threadIdx.x < 1000), not_all = __syncthreads_and(third);
    answers[threadIdx.x] = counted + 1000 * (any != 0) + 2000 * (none != 0) + 4000 * (all != 0) + 8000 * (not_all != 0);
}

int main() {
    const int count = 20000, groups = 8;
    std::vector<int> values(count);
    std::vector<unsigned> bins(64, 0);
    long long total = 0;
    double most = -1e30;
    for (int i = 0; i < count; i++) {
        values[i] = (i * 7919) % 10007 - 5000;
        total += values[i];
        most = std::max(most, values[i] / 3.0);
        bins[values[i] & 63]++;
    }
    int* dv = on_device(values);
    long long* ds = on_device(std::vector<long long>(groups, 0));
    in_static_lds<<<groups, 256>>>(dv, ds, count);
    long long sum = 0;
    for (long long part : from_device(ds, groups)) sum += part;
    EXPECT_SAME(sum, total);

    double* dm = on_device(std::vector<double>(1, 0));
    in_dynamic_lds<<<1, 512, 512 * sizeof(double)>>>(dv, dm, count);
    EXPECT_SAME(from_device(dm, 1)[0], most);

    auto* dt = on_device(std::vector<unsigned long long>(1, 0));
    by_shuffles<<<(count + 127) / 128, 128>>>(dv, dt, count);
    EXPECT_SAME((long long)from_device(dt, 1)[0], total);

    unsigned* db = on_device(std::vector<unsigned>(64, 0));
    histogram<<<groups, 256>>>(dv, db, count);
    EXPECT_ALL(from_device(db, 64), bins, 64);

    hipDeviceProp_t properties;
    HIP(hipGetDeviceProperties(&properties, 0));
    int wave = properties.warpSize, waves = 128 / wave;
    auto* masks = on_device(std::vector<unsigned long long>(waves, 0));
    int* counts = on_device(std::vector<int>(waves, 0));
    votes<<<1, 128>>>(masks, counts);
    for (int w = 0; w < waves; w++) {
        unsigned long long mask = 0;
        for (int lane = 0; lane < wave; lane++)
            if ((w * wave + lane) % 3 == 0) mask |= 1ull << lane;
        EXPECT_SAME(from_device(masks, waves)[w], mask);
        EXPECT_SAME(from_device(counts, waves)[w], __builtin_popcountll(mask) + 1000);
    }

    int* answers = on_device(std::vector<int>(200, 0));
    group_votes<<<1, 200>>>(answers);
    EXPECT_ALL(from_device(answers, 200), std::vector<int>(200, 67 + 1000 + 4000), 200);
    printf("reduction: %d values in 5 ways\n", count);
}
