// A runtime that dispatches what its callers have packed, as hrx does: the buffer is checked against the kernel's own
// layout, hidden arguments are filled in, an AQL packet is made, and the kernel runs (here on the emulator). What the
// review of hrx's first version found is checked before: docs/c.md tells what each finding is.
//
//   c++ -std=c++17 dispatch.cpp $(pkg-config --cflags --libs hsaco) -o dispatch
//   dispatch run.gfx942.co two-notes.co s1.no-note.co s1.gfx942.co

#include "file.hpp"

#include <hsaco.hpp>

#include <algorithm>
#include <iomanip>
#include <iostream>

static int broken = 0;

static void finding(const char *id, const char *what, bool holds) {
    std::cout << std::left << std::setw(4) << id << (holds ? "" : "DOES NOT HOLD: ") << what << "\n";
    broken += !holds;
}

using Declared = std::vector<hsaco_declared_argument>;
static const char *const POINTER = "global_buffer", *const VALUE = "by_value";

// How something ends.
template <class Work>
static hsaco_status status_of(Work work) {
    try {
        work();
        return HSACO_STATUS_OK;
    } catch (const hsaco::error &error) {
        return error.status();
    }
}

static hsaco_status lay_out(std::uint64_t size, std::uint64_t alignment, const Declared &declared) {
    return status_of([&] { hsaco::layout(size, alignment, declared); });
}

static bool message_has(const char *word) { return hsaco::last_error().find(word) != std::string::npos; }

static std::vector<std::uint32_t> offsets(const hsaco::layout &layout) {
    std::vector<std::uint32_t> all;
    for (const hsaco_parameter &parameter : layout.parameters())
        all.push_back(parameter.offset);
    return all;
}

template <class T>
static std::vector<T> list(hsaco::span<T> span) {
    return {span.begin(), span.end()};
}

using Numbers = std::vector<std::uint32_t>;

static void projections() {
    const Declared dense{{nullptr, 0, 8, POINTER}, {nullptr, 8, 8, POINTER}, {nullptr, 16, 4, VALUE}, {nullptr, 20, 4, VALUE}};
    const Declared sparse{{nullptr, 0, 2, VALUE}, {nullptr, 8, 8, POINTER}, {nullptr, 20, 6, VALUE}, {nullptr, 32, 8, POINTER}};
    {
        const hsaco::compact compact(24, 8, dense, true);
        const hsaco::layout native(24, 8, dense);
        finding("K1", "two bindings and 8 bytes of constants, never 6 words of segment",
                list(compact.bindings()) == Numbers{0, 1} && compact.info().constant_size == 8 &&
                    compact.spans().size() == 2 && compact.spans()[1].target == 20 && compact.spans()[1].source == 4 &&
                    !compact.info().needs_zero_fill && offsets(native) == Numbers{0, 8, 16, 20});
        finding("K18", "where pointers stand is known", list(native.pointer_slots()) == Numbers{0, 8});
    }
    const hsaco::compact compact(40, 8, sparse, true);
    finding("K2", "sparse arguments have native offsets and dense constants",
            list(compact.bindings()) == Numbers{1, 4} && compact.info().constant_size == 8 &&
                compact.spans()[1].target == 20 && compact.spans()[1].source == 2 && compact.spans()[1].length == 6 &&
                compact.info().needs_zero_fill && offsets(hsaco::layout(40, 8, sparse)) == Numbers{0, 8, 20, 32});
    finding("K3", "without a marker the runtime does not pack",
            status_of([&] { hsaco::compact(24, 8, dense, false); }) == HSACO_STATUS_UNSUPPORTED &&
                message_has("custom-direct only"));
}

