/* A runtime that dispatches what its callers have packed, as hrx does: the buffer is checked against the kernel's own
 * layout, hidden arguments are filled in, an AQL packet is made, and the kernel runs (here on the emulator). What the
 * review of hrx's first version found is checked before: docs/c.md tells what each finding is.
 *
 *   cc dispatch.c $(pkg-config --cflags --libs hsaco) -o dispatch
 *   dispatch run.gfx942.co two-notes.co s1.no-note.co s1.gfx942.co
 */

#include "file.h"

#include <inttypes.h>
#include <string.h>

static int broken = 0;

static void finding(const char *id, const char *what, bool holds) {
    printf("%-4s%s%s\n", id, holds ? "" : "DOES NOT HOLD: ", what);
    broken += !holds;
}

#define POINTER "global_buffer"
#define VALUE "by_value"
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* How laying out declared arguments ends; the layout is freed. */
static hsaco_status lay_out(uint64_t size, uint64_t alignment, const hsaco_declared_argument *arguments, size_t count) {
    hsaco_layout *layout = NULL;
    const hsaco_status status = hsaco_layout_create(size, alignment, arguments, count, &layout);
    hsaco_layout_free(layout);
    return status;
}

static bool message_has(const char *word) { return strstr(hsaco_last_error(), word) != NULL; }

/* Both projections of dense arguments; a raw object is the caller's to pack. */
static void projections(void) {
    const hsaco_declared_argument dense[] = {
        {NULL, 0, 8, POINTER}, {NULL, 8, 8, POINTER}, {NULL, 16, 4, VALUE}, {NULL, 20, 4, VALUE}};
    const hsaco_declared_argument sparse[] = {
        {NULL, 0, 2, VALUE}, {NULL, 8, 8, POINTER}, {NULL, 20, 6, VALUE}, {NULL, 32, 8, POINTER}};
    const uint32_t dense_offsets[] = {0, 8, 16, 20}, sparse_offsets[] = {0, 8, 20, 32};
    const hsaco_compact_info *info = NULL;
    const hsaco_layout_info *native_info = NULL;
    const hsaco_parameter *parameter = NULL;
    hsaco_compact *compact = NULL;
    hsaco_layout *native = NULL;
    bool holds;

    hsaco_compact_create(24, 8, dense, 4, true, &compact);
    hsaco_layout_create(24, 8, dense, 4, &native);
    hsaco_compact_get_info(compact, &info);
    holds = info->binding_count == 2 && info->bindings[0] == 0 && info->bindings[1] == 1 && info->constant_size == 8 &&
            info->span_count == 2 && info->spans[1].target == 20 && info->spans[1].source == 4 && !info->needs_zero_fill;
    for (size_t i = 0; i < 4; ++i)
        holds = holds && hsaco_layout_parameter(native, i, &parameter) == HSACO_STATUS_OK &&
                parameter->offset == dense_offsets[i];
    finding("K1", "two bindings and 8 bytes of constants, never 6 words of segment", holds);
    hsaco_layout_get_info(native, &native_info);
    finding("K18", "where pointers stand is known",
            native_info->pointer_slot_count == 2 && native_info->pointer_slots[0] == 0 && native_info->pointer_slots[1] == 8);
    hsaco_compact_free(compact);
    hsaco_layout_free(native);

    hsaco_compact_create(40, 8, sparse, 4, true, &compact);
    hsaco_layout_create(40, 8, sparse, 4, &native);
    hsaco_compact_get_info(compact, &info);
    holds = info->binding_count == 2 && info->bindings[0] == 1 && info->bindings[1] == 4 && info->constant_size == 8 &&
            info->spans[1].target == 20 && info->spans[1].source == 2 && info->spans[1].length == 6 && info->needs_zero_fill;
    for (size_t i = 0; i < 4; ++i)
        holds = holds && hsaco_layout_parameter(native, i, &parameter) == HSACO_STATUS_OK &&
                parameter->offset == sparse_offsets[i];
    finding("K2", "sparse arguments have native offsets and dense constants", holds);
    hsaco_compact_free(compact);
    hsaco_layout_free(native);

    holds = hsaco_compact_create(24, 8, dense, 4, false, &compact) == HSACO_STATUS_UNSUPPORTED &&
            message_has("custom-direct only");
    finding("K3", "without a marker the runtime does not pack", holds);
}

