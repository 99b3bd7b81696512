// rocPRIM's device algorithms against those of the standard library.
#include "../hip/check.h"

#include <algorithm>
#include <numeric>
#include <rocprim/rocprim.hpp>

// Asks for the size of the temporary memory, then runs.
#define ROCPRIM(function, ...)                                                                     \
    do {                                                                                           \
        size_t size_ = 0;                                                                          \
        HIP(function(nullptr, size_, __VA_ARGS__));                                                \
        void* memory_;                                                                             \
        HIP(hipMalloc(&memory_, size_));                                                           \
        HIP(function(memory_, size_, __VA_ARGS__));                                                \
        HIP(hipDeviceSynchronize());                                                               \
        HIP(hipFree(memory_));                                                                     \
    } while (0)

struct IsThird {
    __device__ __host__ bool operator()(int value) const { return value % 3 == 0; }
};

static std::vector<int> numbers(size_t count) {
    std::vector<int> values(count);
    unsigned state = 12345;
    for (int& value : values) {
        state = state * 1664525 + 1013904223;
        value = (int)(state >> 8) % 100000 - 50000;
    }
    return values;
}

static void check(size_t count) {
    auto values = numbers(count);
    int *in = on_device(values), *out = on_device(std::vector<int>(count, 0));
    std::vector<int> expected(count);

    ROCPRIM(rocprim::reduce, in, out, 7, count, rocprim::plus<int>());
    EXPECT_SAME(from_device(out, 1)[0], std::accumulate(values.begin(), values.end(), 7));
    ROCPRIM(rocprim::reduce, in, out, INT_MIN, count, rocprim::maximum<int>());
    EXPECT_SAME(from_device(out, 1)[0], *std::max_element(values.begin(), values.end()));

    std::partial_sum(values.begin(), values.end(), expected.begin());
    ROCPRIM(rocprim::inclusive_scan, in, out, count, rocprim::plus<int>());
    EXPECT_ALL(from_device(out, count), expected, count);
    for (size_t i = count - 1; i > 0; i--) expected[i] = expected[i - 1] + 100;
    expected[0] = 100;
    ROCPRIM(rocprim::exclusive_scan, in, out, 100, count, rocprim::plus<int>());
    EXPECT_ALL(from_device(out, count), expected, count);

    expected = values;
    std::sort(expected.begin(), expected.end());
    ROCPRIM(rocprim::radix_sort_keys, in, out, count);
    EXPECT_ALL(from_device(out, count), expected, count);
    ROCPRIM(rocprim::merge_sort, in, out, count, rocprim::less<int>());
    EXPECT_ALL(from_device(out, count), expected, count);

    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    int *keys = on_device(values), *items = on_device(order), *sorted = on_device(order);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values[a] < values[b]; });
    ROCPRIM(rocprim::radix_sort_pairs, in, keys, items, sorted, count);
    EXPECT_ALL(from_device(sorted, count), order, count);

    std::vector<int> selected;
    std::copy_if(values.begin(), values.end(), std::back_inserter(selected), IsThird());
    size_t* how_many = on_device(std::vector<size_t>(1, 0));
    ROCPRIM(rocprim::select, in, out, how_many, count, IsThird());
    EXPECT_SAME(from_device(how_many, 1)[0], selected.size());
    EXPECT_ALL(from_device(out, count), selected, selected.size());
    for (void* memory : {(void*)in, (void*)out, (void*)keys, (void*)items, (void*)sorted, (void*)how_many}) HIP(hipFree(memory));
}

int main() {
    // Less than a workgroup's, several workgroups', and the tail of one.
    const size_t sizes[] = {100, 5000, 20011};
    for (size_t size : sizes) check(size);
    printf("rocprim: reduce, scan, sort, select of %zu sizes\n", sizeof sizes / sizeof *sizes);
}
