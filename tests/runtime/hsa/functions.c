// A client of the HSA interface alone. Two objects are one executable: a library of device functions, and a kernel that calls
// through a table of addresses. The functions are found by name and by iteration, their addresses are written into the table.
//
// usage: functions CALLER.co LIBRARY.co
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 200, FUNCTIONS = 3 };

static const char *const NAMES[FUNCTIONS] = {"negate", "square", "biased"};

static int expected(int function, int x) { return function == 0 ? -x : function == 1 ? x * x : x - 7; }

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hsa_status_t status_ = (call);                                                             \
        if (status_ != HSA_STATUS_SUCCESS && status_ != HSA_STATUS_INFO_BREAK) {                   \
            const char *text_ = "";                                                                \
            hsa_status_string(status_, &text_);                                                    \
            fprintf(stderr, "%s: 0x%x %s\n", #call, status_, text_);                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition);                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static hsa_status_t first_gpu(hsa_agent_t agent, void *data) {
    hsa_device_type_t type;
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
    *(hsa_agent_t *)data = agent;
    return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t first_cpu(hsa_agent_t agent, void *data) {
    hsa_device_type_t type;
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type != HSA_DEVICE_TYPE_CPU) return HSA_STATUS_SUCCESS;
    *(hsa_agent_t *)data = agent;
    return HSA_STATUS_INFO_BREAK;
}

// The first pool of global memory in which the host can keep kernel arguments, or on a GPU any.
static hsa_status_t global_pool(hsa_amd_memory_pool_t pool, void *data) {
    hsa_amd_segment_t segment;
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    *(hsa_amd_memory_pool_t *)data = pool;
    return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t kernarg_pool(hsa_amd_memory_pool_t pool, void *data) {
    uint32_t flags = 0;
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (!(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)) return HSA_STATUS_SUCCESS;
    *(hsa_amd_memory_pool_t *)data = pool;
    return HSA_STATUS_INFO_BREAK;
}

static void *allocate(hsa_amd_memory_pool_t pool, size_t size, hsa_agent_t gpu) {
    void *memory;
    CHECK(hsa_amd_memory_pool_allocate(pool, size, 0, &memory));
    CHECK(hsa_amd_agents_allow_access(1, &gpu, NULL, memory));
    return memory;
}

static void load(hsa_executable_t executable, hsa_agent_t agent, const char *path) {
    int file = open(path, O_RDONLY);
    EXPECT(file >= 0);
    hsa_code_object_reader_t reader;
    CHECK(hsa_code_object_reader_create_from_file(file, &reader));
    CHECK(hsa_executable_load_agent_code_object(executable, agent, reader, NULL, NULL));
    CHECK(hsa_code_object_reader_destroy(reader));
    close(file);
}

static char *name_of(hsa_executable_symbol_t symbol) {
    uint32_t length;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length));
    char *name = calloc(length + 1, 1);
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name));
    return name;
}

static uint64_t address_of(hsa_executable_symbol_t symbol) {
    hsa_symbol_kind_t kind;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
    EXPECT(kind == HSA_SYMBOL_KIND_INDIRECT_FUNCTION);
    uint64_t address = 0;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT, &address));
    return address;
}

struct Found {
    uint64_t address[FUNCTIONS];
    int kernels, variables, functions;
};

static hsa_status_t each_symbol(hsa_executable_t executable, hsa_agent_t agent, hsa_executable_symbol_t symbol, void *data) {
    (void)executable, (void)agent;
    struct Found *found = data;
    hsa_symbol_kind_t kind;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
    found->kernels += kind == HSA_SYMBOL_KIND_KERNEL;
    found->variables += kind == HSA_SYMBOL_KIND_VARIABLE;
    if (kind != HSA_SYMBOL_KIND_INDIRECT_FUNCTION) return HSA_STATUS_SUCCESS;
    found->functions++;
    char *name = name_of(symbol);
    for (int f = 0; f < FUNCTIONS; f++)
        if (!strcmp(name, NAMES[f])) found->address[f] = address_of(symbol);
    free(name);
    return HSA_STATUS_SUCCESS;
}

// The addresses of the functions, which both ways must agree on.
static void find_functions(hsa_executable_t executable, hsa_agent_t agent, uint64_t *table) {
    struct Found found = {0};
    CHECK(hsa_executable_iterate_agent_symbols(executable, agent, each_symbol, &found));
    EXPECT(found.kernels == 1);
    EXPECT(found.variables >= 1);
    EXPECT(found.functions >= FUNCTIONS);
    for (int f = 0; f < FUNCTIONS; f++) {
        hsa_executable_symbol_t symbol;
        CHECK(hsa_executable_get_symbol_by_name(executable, NAMES[f], &agent, &symbol));
        table[f] = address_of(symbol);
        EXPECT(table[f] != 0);
        EXPECT(table[f] == found.address[f]);
    }
}

// Writes the library's variable, as a host does.
static void set_bias(hsa_executable_t executable, hsa_agent_t agent, int value) {
    hsa_executable_symbol_t symbol;
    CHECK(hsa_executable_get_symbol_by_name(executable, "bias", &agent, &symbol));
    uint64_t address;
    uint32_t size;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &size));
    EXPECT(size == sizeof(int));
    int before = 0;
    CHECK(hsa_memory_copy(&before, (void *)address, size));
    EXPECT(before == 1000);
    CHECK(hsa_memory_copy((void *)address, &value, size));
}