/* Buffers that callers have packed. */
static void prepacked_lengths(void) {
    const hsaco_declared_argument two[] = {{NULL, 0, 8, POINTER}, {NULL, 8, 8, POINTER}};
    const hsaco_declared_argument short_last[] = {{NULL, 0, 8, POINTER}, {NULL, 8, 4, VALUE}};
    const uint8_t data[32] = {0};
    hsaco_prepacked odd;
    hsaco_layout *layout = NULL;
    bool holds;
    hsaco_layout_create(16, 8, two, 2, &layout);
    holds = hsaco_layout_check_prepacked(layout, data, 16, &odd) == HSACO_STATUS_OK && odd.surplus == 0 &&
            hsaco_layout_check_prepacked(layout, data, 24, &odd) == HSACO_STATUS_OK && odd.used == 16 && odd.surplus == 8 &&
            hsaco_layout_check_prepacked(layout, data, 8, &odd) == HSACO_STATUS_TRUNCATED &&
            hsaco_layout_check_prepacked(layout, data, 0, &odd) == HSACO_STATUS_TRUNCATED;
    finding("K5", "a length without an address is refused",
            hsaco_layout_check_prepacked(layout, NULL, 4, &odd) == HSACO_STATUS_INVALID_ARGUMENT);
    finding("K19", "no bytes for a kernel with arguments are refused before any read",
            hsaco_layout_check_prepacked(layout, NULL, 0, &odd) == HSACO_STATUS_TRUNCATED);
    hsaco_layout_free(layout);
    hsaco_layout_create(16, 8, short_last, 2, &layout);
    holds = holds && hsaco_layout_check_prepacked(layout, data, 12, &odd) == HSACO_STATUS_OK && odd.padding == 4 &&
            hsaco_layout_check_prepacked(layout, data, 9, &odd) == HSACO_STATUS_TRUNCATED;
    hsaco_layout_free(layout);
    finding("K4", "padding may be missing, bytes of arguments may not", holds);
}

/* Rings of blocks, command buffers, LDS: no number wraps. */
static void arithmetic(void) {
    const uint64_t sizes[] = {0, 1, 64, 65, 128};
    const uint32_t wanted[] = {1, 1, 1, 2, 2};
    const hsaco_declared_argument one[] = {{NULL, 0, 8, POINTER}};
    const hsaco_declared_argument wide[] = {{NULL, 0, 70000, VALUE}};
    const hsaco_declared_argument beyond[] = {{NULL, 0, 448, VALUE}};
    const hsaco_layout_info *info = NULL;
    hsaco_layout *layout = NULL;
    uint32_t blocks = 0, lds = 0;
    uint16_t words = 0;
    bool holds = true;
    for (size_t i = 0; i < COUNT(sizes); ++i)
        holds = holds && hsaco_kernarg_blocks(sizes[i], 16, &blocks) == HSACO_STATUS_OK && blocks == wanted[i];
    finding("K6", "0, 1, 64, 65, 128 bytes are 1, 1, 1, 2, 2 blocks", holds);
    finding("K7", "more blocks than 32 bits count are out of range",
            hsaco_kernarg_blocks(UINT64_C(64) << 32, 16, &blocks) == HSACO_STATUS_LIMIT_EXCEEDED &&
                hsaco_kernarg_blocks(UINT64_MAX, 16, &blocks) == HSACO_STATUS_LIMIT_EXCEEDED &&
                hsaco_kernarg_blocks(64 * UINT64_C(0xffffffff), 16, &blocks) == HSACO_STATUS_OK && blocks == 0xffffffff);
    hsaco_layout_create(70000, 8, wide, 1, &layout);
    hsaco_layout_get_info(layout, &info);
    finding("K26", "a segment of 70000 bytes has 70000", info->size == 70000);
    hsaco_layout_free(layout);
    hsaco_layout_create(8, 128, one, 1, &layout);
    finding("K27", "an alignment of 3 is none, one of 128 is none of a ring",
            lay_out(8, 3, one, 1) == HSACO_STATUS_MALFORMED &&
                hsaco_layout_blocks(layout, &blocks) == HSACO_STATUS_LIMIT_EXCEEDED);
    hsaco_layout_free(layout);
    finding("K28", "static and dynamic LDS together stay below the limit",
            hsaco_group_segment(1000, 65536 - 1000, 65536, &lds) == HSACO_STATUS_OK && lds == 65536 &&
                hsaco_group_segment(1000, 65536 - 999, 65536, &lds) == HSACO_STATUS_LIMIT_EXCEEDED &&
                hsaco_group_segment(1000, UINT32_MAX, UINT32_MAX, &lds) == HSACO_STATUS_LIMIT_EXCEEDED);
    hsaco_layout_create(436, 8, beyond, 1, &layout);
    hsaco_layout_get_info(layout, &info);
    finding("K32", "arguments behind the segment make it longer", info->size == 448);
    hsaco_layout_free(layout);
    finding("K34", "a command buffer has 65535 words",
            hsaco_command_words(524280, &words) == HSACO_STATUS_OK && words == 65535 &&
                hsaco_command_words(524281, &words) == HSACO_STATUS_LIMIT_EXCEEDED);
}

