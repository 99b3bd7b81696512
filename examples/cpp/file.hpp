// What the examples share: reading a file.

#ifndef EXAMPLE_FILE_HPP
#define EXAMPLE_FILE_HPP

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

inline std::vector<std::uint8_t> read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error(path + ": cannot be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string &path, const std::uint8_t *bytes, std::size_t size) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes), static_cast<std::streamsize>(size));
    if (!file)
        throw std::runtime_error(path + ": cannot be written");
}

#endif
