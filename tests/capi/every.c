/* Calls every function of hsaco.h: as it should be, with null, with a handle that was freed, with one of another kind, with
 * wrong sizes and with text that is none. Nothing but a status may come of it. Run under AddressSanitizer.
 *
 *   every FIXTURES
 */

#include <hsaco.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong = 0;
static const char *state = "";

#define IS(expected, call) is((expected), (call), #call, __LINE__)
#define OK(call) IS(HSACO_STATUS_OK, call)
#define INVALID(call) IS(HSACO_STATUS_INVALID_ARGUMENT, call)

static void is(hsaco_status expected, hsaco_status status, const char *call, int line) {
    if (status == expected)
        return;
    ++wrong;
    printf("%d: %s%s gave \"%s\" (%s), not \"%s\"\n", line, state, call, hsaco_status_name(status), hsaco_last_error(),
           hsaco_status_name(expected));
}

#define TRUE(condition) holds((condition), #condition, __LINE__)

static void holds(bool condition, const char *text, int line) {
    if (!condition) {
        ++wrong;
        printf("%d: %s%s does not hold\n", line, state, text);
    }
}

static const char *folder;

static uint8_t *fixture(const char *name, size_t *size) {
    char path[4096];
    FILE *file;
    uint8_t *bytes = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (file != NULL) {
        fseek(file, 0, SEEK_END);
        *size = (size_t)ftell(file);
        rewind(file);
        /* Exactly as large as the file, so that a read behind its end is found. */
        bytes = malloc(*size);
        if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
            abort();
        fclose(file);
    }
    if (bytes == NULL) {
        printf("%s: cannot be read\n", path);
        exit(2);
    }
    return bytes;
}

/* Every function of a kind of handle, with one that is alive, null, freed, or of another kind. Places for answers are
 * looked at: they hold nothing where a call failed. */

static void buffer(hsaco_buffer *handle, hsaco_status expected) {
    const uint8_t *data = (const uint8_t *)"";
    size_t size = 1;
    IS(expected, hsaco_buffer_data(handle, &data, &size));
    TRUE((data != NULL) == (expected == HSACO_STATUS_OK));
    INVALID(hsaco_buffer_data(handle, NULL, &size));
}

static int stop(hsaco_object *object, uint64_t start, uint64_t end, void *data) {
    hsaco_object_free(object);
    ++*(size_t *)data;
    return start < end;
}

static void database(hsaco_database *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    char path[4096];
    hsaco_database_counts counts;
    hsaco_object *object = NULL;
    hsaco_kernel *kernel = NULL;
    const hsaco_problem *problem = NULL;
    hsaco_selection selection;
    size_t added = 7, ranges = 0, size = 0;
    uint8_t *bytes = fixture("s1.gfx942.co", &size);
    memset(&selection, 0, sizeof selection);
    selection.size = sizeof selection;
    snprintf(path, sizeof path, "%s/lines.dwarf5.co", folder);
    IS(expected, hsaco_database_add_file(handle, path, &selection, &added));
    TRUE(added == (expected == HSACO_STATUS_OK));
    IS(expected, hsaco_database_add_bytes(handle, "s1", bytes, size, NULL, NULL));
    IS(expected, hsaco_database_get_counts(handle, &counts));
    IS(expected, hsaco_database_object(handle, 0, &object));
    IS(expected, hsaco_database_kernel_at(handle, 0, &kernel));
    hsaco_kernel_free(kernel);
    IS(expected, hsaco_database_kernel(handle, "ind", NULL, "gfx942", &kernel));
    hsaco_kernel_free(kernel);
    IS(expected, hsaco_database_kernel_named(handle, "ind", 0, &kernel));
    hsaco_kernel_free(kernel);
    IS(behind, hsaco_database_kernel_named(handle, "ind", 1, &kernel));
    TRUE(kernel == NULL);
    IS(expected == HSACO_STATUS_OK ? HSACO_STATUS_STOPPED : expected,
       hsaco_database_code_of_line(handle, "lines.hip", 5, 0, stop, &ranges));
    IS(behind, hsaco_database_problem(handle, 0, &problem));
    INVALID(hsaco_database_add_file(handle, NULL, NULL, NULL));
    INVALID(hsaco_database_add_bytes(handle, "null", NULL, 5, NULL, NULL));
    INVALID(hsaco_database_add_bytes(handle, NULL, bytes, size, NULL, NULL));
    INVALID(hsaco_database_add_bytes(handle, "\xff", bytes, size, NULL, NULL));
    INVALID(hsaco_database_add_bytes(handle, "huge", bytes, SIZE_MAX, NULL, NULL));
    INVALID(hsaco_database_get_counts(handle, NULL));
    INVALID(hsaco_database_object(handle, 0, NULL));
    INVALID(hsaco_database_kernel_at(handle, 0, NULL));
    INVALID(hsaco_database_kernel(handle, NULL, NULL, NULL, &kernel));
    INVALID(hsaco_database_kernel(handle, "ind", "gfx942", "gfx942", &kernel));
    INVALID(hsaco_database_kernel(handle, "ind", "gfx", NULL, &kernel));
    INVALID(hsaco_database_kernel_named(handle, NULL, 0, &kernel));
    INVALID(hsaco_database_code_of_line(handle, "lines.hip", 5, 0, NULL, NULL));
    INVALID(hsaco_database_problem(handle, 0, NULL));
    selection.size = sizeof selection + 1;
    INVALID(hsaco_database_add_file(handle, path, &selection, &added));
    selection.size = 0;
    INVALID(hsaco_database_add_file(handle, path, &selection, &added));
    if (expected == HSACO_STATUS_OK) {
        IS(HSACO_STATUS_IO, hsaco_database_add_file(handle, "/no/such/file", NULL, NULL));
        IS(HSACO_STATUS_NOT_RECOGNISED, hsaco_database_add_bytes(handle, "text", (const uint8_t *)"text", 4, NULL, NULL));
        IS(HSACO_STATUS_NOT_FOUND, hsaco_database_kernel(handle, "none such", NULL, NULL, &kernel));
        TRUE(counts.kernels == 7 && counts.objects == 2 && counts.decoded_kernels == 0);
        TRUE(ranges == 1);
    }
    hsaco_object_free(object);
    free(bytes);
}