/* Hidden arguments: each at its declared place, of its size, and nothing else. */
static void hidden_arguments(void) {
    const hsaco_declared_argument between[] = {
        {NULL, 0, 8, POINTER}, {NULL, 8, 8, "hidden_global_offset_x"}, {NULL, 16, 4, VALUE}};
    const hsaco_declared_argument counts[] = {{NULL, 0, 8, POINTER},
                                              {NULL, 8, 4, "hidden_block_count_x"},
                                              {NULL, 12, 4, "hidden_block_count_y"},
                                              {NULL, 16, 4, "hidden_block_count_z"}};
    const hsaco_declared_argument unaligned[] = {{NULL, 0, 201, VALUE},
                                                 {NULL, 201, 3, "hidden_none"},
                                                 {NULL, 204, 4, "hidden_block_count_x"},
                                                 {NULL, 208, 4, "hidden_block_count_y"},
                                                 {NULL, 212, 4, "hidden_block_count_z"}};
    const hsaco_declared_argument swapped[] = {{NULL, 204, 4, "hidden_block_count_x"},
                                               {NULL, 212, 4, "hidden_block_count_y"},
                                               {NULL, 208, 4, "hidden_block_count_z"}};
    const hsaco_declared_argument odd_place[] = {{NULL, 202, 4, "hidden_block_count_x"},
                                                 {NULL, 206, 4, "hidden_block_count_y"},
                                                 {NULL, 210, 4, "hidden_block_count_z"}};
    const hsaco_declared_argument only_two[] = {{NULL, 204, 4, "hidden_block_count_x"},
                                                {NULL, 208, 4, "hidden_block_count_y"}};
    const hsaco_declared_argument wide_count[] = {{NULL, 0, 8, "hidden_block_count_x"}};
    const hsaco_declared_argument wide_group[] = {{NULL, 0, 4, "hidden_group_size_x"}};
    const hsaco_declared_argument past[] = {{NULL, 0, 8, POINTER}, {NULL, 9, 8, "hidden_hostcall_buffer"}};
    const hsaco_declared_argument hostcall[] = {{NULL, 0, 8, POINTER}, {NULL, 8, 8, "hidden_hostcall_buffer"}};
    const uint8_t zeros[8] = {0}, poison = 0xfd;
    uint8_t segment[64];
    const uint64_t pointer = 0x1000;
    const uint32_t grid[] = {3, 2, 1};
    const hsaco_argument_value value = {NULL, (const uint8_t *)&pointer, sizeof pointer};
    const hsaco_layout_info *info = NULL;
    hsaco_layout *layout = NULL;
    hsaco_launch launch;
    size_t left_zero = 0;
    bool holds;

    memset(&launch, 0, sizeof launch);
    launch.size = sizeof launch;
    launch.dimensions = 3;
    launch.work_items[0] = 96, launch.work_items[1] = 2, launch.work_items[2] = 1;
    launch.workgroup[0] = 32, launch.workgroup[1] = 1, launch.workgroup[2] = 1;

    finding("K10", "a hidden argument between others is refused", lay_out(24, 8, between, 3) != HSACO_STATUS_OK);

    hsaco_layout_create(20, 8, counts, 4, &layout);
    memset(segment, poison, sizeof segment);
    holds = hsaco_layout_pack(layout, &value, 1, &launch, segment, sizeof segment, &left_zero) == HSACO_STATUS_OK &&
            left_zero == 0 && memcmp(segment + 8, grid, sizeof grid) == 0;
    finding("K11", "counts alone are 12 bytes", holds);
    for (size_t i = 20; i < sizeof segment; ++i)
        holds = holds && segment[i] == poison;
    finding("K12", "no byte behind the segment is written", holds);
    hsaco_layout_free(layout);

    holds = hsaco_layout_create(216, 8, unaligned, 5, &layout) == HSACO_STATUS_OK &&
            hsaco_layout_get_info(layout, &info) == HSACO_STATUS_OK && info->explicit_size == 201;
    finding("K13", "hidden arguments may begin anywhere", holds);
    hsaco_layout_free(layout);
    finding("K14", "counts are three, in order, contiguous and aligned",
            lay_out(216, 8, swapped, 3) != HSACO_STATUS_OK && lay_out(216, 8, odd_place, 3) != HSACO_STATUS_OK &&
                lay_out(216, 8, only_two, 2) != HSACO_STATUS_OK);
    holds = lay_out(8, 8, wide_count, 1) != HSACO_STATUS_OK;
    layout = NULL;
    holds = holds && hsaco_layout_create(8, 8, wide_count, 1, &layout) != HSACO_STATUS_OK &&
            message_has("hidden_block_count_x") &&
            hsaco_layout_create(8, 8, wide_group, 1, &layout) != HSACO_STATUS_OK && message_has("hidden_group_size_x");
    finding("K15", "a hidden argument of a wrong size is named", holds);
    finding("K16", "one that ends behind the segment is out of range",
            lay_out(16, 8, past, 2) == HSACO_STATUS_LIMIT_EXCEEDED);

    hsaco_layout_create(16, 8, hostcall, 2, &layout);
    memset(segment, poison, sizeof segment);
    holds = hsaco_layout_pack(layout, &value, 1, &launch, segment, sizeof segment, &left_zero) == HSACO_STATUS_OK &&
            left_zero == 1 && message_has("hidden_hostcall_buffer") && memcmp(segment + 8, zeros, 8) == 0;
    finding("K17", "stale bytes are cleared, and what nothing supplies is told", holds);
    hsaco_layout_free(layout);
}

