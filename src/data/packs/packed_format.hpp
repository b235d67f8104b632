#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/packs/packed_images.hpp"
#include "io/refuse_file.hpp"

/// The packed file, version 1: a whole data set with decoded images in one file.
///
/// All numbers are little-endian, nothing is padded. Five parts follow each other:
///
/// | part | bytes | what |
/// | --- | --- | --- |
/// | head | 88 | `Head`: sizes and counts of everything that follows, checksums |
/// | pixels | up to `index_offset` | the images of train, then those of test, without gaps |
/// | index | 40 for each image | `Entry`: place, shape, checksum, label, group |
/// | names | `name_bytes` | the names of the images, one after another |
/// | description | `description_bytes` | the data set and the recipe, see below |
///
/// An image is its rows from top to bottom, the channels of a pixel side by side.
///
/// The description: name of the data set (string); channels, 1 or 3 (u32); class names, group
/// names, remarks (lists of strings); channels of the normalisation, 0 or `channels` (u32), with
/// the same number of means and then deviations (f32); fast decoding, 0 or 1, side of the central
/// crop, side of the resize, bicubic, 0 or 1 (u32 each). A string is its length (u32) and its
/// bytes, a list is its length (u32) and its strings.
///
/// Checksums are XXH3-64 with seed 0: in the head, of its own first 80 bytes and of index, names
/// and description together; in each entry, of the image's pixels. So a reader that opens the file
/// reads everything except the pixels, and finds damaged pixels when it reads them.
///
/// A reader checks, in this order: regular file, size of a head, magic, version, reserved word, the
/// head's checksum, file size, counts and sizes against the file size, the checksum of the tables,
/// the description, every entry. Nothing in the file is trusted before it has been checked against
/// the bytes that exist.
namespace rcap::packed_format {

static_assert(std::endian::native == std::endian::little,
              "packed files are little-endian and are read and written without conversion");
static_assert(std::numeric_limits<float>::is_iec559 && sizeof(float) == 4);

inline constexpr std::array<char, 8> Magic = {'R', 'C', 'A', 'P', 'P', 'A', 'C', 'K'};
inline constexpr std::uint32_t Version = 1;
/// The group of an image in a split without groups.
inline constexpr std::int32_t NoGroup = -1;

struct Head {
  std::array<char, 8> magic = Magic;
  std::uint32_t version = Version;
  std::uint32_t reserved = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t train_count = 0;
  std::uint64_t test_count = 0;
  std::uint64_t index_offset = 0;
  std::uint64_t name_bytes = 0;
  std::uint64_t description_bytes = 0;
  std::uint64_t plan = 0;             ///< tells sources and recipes apart
  std::uint64_t tables_checksum = 0;  ///< of index, names and description
  std::uint64_t head_checksum = 0;    ///< of all fields before this one
};
static_assert(sizeof(Head) == 88);

struct Entry {
  std::uint64_t offset = 0;    ///< in the file
  std::uint64_t checksum = 0;  ///< of the pixels
  std::uint64_t name_end = 0;  ///< in the names; the name begins where the previous one ends
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::int32_t label = 0;
  std::int32_t group = NoGroup;
};
static_assert(sizeof(Entry) == 40);

/// Everything that the index does not hold.
struct Description {
  std::string name;
  int channels = 3;
  std::vector<std::string> class_names;
  std::vector<std::string> group_names;
  std::vector<std::string> remarks;
  Normalization normalization;
  PackRecipe recipe;
};

[[nodiscard]] std::uint64_t checksum_of(const void* data, std::size_t bytes,
                                        std::uint64_t seed = 0);
/// Of all fields before the checksum itself.
[[nodiscard]] std::uint64_t checksum_of(const Head& head);

/// @throws BadFile  names the file, the byte and what is wrong there
template <class... T>
[[noreturn]] void refuse_at(const std::filesystem::path& path, std::uint64_t offset,
                            fmt::format_string<T...> what, T&&... values) {
  refuse_file(path, "byte {}: {}; the file is damaged, pack it again", offset,
              fmt::format(what, std::forward<T>(values)...));
}

[[nodiscard]] std::string encode(const Description& description);

/// @param path    of the file, for errors
/// @param offset  where `bytes` begin in it
/// @throws BadFile  the first thing that is wrong
[[nodiscard]] Description decode_description(std::span<const std::byte> bytes,
                                             const std::filesystem::path& path,
                                             std::uint64_t offset);

}  // namespace rcap::packed_format