static void object(hsaco_object *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    const hsaco_object_info *info = NULL;
    const hsaco_device_function *function = NULL;
    const hsaco_problem *problem = NULL;
    hsaco_buffer *data = NULL, *text = NULL;
    hsaco_kernel *kernel = NULL;
    IS(expected, hsaco_object_get_info(handle, &info));
    IS(expected, hsaco_object_data(handle, &data));
    IS(expected, hsaco_object_disassembly(handle, &text));
    IS(expected, hsaco_object_kernel(handle, 0, &kernel));
    IS(expected, hsaco_object_function(handle, 0, &function));
    IS(behind, hsaco_object_function(handle, 99, &function));
    TRUE(function == NULL);
    IS(behind, hsaco_object_problem(handle, 0, &problem));
    INVALID(hsaco_object_get_info(handle, NULL));
    INVALID(hsaco_object_data(handle, NULL));
    INVALID(hsaco_object_disassembly(handle, NULL));
    INVALID(hsaco_object_kernel(handle, 0, NULL));
    INVALID(hsaco_object_function(handle, 0, NULL));
    INVALID(hsaco_object_problem(handle, 0, NULL));
    if (expected == HSACO_STATUS_OK)
        TRUE(strcmp(info->target, "gfx942") == 0 && info->kernel_count == 4 && info->number == 0);
    hsaco_buffer_free(data);
    hsaco_buffer_free(text);
    hsaco_kernel_free(kernel);
}

static void kernel(hsaco_kernel *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    const hsaco_kernel_info *info = NULL;
    const hsaco_instruction *instruction = NULL;
    const hsaco_location *location = NULL;
    const hsaco_frame *frame = NULL;
    const hsaco_block *block = NULL;
    const hsaco_line *line = NULL;
    hsaco_object *object = NULL;
    hsaco_buffer *code = NULL;
    hsaco_arguments *arguments = NULL;
    hsaco_layout *layout = NULL;
    hsaco_compact *compact = NULL;
    hsaco_packet_needs needs;
    size_t instructions = 0, blocks = 0, lines = 0;
    const uint8_t data[512] = {0};
    memset(&needs, 0, sizeof needs);
    needs.size = sizeof needs;
    IS(expected, hsaco_kernel_get_info(handle, &info));
    IS(expected, hsaco_kernel_object(handle, &object));
    IS(expected, hsaco_kernel_code(handle, &code));
    IS(expected, hsaco_kernel_instruction_count(handle, &instructions));
    IS(expected, hsaco_kernel_instruction(handle, 0, &instruction));
    IS(behind, hsaco_kernel_instruction(handle, instructions, &instruction));
    TRUE(instruction == NULL);
    IS(expected, hsaco_kernel_location(handle, 0, &location));
    IS(expected, hsaco_kernel_frame(handle, 0, 0, &frame));
    IS(behind, hsaco_kernel_frame(handle, 0, 99, &frame));
    IS(expected, hsaco_kernel_block_count(handle, &blocks));
    IS(expected, hsaco_kernel_block(handle, 0, &block));
    IS(behind, hsaco_kernel_block(handle, SIZE_MAX, &block));
    IS(expected, hsaco_kernel_line_count(handle, &lines));
    IS(expected, hsaco_kernel_line(handle, 0, &line));
    IS(behind, hsaco_kernel_line(handle, lines, &line));
    IS(expected, hsaco_kernel_arguments(handle, HSACO_ARGUMENTS_KEYWORDS, &arguments));
    hsaco_arguments_free(arguments);
    INVALID(hsaco_kernel_arguments(handle, 64, &arguments));
    IS(expected, hsaco_kernel_layout(handle, &layout));
    IS(expected == HSACO_STATUS_OK ? HSACO_STATUS_OK : expected, hsaco_kernel_compact(handle, true, &compact));
    hsaco_compact_free(compact);
    IS(expected == HSACO_STATUS_OK ? HSACO_STATUS_UNSUPPORTED : expected, hsaco_kernel_compact(handle, false, &compact));
    IS(expected, hsaco_kernel_check_prepacked(handle, data, sizeof data, NULL));
    INVALID(hsaco_kernel_check_prepacked(handle, NULL, 8, NULL));
    IS(expected, hsaco_kernel_packet_needs(handle, &needs));
    needs.size = sizeof needs - 8;
    INVALID(hsaco_kernel_packet_needs(handle, &needs));
    INVALID(hsaco_kernel_packet_needs(handle, NULL));
    INVALID(hsaco_kernel_get_info(handle, NULL));
    INVALID(hsaco_kernel_object(handle, NULL));
    INVALID(hsaco_kernel_code(handle, NULL));
    INVALID(hsaco_kernel_instruction_count(handle, NULL));
    INVALID(hsaco_kernel_instruction(handle, 0, NULL));
    INVALID(hsaco_kernel_location(handle, 0, NULL));
    INVALID(hsaco_kernel_frame(handle, 0, 0, NULL));
    INVALID(hsaco_kernel_block_count(handle, NULL));
    INVALID(hsaco_kernel_block(handle, 0, NULL));
    INVALID(hsaco_kernel_line_count(handle, NULL));
    INVALID(hsaco_kernel_line(handle, 0, NULL));
    INVALID(hsaco_kernel_layout(handle, NULL));
    INVALID(hsaco_kernel_compact(handle, true, NULL));
    hsaco_arguments_free(arguments);
    hsaco_layout_free(layout);
    hsaco_buffer_free(code);
    hsaco_object_free(object);
}

