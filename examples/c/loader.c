/* A runtime that takes code objects in any order, puts them together and makes a table of their device functions: HSA's
 * calls, with device functions among the symbols, what kernels were raised to, and who may call whom.
 *
 *   cc loader.c $(pkg-config --cflags --libs hsaco) -o loader
 *   loader gfx942 kernels.co library.co
 */

#include "file.h"

#include <inttypes.h>

static int add_function(const hsaco_executable *executable, hsaco_executable_symbol symbol, void *data) {
    uint32_t kind = 0, length = 0, object = 0;
    uint64_t address = 0, size = 0;
    char *name;
    (void)data;
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_TYPE, &kind, sizeof kind);
    if (kind != HSACO_EXECUTABLE_SYMBOL_KIND_DEVICE_FUNCTION)
        return 0;
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length, sizeof length);
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_CODE_ADDRESS, &address, sizeof address);
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_CODE_SIZE, &size, sizeof size);
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_LOADED_CODE_OBJECT, &object, sizeof object);
    name = malloc((size_t)length + 1);
    if (name == NULL)
        return 1;
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_NAME, name, length);
    printf("function %.*s at %#" PRIx64 ", %" PRIu64 " bytes, of object %" PRIu32 "\n", (int)length, name, address, size,
           object);
    free(name);
    return 0;
}

static int add_segment(uint64_t address, uint64_t size, const uint8_t *bytes, size_t byte_count, uint32_t permissions,
                       void *data) {
    (void)address, (void)bytes, (void)byte_count, (void)permissions;
    *(uint64_t *)data += size;
    return 0;
}

static void show_raises(const hsaco_executable *executable) {
    const hsaco_raise *raise = NULL;
    for (size_t i = 0; hsaco_executable_raise(executable, i, &raise) == HSACO_STATUS_OK; ++i)
        for (size_t j = 0; j < raise->shortage_count; ++j)
            printf("kernel %s of %s: %s %" PRIu32 " raised to %" PRIu32 " by %s\n", raise->kernel, raise->object,
                   raise->shortages[j]->resource, raise->shortages[j]->allocated, raise->shortages[j]->needed,
                   raise->shortages[j]->path[raise->shortages[j]->path_count - 1]);
}

static void show_calls(const hsaco_executable *executable) {
    hsaco_calls *calls = NULL;
    const hsaco_call *call = NULL;
    hsaco_executable_calls(executable, &calls);
    for (size_t i = 0; hsaco_calls_get(calls, i, &call) == HSACO_STATUS_OK; ++i)
        printf("%s calls %s (%s), %zu candidates\n", call->caller->name, call->callee ? call->callee->name : "?",
               call->evidence, call->candidate_count);
    hsaco_calls_free(calls);
}

int main(int argc, char **argv) {
    hsaco_executable *executable = NULL;
    uint64_t memory = 0;
    int result = 0;
    hsaco_status status;
    if (argc < 3) {
        fprintf(stderr, "usage: loader DEVICE FILE...\n");
        return 2;
    }
    status = hsaco_executable_create(argv[1], &executable);
    if (status != HSACO_STATUS_OK)
        return failed("no executable");
    for (int i = 2; i < argc && result == 0; ++i) {
        size_t size = 0;
        uint8_t *bytes = read_file(argv[i], &size);
        if (bytes == NULL)
            result = 2;
        else {
            status = hsaco_executable_load_code_object(executable, "object", bytes, size, HSACO_UNKNOWN, NULL);
            if (status != HSACO_STATUS_OK)
                result = failed("not loaded");
        }
        free(bytes);
    }
    if (result == 0) {
        status = hsaco_executable_freeze(executable, 0x7f0000000000, true);
        if (status != HSACO_STATUS_OK) {
            uint32_t hsa = 0;
            result = failed("not frozen");
            hsaco_executable_hsa_status(executable, &hsa);
            printf("hsa status %#" PRIx32 "\n", hsa);
        }
    }
    if (result == 0) {
        hsaco_buffer *linked = NULL;
        size_t size = 0;
        const uint8_t *data = NULL;
        hsaco_executable_iterate_symbols(executable, add_function, NULL);
        show_raises(executable);
        show_calls(executable);
        hsaco_executable_iterate_segments(executable, add_segment, &memory);
        hsaco_executable_link(executable, &linked);
        hsaco_buffer_data(linked, &data, &size);
        printf("%" PRIu64 " bytes of memory, linked: %s\n", memory, size > 64 ? "yes" : "no");
        hsaco_buffer_free(linked);
    }
    hsaco_executable_free(executable);
    return result;
}
