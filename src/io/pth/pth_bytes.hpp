#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

/// What the parts of the `.pth` reader share.
namespace rcap::pth {

/// What messages begin with.
[[nodiscard]] std::string where(const std::filesystem::path& path);

/// @throws BadFile  always
template <class... T>
[[noreturn]] void refuse(const std::filesystem::path& path, fmt::format_string<T...> what,
                         T&&... values) {
  throw BadFile(fmt::format("{}: {}", where(path), fmt::format(what, std::forward<T>(values)...)));
}

/// Numbers (little-endian) and text from a part of a file, read in order and never past its end.
class ByteReader {
 public:
  /// @param path   must live as long as this object
  /// @param part   what messages call it: "data.pkl", "the file"
  /// @param start  where to begin, within `bytes`
  ByteReader(const std::filesystem::path& path, std::string_view part,
             std::span<const std::byte> bytes, std::size_t start = 0)
      : path_(path), part_(part), bytes_(bytes), position_(start) {}

  /// @param what  what is read, for the message if it is cut off
  /// @throws BadFile  if fewer bytes are left
  [[nodiscard]] std::span<const std::byte> take(std::uint64_t count, std::string_view what);
  [[nodiscard]] std::string_view take_text(std::uint64_t count, std::string_view what);
  /// Reads to the end of the line, which is skipped.
  [[nodiscard]] std::string_view take_line(std::string_view what);
  template <class Number>
  [[nodiscard]] Number take_number(std::string_view what) {
    static_assert(std::is_integral_v<Number>);
    Number number;
    std::memcpy(&number, take(sizeof number, what).data(), sizeof number);
    return number;
  }
  void skip(std::uint64_t count, std::string_view what) { (void)take(count, what); }

  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - position_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// "byte 12 of data.pkl".
  [[nodiscard]] std::string place(std::size_t position) const;

 private:
  const std::filesystem::path& path_;
  std::string part_;
  std::span<const std::byte> bytes_;
  std::size_t position_;
};

}  // namespace rcap::pth
