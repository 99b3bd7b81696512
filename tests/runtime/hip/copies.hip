// hipMemcpy of every kind and size, in one, two and three dimensions, and hipMemset of every width.
#include "check.h"

#include <cstring>

static std::vector<unsigned char> pattern(size_t size, unsigned seed) {
    std::vector<unsigned char> bytes(size);
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
    return bytes;
}

static void kinds(size_t size) {
    auto there = pattern(size, 1);
    std::vector<unsigned char> back(size, 0), aside(size, 0);
    unsigned char *a, *b;
    HIP(hipMalloc(&a, size));
    HIP(hipMalloc(&b, size));
    HIP(hipMemcpy(aside.data(), there.data(), size, hipMemcpyHostToHost));
    HIP(hipMemcpy(a, aside.data(), size, hipMemcpyHostToDevice));
    HIP(hipMemcpy(b, a, size, hipMemcpyDeviceToDevice));
    HIP(hipMemcpy(back.data(), b, size, hipMemcpyDeviceToHost));
    EXPECT_ALL(back, there, size);
    there = pattern(size, 2);
    HIP(hipMemcpy(a, there.data(), size, hipMemcpyDefault));
    HIP(hipMemcpy(b, a, size, hipMemcpyDefault));
    HIP(hipMemcpy(back.data(), b, size, hipMemcpyDefault));
    EXPECT_ALL(back, there, size);
    there = pattern(size, 3);
    HIP(hipMemcpyHtoD((hipDeviceptr_t)a, there.data(), size));
    HIP(hipMemcpyDtoD((hipDeviceptr_t)b, (hipDeviceptr_t)a, size));
    HIP(hipMemcpyDtoH(back.data(), (hipDeviceptr_t)b, size));
    EXPECT_ALL(back, there, size);
    there = pattern(size, 4);
    HIP(hipMemcpyAsync(a, there.data(), size, hipMemcpyHostToDevice, 0));
    HIP(hipMemcpyAsync(b, a, size, hipMemcpyDeviceToDevice, 0));
    HIP(hipMemcpyAsync(back.data(), b, size, hipMemcpyDeviceToHost, 0));
    HIP(hipStreamSynchronize(0));
    EXPECT_ALL(back, there, size);
    HIP(hipFree(a));
    HIP(hipFree(b));
}

static void parts() {
    // Odd places in the middle of allocations.
    auto bytes = pattern(5000, 5);
    unsigned char* memory = on_device(bytes);
    auto other = pattern(777, 6);
    HIP(hipMemcpy(memory + 1013, other.data(), other.size(), hipMemcpyHostToDevice));
    HIP(hipMemcpy(memory + 3, memory + 4001, 333, hipMemcpyDeviceToDevice));
    memcpy(bytes.data() + 1013, other.data(), other.size());
    memcpy(bytes.data() + 3, bytes.data() + 4001, 333);
    EXPECT_ALL(from_device(memory, bytes.size()), bytes, bytes.size());
    HIP_FAILS(hipMemcpy(memory, nullptr, 8, hipMemcpyHostToDevice), hipErrorInvalidValue);
    HIP(hipFree(memory));
}

static void rectangles() {
    const size_t width = 100, height = 20, host_pitch = 113;
    unsigned char* memory;
    size_t pitch;
    HIP(hipMallocPitch((void**)&memory, &pitch, width, height));
    auto there = pattern(host_pitch * height, 7);
    std::vector<unsigned char> back(host_pitch * height, 9);
    HIP(hipMemcpy2D(memory, pitch, there.data(), host_pitch, width, height, hipMemcpyHostToDevice));
    unsigned char* copy;
    HIP(hipMalloc(&copy, pitch * height));
    HIP(hipMemset(copy, 0, pitch * height));
    HIP(hipMemcpy2D(copy, pitch, memory, pitch, width, height, hipMemcpyDeviceToDevice));
    HIP(hipMemcpy2D(back.data(), host_pitch, copy, pitch, width, height, hipMemcpyDeviceToHost));
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < host_pitch; x++)
            EXPECT_SAME(back[y * host_pitch + x], x < width ? there[y * host_pitch + x] : 9);
    HIP(hipMemset2D(memory, pitch, 0x5a, width - 1, height - 1));
    HIP(hipMemcpy2D(back.data(), host_pitch, memory, pitch, width, height, hipMemcpyDeviceToHost));
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            EXPECT_SAME(back[y * host_pitch + x], x < width - 1 && y < height - 1 ? 0x5a : there[y * host_pitch + x]);
    HIP(hipFree(memory));
    HIP(hipFree(copy));
}

static void boxes() {
    hipExtent extent = make_hipExtent(24, 5, 3);
    hipPitchedPtr box;
    HIP(hipMalloc3D(&box, extent));
    auto there = pattern(24 * 5 * 3, 8);
    std::vector<unsigned char> back(there.size(), 0);
    hipMemcpy3DParms copy = {};
    copy.extent = extent;
    copy.srcPtr = make_hipPitchedPtr(there.data(), 24, 24, 5);
    copy.dstPtr = box;
    copy.kind = hipMemcpyHostToDevice;
    HIP(hipMemcpy3D(&copy));
    copy.srcPtr = box;
    copy.dstPtr = make_hipPitchedPtr(back.data(), 24, 24, 5);
    copy.kind = hipMemcpyDeviceToHost;
    HIP(hipMemcpy3D(&copy));
    EXPECT_ALL(back, there, there.size());
    HIP(hipFree(box.ptr));
}

static void sets() {
    unsigned char* memory;
    HIP(hipMalloc(&memory, 4096));
    HIP(hipMemset(memory, 0x11, 4096));
    HIP(hipMemset(memory + 5, 0x22, 13));
    HIP(hipMemsetD8((hipDeviceptr_t)(memory + 101), 0x33, 7));
    HIP(hipMemsetD16((hipDeviceptr_t)(memory + 200), 0x4455, 9));
    HIP(hipMemsetD32((hipDeviceptr_t)(memory + 300), 0x66778899, 11));
    HIP(hipMemsetAsync(memory + 4095, 0xaa, 1, 0));
    HIP(hipDeviceSynchronize());
    std::vector<unsigned char> bytes(4096, 0x11);
    memset(bytes.data() + 5, 0x22, 13);
    memset(bytes.data() + 101, 0x33, 7);
    for (int i = 0; i < 9; i++) bytes[200 + 2 * i] = 0x55, bytes[201 + 2 * i] = 0x44;
    for (int i = 0; i < 44; i++) bytes[300 + i] = "\x99\x88\x77\x66"[i % 4];
    bytes[4095] = 0xaa;
    EXPECT_ALL(from_device(memory, 4096), bytes, 4096);
    HIP(hipFree(memory));
}

int main() {
    // One byte, odd, the size of a staging buffer and beyond it, and large enough that HIP pins the host's pages.
    const size_t sizes[] = {1, 13, 4096, 65537, (1 << 20) + 3, (5 << 20) + 1};
    for (size_t size : sizes) kinds(size);
    parts();
    rectangles();
    boxes();
    sets();
    printf("copies: %zu sizes of every kind, rectangles, boxes, sets\n", sizeof sizes / sizeof *sizes);
}