static void prepacked_lengths() {
    const std::vector<std::uint8_t> data(32);
    const hsaco::layout two(16, 8, {{nullptr, 0, 8, POINTER}, {nullptr, 8, 8, POINTER}});
    const hsaco::layout short_last(16, 8, {{nullptr, 0, 8, POINTER}, {nullptr, 8, 4, VALUE}});
    const auto check = [&](const hsaco::layout &layout, std::size_t size) {
        return status_of([&] { layout.check_prepacked({data.data(), size}); });
    };
    finding("K5", "a length without an address is refused",
            status_of([&] { two.check_prepacked({nullptr, 4}); }) == HSACO_STATUS_INVALID_ARGUMENT);
    finding("K19", "no bytes for a kernel with arguments are refused before any read",
            status_of([&] { two.check_prepacked({nullptr, 0}); }) == HSACO_STATUS_TRUNCATED);
    finding("K4", "padding may be missing, bytes of arguments may not",
            two.check_prepacked({data.data(), 16}).surplus == 0 && two.check_prepacked({data.data(), 24}).surplus == 8 &&
                two.check_prepacked({data.data(), 24}).used == 16 && check(two, 8) == HSACO_STATUS_TRUNCATED &&
                check(two, 0) == HSACO_STATUS_TRUNCATED && short_last.check_prepacked({data.data(), 12}).padding == 4 &&
                check(short_last, 9) == HSACO_STATUS_TRUNCATED);
}

static hsaco_status blocks_of(std::uint64_t size, std::uint32_t &blocks) { return hsaco_kernarg_blocks(size, 16, &blocks); }

static void arithmetic() {
    std::uint32_t blocks = 0, lds = 0;
    std::uint16_t words = 0;
    Numbers all;
    for (const std::uint64_t size : {0, 1, 64, 65, 128}) {
        hsaco::require(blocks_of(size, blocks));
        all.push_back(blocks);
    }
    finding("K6", "0, 1, 64, 65, 128 bytes are 1, 1, 1, 2, 2 blocks", all == Numbers{1, 1, 1, 2, 2});
    finding("K7", "more blocks than 32 bits count are out of range",
            blocks_of(std::uint64_t(64) << 32, blocks) == HSACO_STATUS_LIMIT_EXCEEDED &&
                blocks_of(UINT64_MAX, blocks) == HSACO_STATUS_LIMIT_EXCEEDED &&
                blocks_of(64 * std::uint64_t(UINT32_MAX), blocks) == HSACO_STATUS_OK && blocks == UINT32_MAX);
    finding("K26", "a segment of 70000 bytes has 70000",
            hsaco::layout(70000, 8, {{nullptr, 0, 70000, VALUE}}).info().size == 70000);
    const Declared one{{nullptr, 0, 8, POINTER}};
    finding("K27", "an alignment of 3 is none, one of 128 is none of a ring",
            lay_out(8, 3, one) == HSACO_STATUS_MALFORMED &&
                status_of([&] { hsaco::layout(8, 128, one).blocks(); }) == HSACO_STATUS_LIMIT_EXCEEDED);
    finding("K28", "static and dynamic LDS together stay below the limit",
            hsaco_group_segment(1000, 65536 - 1000, 65536, &lds) == HSACO_STATUS_OK && lds == 65536 &&
                hsaco_group_segment(1000, 65536 - 999, 65536, &lds) == HSACO_STATUS_LIMIT_EXCEEDED &&
                hsaco_group_segment(1000, UINT32_MAX, UINT32_MAX, &lds) == HSACO_STATUS_LIMIT_EXCEEDED);
    finding("K32", "arguments behind the segment make it longer",
            hsaco::layout(436, 8, {{nullptr, 0, 448, VALUE}}).info().size == 448);
    finding("K34", "a command buffer has 65535 words",
            hsaco_command_words(524280, &words) == HSACO_STATUS_OK && words == 65535 &&
                hsaco_command_words(524281, &words) == HSACO_STATUS_LIMIT_EXCEEDED);
}

static Declared counts_at(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
    return {{nullptr, x, 4, "hidden_block_count_x"},
            {nullptr, y, 4, "hidden_block_count_y"},
            {nullptr, z, 4, "hidden_block_count_z"}};
}

