// hsaco: AMD GPU code objects, for C++17. Header only, over hsaco.h.
//
// Every class owns a handle and frees it; moving moves it, copying is not possible. What hsaco.h answers with a status is
// an exception here: hsaco::error, which has the status and the words. Rows (hsaco_instruction and the like) are those of
// hsaco.h and live as long as the object that they came from. Lists are ranges, for range-based for and algorithms.
//
//   hsaco::database database;
//   database.add_file("libkernels.so", hsaco::selection().device("gfx942"));
//   for (const hsaco::kernel &kernel : database.kernels())
//       for (const hsaco_instruction &instruction : kernel.instructions())
//           std::cout << instruction.text << "\n";

#ifndef HSACO_HPP
#define HSACO_HPP

#include "hsaco.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace hsaco {

// A call that did not end with HSACO_STATUS_OK.
class error : public std::runtime_error {
public:
    error(hsaco_status status, const std::string &words) : std::runtime_error(words), status_(status) {}

    hsaco_status status() const noexcept { return status_; }

private:
    hsaco_status status_;
};

// What a call that ended well has to say nevertheless, or why it did not.
inline std::string last_error() { return hsaco_last_error(); }

inline std::string version() { return hsaco_version(); }

// Throws unless the status is HSACO_STATUS_OK.
inline void require(hsaco_status status) {
    if (status != HSACO_STATUS_OK)
        throw error(status, hsaco_last_error());
}

// A number, if it is known.
inline std::optional<std::uint64_t> known(std::uint64_t number) {
    return number == HSACO_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(number);
}

// Text that may be null.
inline std::string_view text(const char *text) { return text == nullptr ? std::string_view() : std::string_view(text); }

// Bytes of anything that is contiguous: vectors, arrays, strings, buffers.
struct bytes_view {
    const std::uint8_t *data = nullptr;
    std::size_t size = 0;

    bytes_view() = default;
    bytes_view(const void *data, std::size_t size) : data(static_cast<const std::uint8_t *>(data)), size(size) {}
    template <class Range, class = decltype(std::data(std::declval<const Range &>()))>
    bytes_view(const Range &range)
        : data(reinterpret_cast<const std::uint8_t *>(std::data(range))),
          size(std::size(range) * sizeof(*std::data(range))) {}
};

// A list that is made item by item: a function of an index, and how many there are.
template <class Get>
class indexed {
public:
    using value_type = decltype(std::declval<const Get &>()(std::size_t()));

    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::decay_t<typename indexed::value_type>;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = typename indexed::value_type;

        iterator(const indexed *list, std::size_t index) : list_(list), index_(index) {}
        reference operator*() const { return (*list_)[index_]; }
        iterator &operator++() {
            ++index_;
            return *this;
        }
        iterator operator++(int) {
            iterator before = *this;
            ++index_;
            return before;
        }
        bool operator==(const iterator &other) const { return index_ == other.index_; }
        bool operator!=(const iterator &other) const { return index_ != other.index_; }

    private:
        const indexed *list_;
        std::size_t index_;
    };

    indexed(std::size_t size, Get get) : size_(size), get_(std::move(get)) {}

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    value_type operator[](std::size_t index) const { return get_(index); }
    iterator begin() const { return iterator(this, 0); }
    iterator end() const { return iterator(this, size_); }

private:
    std::size_t size_;
    Get get_;
};

// A list that C has as a pointer and a count.
template <class T>
class span {
public:
    span(const T *data, std::size_t size) : data_(data), size_(size) {}

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T &operator[](std::size_t index) const { return data_[index]; }
    const T *begin() const { return data_; }
    const T *end() const { return data_ + size_; }

private:
    const T *data_;
    std::size_t size_;
};

namespace detail {

// Owns a handle.
template <class T, hsaco_status (*Free)(T *)>
class owner {
public:
    owner() = default;
    explicit owner(T *handle) : handle_(handle) {}
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    owner(owner &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    owner &operator=(owner &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~owner() { Free(handle_); }

    // The handle, for functions of hsaco.h.
    T *get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
    T *handle_ = nullptr;
};

// How many rows there are until HSACO_STATUS_NOT_FOUND.
template <class Get>
std::size_t count_rows(Get get) {
    std::size_t count = 0;
    for (;; ++count) {
        const hsaco_status status = get(count);
        if (status == HSACO_STATUS_NOT_FOUND)
            return count;
        require(status);
    }
}

inline std::vector<const char *> c_strings(const std::vector<std::string> &texts) {
    std::vector<const char *> all;
    for (const std::string &text : texts)
        all.push_back(text.c_str());
    return all;
}

} // namespace detail

// Bytes or text that the library made.
class buffer : public detail::owner<hsaco_buffer, hsaco_buffer_free> {
public:
    explicit buffer(hsaco_buffer *handle) : owner(handle) { require(hsaco_buffer_data(handle_, &data_, &size_)); }