/* Replay, replacement and arguments that are not there. */
static void replay(void) {
    const hsaco_declared_argument one[] = {{"count", 0, 4, VALUE}}, other[] = {{"count", 4, 4, VALUE}};
    const hsaco_declared_argument overlapping[] = {{NULL, 0, 8, POINTER}, {NULL, 4, 4, VALUE}};
    const uint32_t count = 7;
    const hsaco_argument_value by_name = {"count", (const uint8_t *)&count, sizeof count};
    const hsaco_layout_info *info = NULL;
    hsaco_layout *layout = NULL, *another = NULL;
    uint8_t segment[8] = {0}, wide[8] = {0};
    bool holds;
    hsaco_layout_create(8, 8, one, 1, &layout);
    hsaco_layout_create(8, 8, other, 1, &another);
    holds = hsaco_layout_pack(layout, &by_name, 1, NULL, segment, sizeof segment, NULL) == HSACO_STATUS_OK &&
            hsaco_layout_replace(layout, 0, wide, sizeof wide, segment, sizeof segment) == HSACO_STATUS_MISMATCH &&
            segment[0] == 7;
    finding("K20", "a replacement that does not fit leaves the old bytes", holds);
    hsaco_layout_get_info(another, &info);
    finding("K21", "bytes of another layout are refused",
            hsaco_layout_check_hash(layout, info->hash, sizeof info->hash) == HSACO_STATUS_MISMATCH &&
                hsaco_layout_get_info(layout, &info) == HSACO_STATUS_OK &&
                hsaco_layout_check_hash(layout, info->hash, sizeof info->hash) == HSACO_STATUS_OK);
    hsaco_layout_free(layout);
    hsaco_layout_free(another);
    hsaco_layout_create(0, 0, NULL, 0, &layout);
    finding("K22", "a kernel without arguments takes none",
            hsaco_layout_pack(layout, NULL, 0, NULL, segment, 0, NULL) == HSACO_STATUS_OK &&
                hsaco_layout_pack(layout, &by_name, 1, NULL, segment, sizeof segment, NULL) != HSACO_STATUS_OK);
    hsaco_layout_free(layout);
    finding("K23", "arguments that overlap are refused", lay_out(8, 8, overlapping, 2) == HSACO_STATUS_MALFORMED);
}