static void hidden_arguments() {
    const hsaco::launch launch({96, 2, 1}, {32, 1, 1});
    const std::uint64_t pointer = 0x1000;
    finding("K10", "a hidden argument between others is refused",
            lay_out(24, 8, {{nullptr, 0, 8, POINTER}, {nullptr, 8, 8, "hidden_global_offset_x"}, {nullptr, 16, 4, VALUE}}) !=
                HSACO_STATUS_OK);
    Declared with_counts = counts_at(8, 12, 16);
    with_counts.insert(with_counts.begin(), {nullptr, 0, 8, POINTER});
    const hsaco::packed packed = hsaco::layout(20, 8, with_counts).pack({hsaco::value::of(pointer)}, &launch);
    const std::vector<std::uint8_t> grid{3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0};
    finding("K11", "counts alone are 12 bytes",
            packed.left_zero.empty() && std::equal(grid.begin(), grid.end(), packed.data.begin() + 8));
    finding("K12", "no byte behind the segment is written", packed.data.size() == 20);
    Declared unaligned = counts_at(204, 208, 212);
    unaligned.insert(unaligned.begin(), {{nullptr, 0, 201, VALUE}, {nullptr, 201, 3, "hidden_none"}});
    finding("K13", "hidden arguments may begin anywhere", hsaco::layout(216, 8, unaligned).info().explicit_size == 201);
    Declared only_two = counts_at(204, 208, 212);
    only_two.pop_back();
    finding("K14", "counts are three, in order, contiguous and aligned",
            lay_out(216, 8, counts_at(204, 212, 208)) != HSACO_STATUS_OK &&
                lay_out(216, 8, counts_at(202, 206, 210)) != HSACO_STATUS_OK && lay_out(216, 8, only_two) != HSACO_STATUS_OK);
    const auto names = [](const char *name, std::uint64_t size) {
        return lay_out(8, 8, {{nullptr, 0, size, name}}) != HSACO_STATUS_OK && message_has(name);
    };
    finding("K15", "a hidden argument of a wrong size is named",
            names("hidden_block_count_x", 8) && names("hidden_group_size_x", 4));
    finding("K16", "one that ends behind the segment is out of range",
            lay_out(16, 8, {{nullptr, 0, 8, POINTER}, {nullptr, 9, 8, "hidden_hostcall_buffer"}}) ==
                HSACO_STATUS_LIMIT_EXCEEDED);
    const hsaco::layout hostcall(16, 8, {{nullptr, 0, 8, POINTER}, {nullptr, 8, 8, "hidden_hostcall_buffer"}});
    const hsaco::packed stale = hostcall.pack({hsaco::value::of(pointer)}, &launch);
    finding("K17", "stale bytes are cleared, and what nothing supplies is told",
            stale.left_zero == std::vector<std::string>{"hidden_hostcall_buffer"} &&
                std::count(stale.data.begin() + 8, stale.data.end(), 0) == 8);
}

static void replay() {
    const std::uint32_t count = 7;
    const std::uint64_t wide = 0;
    const hsaco::layout layout(8, 8, {{"count", 0, 4, VALUE}}), another(8, 8, {{"count", 4, 4, VALUE}});
    std::vector<std::uint8_t> segment = layout.pack({hsaco::value::named("count", count)}).data;
    finding("K20", "a replacement that does not fit leaves the old bytes",
            status_of([&] { layout.replace(0, {&wide, sizeof wide}, segment); }) == HSACO_STATUS_MISMATCH &&
                segment[0] == 7);
    finding("K21", "bytes of another layout are refused",
            status_of([&] { layout.check_hash(another.hash()); }) == HSACO_STATUS_MISMATCH &&
                status_of([&] { layout.check_hash(layout.hash()); }) == HSACO_STATUS_OK);
    const hsaco::layout none(0, 0, {});
    finding("K22", "a kernel without arguments takes none",
            none.pack({}).data.empty() && status_of([&] { none.pack({hsaco::value::of(count)}); }) != HSACO_STATUS_OK);
    finding("K23", "arguments that overlap are refused",
            lay_out(8, 8, {{nullptr, 0, 8, POINTER}, {nullptr, 4, 4, VALUE}}) == HSACO_STATUS_MALFORMED);
}

// The headers of an ELF file's tables of symbols.
static std::vector<std::uint8_t *> symbol_tables(std::vector<std::uint8_t> &bytes) {
    std::uint64_t sections = 0;
    std::uint16_t count = 0;
    std::memcpy(&sections, &bytes[40], sizeof sections);
    std::memcpy(&count, &bytes[60], sizeof count);
    std::vector<std::uint8_t *> found;
    for (std::uint16_t i = 0; i < count; ++i) {
        std::uint8_t *const header = &bytes[sections + 64 * std::size_t(i)];
        std::uint32_t type = 0;
        std::memcpy(&type, header + 4, sizeof type);
        if (type == 2 /* SHT_SYMTAB */ || type == 11 /* SHT_DYNSYM */)
            found.push_back(header);
    }
    return found;
}