    const std::uint8_t *data() const { return data_; }
    std::size_t size() const { return size_; }
    const std::uint8_t *begin() const { return data_; }
    const std::uint8_t *end() const { return data_ + size_; }
    std::string_view view() const { return {reinterpret_cast<const char *>(data_), size_}; }
    std::string str() const { return std::string(view()); }

private:
    const std::uint8_t *data_ = nullptr;
    std::size_t size_ = 0;
};

// The readable spelling of a mangled name; any other name as it is.
inline std::string demangle(const std::string &name) {
    hsaco_buffer *readable = nullptr;
    require(hsaco_demangle(name.c_str(), &readable));
    return buffer(readable).str();
}

// The size of an ELF file from its address.
inline std::size_t elf_size(const void *bytes, std::size_t available = SIZE_MAX) {
    std::size_t size = 0;
    require(hsaco_elf_size(static_cast<const std::uint8_t *>(bytes), available, &size));
    return size;
}

// The arguments of a kernel with their types.
class arguments : public detail::owner<hsaco_arguments, hsaco_arguments_free> {
public:
    using owner::owner;

    std::size_t size() const {
        std::size_t count = 0;
        require(hsaco_arguments_count(handle_, &count));
        return count;
    }
    const hsaco_argument &operator[](std::size_t index) const {
        const hsaco_argument *argument = nullptr;
        require(hsaco_arguments_get(handle_, index, &argument));
        return *argument;
    }
    auto all() const {
        return indexed(size(), [this](std::size_t index) -> const hsaco_argument & { return (*this)[index]; });
    }
    std::vector<std::string> disagreements() const {
        std::vector<std::string> all;
        const char *words = nullptr;
        for (std::size_t i = 0; hsaco_arguments_disagreement(handle_, i, &words) == HSACO_STATUS_OK; ++i)
            all.emplace_back(words);
        return all;
    }
};

// A launch: work-items of the grid and of a workgroup, in one to three dimensions.
class launch {
public:
    launch(std::initializer_list<std::uint32_t> work_items, std::initializer_list<std::uint32_t> workgroup) {
        std::memset(&launch_, 0, sizeof launch_);
        launch_.size = sizeof launch_;
        if (work_items.size() != workgroup.size() || work_items.size() > 3)
            throw error(HSACO_STATUS_INVALID_ARGUMENT, "grid and workgroup must have the same 1 to 3 dimensions");
        launch_.dimensions = static_cast<std::uint32_t>(work_items.size());
        std::copy(work_items.begin(), work_items.end(), launch_.work_items);
        std::copy(workgroup.begin(), workgroup.end(), launch_.workgroup);
    }

    launch &dynamic_lds(std::uint32_t bytes) {
        launch_.dynamic_lds = bytes;
        return *this;
    }
    // A hidden argument that does not follow from the grid.
    launch &hidden(std::string name, std::uint64_t value) {
        hidden_.emplace_back(std::move(name), value);
        return *this;
    }

    // For functions of hsaco.h, for as long as this lives and is not changed.
    const hsaco_launch *get() const {
        values_.clear();
        for (const auto &[name, value] : hidden_)
            values_.push_back(hsaco_hidden_value{name.c_str(), value});
        launch_.hidden = values_.data();
        launch_.hidden_count = values_.size();
        return &launch_;
    }

private:
    mutable hsaco_launch launch_;
    std::vector<std::pair<std::string, std::uint64_t>> hidden_;
    mutable std::vector<hsaco_hidden_value> values_;
};

// A packed segment, and the hidden arguments that nothing supplied.
struct packed {
    std::vector<std::uint8_t> data;
    std::vector<std::string> left_zero;
};

// A value of an argument, by its bytes.
struct value {
    bytes_view bytes;
    const char *name = nullptr;

    template <class T, class = std::enable_if_t<std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>>>
    static value of(const T &value) {
        return {bytes_view(&value, sizeof value), nullptr};
    }
    template <class T>
    static value named(const char *name, const T &value) {
        return {bytes_view(&value, sizeof value), name};
    }
};

namespace detail {

inline std::vector<std::string> lines(const std::string &text) {
    std::vector<std::string> all;
    std::size_t start = 0;
    while (start < text.size()) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        all.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return all;
}

} // namespace detail

// Where the bytes of a kernel's arguments go, for callers who pack.
class layout : public detail::owner<hsaco_layout, hsaco_layout_free> {
public:
    using owner::owner;

    // Of arguments that the caller declares.
    layout(std::uint64_t size, std::uint64_t alignment, const std::vector<hsaco_declared_argument> &declared) {
        require(hsaco_layout_create(size, alignment, declared.data(), declared.size(), &handle_));
    }

