#include "io/pth/pth_bytes.hpp"

#include <algorithm>
#include <bit>

namespace rcap::pth {

static_assert(std::endian::native == std::endian::little,
              "numbers are read as they are in the file");

std::string where(const std::filesystem::path& path) {
  return fmt::format("PthFile \"{}\"", path.string());
}

std::span<const std::byte> ByteReader::take(std::uint64_t count, std::string_view what) {
  if (count > left()) {
    refuse(path_, "{} at {} needs {} bytes, but {} are left; the file is cut short or damaged",
           what, place(position_), count, left());
  }
  const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
  position_ += taken.size();
  return taken;
}

std::string_view ByteReader::take_text(std::uint64_t count, std::string_view what) {
  const auto bytes = take(count, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view ByteReader::take_line(std::string_view what) {
  const auto rest = bytes_.subspan(position_);
  const auto end = std::find(rest.begin(), rest.end(), std::byte{'\n'});
  const std::string_view line = take_text(static_cast<std::uint64_t>(end - rest.begin()), what);
  skip(1, what);
  return line;
}

std::string ByteReader::place(std::size_t position) const {
  return fmt::format("byte {} of {}", position, part_);
}

}  // namespace rcap::pth