/* Tables of symbols are sections of ELF files. */
static uint16_t section_count(const uint8_t *bytes) {
    uint16_t count = 0;
    memcpy(&count, bytes + 60, sizeof count);
    return count;
}

static uint8_t *section(uint8_t *bytes, uint16_t index) {
    uint64_t sections = 0;
    memcpy(&sections, bytes + 40, sizeof sections);
    return bytes + sections + 64 * (size_t)index;
}

static bool is_symbol_table(const uint8_t *header) {
    uint32_t type = 0;
    memcpy(&type, header + 4, sizeof type);
    return type == 2 /* SHT_SYMTAB */ || type == 11 /* SHT_DYNSYM */;
}

static size_t kernels_of(const uint8_t *bytes, size_t size) {
    hsaco_database *database = NULL;
    hsaco_database_counts counts;
    hsaco_database_create(&database);
    hsaco_database_add_bytes(database, "object", bytes, size, NULL, NULL);
    hsaco_database_get_counts(database, &counts);
    hsaco_database_free(database);
    return counts.kernels;
}

/* Real files: two notes; no notes; a symbol table that reaches past the end. */
static void files(const char *two_notes, const char *no_note, const char *object) {
    hsaco_database *database = NULL;
    hsaco_database_counts counts;
    hsaco_kernel *kernel = NULL;
    hsaco_layout *layout = NULL;
    const hsaco_kernel_info *info = NULL;
    const uint8_t data[512] = {0};
    size_t size = 0, added = 0;
    uint8_t *bytes;
    bool holds = true;

    hsaco_database_create(&database);
    hsaco_database_add_file(database, two_notes, NULL, &added);
    hsaco_database_get_counts(database, &counts);
    for (size_t i = 0; i < counts.kernels; ++i) {
        holds = holds && hsaco_database_kernel_at(database, i, &kernel) == HSACO_STATUS_OK &&
                hsaco_kernel_layout(kernel, &layout) == HSACO_STATUS_OK;
        hsaco_layout_free(layout);
        hsaco_kernel_free(kernel);
    }
    finding("K29", "the kernels of all notes are there", holds && counts.kernels == 2);
    hsaco_database_free(database);

    hsaco_database_create(&database);
    hsaco_database_add_file(database, no_note, NULL, &added);
    holds = hsaco_database_kernel_at(database, 0, &kernel) == HSACO_STATUS_OK &&
            hsaco_kernel_layout(kernel, &layout) == HSACO_STATUS_UNSUPPORTED && message_has("prepacked buffers only");
    finding("K24", "without metadata nothing is inferred", holds);
    hsaco_kernel_get_info(kernel, &info);
    finding("K30", "and prepacked buffers are taken by the size of the segment",
            info->kernarg_size > 8 && info->kernarg_size <= sizeof data &&
                hsaco_kernel_check_prepacked(kernel, data, info->kernarg_size, NULL) == HSACO_STATUS_OK &&
                hsaco_kernel_check_prepacked(kernel, data, info->kernarg_size - 8, NULL) == HSACO_STATUS_TRUNCATED);
    hsaco_kernel_free(kernel);
    hsaco_database_free(database);

    bytes = read_file(object, &size);
    if (bytes == NULL)
        return;
    for (uint16_t i = 0; i < section_count(bytes); ++i) {
        uint8_t *const header = section(bytes, i);
        const uint64_t offset = size - 8, length = 64;
        if (is_symbol_table(header)) {
            memcpy(header + 24, &offset, sizeof offset);
            memcpy(header + 32, &length, sizeof length);
        }
    }
    finding("K8", "a symbol table past the end leaves the metadata's kernels", kernels_of(bytes, size) > 0);
    free(bytes);
}

