/* A profiler that is told of a dispatch by the name of its kernel: files are indexed when they are loaded, which decodes
 * nothing, and a kernel is decoded when it is first dispatched.
 *
 *   cc profiler.c $(pkg-config --cflags --libs hsaco) -o profiler
 *   profiler gfx942 libkernels.so -- vector_add other
 */

#include "file.h"

#include <inttypes.h>
#include <string.h>

/* What a profiler shows of a dispatch. */
static hsaco_status dispatched(const hsaco_database *database, const char *device, const char *name) {
    hsaco_kernel *kernel = NULL;
    const hsaco_kernel_info *info = NULL;
    size_t count = 0, blocks = 0, loads = 0, stores = 0, lines = 0;
    hsaco_status status = hsaco_database_kernel(database, name, NULL, device, &kernel);
    if (status != HSACO_STATUS_OK)
        return status;
    hsaco_kernel_get_info(kernel, &info);
    hsaco_kernel_instruction_count(kernel, &count);
    hsaco_kernel_block_count(kernel, &blocks);
    hsaco_kernel_line_count(kernel, &lines);
    for (size_t i = 0; i < count; ++i) {
        const hsaco_instruction *instruction = NULL;
        hsaco_kernel_instruction(kernel, i, &instruction);
        loads += instruction->memory_access == HSACO_MEMORY_ACCESS_LOAD;
        stores += instruction->memory_access == HSACO_MEMORY_ACCESS_STORE;
    }
    printf("%s (%s): %zu instructions in %zu blocks, %zu loads, %zu stores, %zu source lines\n", info->demangled,
           info->target, count, blocks, loads, stores, lines);
    for (size_t i = 0; i < lines; ++i) {
        const hsaco_line *line = NULL;
        hsaco_kernel_line(kernel, i, &line);
        printf("  %s:%" PRIu32 ": %zu instructions\n", line->file, line->line, line->instruction_count);
    }
    hsaco_kernel_free(kernel);
    return HSACO_STATUS_OK;
}

static void show_counts(const hsaco_database *database) {
    hsaco_database_counts counts;
    hsaco_database_get_counts(database, &counts);
    printf("%" PRIu64 " kernels in %" PRIu64 " objects, %" PRIu64 " decoded\n", counts.kernels, counts.objects,
           counts.decoded_kernels);
}

int main(int argc, char **argv) {
    hsaco_database *database = NULL;
    hsaco_selection selection;
    hsaco_status status = HSACO_STATUS_OK;
    int i = 2;
    if (argc < 3) {
        fprintf(stderr, "usage: profiler DEVICE FILE... -- KERNEL...\n");
        return 2;
    }
    hsaco_database_create(&database);
    memset(&selection, 0, sizeof selection);
    selection.size = sizeof selection;
    selection.device = argv[1];
    for (; i < argc && strcmp(argv[i], "--") != 0; ++i) {
        status = hsaco_database_add_file(database, argv[i], &selection, NULL);
        if (status != HSACO_STATUS_OK)
            failed("not indexed");
    }
    show_counts(database);
    for (++i; i < argc; ++i) {
        status = dispatched(database, argv[1], argv[i]);
        if (status != HSACO_STATUS_OK)
            failed("not shown");
    }
    show_counts(database);
    hsaco_database_free(database);
    return status == HSACO_STATUS_OK ? 0 : 1;
}