    const hsaco_layout_info &info() const {
        const hsaco_layout_info *info = nullptr;
        require(hsaco_layout_get_info(handle_, &info));
        return *info;
    }
    auto parameters() const {
        return indexed(info().parameter_count, [this](std::size_t index) -> const hsaco_parameter & {
            const hsaco_parameter *parameter = nullptr;
            require(hsaco_layout_parameter(handle_, index, &parameter));
            return *parameter;
        });
    }
    auto hidden() const {
        return indexed(info().hidden_count, [this](std::size_t index) -> const hsaco_parameter & {
            const hsaco_parameter *parameter = nullptr;
            require(hsaco_layout_hidden(handle_, index, &parameter));
            return *parameter;
        });
    }
    span<std::uint32_t> pointer_slots() const { return {info().pointer_slots, info().pointer_slot_count}; }
    std::uint32_t blocks() const {
        std::uint32_t blocks = 0;
        require(hsaco_layout_blocks(handle_, &blocks));
        return blocks;
    }
    packed pack(const std::vector<value> &values, const launch *launch = nullptr) const {
        std::vector<hsaco_argument_value> all;
        for (const value &it : values)
            all.push_back(hsaco_argument_value{it.name, it.bytes.data, it.bytes.size});
        packed result{std::vector<std::uint8_t>(info().size), {}};
        require(hsaco_layout_pack(handle_, all.data(), all.size(), launch ? launch->get() : nullptr,
                                  result.data.data(), result.data.size(), nullptr));
        result.left_zero = detail::lines(last_error());
        return result;
    }
    hsaco_prepacked check_prepacked(bytes_view data) const {
        hsaco_prepacked prepacked;
        require(hsaco_layout_check_prepacked(handle_, data.data, data.size, &prepacked));
        return prepacked;
    }
    packed write_prepacked(bytes_view data, const launch *launch = nullptr) const {
        packed result{std::vector<std::uint8_t>(info().size), {}};
        require(hsaco_layout_write_prepacked(handle_, data.data, data.size, launch ? launch->get() : nullptr,
                                             result.data.data(), result.data.size(), nullptr));
        result.left_zero = detail::lines(last_error());
        return result;
    }
    void replace(std::size_t position, bytes_view data, std::vector<std::uint8_t> &segment) const {
        require(hsaco_layout_replace(handle_, position, data.data, data.size, segment.data(), segment.size()));
    }
    // The bytes of an argument in a packed segment; hidden ones follow those of the source.
    bytes_view unpack(bytes_view segment, std::size_t position) const {
        bytes_view found;
        require(hsaco_layout_unpack(handle_, segment.data, segment.size, position, &found.data, &found.size));
        return found;
    }
    void check_hash(const std::array<std::uint8_t, 16> &hash) const {
        require(hsaco_layout_check_hash(handle_, hash.data(), hash.size()));
    }
    std::array<std::uint8_t, 16> hash() const {
        std::array<std::uint8_t, 16> hash;
        std::copy(std::begin(info().hash), std::end(info().hash), hash.begin());
        return hash;
    }
};

// How a runtime packs bindings and constants.
class compact : public detail::owner<hsaco_compact, hsaco_compact_free> {
public:
    using owner::owner;

    compact(std::uint64_t size, std::uint64_t alignment, const std::vector<hsaco_declared_argument> &declared,
            bool marker_seen) {
        require(hsaco_compact_create(size, alignment, declared.data(), declared.size(), marker_seen, &handle_));
    }

    const hsaco_compact_info &info() const {
        const hsaco_compact_info *info = nullptr;
        require(hsaco_compact_get_info(handle_, &info));
        return *info;
    }
    span<std::uint32_t> bindings() const { return {info().bindings, info().binding_count}; }
    span<hsaco_constant_span> spans() const { return {info().spans, info().span_count}; }
    auto hidden() const {
        return indexed(info().hidden_count, [this](std::size_t index) -> const hsaco_parameter & {
            const hsaco_parameter *parameter = nullptr;
            require(hsaco_compact_hidden(handle_, index, &parameter));
            return *parameter;
        });
    }
    packed pack(const std::vector<std::uint64_t> &bindings, bytes_view constants,
                const launch *launch = nullptr) const {
        packed result{std::vector<std::uint8_t>(info().segment_size), {}};
        require(hsaco_compact_pack(handle_, bindings.data(), bindings.size(), constants.data, constants.size,
                                   launch ? launch->get() : nullptr, result.data.data(), result.data.size(), nullptr));
        result.left_zero = detail::lines(last_error());
        return result;
    }
    std::pair<std::vector<std::uint64_t>, std::vector<std::uint8_t>> unpack(bytes_view segment) const {
        std::vector<std::uint64_t> bindings(info().binding_count);
        std::vector<std::uint8_t> constants(info().constant_size);
        require(hsaco_compact_unpack(handle_, segment.data, segment.size, bindings.data(), bindings.size(),
                                     constants.data(), constants.size()));
        return {std::move(bindings), std::move(constants)};
    }
};

class kernel;

// A code object of a database.
class object : public detail::owner<hsaco_object, hsaco_object_free> {
public:
    using owner::owner;

    const hsaco_object_info &info() const {
        const hsaco_object_info *info = nullptr;
        require(hsaco_object_get_info(handle_, &info));
        return *info;
    }
    std::string_view file() const { return info().file; }
    std::string_view target() const { return info().target; }
    buffer data() const {
        hsaco_buffer *data = nullptr;
        require(hsaco_object_data(handle_, &data));
        return buffer(data);
    }
    // What llvm-objdump -d prints of it.
    buffer disassembly() const {
        hsaco_buffer *text = nullptr;
        require(hsaco_object_disassembly(handle_, &text));
        return buffer(text);
    }
    auto functions() const {
        return indexed(info().function_count, [this](std::size_t index) -> const hsaco_device_function & {
            const hsaco_device_function *function = nullptr;
            require(hsaco_object_function(handle_, index, &function));
            return *function;
        });
    }
    auto problems() const {
        return indexed(info().problem_count, [this](std::size_t index) -> const hsaco_problem & {
            const hsaco_problem *problem = nullptr;
            require(hsaco_object_problem(handle_, index, &problem));
            return *problem;
        });
    }
    auto kernels() const;
};

// A kernel of a database, decoded when its code is first asked for.
class kernel : public detail::owner<hsaco_kernel, hsaco_kernel_free> {
public:
    using owner::owner;