/* How many kernels a file without metadata has, whose descriptors' symbols are of another type. */
static size_t kernels_with_type(const char *path, uint8_t type) {
    size_t size = 0, count;
    uint8_t *const bytes = read_file(path, &size);
    if (bytes == NULL)
        return SIZE_MAX;
    for (uint16_t i = 0; i < section_count(bytes); ++i) {
        uint64_t offset = 0, length = 0;
        memcpy(&offset, section(bytes, i) + 24, sizeof offset);
        memcpy(&length, section(bytes, i) + 32, sizeof length);
        for (uint64_t at = 0; is_symbol_table(section(bytes, i)) && at < length; at += 24) {
            uint8_t *const info = bytes + offset + at + 4;
            if ((*info & 15) == 1 /* STT_OBJECT */)
                *info = (uint8_t)((*info & 0xf0) | type);
        }
    }
    count = kernels_of(bytes, size);
    free(bytes);
    return count;
}

/* A file in which some bytes are others, for free(); null if it has none like these. */
static uint8_t *changed(const char *path, const char *old, const char *other, size_t length, size_t *size) {
    size_t at = 0;
    uint8_t *const bytes = read_file(path, size);
    while (bytes != NULL && at + length <= *size && memcmp(bytes + at, old, length) != 0)
        ++at;
    if (bytes != NULL && at + length <= *size) {
        memcpy(bytes + at, other, length);
        return bytes;
    }
    free(bytes);
    return NULL;
}

static bool is_refused(const char *path, const char *old, const char *other, size_t length, const char *word) {
    size_t size = 0;
    uint8_t *const bytes = changed(path, old, other, length, &size);
    const bool holds = bytes != NULL && hsaco_check(bytes, size, "gfx942", NULL) == HSACO_STATUS_FINDINGS && message_has(word);
    free(bytes);
    return holds;
}

/* How many findings of a rule there are. */
static size_t count_of(const hsaco_report *report, const char *rule) {
    const hsaco_finding *found = NULL;
    size_t count = 0, all = 0;
    hsaco_report_count(report, &count);
    for (size_t i = 0; i < count; ++i)
        all += hsaco_report_finding(report, i, &found) == HSACO_STATUS_OK && strcmp(found->rule, rule) == 0;
    return all;
}

static bool is_told(const char *path, const char *old, const char *other, size_t length, const char *rule) {
    size_t size = 0;
    uint8_t *const bytes = changed(path, old, other, length, &size);
    hsaco_report *report = NULL;
    const bool holds = bytes != NULL && hsaco_check(bytes, size, "gfx942", &report) == HSACO_STATUS_OK &&
                       count_of(report, rule) == 1;
    hsaco_report_free(report);
    free(bytes);
    return holds;
}