static void on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
    (void)queue, (void)data;
    const char *text = "";
    hsa_status_string(status, &text);
    fprintf(stderr, "the queue stopped: 0x%x %s\n", status, text);
    exit(1);
}

struct Kernel {
    uint64_t object;
    uint32_t arguments, group, private;
};

static struct Kernel find_kernel(hsa_executable_t executable, hsa_agent_t agent, const char *name) {
    hsa_executable_symbol_t symbol;
    CHECK(hsa_executable_get_symbol_by_name(executable, name, &agent, &symbol));
    struct Kernel kernel;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel.arguments));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private));
    // What is called by address is not known to the compiler, nor how much it needs.
    bool dynamic = false;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK, &dynamic));
    EXPECT(dynamic);
    kernel.private += 1024;
    return kernel;
}

static void dispatch(hsa_agent_t agent, struct Kernel kernel, void *arguments) {
    hsa_queue_t *queue;
    CHECK(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_SINGLE, on_queue_error, NULL, UINT32_MAX, UINT32_MAX, &queue));
    hsa_signal_t done;
    CHECK(hsa_signal_create(1, 0, NULL, &done));
    uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    hsa_kernel_dispatch_packet_t *packet = (hsa_kernel_dispatch_packet_t *)queue->base_address + index % queue->size;
    memset((char *)packet + 4, 0, sizeof *packet - 4);
    packet->workgroup_size_x = 64;
    packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = (COUNT + 63) / 64 * 64;
    packet->grid_size_y = packet->grid_size_z = 1;
    packet->private_segment_size = kernel.private;
    packet->group_segment_size = kernel.group;
    packet->kernel_object = kernel.object;
    packet->kernarg_address = arguments;
    packet->completion_signal = done;
    uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    uint32_t setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    __atomic_store_n((uint32_t *)packet, header | setup << 16, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
    EXPECT(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0);
    CHECK(hsa_signal_destroy(done));
    CHECK(hsa_queue_destroy(queue));
}

int main(int count, char **paths) {
    EXPECT(count == 3);
    CHECK(hsa_init());
    hsa_agent_t gpu = {0}, cpu = {0};
    CHECK(hsa_iterate_agents(first_gpu, &gpu));
    CHECK(hsa_iterate_agents(first_cpu, &cpu));
    EXPECT(gpu.handle && cpu.handle);
    hsa_amd_memory_pool_t device = {0}, host = {0};
    CHECK(hsa_amd_agent_iterate_memory_pools(gpu, global_pool, &device));
    CHECK(hsa_amd_agent_iterate_memory_pools(cpu, kernarg_pool, &host));

    hsa_executable_t executable;
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable));
    load(executable, gpu, paths[1]);
    load(executable, gpu, paths[2]);
    CHECK(hsa_executable_freeze(executable, NULL));
    uint32_t problems = 1;
    CHECK(hsa_executable_validate(executable, &problems));
    EXPECT(problems == 0);

    uint64_t addresses[FUNCTIONS];
    find_functions(executable, gpu, addresses);
    set_bias(executable, gpu, -7);
    uint64_t *table = allocate(device, sizeof addresses, gpu);
    CHECK(hsa_memory_copy(table, addresses, sizeof addresses));
    int *values = allocate(host, COUNT * sizeof(int), gpu), *results = allocate(host, FUNCTIONS * COUNT * sizeof(int), gpu);
    for (int i = 0; i < COUNT; i++) values[i] = i * 37 - 4000;
    memset(results, 0x55, FUNCTIONS * COUNT * sizeof(int));

    struct Kernel kernel = find_kernel(executable, gpu, "call_all.kd");
    struct {
        uint64_t *table;
        int functions;
        int *values, *results;
        int count;
    } *arguments = allocate(host, kernel.arguments > 64 ? kernel.arguments : 64, gpu);
    memset(arguments, 0, kernel.arguments);
    arguments->table = table, arguments->functions = FUNCTIONS;
    arguments->values = values, arguments->results = results, arguments->count = COUNT;
    dispatch(gpu, kernel, arguments);
    for (int f = 0; f < FUNCTIONS; f++)
        for (int i = 0; i < COUNT; i++)
            if (results[f * COUNT + i] != expected(f, values[i])) {
                fprintf(stderr, "%s(%d) is %d and should be %d\n", NAMES[f], values[i], results[f * COUNT + i], expected(f, values[i]));
                return 1;
            }
    char name[64];
    CHECK(hsa_agent_get_info(gpu, HSA_AGENT_INFO_NAME, name));
    void *all[] = {table, values, results, arguments};
    for (int i = 0; i < 4; i++) CHECK(hsa_amd_memory_pool_free(all[i]));
    CHECK(hsa_executable_destroy(executable));
    CHECK(hsa_shut_down());
    printf("functions: %d functions of another object on %d values on %s\n", FUNCTIONS, COUNT, name);
    return 0;
}