    const hsaco_kernel_info &info() const {
        const hsaco_kernel_info *info = nullptr;
        require(hsaco_kernel_get_info(handle_, &info));
        return *info;
    }
    std::string_view name() const { return info().name; }
    std::string_view demangled() const { return info().demangled; }
    std::string_view target() const { return info().target; }

    hsaco::object object() const {
        hsaco_object *object = nullptr;
        require(hsaco_kernel_object(handle_, &object));
        return hsaco::object(object);
    }
    buffer code() const {
        hsaco_buffer *code = nullptr;
        require(hsaco_kernel_code(handle_, &code));
        return buffer(code);
    }
    auto instructions() const {
        std::size_t count = 0;
        require(hsaco_kernel_instruction_count(handle_, &count));
        return indexed(count, [this](std::size_t index) -> const hsaco_instruction & {
            const hsaco_instruction *instruction = nullptr;
            require(hsaco_kernel_instruction(handle_, index, &instruction));
            return *instruction;
        });
    }
    // Where an instruction comes from; null where nothing says.
    const hsaco_location *location(std::size_t instruction) const {
        const hsaco_location *location = nullptr;
        require(hsaco_kernel_location(handle_, instruction, &location));
        return location;
    }
    // The functions that an instruction is in, those inlined first.
    std::vector<const hsaco_frame *> frames(std::size_t instruction) const {
        std::vector<const hsaco_frame *> all;
        const hsaco_frame *frame = nullptr;
        const std::size_t count = detail::count_rows([&](std::size_t index) {
            const hsaco_status status = hsaco_kernel_frame(handle_, instruction, index, &frame);
            if (status == HSACO_STATUS_OK)
                all.push_back(frame);
            return status;
        });
        all.resize(count);
        return all;
    }
    auto blocks() const {
        std::size_t count = 0;
        require(hsaco_kernel_block_count(handle_, &count));
        return indexed(count, [this](std::size_t index) -> const hsaco_block & {
            const hsaco_block *block = nullptr;
            require(hsaco_kernel_block(handle_, index, &block));
            return *block;
        });
    }
    auto lines() const {
        std::size_t count = 0;
        require(hsaco_kernel_line_count(handle_, &count));
        return indexed(count, [this](std::size_t index) -> const hsaco_line & {
            const hsaco_line *line = nullptr;
            require(hsaco_kernel_line(handle_, index, &line));
            return *line;
        });
    }
    // HSACO_ARGUMENTS_RESOLVE_TYPEDEFS and HSACO_ARGUMENTS_KEYWORDS are flags.
    hsaco::arguments arguments(std::uint32_t flags = 0) const {
        hsaco_arguments *arguments = nullptr;
        require(hsaco_kernel_arguments(handle_, flags, &arguments));
        return hsaco::arguments(arguments);
    }
    hsaco::layout layout() const {
        hsaco_layout *layout = nullptr;
        require(hsaco_kernel_layout(handle_, &layout));
        return hsaco::layout(layout);
    }
    hsaco::compact compact(bool marker_seen) const {
        hsaco_compact *compact = nullptr;
        require(hsaco_kernel_compact(handle_, marker_seen, &compact));
        return hsaco::compact(compact);
    }
    // For a kernel of whose arguments the metadata says nothing.
    hsaco_prepacked check_prepacked(bytes_view data) const {
        hsaco_prepacked prepacked;
        require(hsaco_kernel_check_prepacked(handle_, data.data, data.size, &prepacked));
        return prepacked;
    }
    hsaco_packet_needs packet_needs() const {
        hsaco_packet_needs needs;
        std::memset(&needs, 0, sizeof needs);
        needs.size = sizeof needs;
        require(hsaco_kernel_packet_needs(handle_, &needs));
        return needs;
    }
};

inline auto object::kernels() const {
    return indexed(info().kernel_count, [this](std::size_t index) {
        hsaco_kernel *found = nullptr;
        require(hsaco_object_kernel(handle_, index, &found));
        return kernel(found);
    });
}

// Which objects and kernels of a file are added.
class selection {
public:
    selection &target(std::string target) {
        target_ = std::move(target);
        return *this;
    }
    selection &device(std::string device) {
        device_ = std::move(device);
        return *this;
    }
    // Only kernels of whose mangled name this is true. It must not throw.
    selection &filter(std::function<bool(const char *)> filter) {
        filter_ = std::move(filter);
        return *this;
    }

    // For functions of hsaco.h, for as long as this lives.
    hsaco_selection get() const {
        hsaco_selection selection;
        std::memset(&selection, 0, sizeof selection);
        selection.size = sizeof selection;
        selection.target = target_ ? target_->c_str() : nullptr;
        selection.device = device_ ? device_->c_str() : nullptr;
        if (filter_) {
            selection.filter = [](const char *name, void *data) -> int {
                return (*static_cast<const std::function<bool(const char *)> *>(data))(name);
            };
            selection.data = const_cast<void *>(static_cast<const void *>(&filter_));
        }
        return selection;
    }

private:
    std::optional<std::string> target_, device_;
    std::function<bool(const char *)> filter_;
};

// A range of code of a source line.
struct code_range {
    hsaco::object object;
    std::uint64_t start;
    std::uint64_t end;
};

// The kernels of many files.
class database : public detail::owner<hsaco_database, hsaco_database_free> {
public:
    database() { require(hsaco_database_create(&handle_)); }

