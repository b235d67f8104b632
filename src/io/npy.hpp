#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/staged_file.hpp"
#include "rcap/core/ids.hpp"

namespace rcap {

/// Arrays in NumPy's .npy format, versions 1.0 to 3.0.
///
/// Only one-dimensional little-endian arrays in C order are read (two-dimensional ones for a
/// table); anything else is refused by name, with the NumPy call that fixes it. The size of the
/// file must be exactly what its header says, which is checked before memory is allocated.

/// Whether there is a file that begins like a .npy file.
[[nodiscard]] bool is_npy(const std::filesystem::path& path);

/// An array with the type it has in its file.
using IntegerArray =
    std::variant<std::vector<std::int8_t>, std::vector<std::int16_t>, std::vector<std::int32_t>,
                 std::vector<std::int64_t>, std::vector<std::uint8_t>, std::vector<std::uint16_t>,
                 std::vector<std::uint32_t>, std::vector<std::uint64_t>>;
using RealArray = std::variant<std::vector<float>, std::vector<double>>;

/// @param meaning  what the array holds ("labels"), for messages
/// @throws BadFile  unreadable, not a .npy file, of the wrong type, order or shape, truncated or
///                  too long
[[nodiscard]] IntegerArray read_integers(const std::filesystem::path& path,
                                         std::string_view meaning);

/// float32 or float64; otherwise like `read_integers`.
[[nodiscard]] RealArray read_reals(const std::filesystem::path& path, std::string_view meaning);

/// Rows of numbers, one after another.
struct NumberTable {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;  ///< integers above 2^53 are rounded
};

/// A two-dimensional array of float32, float64 or integers of any width; otherwise like
/// `read_integers`.
[[nodiscard]] NumberTable read_number_table(const std::filesystem::path& path,
                                            std::string_view meaning);

/// Integers of any type as sample ids.
/// @throws BadFile  also for a number above the largest id
[[nodiscard]] std::vector<SampleId> read_ids(const std::filesystem::path& path);

/// Writes version 1.0 with the data at a multiple of 64 bytes, like NumPy.
/// @throws BadFile  names the path and the reason
void write_npy(StagedFile& file, std::span<const std::int64_t> values);
void write_npy(StagedFile& file, std::span<const float> values);

}  // namespace rcap