static void arguments(hsaco_arguments *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    const hsaco_argument *argument = NULL;
    const char *words = NULL;
    size_t count = 0;
    IS(expected, hsaco_arguments_count(handle, &count));
    IS(expected, hsaco_arguments_get(handle, 0, &argument));
    IS(behind, hsaco_arguments_get(handle, count, &argument));
    IS(behind, hsaco_arguments_disagreement(handle, 0, &words));
    INVALID(hsaco_arguments_count(handle, NULL));
    INVALID(hsaco_arguments_get(handle, 0, NULL));
    INVALID(hsaco_arguments_disagreement(handle, 0, NULL));
}

static void device(hsaco_device *handle, hsaco_status expected) {
    uint32_t value = 0;
    IS(expected, hsaco_device_set_limit(handle, HSACO_DEVICE_LIMIT_LDS, 1234));
    IS(expected, hsaco_device_get_limit(handle, HSACO_DEVICE_LIMIT_LDS, &value));
    TRUE(value == (expected == HSACO_STATUS_OK ? 1234 : 0));
    INVALID(hsaco_device_set_limit(handle, 99, 1));
    INVALID(hsaco_device_get_limit(handle, 99, &value));
    INVALID(hsaco_device_get_limit(handle, HSACO_DEVICE_LIMIT_LDS, NULL));
}

static void report(hsaco_report *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    const hsaco_finding *finding = NULL;
    size_t count = 0;
    IS(expected, hsaco_report_count(handle, &count));
    IS(expected, hsaco_report_finding(handle, 0, &finding));
    IS(behind, hsaco_report_finding(handle, count, &finding));
    INVALID(hsaco_report_count(handle, NULL));
    INVALID(hsaco_report_finding(handle, 0, NULL));
}

static hsaco_launch launch_of(uint32_t work_items, uint32_t workgroup) {
    hsaco_launch launch;
    memset(&launch, 0, sizeof launch);
    launch.size = sizeof launch;
    launch.dimensions = 1;
    launch.work_items[0] = work_items;
    launch.workgroup[0] = workgroup;
    return launch;
}

static void layout(hsaco_layout *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    const uint64_t pointer = 0x1000, other = 0x2000;
    const hsaco_argument_value value = {NULL, (const uint8_t *)&pointer, sizeof pointer};
    const hsaco_layout_info *info = NULL;
    const hsaco_parameter *parameter = NULL;
    hsaco_prepacked prepacked;
    const uint8_t *data = NULL;
    uint8_t *segment = calloc(1, 4096);
    size_t size = 0, left_zero = 0, segment_size = 0;
    uint32_t blocks = 0;
    hsaco_launch launch = launch_of(64, 64);
    IS(expected, hsaco_layout_get_info(handle, &info));
    segment_size = info == NULL ? 0 : info->size;
    IS(expected, hsaco_layout_parameter(handle, 0, &parameter));
    IS(behind, hsaco_layout_parameter(handle, 99, &parameter));
    IS(expected, hsaco_layout_hidden(handle, 0, &parameter));
    IS(behind, hsaco_layout_hidden(handle, 99, &parameter));
    IS(expected, hsaco_layout_blocks(handle, &blocks));
    IS(expected, hsaco_layout_pack(handle, &value, 1, &launch, segment, 4096, &left_zero));
    IS(expected, hsaco_layout_check_prepacked(handle, segment, 8, &prepacked));
    IS(expected, hsaco_layout_write_prepacked(handle, (const uint8_t *)&pointer, 8, &launch, segment, 4096, &left_zero));
    IS(expected, hsaco_layout_replace(handle, 0, (const uint8_t *)&other, 8, segment, 4096));
    IS(expected, hsaco_layout_unpack(handle, segment, 4096, 0, &data, &size));
    if (expected == HSACO_STATUS_OK) {
        TRUE(size == 8 && memcmp(data, &other, 8) == 0);
        OK(hsaco_layout_check_hash(handle, info->hash, sizeof info->hash));
        IS(HSACO_STATUS_TRUNCATED, hsaco_layout_pack(handle, &value, 1, &launch, segment, segment_size - 1, NULL));
        IS(HSACO_STATUS_MISMATCH, hsaco_layout_pack(handle, NULL, 0, &launch, segment, 4096, NULL));
        IS(HSACO_STATUS_TRUNCATED, hsaco_layout_unpack(handle, segment, 4, 0, &data, &size));
        IS(HSACO_STATUS_TRUNCATED, hsaco_layout_replace(handle, 0, (const uint8_t *)&other, 8, segment, 4));
    }
    INVALID(hsaco_layout_check_hash(handle, segment, 15));
    INVALID(hsaco_layout_check_hash(handle, NULL, 16));
    INVALID(hsaco_layout_get_info(handle, NULL));
    INVALID(hsaco_layout_parameter(handle, 0, NULL));
    INVALID(hsaco_layout_hidden(handle, 0, NULL));
    INVALID(hsaco_layout_blocks(handle, NULL));
    INVALID(hsaco_layout_pack(handle, NULL, 1, &launch, segment, 4096, NULL));
    INVALID(hsaco_layout_pack(handle, &value, 1, &launch, NULL, 4096, NULL));
    INVALID(hsaco_layout_check_prepacked(handle, NULL, 8, NULL));
    INVALID(hsaco_layout_write_prepacked(handle, segment, 8, &launch, NULL, 8, NULL));
    INVALID(hsaco_layout_replace(handle, 0, NULL, 8, segment, 4096));
    INVALID(hsaco_layout_unpack(handle, segment, 4096, 0, NULL, NULL));
    launch.size = 3;
    INVALID(hsaco_layout_pack(handle, &value, 1, &launch, segment, 4096, NULL));
    launch = launch_of(64, 64);
    launch.dimensions = 4;
    INVALID(hsaco_layout_pack(handle, &value, 1, &launch, segment, 4096, NULL));
    free(segment);
}

