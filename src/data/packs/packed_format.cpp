#include "data/packs/packed_format.hpp"

#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rcap::packed_format {
namespace {

namespace fs = std::filesystem;

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_number(std::string& bytes, std::size_t value) {
  append(bytes, static_cast<std::uint32_t>(value));
}

void append_text(std::string& bytes, std::string_view text) {
  append_number(bytes, text.size());
  bytes.append(text);
}

void append_list(std::string& bytes, const std::vector<std::string>& list) {
  append_number(bytes, list.size());
  for (const std::string& text : list) append_text(bytes, text);
}

enum class Sign { Any, Positive };

/// Reads the description from start to end and checks each step against what is left.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const fs::path& path, std::uint64_t offset)
      : bytes_(bytes), path_(path), offset_(offset) {}

  template <class T>
  T value(std::string_view what) {
    if (left() < sizeof(T)) {
      refuse(at_, "{} needs {} bytes, but {} are left", what, sizeof(T), left());
    }
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  /// One of two numbers.
  std::uint32_t choice(std::string_view what, std::uint32_t one, std::uint32_t other) {
    const std::size_t at = at_;
    const auto number = value<std::uint32_t>(what);
    if (number != one && number != other) {
      refuse(at, "{} is {}; it must be {} or {}", what, number, one, other);
    }
    return number;
  }

  /// The side of a crop or a resize.
  int side(std::string_view what) {
    const std::size_t at = at_;
    const auto number = value<std::uint32_t>(what);
    if (number > LongestSide) {
      refuse(at, "{} is {}; it must lie between 0 and {}", what, number, LongestSide);
    }
    return static_cast<int>(number);
  }

  std::string text(std::string_view what) {
    const std::size_t at = at_;
    const auto length = value<std::uint32_t>(what);
    if (length > left()) {
      refuse(at, "{} claims {} bytes, but {} are left", what, length, left());
    }
    const auto* const first = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += length;
    return std::string(first, length);
  }

  std::vector<std::string> list(std::string_view what) {
    const std::size_t at = at_;
    const auto count = value<std::uint32_t>(what);
    // Every string has a length.
    if (count > left() / sizeof(std::uint32_t)) {
      refuse(at, "{} claim to be {}, but {} bytes are left", what, count, left());
    }
    std::vector<std::string> list;
    list.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) list.push_back(text(what));
    return list;
  }

  std::vector<float> numbers(std::string_view what, std::size_t count, Sign sign) {
    const bool positive = sign == Sign::Positive;
    std::vector<float> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = at_;
      numbers.push_back(value<float>(what));
      if (!std::isfinite(numbers.back()) || (positive && !(numbers.back() > 0))) {
        refuse(at, "{} of channel {} is {}; it must be finite{}", what, i, numbers.back(),
               positive ? " and above 0" : "");
      }
    }
    return numbers;
  }

  void finish() const {
    if (left() > 0) refuse(at_, "{} bytes follow the description", left());
  }

 private:
  static constexpr std::uint32_t LongestSide = 65535;

  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
  template <class... T>
  [[noreturn]] void refuse(std::size_t at, fmt::format_string<T...> what, T&&... values) const {
    refuse_at(path_, offset_ + at, what, std::forward<T>(values)...);
  }

  std::span<const std::byte> bytes_;
  const fs::path& path_;
  std::uint64_t offset_;
  std::size_t at_ = 0;
};

}  // namespace

std::uint64_t checksum_of(const void* data, std::size_t bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

std::uint64_t checksum_of(const Head& head) {
  return checksum_of(&head, offsetof(Head, head_checksum));
}

std::string encode(const Description& description) {
  std::string bytes;
  append_text(bytes, description.name);
  append_number(bytes, static_cast<std::size_t>(description.channels));
  append_list(bytes, description.class_names);
  append_list(bytes, description.group_names);
  append_list(bytes, description.remarks);
  append_number(bytes, description.normalization.mean.size());
  for (const float mean : description.normalization.mean) append(bytes, mean);
  for (const float deviation : description.normalization.deviation) append(bytes, deviation);
  append_number(bytes, description.recipe.fast_decode ? 1 : 0);
  append_number(bytes, static_cast<std::size_t>(description.recipe.center_crop));
  append_number(bytes, static_cast<std::size_t>(description.recipe.resize));
  append_number(bytes, description.recipe.interpolation == Interpolation::Bicubic ? 1 : 0);
  return bytes;
}

Description decode_description(std::span<const std::byte> bytes, const fs::path& path,
                               std::uint64_t offset) {
  Cursor cursor(bytes, path, offset);
  Description description;
  description.name = cursor.text("the name");
  const std::uint32_t channels = cursor.choice("the number of channels", 1, 3);
  description.channels = static_cast<int>(channels);
  description.class_names = cursor.list("the class names");
  description.group_names = cursor.list("the group names");
  description.remarks = cursor.list("the remarks");
  const std::uint32_t normalized = cursor.choice("the length of the normalisation", 0, channels);
  description.normalization.mean = cursor.numbers("the mean", normalized, Sign::Any);
  description.normalization.deviation = cursor.numbers("the deviation", normalized, Sign::Positive);
  description.recipe.fast_decode = cursor.choice("the mark of fast decoding", 0, 1) == 1;
  description.recipe.center_crop = cursor.side("the side of the central crop");
  description.recipe.resize = cursor.side("the side of the resize");
  if (cursor.choice("the mark of bicubic resizing", 0, 1) == 1) {
    description.recipe.interpolation = Interpolation::Bicubic;
  }
  cursor.finish();
  return description;
}

}  // namespace rcap::packed_format