    // Adds a file or a directory; how many objects that brought.
    std::size_t add_file(const std::string &path, const selection &selection = {}) {
        const hsaco_selection which = selection.get();
        std::size_t added = 0;
        require(hsaco_database_add_file(handle_, path.c_str(), &which, &added));
        return added;
    }
    std::size_t add_bytes(const std::string &name, bytes_view bytes, const selection &selection = {}) {
        const hsaco_selection which = selection.get();
        std::size_t added = 0;
        require(hsaco_database_add_bytes(handle_, name.c_str(), bytes.data, bytes.size, &which, &added));
        return added;
    }
    hsaco_database_counts counts() const {
        hsaco_database_counts counts;
        require(hsaco_database_get_counts(handle_, &counts));
        return counts;
    }
    auto objects() const {
        return indexed(static_cast<std::size_t>(counts().objects), [this](std::size_t index) {
            hsaco_object *found = nullptr;
            require(hsaco_database_object(handle_, index, &found));
            return object(found);
        });
    }
    auto kernels() const {
        return indexed(static_cast<std::size_t>(counts().kernels), [this](std::size_t index) {
            hsaco_kernel *found = nullptr;
            require(hsaco_database_kernel_at(handle_, index, &found));
            return hsaco::kernel(found);
        });
    }
    // The only kernel of a name for a device; of any target without one.
    hsaco::kernel kernel(const std::string &name, const char *device = nullptr) const {
        hsaco_kernel *found = nullptr;
        require(hsaco_database_kernel(handle_, name.c_str(), nullptr, device, &found));
        return hsaco::kernel(found);
    }
    // The same, if there is one.
    std::optional<hsaco::kernel> find(const std::string &name, const char *device = nullptr) const {
        hsaco_kernel *found = nullptr;
        const hsaco_status status = hsaco_database_kernel(handle_, name.c_str(), nullptr, device, &found);
        if (status == HSACO_STATUS_NOT_FOUND)
            return std::nullopt;
        require(status);
        return hsaco::kernel(found);
    }
    std::vector<hsaco::kernel> kernels_named(const std::string &name) const {
        std::vector<hsaco::kernel> all;
        detail::count_rows([&](std::size_t index) {
            hsaco_kernel *found = nullptr;
            const hsaco_status status = hsaco_database_kernel_named(handle_, name.c_str(), index, &found);
            if (status == HSACO_STATUS_OK)
                all.emplace_back(found);
            return status;
        });
        return all;
    }
    std::vector<code_range> code_of_line(const std::string &file, std::uint32_t line, std::uint32_t column = 0) const {
        std::vector<code_range> all;
        const auto add = [](hsaco_object *found, std::uint64_t start, std::uint64_t end, void *data) -> int {
            static_cast<std::vector<code_range> *>(data)->push_back(code_range{object(found), start, end});
            return 0;
        };
        require(hsaco_database_code_of_line(handle_, file.c_str(), line, column, add, &all));
        return all;
    }
    std::vector<const hsaco_problem *> problems() const {
        std::vector<const hsaco_problem *> all;
        const hsaco_problem *problem = nullptr;
        for (std::size_t i = 0; hsaco_database_problem(handle_, i, &problem) == HSACO_STATUS_OK; ++i)
            all.push_back(problem);
        return all;
    }
};

// A device to check objects against.
class device : public detail::owner<hsaco_device, hsaco_device_free> {
public:
    explicit device(const std::string &name) { require(hsaco_device_create(name.c_str(), &handle_)); }

    device &set(hsaco_device_limit limit, std::uint32_t value) {
        require(hsaco_device_set_limit(handle_, limit, value));
        return *this;
    }
    std::uint32_t operator[](hsaco_device_limit limit) const {
        std::uint32_t value = 0;
        require(hsaco_device_get_limit(handle_, limit, &value));
        return value;
    }
};

// What a check found.
class report : public detail::owner<hsaco_report, hsaco_report_free> {
public:
    report(hsaco_report *handle, bool passes) : owner(handle), passes_(passes) {}

    // Whether the device takes the object.
    bool passes() const { return passes_; }
    std::size_t size() const {
        std::size_t count = 0;
        require(hsaco_report_count(handle_, &count));
        return count;
    }
    auto findings() const {
        return indexed(size(), [this](std::size_t index) -> const hsaco_finding & {
            const hsaco_finding *finding = nullptr;
            require(hsaco_report_finding(handle_, index, &finding));
            return *finding;
        });
    }

private:
    bool passes_;
};

// What to check.
class checker {
public:
    checker() = default;
    explicit checker(const hsaco::device &device) : device_(device.get()) {}

    checker &kernel(std::string name) {
        kernels_.push_back(std::move(name));
        return *this;
    }
    checker &with_code() {
        flags_ |= HSACO_CHECK_CODE;
        return *this;
    }
    checker &workgroup(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
        flags_ |= HSACO_CHECK_WORKGROUP;
        workgroup_ = {x, y, z};
        return *this;
    }
    checker &grid(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
        flags_ |= HSACO_CHECK_GRID;
        grid_ = {x, y, z};
        return *this;
    }
    checker &dynamic_lds(std::uint64_t bytes) {
        dynamic_lds_ = bytes;
        return *this;
    }
    checker &select(std::string rule) {
        select_.push_back(std::move(rule));
        return *this;
    }
    checker &ignore(std::string rule) {
        ignore_.push_back(std::move(rule));
        return *this;
    }