static void compact(hsaco_compact *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    const hsaco_compact_info *info = NULL;
    const hsaco_parameter *parameter = NULL;
    uint64_t binding = 0x1234, unpacked = 0;
    const uint8_t constants[4] = {1, 2, 3, 4};
    uint8_t segment[16], read[4];
    IS(expected, hsaco_compact_get_info(handle, &info));
    IS(behind, hsaco_compact_hidden(handle, 0, &parameter));
    IS(expected, hsaco_compact_pack(handle, &binding, 1, constants, 4, NULL, segment, sizeof segment, NULL));
    IS(expected, hsaco_compact_unpack(handle, segment, sizeof segment, &unpacked, 1, read, 4));
    if (expected == HSACO_STATUS_OK) {
        TRUE(unpacked == binding && memcmp(read, constants, 4) == 0);
        IS(HSACO_STATUS_MISMATCH, hsaco_compact_pack(handle, &binding, 1, constants, 3, NULL, segment, 16, NULL));
        IS(HSACO_STATUS_MISMATCH, hsaco_compact_unpack(handle, segment, sizeof segment, &unpacked, 1, read, 3));
        IS(HSACO_STATUS_TRUNCATED, hsaco_compact_pack(handle, &binding, 1, constants, 4, NULL, segment, 15, NULL));
    }
    INVALID(hsaco_compact_get_info(handle, NULL));
    INVALID(hsaco_compact_hidden(handle, 0, NULL));
    INVALID(hsaco_compact_pack(handle, NULL, 1, constants, 4, NULL, segment, sizeof segment, NULL));
    INVALID(hsaco_compact_unpack(handle, NULL, 16, &unpacked, 1, read, 4));
}

static int count_symbols(const hsaco_executable *executable, hsaco_executable_symbol symbol, void *data) {
    uint32_t kind = 0;
    OK(hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_TYPE, &kind, sizeof kind));
    return ++*(int *)data == 3;
}

static int count_segments(uint64_t address, uint64_t size, const uint8_t *bytes, size_t count, uint32_t permissions,
                          void *data) {
    (void)address, (void)bytes, (void)permissions;
    return count > size || ++*(int *)data < 0;
}

/* A frozen executable, of two objects that belong together. */
static void executable(hsaco_executable *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    const hsaco_status frozen = expected == HSACO_STATUS_OK ? HSACO_STATUS_FINDINGS : expected;
    hsaco_executable_symbol symbol = {7};
    hsaco_address_info info;
    hsaco_calls *calls = NULL;
    hsaco_buffer *linked = NULL;
    const hsaco_raise *raise = NULL;
    const char *words = NULL;
    uint64_t address = 0;
    uint32_t status = 0;
    int symbols = 0, segments = 0;
    size_t size = 0;
    uint8_t *bytes = fixture("s1.gfx942.co", &size);
    IS(frozen, hsaco_executable_define_variable(handle, "variable", 0x1000, 8));
    IS(frozen, hsaco_executable_define_function(handle, "function", 0x2000));
    IS(frozen, hsaco_executable_load_code_object(handle, "s1", bytes, size, HSACO_UNKNOWN, NULL));
    IS(frozen, hsaco_executable_freeze(handle, 0x1000, true));
    IS(expected, hsaco_executable_hsa_status(handle, &status));
    TRUE((status == 0x1012) == (expected == HSACO_STATUS_OK));
    IS(expected, hsaco_executable_get_symbol_by_name(handle, "apply", &symbol));
    TRUE((symbol.handle != 0) == (expected == HSACO_STATUS_OK));
    IS(expected == HSACO_STATUS_OK ? HSACO_STATUS_STOPPED : expected,
       hsaco_executable_iterate_symbols(handle, count_symbols, &symbols));
    IS(expected, hsaco_executable_iterate_segments(handle, count_segments, &segments));
    IS(expected, hsaco_executable_symbol_get_info(handle, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &address,
                                                  sizeof address));
    INVALID(hsaco_executable_symbol_get_info(handle, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &address, 4));
    INVALID(hsaco_executable_symbol_get_info(handle, symbol, 999, &address, sizeof address));
    INVALID(hsaco_executable_symbol_get_info(handle, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_NAME, NULL, 8));
    INVALID(hsaco_executable_symbol_get_info(handle, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_NAME, &address, 3));
    IS(expected, hsaco_executable_locate(handle, address, &info));
    IS(behind, hsaco_executable_locate(handle, 1, &info));
    IS(expected, hsaco_executable_raise(handle, 0, &raise));
    IS(behind, hsaco_executable_raise(handle, 99, &raise));
    IS(behind, hsaco_executable_remark(handle, 99, &words));
    IS(expected, hsaco_executable_calls(handle, &calls));
    IS(expected, hsaco_executable_link(handle, &linked));
    INVALID(hsaco_executable_define_variable(handle, NULL, 0, 8));
    INVALID(hsaco_executable_define_function(handle, NULL, 0));
    INVALID(hsaco_executable_load_code_object(handle, "s1", NULL, 8, HSACO_UNKNOWN, NULL));
    INVALID(hsaco_executable_hsa_status(handle, NULL));
    INVALID(hsaco_executable_get_symbol_by_name(handle, NULL, &symbol));
    INVALID(hsaco_executable_get_symbol_by_name(handle, "apply", NULL));
    INVALID(hsaco_executable_iterate_symbols(handle, NULL, NULL));
    INVALID(hsaco_executable_iterate_segments(handle, NULL, NULL));
    INVALID(hsaco_executable_locate(handle, 1, NULL));
    INVALID(hsaco_executable_raise(handle, 0, NULL));
    INVALID(hsaco_executable_remark(handle, 0, NULL));
    INVALID(hsaco_executable_calls(handle, NULL));
    INVALID(hsaco_executable_link(handle, NULL));
    hsaco_calls_free(calls);
    hsaco_buffer_free(linked);
    free(bytes);
}

