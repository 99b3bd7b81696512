// Loads a code object from a file and from memory, launches its kernels and writes its variables.
#include "check.h"

#include <cstring>

struct Pair {
    double first;
    int second;
};

static void launch(hipModule_t module, int offset) {
    const short count = 777;
    std::vector<int> values(count), expected(count);
    for (int i = 0; i < count; i++) {
        values[i] = i * i - 50;
        expected[i] = values[i] * 3 + offset - 2;
    }
    hipFunction_t transform, by_value;
    HIP(hipModuleGetFunction(&transform, module, "transform"));
    HIP(hipModuleGetFunction(&by_value, module, "by_value"));
    int *from = on_device(values), *to = on_device(std::vector<int>(count, 0));
    short how_many = count;
    char add = -2;
    void* arguments[] = {&from, &to, &how_many, &add};
    HIP(hipModuleLaunchKernel(transform, 4, 1, 1, 256, 1, 1, 0, 0, arguments, nullptr));
    EXPECT_ALL(from_device(to, count), expected, count);

    // The same arguments as one buffer.
    HIP(hipMemset(to, 0, count * sizeof(int)));
    struct {
        void *from, *to;
        short count;
        char add;
    } packed = {from, to, count, add};
    size_t size = sizeof packed;
    void* config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    HIP(hipModuleLaunchKernel(transform, 7, 1, 1, 128, 1, 1, 0, 0, nullptr, config));
    EXPECT_ALL(from_device(to, count), expected, count);

    Pair pair = {0.125, 42}, *pairs;
    HIP(hipMalloc(&pairs, 64 * sizeof(Pair)));
    void* values_of[] = {&pair, &pairs};
    HIP(hipModuleLaunchKernel(by_value, 1, 1, 1, 64, 1, 1, 0, 0, values_of, nullptr));
    auto got = from_device(pairs, 64);
    for (int i = 0; i < 64; i++) {
        EXPECT_SAME(got[i].first, 0.125 * i);
        EXPECT_SAME(got[i].second, 42);
    }
    for (void* memory : {(void*)from, (void*)to, (void*)pairs}) HIP(hipFree(memory));
}

int main(int count, char** arguments) {
    EXPECT(count == 2, "usage: module FILE.co");
    HIP(hipInit(0));
    hipModule_t module;
    HIP(hipModuleLoad(&module, arguments[1]));
    launch(module, 100);
    hipDeviceptr_t offset;
    size_t size;
    HIP(hipModuleGetGlobal(&offset, &size, module, "offset"));
    EXPECT_SAME(size, sizeof(int));
    int value = -1000;
    HIP(hipMemcpyHtoD(offset, &value, sizeof value));
    launch(module, -1000);
    hipFunction_t missing;
    HIP_FAILS(hipModuleGetFunction(&missing, module, "no_such_kernel"), hipErrorNotFound);
    HIP_FAILS(hipModuleGetGlobal(&offset, &size, module, "no_such_variable"), hipErrorNotFound);

    // A second copy has variables of its own.
    FILE* file = fopen(arguments[1], "rb");
    EXPECT(file, "%s", arguments[1]);
    std::vector<char> bytes(1 << 20);
    bytes.resize(fread(bytes.data(), 1, bytes.size(), file));
    fclose(file);
    hipModule_t copy;
    HIP(hipModuleLoadData(&copy, bytes.data()));
    launch(copy, 100);
    launch(module, -1000);
    HIP(hipModuleUnload(copy));
    HIP(hipModuleUnload(module));
    HIP_FAILS(hipModuleLoad(&module, "no-such-file.co"), hipErrorFileNotFound);
    printf("module: 2 kernels of a file and of memory\n");
}