    report check(bytes_view bytes) const {
        const auto kernels = detail::c_strings(kernels_), select = detail::c_strings(select_),
                   ignore = detail::c_strings(ignore_);
        hsaco_check_options options;
        std::memset(&options, 0, sizeof options);
        options.size = sizeof options;
        options.device = device_;
        options.kernels = kernels.data();
        options.kernel_count = kernels.size();
        options.flags = flags_;
        std::copy(workgroup_.begin(), workgroup_.end(), options.workgroup);
        std::copy(grid_.begin(), grid_.end(), options.grid);
        options.dynamic_lds = dynamic_lds_;
        options.select = select.data();
        options.select_count = select.size();
        options.ignore = ignore.data();
        options.ignore_count = ignore.size();
        hsaco_report *found = nullptr;
        const hsaco_status status = hsaco_check_with(bytes.data, bytes.size, &options, &found);
        if (status != HSACO_STATUS_FINDINGS)
            require(status);
        return report(found, status == HSACO_STATUS_OK);
    }

private:
    const hsaco_device *device_ = nullptr;
    std::vector<std::string> kernels_, select_, ignore_;
    std::uint32_t flags_ = 0;
    std::array<std::uint32_t, 3> workgroup_{}, grid_{};
    std::uint64_t dynamic_lds_ = 0;
};

// Checks against a device by its name.
inline report check(bytes_view bytes, const std::string &device) {
    hsaco_report *found = nullptr;
    const hsaco_status status = hsaco_check(bytes.data, bytes.size, device.c_str(), &found);
    if (status != HSACO_STATUS_FINDINGS)
        require(status);
    return report(found, status == HSACO_STATUS_OK);
}

// The calls of an executable.
class calls : public detail::owner<hsaco_calls, hsaco_calls_free> {
public:
    using owner::owner;

    auto all() const {
        std::size_t count = 0;
        require(hsaco_calls_count(handle_, &count));
        return indexed(count, [this](std::size_t index) -> const hsaco_call & {
            const hsaco_call *call = nullptr;
            require(hsaco_calls_get(handle_, index, &call));
            return *call;
        });
    }
};

// A symbol of an executable.
class symbol {
public:
    symbol(const hsaco_executable *executable, hsaco_executable_symbol symbol)
        : executable_(executable), symbol_(symbol) {}

    hsaco_executable_symbol get() const { return symbol_; }
    // The answer to a question: T must be the type that the attribute names.
    template <class T>
    T info(hsaco_executable_symbol_info attribute) const {
        T value{};
        require(hsaco_executable_symbol_get_info(executable_, symbol_, attribute, &value, sizeof value));
        return value;
    }
    // The same, if the symbol has it.
    template <class T>
    std::optional<T> find(hsaco_executable_symbol_info attribute) const {
        T value{};
        const hsaco_status status =
            hsaco_executable_symbol_get_info(executable_, symbol_, attribute, &value, sizeof value);
        return status == HSACO_STATUS_OK ? std::optional<T>(value) : std::nullopt;
    }
    hsaco_executable_symbol_kind kind() const {
        return static_cast<hsaco_executable_symbol_kind>(info<std::uint32_t>(HSACO_EXECUTABLE_SYMBOL_INFO_TYPE));
    }
    std::string name() const {
        std::string name(info<std::uint32_t>(HSACO_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH), '\0');
        if (!name.empty())
            require(hsaco_executable_symbol_get_info(executable_, symbol_, HSACO_EXECUTABLE_SYMBOL_INFO_NAME,
                                                     name.data(), name.size()));
        return name;
    }

private:
    const hsaco_executable *executable_;
    hsaco_executable_symbol symbol_;
};

// What memory holds.
struct segment {
    std::uint64_t address;
    std::uint64_t size;
    std::vector<std::uint8_t> bytes;
    std::uint32_t permissions;
};

// Code objects that belong together.
class executable : public detail::owner<hsaco_executable, hsaco_executable_free> {
public:
    executable() { require(hsaco_executable_create(nullptr, &handle_)); }
    explicit executable(const std::string &device) { require(hsaco_executable_create(device.c_str(), &handle_)); }