static void calls(hsaco_calls *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    const hsaco_call *call = NULL;
    size_t count = 0;
    IS(expected, hsaco_calls_count(handle, &count));
    IS(expected, hsaco_calls_get(handle, 0, &call));
    IS(behind, hsaco_calls_get(handle, count, &call));
    INVALID(hsaco_calls_count(handle, NULL));
    INVALID(hsaco_calls_get(handle, 0, NULL));
}

static void patcher(hsaco_patcher *handle, hsaco_status expected) {
    hsaco_patched *patched = NULL;
    size_t size = 0;
    uint8_t *bytes = fixture("steppings.co", &size);
    IS(expected, hsaco_patcher_patch(handle, bytes, size, &patched));
    hsaco_patched_free(patched);
    IS(expected, hsaco_patcher_edit(handle, "count", "entries"));
    /* Both the rules and the counter want to change the first instructions: refused, with reasons. */
    IS(expected == HSACO_STATUS_OK ? HSACO_STATUS_FINDINGS : expected, hsaco_patcher_patch(handle, bytes, size, &patched));
    hsaco_patched_free(patched);
    INVALID(hsaco_patcher_edit(handle, "improve", "all"));
    INVALID(hsaco_patcher_edit(handle, "replace", "0x1900"));
    INVALID(hsaco_patcher_edit(handle, NULL, "entries"));
    INVALID(hsaco_patcher_edit(handle, "count", NULL));
    INVALID(hsaco_patcher_patch(handle, NULL, 8, &patched));
    INVALID(hsaco_patcher_patch(handle, bytes, size, NULL));
    if (expected == HSACO_STATUS_OK)
        IS(HSACO_STATUS_NOT_RECOGNISED, hsaco_patcher_patch(handle, (const uint8_t *)"text", 4, &patched));
    hsaco_patched_free(patched);
    free(bytes);
}

static void patched(hsaco_patched *handle, hsaco_status expected) {
    hsaco_patch_verdict verdict = HSACO_PATCH_VERDICT_UNCHANGED;
    hsaco_buffer *data = NULL, *manifest = NULL;
    const char *text = NULL;
    IS(expected, hsaco_patched_verdict(handle, &verdict));
    TRUE(verdict == (expected == HSACO_STATUS_OK ? HSACO_PATCH_VERDICT_CHANGED : HSACO_PATCH_VERDICT_REFUSED));
    IS(expected, hsaco_patched_data(handle, &data));
    IS(expected, hsaco_patched_manifest(handle, &manifest));
    IS(expected, hsaco_patched_summary(handle, &text));
    INVALID(hsaco_patched_verdict(handle, NULL));
    INVALID(hsaco_patched_data(handle, NULL));
    INVALID(hsaco_patched_manifest(handle, NULL));
    INVALID(hsaco_patched_summary(handle, NULL));
    hsaco_buffer_free(data);
    hsaco_buffer_free(manifest);
}

static void listing(hsaco_listing *handle, hsaco_status expected) {
    const hsaco_status behind = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    const hsaco_instruction *instruction = NULL;
    size_t count = 0;
    IS(expected, hsaco_listing_count(handle, &count));
    IS(expected, hsaco_listing_instruction(handle, 1, &instruction));
    if (expected == HSACO_STATUS_OK) {
        TRUE(count == 2 && strcmp(instruction->text, "v_add_f32_e32 v0, v1, v2") == 0 && instruction->read_count >= 2);
        TRUE(strcmp(instruction->base_mnemonic, "v_add_f32") == 0 && instruction->operand_count == 3);
        TRUE(instruction->writes[0].file == HSACO_REGISTER_FILE_VGPR && strcmp(instruction->writes[0].name, "v0") == 0);
    }
    IS(behind, hsaco_listing_instruction(handle, 2, &instruction));
    INVALID(hsaco_listing_count(handle, NULL));
    INVALID(hsaco_listing_instruction(handle, 0, NULL));
}

static void hear(const uint8_t *text, size_t size, int is_error, void *data) {
    (void)text, (void)is_error;
    *(size_t *)data += size;
}