/* How long the first kernel's segment is, whatever its descriptor says. */
static uint32_t segment_size(const char *path, const char *old, const char *other, size_t length) {
    size_t size = 0;
    uint8_t *const bytes = changed(path, old, other, length, &size);
    hsaco_database *database = NULL;
    hsaco_kernel *kernel = NULL;
    hsaco_layout *layout = NULL;
    const hsaco_layout_info *info = NULL;
    uint32_t answer = 0;
    if (bytes == NULL)
        return 0;
    hsaco_database_create(&database);
    hsaco_database_add_bytes(database, path, bytes, size, NULL, NULL);
    if (hsaco_database_kernel_at(database, 0, &kernel) == HSACO_STATUS_OK &&
        hsaco_kernel_layout(kernel, &layout) == HSACO_STATUS_OK && hsaco_layout_get_info(layout, &info) == HSACO_STATUS_OK)
        answer = info->size;
    hsaco_layout_free(layout);
    hsaco_kernel_free(kernel);
    hsaco_database_free(database);
    free(bytes);
    return answer;
}

/* Files whose symbols, metadata and descriptors are wrong, or do not agree. */
static void broken_files(const char *no_note, const char *object) {
    /* The size of the first kernel's segment, and where its code is. */
    const char as_it_is[] = "\x18\0\0\0\0\0\0\0\0\x12\0\0\0\0\0", longer[] = "\x20\0\0\0\0\0\0\0\0\x12\0\0\0\0\0";
    const char none[] = "\0\0\0\0\0\0\0\0\0\x12\0\0\0\0\0";
    finding("K25", "a descriptor whose symbol is a function makes no kernel",
            kernels_with_type(no_note, 1 /* STT_OBJECT */) == 3 && kernels_with_type(no_note, 2 /* STT_FUNC */) == 0);
    finding("K31", "keys that are there twice, bytes behind the end and lists of another length are refused",
            is_refused(object, "\xae.address_space\xa6global", "\xa7.offset\xad-------------", 22, "'.offset' twice") &&
                is_refused(object, "\x15\x08\0\0\x20\0\0\0AMDGPU", "\x16\x08\0\0\x20\0\0\0AMDGPU", 14,
                           "1 bytes after the end") &&
                is_refused(object, "\xaf.wavefront_size\x40", "\xad.cluster_dims\x92\x01\x01", 17,
                           ".cluster_dims is an array of 2, not of 3 integers"));
    finding("K33", "metadata counts before the descriptor, and it is told where they differ",
            segment_size(object, as_it_is, none, 16) == 24 && segment_size(object, as_it_is, longer, 16) == 24 &&
                is_told(object, as_it_is, longer, 16, "metadata-descriptor-mismatch") &&
                !is_told(object, as_it_is, none, 16, "metadata-descriptor-mismatch"));
}

