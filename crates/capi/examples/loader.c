/* A runtime that takes code objects in any order, puts them together and lists what they have: HSA's calls, and device
 * functions among the symbols.
 *
 *   cc -I crates/capi/include loader.c -L target/debug -lhsaco_c -o loader
 *   loader gfx942 kernels.co library.co
 */

#include <hsaco.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const KINDS[] = {"variable", "kernel", "indirect function", "function", "external", "lds", "absolute"};

static int refused(const char *what) {
    printf("%s: %s\n", what, hsaco_last_error());
    return 1;
}

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        const long end = ftell(file);
        rewind(file);
        *size = end < 0 ? 0 : (size_t)end;
        bytes = malloc(*size + 1);
        if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file != NULL)
        fclose(file);
    return bytes;
}

static hsaco_status show_symbol(const hsaco_executable *executable, hsaco_executable_symbol symbol, void *data) {
    uint32_t kind = 0, length = 0;
    uint64_t address = 0, code = 0;
    char *name = NULL;
    (void)data;
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
    if (kind == HSACO_EXECUTABLE_SYMBOL_KIND_ABSOLUTE)
        return HSACO_STATUS_OK;
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_ADDRESS, &address);
    name = malloc((size_t)length + 1);
    if (name == NULL)
        return HSACO_STATUS_FINDINGS;
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_NAME, name);
    printf("%#" PRIx64 " %s %.*s", address, KINDS[kind], (int)length, name);
    if (hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_CODE_ADDRESS, &code) ==
        HSACO_STATUS_OK)
        printf(", code at %#" PRIx64, code);
    printf("\n");
    free(name);
    return HSACO_STATUS_OK;
}

static hsaco_status add_segment(uint64_t address, uint64_t size, const uint8_t *bytes, size_t byte_count,
                                uint32_t permissions, void *data) {
    (void)address, (void)bytes, (void)byte_count, (void)permissions;
    *(uint64_t *)data += size;
    return HSACO_STATUS_OK;
}

int main(int argc, char **argv) {
    hsaco_executable *executable = NULL;
    uint64_t memory = 0;
    uint8_t *linked = NULL;
    size_t linked_size = 0;
    int result = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: loader DEVICE FILE...\n");
        return 2;
    }
    if (hsaco_executable_create(argv[1], &executable) != HSACO_STATUS_OK)
        return refused("no executable");
    for (int i = 2; i < argc && result == 0; ++i) {
        size_t size = 0;
        uint8_t *bytes = read_file(argv[i], &size);
        if (bytes == NULL)
            result = 2;
        else if (hsaco_executable_load_code_object(executable, "object", bytes, size, UINT64_MAX, NULL) != HSACO_STATUS_OK)
            result = refused("not loaded");
        free(bytes);
    }
    if (result == 0 && hsaco_executable_freeze(executable, 0x7f0000000000, true) != HSACO_STATUS_OK) {
        printf("hsa status %#" PRIx32 "\n", hsaco_executable_hsa_status(executable));
        result = refused("not frozen");
    }
    if (result == 0) {
        hsaco_executable_iterate_symbols(executable, show_symbol, NULL);
        hsaco_executable_iterate_segments(executable, add_segment, &memory);
        hsaco_executable_link(executable, &linked, &linked_size);
        printf("%" PRIu64 " bytes of memory, linked: %s\n", memory, linked != NULL && linked_size > 64 ? "yes" : "no");
        hsaco_bytes_free(linked, linked_size);
    }
    hsaco_executable_destroy(executable);
    return result;
}
