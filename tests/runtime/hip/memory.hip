// Managed, pinned, mapped and registered memory, which host and device both use; and what is refused.
#include "check.h"

__global__ void triple(int* values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= 3;
}

static void prepare(int* values, int count) {
    for (int i = 0; i < count; i++) values[i] = i - 100;
}

static void is_tripled(const int* values, int count) {
    for (int i = 0; i < count; i++) EXPECT_SAME(values[i], 3 * (i - 100));
}

int main() {
    const int count = 1500, groups = (count + 255) / 256;
    const size_t size = count * sizeof(int);

    int* managed;
    HIP(hipMallocManaged((void**)&managed, size, hipMemAttachGlobal));
    prepare(managed, count);
    triple<<<groups, 256>>>(managed, count);
    HIP(hipDeviceSynchronize());
    is_tripled(managed, count);
    HIP(hipFree(managed));

    const unsigned ways[] = {hipHostMallocDefault, hipHostMallocMapped, hipHostMallocCoherent, hipHostMallocNonCoherent};
    for (unsigned flags : ways) {
        int *pinned, *seen;
        HIP(hipHostMalloc((void**)&pinned, size, flags));
        HIP(hipHostGetDevicePointer((void**)&seen, pinned, 0));
        prepare(pinned, count);
        triple<<<groups, 256>>>(seen, count);
        HIP(hipDeviceSynchronize());
        is_tripled(pinned, count);
        HIP(hipHostFree(pinned));
    }

    // Pages that were ordinary memory before, at an odd place.
    std::vector<int> ordinary(count + 1);
    int *values = ordinary.data() + 1, *seen;
    prepare(values, count);
    HIP(hipHostRegister(values, size, hipHostRegisterDefault));
    HIP(hipHostGetDevicePointer((void**)&seen, values, 0));
    triple<<<groups, 256>>>(seen, count);
    HIP(hipDeviceSynchronize());
    is_tripled(values, count);
    HIP(hipHostUnregister(values));

    int* device;
    HIP(hipMalloc(&device, size));
    hipPointerAttribute_t attributes;
    HIP(hipPointerGetAttributes(&attributes, device));
    EXPECT(attributes.devicePointer == device, "devicePointer is %p and should be %p", attributes.devicePointer, (void*)device);
    EXPECT_SAME(attributes.device, 0);
    int on_stack;
#if HIP_VERSION_MAJOR < 6
    HIP_FAILS(hipPointerGetAttributes(&attributes, &on_stack), hipErrorInvalidValue);
#else
    HIP(hipPointerGetAttributes(&attributes, &on_stack));
    EXPECT_SAME((int)attributes.type, (int)hipMemoryTypeUnregistered);
#endif
    HIP_FAILS(hipFree(&on_stack), hipErrorInvalidValue);
    HIP(hipFree(device));
    HIP(hipFree(nullptr));

    size_t before, after, total;
    HIP(hipMemGetInfo(&before, &total));
    EXPECT(before <= total && before > total / 2, "%zu of %zu bytes free", before, total);
    void* much;
    HIP_FAILS(hipMalloc(&much, total + (size_t(1) << 30)), hipErrorOutOfMemory);
    HIP(hipMalloc(&much, size_t(256) << 20));
    HIP(hipMemGetInfo(&after, &total));
    EXPECT_SAME(before - after, size_t(256) << 20);
    HIP(hipFree(much));
    HIP(hipMemGetInfo(&after, &total));
    EXPECT_SAME(after, before);
    printf("memory: managed, pinned in 4 ways, registered; out of memory is an error\n");
}