static void emulator(hsaco_emulator *handle, hsaco_executable *program, hsaco_status expected) {
    const hsaco_status stopped = expected == HSACO_STATUS_OK ? HSACO_STATUS_FINDINGS : expected;
    const hsaco_status missing = expected == HSACO_STATUS_OK ? HSACO_STATUS_NOT_FOUND : expected;
    uint32_t out[64] = {0}, read[4] = {0};
    hsaco_call_value argument = {(uint8_t *)out, sizeof out, 1}, twice[2];
    hsaco_run_outcome outcome;
    hsaco_run_options options;
    hsaco_launch launch = launch_of(64, 64);
    uint64_t address = 0;
    size_t heard = 0;
    launch.dynamic_lds = 256;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.print = hear;
    options.data = &heard;
    IS(expected, hsaco_emulator_load(handle, program));
    IS(expected, hsaco_emulator_call(handle, program, "reverse", &launch, &argument, 1, &options, &outcome));
    TRUE(out[0] == (expected == HSACO_STATUS_OK ? 63 : 0));
    IS(expected, hsaco_emulator_allocate(handle, 256, &address));
    IS(expected, hsaco_emulator_write(handle, address, (const uint8_t *)out, sizeof out));
    IS(expected, hsaco_emulator_dispatch(handle, program, "reverse", &launch, (const uint8_t *)&address, sizeof address,
                                         NULL, &outcome));
    IS(expected, hsaco_emulator_read(handle, address, (uint8_t *)read, sizeof read));
    IS(expected, hsaco_emulator_release(handle, address));
    IS(missing, hsaco_emulator_release(handle, address));
    IS(stopped, hsaco_emulator_read(handle, 16, (uint8_t *)read, sizeof read));
    IS(stopped, hsaco_emulator_write(handle, 16, (const uint8_t *)out, sizeof out));
    IS(stopped, hsaco_emulator_call(handle, program, "none such", &launch, &argument, 1, NULL, NULL));
    IS(stopped, hsaco_emulator_call(handle, program, "reverse", &launch, NULL, 0, NULL, NULL));
    IS(stopped, hsaco_emulator_dispatch(handle, program, "reverse", &launch, NULL, 0, NULL, NULL));
    argument.size = 16;
    IS(stopped, hsaco_emulator_call(handle, program, "reverse", &launch, &argument, 1, NULL, NULL));
    argument.size = sizeof out;
    options.max_instructions = 1;
    IS(stopped, hsaco_emulator_call(handle, program, "reverse", &launch, &argument, 1, &options, NULL));
    twice[0] = twice[1] = argument;
    INVALID(hsaco_emulator_call(handle, program, "reverse", &launch, twice, 2, NULL, NULL));
    argument.is_memory = 9;
    INVALID(hsaco_emulator_call(handle, program, "reverse", &launch, &argument, 1, NULL, NULL));
    options.size = 1;
    INVALID(hsaco_emulator_call(handle, program, "reverse", &launch, &argument, 1, &options, NULL));
    INVALID(hsaco_emulator_call(handle, program, NULL, &launch, &argument, 1, NULL, NULL));
    INVALID(hsaco_emulator_call(handle, program, "reverse", NULL, &argument, 1, NULL, NULL));
    INVALID(hsaco_emulator_call(handle, NULL, "reverse", &launch, twice, 1, NULL, NULL));
    INVALID(hsaco_emulator_dispatch(handle, program, "reverse", &launch, NULL, 8, NULL, NULL));
    INVALID(hsaco_emulator_load(handle, NULL));
    INVALID(hsaco_emulator_allocate(handle, 8, NULL));
    INVALID(hsaco_emulator_read(handle, address, NULL, 8));
    INVALID(hsaco_emulator_write(handle, address, NULL, 8));
}