    void define_variable(const std::string &name, std::uint64_t address, std::uint64_t size) {
        require(hsaco_executable_define_variable(handle_, name.c_str(), address, size));
    }
    void define_function(const std::string &name, std::uint64_t address) {
        require(hsaco_executable_define_function(handle_, name.c_str(), address));
    }
    std::uint32_t load(const std::string &name, bytes_view bytes, std::uint64_t base = HSACO_UNKNOWN) {
        std::uint32_t loaded = 0;
        require(hsaco_executable_load_code_object(handle_, name.c_str(), bytes.data, bytes.size, base, &loaded));
        return loaded;
    }
    void freeze(std::uint64_t base, bool fix_resources = true) {
        require(hsaco_executable_freeze(handle_, base, fix_resources));
    }
    std::uint32_t hsa_status() const {
        std::uint32_t status = 0;
        require(hsaco_executable_hsa_status(handle_, &status));
        return status;
    }
    std::optional<hsaco::symbol> symbol(const std::string &name) const {
        hsaco_executable_symbol found{0};
        const hsaco_status status = hsaco_executable_get_symbol_by_name(handle_, name.c_str(), &found);
        if (status == HSACO_STATUS_NOT_FOUND)
            return std::nullopt;
        require(status);
        return hsaco::symbol(handle_, found);
    }
    std::vector<hsaco::symbol> symbols() const {
        std::vector<hsaco::symbol> all;
        const auto add = [](const hsaco_executable *executable, hsaco_executable_symbol symbol, void *data) -> int {
            static_cast<std::vector<hsaco::symbol> *>(data)->emplace_back(executable, symbol);
            return 0;
        };
        require(hsaco_executable_iterate_symbols(handle_, add, &all));
        return all;
    }
    std::vector<segment> segments() const {
        std::vector<segment> all;
        const auto add = [](std::uint64_t address, std::uint64_t size, const std::uint8_t *bytes, std::size_t count,
                            std::uint32_t permissions, void *data) -> int {
            const std::vector<std::uint8_t> copy(bytes, bytes + count);
            static_cast<std::vector<segment> *>(data)->push_back(segment{address, size, copy, permissions});
            return 0;
        };
        require(hsaco_executable_iterate_segments(handle_, add, &all));
        return all;
    }
    std::vector<const hsaco_raise *> raises() const {
        std::vector<const hsaco_raise *> all;
        detail::count_rows([&](std::size_t index) {
            const hsaco_raise *raise = nullptr;
            const hsaco_status status = hsaco_executable_raise(handle_, index, &raise);
            if (status == HSACO_STATUS_OK)
                all.push_back(raise);
            return status;
        });
        return all;
    }
    std::vector<std::string> remarks() const {
        std::vector<std::string> all;
        detail::count_rows([&](std::size_t index) {
            const char *words = nullptr;
            const hsaco_status status = hsaco_executable_remark(handle_, index, &words);
            if (status == HSACO_STATUS_OK)
                all.emplace_back(words);
            return status;
        });
        return all;
    }
    std::optional<hsaco_address_info> locate(std::uint64_t address) const {
        hsaco_address_info info;
        const hsaco_status status = hsaco_executable_locate(handle_, address, &info);
        if (status == HSACO_STATUS_NOT_FOUND)
            return std::nullopt;
        require(status);
        return info;
    }
    hsaco::calls calls() const {
        hsaco_calls *found = nullptr;
        require(hsaco_executable_calls(handle_, &found));
        return hsaco::calls(found);
    }
    buffer link() const {
        hsaco_buffer *linked = nullptr;
        require(hsaco_executable_link(handle_, &linked));
        return buffer(linked);
    }
};

// What became of a file that was to be rewritten.
class patched : public detail::owner<hsaco_patched, hsaco_patched_free> {
public:
    patched(hsaco_patched *handle, std::string refusals) : owner(handle), refusals_(std::move(refusals)) {}

    hsaco_patch_verdict verdict() const {
        hsaco_patch_verdict verdict = HSACO_PATCH_VERDICT_REFUSED;
        require(hsaco_patched_verdict(handle_, &verdict));
        return verdict;
    }
    // Why it was refused, a line each.
    const std::string &refusals() const { return refusals_; }
    buffer data() const {
        hsaco_buffer *data = nullptr;
        require(hsaco_patched_data(handle_, &data));
        return buffer(data);
    }
    buffer manifest() const {
        hsaco_buffer *manifest = nullptr;
        require(hsaco_patched_manifest(handle_, &manifest));
        return buffer(manifest);
    }
    std::string summary() const {
        const char *text = nullptr;
        require(hsaco_patched_summary(handle_, &text));
        return text;
    }

private:
    std::string refusals_;
};

// Rewrites code objects by a rule set.
class patcher : public detail::owner<hsaco_patcher, hsaco_patcher_free> {
public:
    explicit patcher(const std::string &rule_set, const std::vector<std::string> &options = {}) {
        const auto names = detail::c_strings(options);
        require(hsaco_patcher_create(rule_set.c_str(), names.data(), names.size(), &handle_));
    }

    patcher &edit(const std::string &kind, const std::string &edit) {
        require(hsaco_patcher_edit(handle_, kind.c_str(), edit.c_str()));
        return *this;
    }
    hsaco::patched patch(bytes_view bytes) const {
        hsaco_patched *result = nullptr;
        const hsaco_status status = hsaco_patcher_patch(handle_, bytes.data, bytes.size, &result);
        const std::string words = last_error();
        if (status != HSACO_STATUS_FINDINGS)
            require(status);
        return hsaco::patched(result, words);
    }
};

// Sets numbers of kernels, such as "foo.vgpr_count=77".
inline patched set(bytes_view bytes, const std::vector<std::string> &settings) {
    const auto texts = detail::c_strings(settings);
    hsaco_patched *result = nullptr;
    require(hsaco_patch_set(bytes.data, bytes.size, texts.data(), texts.size(), &result));
    return patched(result, "");
}

// What does not hold of a rewritten file, a line each; empty if all does.
inline std::string verify(bytes_view original, bytes_view result, bytes_view manifest) {
    const hsaco_status status = hsaco_patch_verify(original.data, original.size, result.data, result.size,
                                                   manifest.data, manifest.size);
    if (status != HSACO_STATUS_FINDINGS)
        require(status);
    return status == HSACO_STATUS_OK ? std::string() : last_error();
}

inline std::vector<std::string> rule_sets() {
    std::vector<std::string> all;
    detail::count_rows([&](std::size_t index) {
        hsaco_buffer *name = nullptr;
        const hsaco_status status = hsaco_rule_set(index, &name);
        if (status == HSACO_STATUS_OK)
            all.push_back(buffer(name).str());
        return status;
    });
    return all;
}

// Decoded code.
class listing : public detail::owner<hsaco_listing, hsaco_listing_free> {
public:
    listing(bytes_view code, const std::string &target, std::uint64_t address = 0) {
        require(hsaco_disassemble(code.data, code.size, target.c_str(), address, &handle_));
    }

