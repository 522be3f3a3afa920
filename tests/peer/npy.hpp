// The .npy files that the peer tests exchange: float32, little-endian, row-major, version 1.0, any number of axes.
#pragma once

#include "patchbench/base/error.hpp"

#include <cstdint>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace pb::peer {

struct Array {
    std::vector<int64_t> shape;
    std::vector<float> values;
};

inline Array read_npy(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::string start(10, '\0');
    stream.read(start.data(), 10);  // "\x93NUMPY", version, length of the header
    std::string header(static_cast<uint8_t>(start[8]) + 256U * static_cast<uint8_t>(start[9]), '\0');
    stream.read(header.data(), static_cast<std::streamsize>(header.size()));
    const bool plain = header.find("'<f4'") != std::string::npos && header.find("False") != std::string::npos;
    require(stream.good() && start.substr(1, 5) == "NUMPY" && plain, file + ": not a row-major float32 .npy file");
    Array array;
    const std::string shape = header.substr(header.find('('));
    const std::regex number("[0-9]+");
    size_t count = 1;
    for (auto i = std::sregex_iterator(shape.begin(), shape.end(), number); i != std::sregex_iterator(); ++i) {
        array.shape.push_back(std::stoll(i->str()));
        count *= static_cast<size_t>(array.shape.back());
    }
    array.values.resize(count);
    stream.read(reinterpret_cast<char*>(array.values.data()), static_cast<std::streamsize>(count * sizeof(float)));
    require(stream.good(), file + ": cut short");
    return array;
}

inline void write_npy(const std::string& file, const Array& array) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (const int64_t extent : array.shape) header += std::to_string(extent) + ",";
    header += ")}";
    header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 10, ' ');  // numpy wants the samples at a multiple of 64
    header.back() = '\n';
    std::ofstream stream(file, std::ios::binary);
    stream.write("\x93NUMPY\x01\x00", 8);
    stream.put(static_cast<char>(header.size() % 256)).put(static_cast<char>(header.size() / 256));
    stream << header;
    stream.write(reinterpret_cast<const char*>(array.values.data()),
                 static_cast<std::streamsize>(array.values.size() * sizeof(float)));
    require(stream.good(), file + ": cannot be written");
}

}  // namespace pb::peer