/* Functions without a handle. */
static void functions(void) {
    size_t size = 0, length = 0;
    uint8_t *bytes = fixture("s1.gfx942.co", &size), packet[64], one = 0;
    hsaco_buffer *text = NULL, *code = NULL, *name = NULL;
    hsaco_listing *listing = NULL;
    hsaco_database *no_database = NULL;
    hsaco_device *no_device = NULL;
    hsaco_executable *no_executable = NULL;
    hsaco_emulator *no_emulator = NULL;
    hsaco_patcher *no_patcher = NULL;
    hsaco_layout *no_layout = NULL;
    hsaco_compact *no_compact = NULL;
    hsaco_report *found = NULL;
    hsaco_patched *patched = NULL;
    hsaco_check_options options;
    hsaco_packet_needs needs;
    hsaco_packet_info info;
    hsaco_launch launch = launch_of(64, 64);
    const char *setting = "foo.vgpr_count=77", *rule = "lds-limit", *unknown = "no-such-rule", *none = NULL;
    const hsaco_declared_argument nameless = {NULL, 0, 8, NULL};
    uint32_t number = 0;
    uint16_t words = 0;

    TRUE(strcmp(hsaco_status_name(HSACO_STATUS_TRUNCATED), "truncated") == 0 && strcmp(hsaco_status_name(77), "unknown") == 0);
    TRUE(strchr(hsaco_version(), '.') != NULL);
    OK(hsaco_demangle("_Z3fooi", &text));
    hsaco_buffer_free(text);
    INVALID(hsaco_demangle(NULL, &text));
    INVALID(hsaco_demangle("foo", NULL));

    OK(hsaco_elf_size(bytes, SIZE_MAX, &length));
    TRUE(length == size);
    OK(hsaco_elf_size(bytes, size, &length));
    IS(HSACO_STATUS_TRUNCATED, hsaco_elf_size(bytes, size - 1, &length));
    IS(HSACO_STATUS_TRUNCATED, hsaco_elf_size(bytes, 63, &length));
    TRUE(length == 0);
    IS(HSACO_STATUS_NOT_RECOGNISED, hsaco_elf_size(bytes + 1, size - 1, &length));
    INVALID(hsaco_elf_size(NULL, size, &length));
    INVALID(hsaco_elf_size(bytes, size, NULL));

    OK(hsaco_check(bytes, size, "gfx942", NULL));
    IS(HSACO_STATUS_FINDINGS, hsaco_check(bytes, size, "gfx950", &found));
    TRUE(found != NULL);
    hsaco_report_free(found);
    INVALID(hsaco_check(NULL, 5, "gfx942", &found));
    INVALID(hsaco_check(bytes, size, NULL, &found));
    INVALID(hsaco_check(bytes, size, "no such device", &found));
    TRUE(found == NULL);
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    OK(hsaco_check_with(bytes, size, &options, NULL));
    options.select = &rule;
    options.select_count = 1;
    OK(hsaco_check_with(bytes, size, &options, NULL));
    options.select = &unknown;
    INVALID(hsaco_check_with(bytes, size, &options, NULL));
    options.select = &none;
    INVALID(hsaco_check_with(bytes, size, &options, NULL));
    options.select = NULL;
    INVALID(hsaco_check_with(bytes, size, &options, NULL));
    options.select_count = 0;
    options.flags = 1u << 31;
    INVALID(hsaco_check_with(bytes, size, &options, NULL));
    options.size += 8;
    INVALID(hsaco_check_with(bytes, size, &options, NULL));
    INVALID(hsaco_check_with(bytes, size, NULL, NULL));

    OK(hsaco_kernarg_blocks(65, 16, &number));
    OK(hsaco_command_words(9, &words));
    OK(hsaco_group_segment(1, 2, 3, &number));
    TRUE(words == 2 && number == 3);
    INVALID(hsaco_kernarg_blocks(65, 16, NULL));
    INVALID(hsaco_command_words(9, NULL));
    INVALID(hsaco_group_segment(1, 2, 3, NULL));

    memset(&needs, 0, sizeof needs);
    needs.size = sizeof needs;
    needs.kernel_object = 0x1000;
    needs.kernarg_address = 0x2000;
    OK(hsaco_packet_dispatch(&launch, &needs, packet, sizeof packet));
    OK(hsaco_packet_decode(packet, sizeof packet, &info));
    TRUE(info.kind == 2 && info.grid[0] == 64 && info.kernel_object == 0x1000);
    packet[63] = 1, packet[10] = 1;
    IS(HSACO_STATUS_FINDINGS, hsaco_packet_decode(packet, sizeof packet, &info));
    INVALID(hsaco_packet_dispatch(&launch, &needs, packet, 63));
    INVALID(hsaco_packet_dispatch(NULL, &needs, packet, sizeof packet));
    INVALID(hsaco_packet_dispatch(&launch, NULL, packet, sizeof packet));
    INVALID(hsaco_packet_dispatch(&launch, &needs, NULL, 64));
    needs.acquire = 3;
    INVALID(hsaco_packet_dispatch(&launch, &needs, packet, sizeof packet));
    INVALID(hsaco_packet_decode(packet, 65, &info));
    INVALID(hsaco_packet_decode(NULL, 64, &info));
    INVALID(hsaco_packet_decode(packet, 64, NULL));

    OK(hsaco_rule_set(0, &name));
    hsaco_buffer_free(name);
    IS(HSACO_STATUS_NOT_FOUND, hsaco_rule_set(99, &name));
    INVALID(hsaco_rule_set(0, NULL));
    OK(hsaco_patch_set(bytes, size, &setting, 1, &patched));
    hsaco_patched_free(patched);
    INVALID(hsaco_patch_set(bytes, size, &unknown, 1, &patched));
    INVALID(hsaco_patch_set(bytes, size, NULL, 0, &patched));
    INVALID(hsaco_patch_set(bytes, size, NULL, 1, &patched));
    IS(HSACO_STATUS_MALFORMED, hsaco_patch_verify(bytes, size, bytes, size, (const uint8_t *)"{}", 2));
    INVALID(hsaco_patch_verify(NULL, 8, bytes, size, bytes, size));
    INVALID(hsaco_patcher_create("no-such-rules", NULL, 0, &no_patcher));
    INVALID(hsaco_patcher_create("gfx1250-b0-to-a0", &unknown, 1, &no_patcher));
    INVALID(hsaco_patcher_create(NULL, NULL, 0, &no_patcher));
    INVALID(hsaco_patcher_create("gfx1250-b0-to-a0", NULL, 0, NULL));

    OK(hsaco_assemble("s_nop 0\nv_add_f32 v0, v1, v2 // sum", "gfx942", &code));
    hsaco_buffer_free(code);
    IS(HSACO_STATUS_MALFORMED, hsaco_assemble("s_nop 0\nv_bad v0", "gfx942", &code));
    TRUE(strncmp(hsaco_last_error(), "2:1: ", 5) == 0);
    INVALID(hsaco_assemble(NULL, "gfx942", &code));
    INVALID(hsaco_assemble("s_nop 0", "gfx", &code));
    INVALID(hsaco_assemble("s_nop 0", "gfx942", NULL));
    INVALID(hsaco_disassemble(NULL, 4, "gfx942", 0, &listing));
    INVALID(hsaco_disassemble(&one, 1, NULL, 0, &listing));
    INVALID(hsaco_disassemble(&one, 1, "gfx942", UINT64_MAX, &listing));
    OK(hsaco_disassemble(NULL, 0, "gfx942", 0, &listing));
    hsaco_listing_free(listing);
    OK(hsaco_disassemble(&one, 1, "gfx942", 0, &listing));
    hsaco_listing_free(listing);

    INVALID(hsaco_database_create(NULL));
    INVALID(hsaco_device_create(NULL, &no_device));
    INVALID(hsaco_device_create("no such device", &no_device));
    INVALID(hsaco_executable_create("gfx", &no_executable));
    INVALID(hsaco_executable_create(NULL, NULL));
    INVALID(hsaco_emulator_create("gfx", 1 << 20, &no_emulator));
    INVALID(hsaco_emulator_create("gfx942", 1 << 20, NULL));
    INVALID(hsaco_layout_create(8, 8, NULL, 1, &no_layout));
    INVALID(hsaco_layout_create(8, 8, &nameless, 1, &no_layout));
    INVALID(hsaco_layout_create(8, 8, &nameless, 0, NULL));
    INVALID(hsaco_compact_create(8, 8, NULL, 1, true, &no_compact));
    INVALID(hsaco_compact_create(8, 8, &nameless, 0, true, NULL));
    TRUE(no_database == NULL && no_device == NULL && no_executable == NULL && no_emulator == NULL && no_layout == NULL);
    free(bytes);
}

