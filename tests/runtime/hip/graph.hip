// A graph of nodes, and one captured from a stream, each launched several times.
#include "check.h"

__global__ void add(int* values, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += value;
}

__global__ void multiply(int* values, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= value;
}

const int count = 1000;

static void of_nodes() {
    int* memory;
    HIP(hipMalloc(&memory, count * sizeof(int)));
    std::vector<int> result(count, 0), start(count, 10);
    hipGraph_t graph;
    HIP(hipGraphCreate(&graph, 0));
    hipGraphNode_t copy, first, second, back;
    HIP(hipGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, memory, start.data(), count * sizeof(int), hipMemcpyHostToDevice));
    int size = count, plus = 5, times = 3;
    void* arguments[] = {&memory, &size, &plus};
    hipKernelNodeParams kernel = {};
    kernel.func = (void*)add;
    kernel.gridDim = dim3(4);
    kernel.blockDim = dim3(256);
    kernel.kernelParams = arguments;
    HIP(hipGraphAddKernelNode(&first, graph, &copy, 1, &kernel));
    void* others[] = {&memory, &size, &times};
    kernel.func = (void*)multiply;
    kernel.kernelParams = others;
    HIP(hipGraphAddKernelNode(&second, graph, &first, 1, &kernel));
    HIP(hipGraphAddMemcpyNode1D(&back, graph, &second, 1, result.data(), memory, count * sizeof(int), hipMemcpyDeviceToHost));
    hipGraphExec_t instance;
    HIP(hipGraphInstantiate(&instance, graph, nullptr, nullptr, 0));
    for (int run = 0; run < 3; run++) {
        start.assign(count, 10 * (run + 1));
        HIP(hipGraphLaunch(instance, 0));
        HIP(hipStreamSynchronize(0));
        EXPECT_ALL(result, std::vector<int>(count, (10 * (run + 1) + 5) * 3), count);
    }
    HIP(hipGraphExecDestroy(instance));
    HIP(hipGraphDestroy(graph));
    HIP(hipFree(memory));
}

static void captured() {
    int* memory = on_device(std::vector<int>(count, 1));
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
    HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (int i = 0; i < 4; i++) {
        multiply<<<4, 256, 0, stream>>>(memory, count, 2);
        add<<<4, 256, 0, stream>>>(memory, count, i);
    }
    hipGraph_t graph;
    HIP(hipStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    HIP(hipGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_SAME(nodes, 8u);
    hipGraphExec_t instance;
    HIP(hipGraphInstantiate(&instance, graph, nullptr, nullptr, 0));
    int expected = 1;
    for (int run = 0; run < 3; run++) {
        HIP(hipGraphLaunch(instance, stream));
        for (int i = 0; i < 4; i++) expected = expected * 2 + i;
    }
    HIP(hipStreamSynchronize(stream));
    EXPECT_ALL(from_device(memory, count), std::vector<int>(count, expected), count);
    HIP(hipGraphExecDestroy(instance));
    HIP(hipGraphDestroy(graph));
    HIP(hipStreamDestroy(stream));
    HIP(hipFree(memory));
}

int main() {
    of_nodes();
    captured();
    printf("graph: of nodes and captured, 3 launches each\n");
}
