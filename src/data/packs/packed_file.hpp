#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/regular_file.hpp"
#include "data/packs/packed_format.hpp"

namespace rcap {

/// A packed file whose tables have been checked. Images are counted over both splits.
///
/// Immutable: any number of threads may read at once.
class PackedFile {
 public:
  /// @throws BadFile  like `open_packed`
  explicit PackedFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const packed_format::Head& head() const noexcept { return head_; }
  [[nodiscard]] const packed_format::Description& description() const noexcept {
    return description_;
  }

  [[nodiscard]] packed_format::Entry entry(std::size_t image) const noexcept;
  [[nodiscard]] ImageShape shape_of(const packed_format::Entry& entry) const noexcept;
  /// Reads its pixels, and checks them against their checksum the first time.
  /// @throws BadFile  they are damaged or cannot be read, or the file has changed
  void read(std::size_t image, Image& buffer) const;
  /// "image 3 of test (cats/tom.jpg)"
  [[nodiscard]] std::string describe(std::size_t image) const;

 private:
  [[nodiscard]] std::size_t image_count() const noexcept;
  [[nodiscard]] std::size_t offset_of_entry(std::size_t image) const noexcept;
  [[nodiscard]] std::string_view name_of(std::size_t image) const noexcept;

  void read_tables();
  [[nodiscard]] std::span<const std::byte> table_at(std::uint64_t offset) const noexcept;
  void check_entries() const;
  void check_place(std::size_t image, const packed_format::Entry& found,
                   std::uint64_t offset) const;
  void check_meaning(std::size_t image, const packed_format::Entry& found) const;
  template <class... T>
  [[noreturn]] void refuse_field(std::size_t image, std::size_t field,
                                 fmt::format_string<T...> what, T&&... values) const {
    packed_format::refuse_at(path_, offset_of_entry(image) + field, "image {}: {}", image,
                             fmt::format(what, std::forward<T>(values)...));
  }

  std::filesystem::path path_;
  RegularFile file_;
  packed_format::Head head_;
  /// Index, names and description: what a read needs must not vanish with the file.
  std::vector<std::byte> tables_;
  packed_format::Description description_;
  std::unique_ptr<std::atomic<bool>[]> is_good_;  ///< whether an image's checksum was right
};

}  // namespace rcap
