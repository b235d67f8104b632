#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rcap {

/// The contents of the header of a .npy file.
struct NpyHeader {
  std::string type;  ///< descr, e.g. "<i4"; for a structured type "[...]"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

/// Reads the Python dictionary of a header. Strict: three known keys, each once.
/// @return empty if the text is not such a dictionary
[[nodiscard]] std::optional<NpyHeader> parse_npy_header(std::string_view text);

/// A type in words, e.g. "big-endian int32 ('>i4')".
[[nodiscard]] std::string describe_npy_type(const std::string& type);

}  // namespace rcap