/* Dispatches saxpy with a buffer that its caller packed: y = a * x + y for n floats. */
static hsaco_status dispatch(const char *path) {
    struct {
        uint64_t y, x;
        float a;
        int32_t n;
    } buffer = {0, 0, 10.0f, 100};
    float x[100], y[100];
    uint8_t packet[64], *bytes;
    size_t size = 0, left_zero = 0;
    hsaco_database *database = NULL;
    hsaco_kernel *kernel = NULL;
    hsaco_layout *layout = NULL;
    const hsaco_layout_info *info = NULL;
    hsaco_executable *executable = NULL;
    hsaco_executable_symbol symbol = {0};
    hsaco_emulator *emulator = NULL;
    hsaco_packet_needs needs;
    hsaco_packet_info decoded;
    hsaco_prepacked odd;
    hsaco_run_outcome outcome;
    hsaco_launch launch;
    uint8_t *segment = NULL;
    hsaco_status status;

    for (int i = 0; i < 100; ++i)
        x[i] = (float)i, y[i] = 1.0f;
    bytes = read_file(path, &size);
    if (bytes == NULL)
        return HSACO_STATUS_IO;

    /* Once for each object: its kernels, and where they are in memory. */
    hsaco_database_create(&database);
    hsaco_database_add_bytes(database, path, bytes, size, NULL, NULL);
    hsaco_executable_create("gfx942", &executable);
    hsaco_executable_load_code_object(executable, path, bytes, size, HSACO_UNKNOWN, NULL);
    status = hsaco_executable_freeze(executable, 0x7f0000000000, true);
    free(bytes);
    if (status == HSACO_STATUS_OK)
        status = hsaco_database_kernel(database, "saxpy", NULL, NULL, &kernel);
    if (status == HSACO_STATUS_OK)
        status = hsaco_kernel_layout(kernel, &layout);
    if (status != HSACO_STATUS_OK)
        return status;
    hsaco_layout_get_info(layout, &info);

    /* The device's memory, and the arguments that point into it. */
    hsaco_emulator_create("gfx942", UINT64_C(1) << 30, &emulator);
    hsaco_emulator_load(emulator, executable);
    hsaco_emulator_allocate(emulator, sizeof y, &buffer.y);
    hsaco_emulator_allocate(emulator, sizeof x, &buffer.x);
    hsaco_emulator_write(emulator, buffer.y, (const uint8_t *)y, sizeof y);
    hsaco_emulator_write(emulator, buffer.x, (const uint8_t *)x, sizeof x);

    /* For each dispatch: the caller's buffer becomes a segment, the launch a packet. */
    memset(&launch, 0, sizeof launch);
    launch.size = sizeof launch;
    launch.dimensions = 1;
    launch.work_items[0] = 128;
    launch.workgroup[0] = 64;
    status = hsaco_layout_check_prepacked(layout, (const uint8_t *)&buffer, sizeof buffer, &odd);
    segment = malloc(info->size);
    if (status == HSACO_STATUS_OK && segment != NULL)
        status = hsaco_layout_write_prepacked(layout, (const uint8_t *)&buffer, sizeof buffer, &launch, segment,
                                              info->size, &left_zero);
    memset(&needs, 0, sizeof needs);
    needs.size = sizeof needs;
    if (status == HSACO_STATUS_OK)
        status = hsaco_kernel_packet_needs(kernel, &needs);
    hsaco_executable_get_symbol_by_name(executable, "saxpy", &symbol);
    hsaco_executable_symbol_get_info(executable, symbol, HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &needs.kernel_object,
                                     sizeof needs.kernel_object);
    needs.kernarg_address = 0x10000;
    if (status == HSACO_STATUS_OK)
        status = hsaco_packet_dispatch(&launch, &needs, packet, sizeof packet);
    if (status == HSACO_STATUS_OK)
        status = hsaco_packet_decode(packet, sizeof packet, &decoded);
    if (status == HSACO_STATUS_OK)
        status = hsaco_emulator_dispatch(emulator, executable, "saxpy", &launch, segment, info->size, NULL, &outcome);
    if (status == HSACO_STATUS_OK)
        status = hsaco_emulator_read(emulator, buffer.y, (uint8_t *)y, sizeof y);
    if (status == HSACO_STATUS_OK)
        printf("saxpy: %" PRIu32 " work-items, segment of %" PRIu32 " bytes, %zu bytes packed, y[99] = %.0f\n",
               decoded.grid[0], info->size, sizeof buffer, (double)y[99]);
    else
        failed("not dispatched");
    free(segment);
    hsaco_emulator_free(emulator);
    hsaco_executable_free(executable);
    hsaco_layout_free(layout);
    hsaco_kernel_free(kernel);
    hsaco_database_free(database);
    return status;
}

int main(int argc, char **argv) {
    hsaco_status status;
    if (argc != 5) {
        fprintf(stderr, "usage: dispatch RUN TWO-NOTES NO-NOTE OBJECT\n");
        return 2;
    }
    projections();
    prepacked_lengths();
    arithmetic();
    hidden_arguments();
    replay();
    files(argv[2], argv[3], argv[4]);
    broken_files(argv[3], argv[4]);
    status = dispatch(argv[1]);
    return status == HSACO_STATUS_OK && broken == 0 ? 0 : 1;
}