    auto instructions() const {
        std::size_t count = 0;
        require(hsaco_listing_count(handle_, &count));
        return indexed(count, [this](std::size_t index) -> const hsaco_instruction & {
            const hsaco_instruction *instruction = nullptr;
            require(hsaco_listing_instruction(handle_, index, &instruction));
            return *instruction;
        });
    }
};

// The code of lines of assembly.
inline buffer assemble(const std::string &lines, const std::string &target) {
    hsaco_buffer *code = nullptr;
    require(hsaco_assemble(lines.c_str(), target.c_str(), &code));
    return buffer(code);
}

// Operands, modifiers and registers of an instruction as lists.
inline span<const char *> operands(const hsaco_instruction &it) { return {it.operands, it.operand_count}; }
inline span<const char *> modifiers(const hsaco_instruction &it) { return {it.modifiers, it.modifier_count}; }
inline span<hsaco_register> reads(const hsaco_instruction &it) { return {it.reads, it.read_count}; }
inline span<hsaco_register> writes(const hsaco_instruction &it) { return {it.writes, it.write_count}; }

// The packet that launches a kernel.
inline std::array<std::uint8_t, 64> dispatch_packet(const launch &launch, const hsaco_packet_needs &needs) {
    std::array<std::uint8_t, 64> packet;
    require(hsaco_packet_dispatch(launch.get(), &needs, packet.data(), packet.size()));
    return packet;
}

// What a packet says; throws where it breaks rules.
inline hsaco_packet_info decode_packet(bytes_view packet) {
    hsaco_packet_info info;
    require(hsaco_packet_decode(packet.data, packet.size, &info));
    return info;
}

// What a kernel is called with on an emulator.
struct call_argument {
    hsaco_call_value value;

    // A value, by its bytes; it must live until the call ends.
    template <class T, class = std::enable_if_t<std::is_trivially_copyable_v<T>>>
    static call_argument by_value(const T &value) {
        void *data = const_cast<void *>(static_cast<const void *>(&value));
        return {hsaco_call_value{static_cast<std::uint8_t *>(data), sizeof value, 0}};
    }
    // Memory, which is copied to the device and back.
    template <class T>
    static call_argument memory(std::vector<T> &memory) {
        return {hsaco_call_value{reinterpret_cast<std::uint8_t *>(memory.data()), memory.size() * sizeof(T), 1}};
    }
};

// A device that runs kernels on the CPU.
class emulator : public detail::owner<hsaco_emulator, hsaco_emulator_free> {
public:
    explicit emulator(const std::string &target, std::uint64_t memory = std::uint64_t(1) << 32) {
        require(hsaco_emulator_create(target.c_str(), memory, &handle_));
    }

    void load(const executable &executable) { require(hsaco_emulator_load(handle_, executable.get())); }
    std::uint64_t allocate(std::uint64_t size) {
        std::uint64_t address = 0;
        require(hsaco_emulator_allocate(handle_, size, &address));
        return address;
    }
    void release(std::uint64_t address) { require(hsaco_emulator_release(handle_, address)); }
    void write(std::uint64_t address, bytes_view data) {
        require(hsaco_emulator_write(handle_, address, data.data, data.size));
    }
    template <class T>
    std::vector<T> read(std::uint64_t address, std::size_t count) const {
        std::vector<T> data(count);
        require(hsaco_emulator_read(handle_, address, reinterpret_cast<std::uint8_t *>(data.data()),
                                    count * sizeof(T)));
        return data;
    }
    hsaco_run_outcome call(const executable &executable, const std::string &kernel, const launch &launch,
                           const std::vector<call_argument> &arguments, const hsaco_run_options *options = nullptr) {
        std::vector<hsaco_call_value> values;
        for (const call_argument &it : arguments)
            values.push_back(it.value);
        hsaco_run_outcome outcome;
        require(hsaco_emulator_call(handle_, executable.get(), kernel.c_str(), launch.get(), values.data(),
                                    values.size(), options, &outcome));
        return outcome;
    }
    hsaco_run_outcome dispatch(const executable &executable, const std::string &kernel, const launch &launch,
                               bytes_view segment, const hsaco_run_options *options = nullptr) {
        hsaco_run_outcome outcome;
        require(hsaco_emulator_dispatch(handle_, executable.get(), kernel.c_str(), launch.get(), segment.data,
                                        segment.size, options, &outcome));
        return outcome;
    }
};

} // namespace hsaco

#endif // HSACO_HPP
