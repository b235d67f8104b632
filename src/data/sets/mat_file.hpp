#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {

/// An array in a MAT file, as far as it is needed here.
struct MatMatrix {
  std::size_t offset = 0;  ///< of the array in its (unpacked) variable, for messages
  std::uint32_t array_class = 0;
  std::string name;
  std::span<const std::uint8_t> rest;  ///< the elements after the name
};

/// An array of structures. The cells are those of the first row, field by field, then those of the
/// second one, ...
struct MatStruct {
  std::size_t offset = 0;
  std::vector<std::string> fields;
  std::vector<MatMatrix> cells;
};

/// A MAT file of MATLAB 5 to 7 (little-endian), read as far as tables of numbers and words need it.
/// No size in the file is trusted: each is checked against the bytes that exist.
class MatFile {
 public:
  /// Reads the file and unpacks its variables.
  /// @throws BadFile  not such a file, or one that is damaged or too large
  explicit MatFile(const std::filesystem::path& path);

  /// The variable of that name, which must be an array of structures. Valid as long as the file.
  /// @throws BadFile  if it does not exist or is something else
  [[nodiscard]] MatStruct find_struct(std::string_view name) const;

  /// The one number in an array.
  [[nodiscard]] double number(const MatMatrix& matrix) const;
  /// The characters in an array; those above 127 become '?'.
  [[nodiscard]] std::string text(const MatMatrix& matrix) const;

  /// @throws BadFile  always
  template <class... T>
  [[noreturn]] void refuse(std::size_t offset, fmt::format_string<T...> what, T&&... values) const {
    throw BadFile(fmt::format("{}, byte {} of its (unpacked) data: {}; fetch the devkit again",
                              path_.string(), offset,
                              fmt::format(what, std::forward<T>(values)...)));
  }

 private:
  [[nodiscard]] MatMatrix read_matrix(std::span<const std::uint8_t> bytes,
                                      std::size_t offset) const;
  [[nodiscard]] MatStruct read_struct(const MatMatrix& matrix) const;

  std::filesystem::path path_;
  std::vector<std::vector<std::uint8_t>> variables_;  ///< each the contents of an array
};

}  // namespace rcap