static std::size_t kernels_of(const std::vector<std::uint8_t> &bytes) {
    hsaco::database database;
    database.add_bytes("object", bytes);
    return database.counts().kernels;
}

static void files(const char *two_notes, const char *no_note, const char *object) {
    hsaco::database notes;
    notes.add_file(two_notes);
    std::size_t layouts = 0;
    for (const hsaco::kernel &kernel : notes.kernels())
        layouts += static_cast<bool>(kernel.layout());
    finding("K29", "the kernels of all notes are there", layouts == 2);

    hsaco::database bare;
    bare.add_file(no_note);
    const hsaco::kernel kernel = bare.kernels()[0];
    finding("K24", "without metadata nothing is inferred",
            status_of([&] { kernel.layout(); }) == HSACO_STATUS_UNSUPPORTED && message_has("prepacked buffers only"));
    const std::vector<std::uint8_t> data(kernel.info().kernarg_size);
    finding("K30", "and prepacked buffers are taken by the size of the segment",
            data.size() > 8 && status_of([&] { kernel.check_prepacked(data); }) == HSACO_STATUS_OK &&
                status_of([&] { kernel.check_prepacked({data.data(), data.size() - 8}); }) == HSACO_STATUS_TRUNCATED);

    std::vector<std::uint8_t> bytes = read_file(object);
    for (std::uint8_t *header : symbol_tables(bytes)) {
        const std::uint64_t offset = bytes.size() - 8, length = 64;
        std::memcpy(header + 24, &offset, sizeof offset);
        std::memcpy(header + 32, &length, sizeof length);
    }
    finding("K8", "a symbol table past the end leaves the metadata's kernels", kernels_of(bytes) > 0);
}

// How many kernels a file without metadata has, whose descriptors' symbols are of another type.
static std::size_t kernels_with_type(const char *path, std::uint8_t type) {
    std::vector<std::uint8_t> bytes = read_file(path);
    for (std::uint8_t *header : symbol_tables(bytes)) {
        std::uint64_t offset = 0, length = 0;
        std::memcpy(&offset, header + 24, sizeof offset);
        std::memcpy(&length, header + 32, sizeof length);
        for (std::uint64_t at = 0; at < length; at += 24) {
            std::uint8_t &info = bytes[offset + at + 4];
            if ((info & 15) == 1 /* STT_OBJECT */)
                info = static_cast<std::uint8_t>((info & 0xf0) | type);
        }
    }
    return kernels_of(bytes);
}

// A file in which some bytes are others.
static std::vector<std::uint8_t> changed(const char *path, const std::string &old, const std::string &other) {
    std::vector<std::uint8_t> bytes = read_file(path);
    const auto found = std::search(bytes.begin(), bytes.end(), old.begin(), old.end(),
                                   [](std::uint8_t byte, char wanted) { return byte == static_cast<std::uint8_t>(wanted); });
    if (found == bytes.end())
        throw std::runtime_error(std::string(path) + ": has none of the bytes that are changed");
    std::copy(other.begin(), other.end(), found);
    return bytes;
}

static bool is_refused(const char *path, const std::string &old, const std::string &other, const char *word) {
    return !hsaco::check(changed(path, old, other), "gfx942").passes() && message_has(word);
}

// Whether nothing is refused, and one finding of a rule told.
static bool is_told(const char *path, const std::string &old, const std::string &other, const std::string &rule) {
    const hsaco::report report = hsaco::check(changed(path, old, other), "gfx942");
    std::size_t count = 0;
    for (const hsaco_finding &found : report.findings())
        count += rule == found.rule;
    return report.passes() && count == 1;
}

// How long the first kernel's segment is, whatever its descriptor says.
static std::uint32_t segment_size(const char *path, const std::string &old, const std::string &other) {
    hsaco::database database;
    database.add_bytes(path, changed(path, old, other));
    return database.kernels()[0].layout().info().size;
}