/* Every function of a kind of handle: with one that is alive, and null, and of another kind, and freed. */
#define EVERY(functions, type, handle, other)                                                                                  \
    do {                                                                                                                       \
        state = "alive: ";                                                                                                     \
        functions(handle, HSACO_STATUS_OK);                                                                                    \
        state = "null: ";                                                                                                      \
        functions(NULL, HSACO_STATUS_INVALID_ARGUMENT);                                                                        \
        OK(type##_free(NULL));                                                                                                 \
        state = "another kind: ";                                                                                              \
        functions((type *)(other), HSACO_STATUS_INVALID_ARGUMENT);                                                             \
        INVALID(type##_free((type *)(other)));                                                                                 \
        state = "never a handle: ";                                                                                            \
        functions((type *)(uintptr_t)0x5eed5eed, HSACO_STATUS_INVALID_ARGUMENT);                                               \
        state = "freed: ";                                                                                                     \
        OK(type##_free(handle));                                                                                               \
        functions(handle, HSACO_STATUS_INVALID_ARGUMENT);                                                                      \
        INVALID(type##_free(handle));                                                                                          \
        state = "";                                                                                                            \
    } while (0)

static hsaco_executable *program;

static void emulator_of_program(hsaco_emulator *handle, hsaco_status expected) { emulator(handle, program, expected); }

static hsaco_executable *frozen(const char *one, const char *other) {
    hsaco_executable *made = NULL;
    const char *const names[] = {one, other};
    OK(hsaco_executable_create("gfx942", &made));
    for (size_t i = 0; i < 2 && names[i] != NULL; ++i) {
        size_t size = 0;
        uint8_t *bytes = fixture(names[i], &size);
        OK(hsaco_executable_load_code_object(made, names[i], bytes, size, HSACO_UNKNOWN, NULL));
        free(bytes);
    }
    OK(hsaco_executable_freeze(made, 0x7f0000000000, true));
    return made;
}

int main(int argc, char **argv) {
    const hsaco_declared_argument declared[] = {{NULL, 0, 8, "global_buffer"}, {NULL, 8, 4, "by_value"}};
    hsaco_database *a_database = NULL, *files = NULL;
    hsaco_object *an_object = NULL;
    hsaco_kernel *a_kernel = NULL, *ind = NULL;
    hsaco_buffer *a_buffer = NULL;
    hsaco_arguments *some_arguments = NULL;
    hsaco_device *a_device = NULL;
    hsaco_report *a_report = NULL;
    hsaco_layout *a_layout = NULL;
    hsaco_compact *a_compact = NULL;
    hsaco_executable *an_executable = NULL;
    hsaco_calls *some_calls = NULL;
    hsaco_patcher *a_patcher = NULL;
    hsaco_patched *a_result = NULL;
    hsaco_listing *a_listing = NULL;
    hsaco_emulator *an_emulator = NULL;
    char path[4096];
    size_t size = 0;
    uint8_t *bytes;
    const uint8_t *code = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: every FIXTURES\n");
        return 2;
    }
    folder = argv[1];
    snprintf(path, sizeof path, "%s/lines.dwarf5.co", folder);
    functions();

    OK(hsaco_database_create(&files));
    OK(hsaco_database_add_file(files, path, NULL, NULL));
    bytes = fixture("s1.gfx942.co", &size);
    OK(hsaco_database_add_bytes(files, "s1", bytes, size, NULL, NULL));
    IS(HSACO_STATUS_FINDINGS, hsaco_check(bytes, size, "gfx950", &a_report));
    free(bytes);
    OK(hsaco_database_object(files, 0, &an_object));
    OK(hsaco_database_kernel_at(files, 0, &a_kernel));
    OK(hsaco_database_kernel(files, "ind", NULL, NULL, &ind));
    OK(hsaco_kernel_arguments(a_kernel, 0, &some_arguments));
    OK(hsaco_kernel_layout(ind, &a_layout));
    OK(hsaco_compact_create(16, 8, declared, 2, true, &a_compact));
    OK(hsaco_device_create("gfx942", &a_device));
    an_executable = frozen("scale-user.co", "scale-library.co");
    OK(hsaco_executable_calls(an_executable, &some_calls));
    OK(hsaco_patcher_create("gfx1250-b0-to-a0", NULL, 0, &a_patcher));
    bytes = fixture("steppings.co", &size);
    OK(hsaco_patcher_patch(a_patcher, bytes, size, &a_result));
    free(bytes);
    OK(hsaco_assemble("s_nop 0\nv_add_f32 v0, v1, v2", "gfx942", &a_buffer));
    OK(hsaco_buffer_data(a_buffer, &code, &size));
    OK(hsaco_disassemble(code, size, "gfx942", 0x100, &a_listing));
    OK(hsaco_emulator_create("gfx942", 1 << 28, &an_emulator));
    program = frozen("run.gfx942.co", NULL);
    OK(hsaco_database_create(&a_database));

    EVERY(database, hsaco_database, a_database, a_device);
    EVERY(object, hsaco_object, an_object, a_device);
    EVERY(arguments, hsaco_arguments, some_arguments, a_device);
    EVERY(layout, hsaco_layout, a_layout, a_device);
    EVERY(compact, hsaco_compact, a_compact, a_device);
    EVERY(report, hsaco_report, a_report, a_device);
    EVERY(calls, hsaco_calls, some_calls, a_device);
    EVERY(executable, hsaco_executable, an_executable, a_device);
    EVERY(patcher, hsaco_patcher, a_patcher, a_device);
    EVERY(patched, hsaco_patched, a_result, a_device);
    EVERY(listing, hsaco_listing, a_listing, a_device);
    EVERY(emulator_of_program, hsaco_emulator, an_emulator, a_device);
    EVERY(device, hsaco_device, a_device, files);
    /* Kernels outlive their database. */
    OK(hsaco_database_free(files));
    EVERY(kernel, hsaco_kernel, a_kernel, program);
    EVERY(buffer, hsaco_buffer, a_buffer, program);
    OK(hsaco_kernel_free(ind));
    OK(hsaco_executable_free(program));
    TRUE(hsaco_live_handles() == 0);
    TRUE(*hsaco_last_error() == '\0' || strstr(hsaco_last_error(), "fault") == NULL);
    printf("%s\n", wrong == 0 ? "all as it should be" : "wrong");
    return wrong == 0 ? 0 : 1;
}