// Files whose symbols, metadata and descriptors are wrong, or do not agree.
static void broken_files(const char *no_note, const char *object) {
    using namespace std::string_literals;
    finding("K25", "a descriptor whose symbol is a function makes no kernel",
            kernels_with_type(no_note, 1 /* STT_OBJECT */) == 3 && kernels_with_type(no_note, 2 /* STT_FUNC */) == 0);
    finding("K31", "keys that are there twice, bytes behind the end and lists of another length are refused",
            is_refused(object, "\xae.address_space\xa6global", "\xa7.offset\xad-------------", "'.offset' twice") &&
                is_refused(object, "\x15\x08\0\0\x20\0\0\0AMDGPU"s, "\x16\x08\0\0\x20\0\0\0AMDGPU"s, "1 bytes after the end") &&
                is_refused(object, "\xaf.wavefront_size\x40", "\xad.cluster_dims\x92\x01\x01",
                           ".cluster_dims is an array of 2, not of 3 integers"));
    // The size of the first kernel's segment, and where its code is.
    const std::string as_it_is = "\x18\0\0\0\0\0\0\0\0\x12\0\0\0\0\0\0"s;
    const std::string longer = "\x20\0\0\0\0\0\0\0\0\x12\0\0\0\0\0\0"s, none = "\0\0\0\0\0\0\0\0\0\x12\0\0\0\0\0\0"s;
    finding("K33", "metadata counts before the descriptor, and it is told where they differ",
            segment_size(object, as_it_is, none) == 24 && segment_size(object, as_it_is, longer) == 24 &&
                is_told(object, as_it_is, longer, "metadata-descriptor-mismatch") &&
                !is_told(object, as_it_is, none, "metadata-descriptor-mismatch"));
}

// Dispatches saxpy with a buffer that its caller packed: y = a * x + y for n floats.
static void dispatch(const char *path) {
    const std::vector<std::uint8_t> bytes = read_file(path);

    // Once for each object: its kernels, and where they are in memory.
    hsaco::database database;
    database.add_bytes(path, bytes);
    hsaco::executable executable("gfx942");
    executable.load(path, bytes);
    executable.freeze(0x7f0000000000);
    const hsaco::kernel kernel = database.kernel("saxpy");
    const hsaco::layout layout = kernel.layout();

    // The device's memory, and the arguments that point into it.
    hsaco::emulator emulator("gfx942");
    emulator.load(executable);
    std::vector<float> x(100), y(100, 1.0f);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(i);
    struct {
        std::uint64_t y, x;
        float a;
        std::int32_t n;
    } buffer{emulator.allocate(400), emulator.allocate(400), 10.0f, 100};
    emulator.write(buffer.y, y);
    emulator.write(buffer.x, x);

    // For each dispatch: the caller's buffer becomes a segment, the launch a packet.
    const hsaco::launch launch({128}, {64});
    const hsaco::packed packed = layout.write_prepacked({&buffer, sizeof buffer}, &launch);
    hsaco_packet_needs needs = kernel.packet_needs();
    needs.kernel_object =
        executable.symbol("saxpy")->info<std::uint64_t>(HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
    needs.kernarg_address = 0x10000;
    const hsaco_packet_info decoded = hsaco::decode_packet(hsaco::dispatch_packet(launch, needs));
    emulator.dispatch(executable, "saxpy", launch, packed.data);
    std::cout << "saxpy: " << decoded.grid[0] << " work-items, segment of " << packed.data.size() << " bytes, "
              << sizeof buffer << " bytes packed, y[99] = " << emulator.read<float>(buffer.y, 100)[99] << "\n";
}

int main(int argc, char **argv) {
    if (argc != 5) {
        std::cerr << "usage: dispatch RUN TWO-NOTES NO-NOTE OBJECT\n";
        return 2;
    }
    try {
        projections();
        prepacked_lengths();
        arithmetic();
        hidden_arguments();
        replay();
        files(argv[2], argv[3], argv[4]);
        broken_files(argv[3], argv[4]);
        dispatch(argv[1]);
    } catch (const std::exception &error) {
        std::cout << "not dispatched: " << error.what() << "\n";
        return 1;
    }
    return broken == 0 ? 0 : 1;
}
