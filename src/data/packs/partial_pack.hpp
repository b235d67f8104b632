#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_handle.hpp"
#include "io/refuse_file.hpp"

namespace rcap {

/// A packed file while it is written, and what is needed to continue after a stop.
///
/// OUT.partial is the packed file up to some image, with its head still empty. OUT.partial.log
/// records how far it can be trusted; all numbers are little-endian:
///
/// | what | bytes |
/// | --- | --- |
/// | `RCAPPLOG`, version (u32), length of the plan (u32), the plan, checksum of all this | once |
/// | number of images (u32), bytes of their records (u32), records, checksum | for each commit |
///
/// A record is the checksum of the pixels (u64), height and width (u32); an image that was
/// left out has height 0, and the length (u32) and text of the reason follow. A checksum is
/// XXH3-64, for a commit seeded with the number of images before it.
///
/// A commit is written after its pixels are on the disk. After a kill at any moment the log is a
/// sequence of whole commits and perhaps the start of one more, and the partial file has at least
/// the pixels of the whole ones: what follows them is cut off.
class PartialPack {
 public:
  struct Record {
    std::uint64_t checksum = 0;
    std::uint32_t height = 0;  ///< 0: left out
    std::uint32_t width = 0;
  };

  /// Continues with what exists for `out`, or begins.
  /// @param plan      lines "name = value" that determine the contents; if one differs from what
  ///                  exists, it is refused
  /// @param channels  of every image
  /// @throws BadFile  another plan, another process at work, damage; says what to do
  PartialPack(const std::filesystem::path& out, const std::string& plan, int channels,
              bool restart);
  PartialPack(const PartialPack&) = delete;
  PartialPack& operator=(const PartialPack&) = delete;

  /// One for each image so far, whether left out or not.
  [[nodiscard]] std::span<const Record> records() const noexcept { return records_; }
  /// Why images were left out.
  [[nodiscard]] const std::map<std::size_t, std::string>& reasons() const noexcept {
    return reasons_;
  }
  /// The size of the partial file.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Adds the next image. Commits if the last commit was a while ago.
  /// @throws BadFile  the disk is full, ...; what was committed is kept
  void append(const Record& record, std::span<const std::uint8_t> pixels);
  /// Leaves the next image out.
  void append_bad(const std::string& reason);

  /// Makes everything so far safe.
  void commit();

  /// Removes the log that a kill right after `publish` leaves behind.
  static void remove_log(const std::filesystem::path& out);

  /// Adds the tables after the pixels, fills in the head and renames the file.
  void publish(std::string_view head, std::string_view tables);

 private:
  using Clock = std::chrono::steady_clock;

  void lock() const;
  void begin();
  [[nodiscard]] bool resume(int channels);
  [[nodiscard]] std::size_t read_plan(std::string_view log) const;
  [[nodiscard]] std::size_t read_commit(std::string_view log);
  void cut_off_rest(int channels);
  void add(const Record& record, std::string_view text);
  void write(int file, std::uint64_t offset, std::string_view bytes) const;
  void sync(int file);
  [[noreturn]] void fail(std::string_view what, int error) const;
  template <class... T>
  [[noreturn]] void refuse(fmt::format_string<T...> what, T&&... values) const {
    refuse_file(path_, "{}; continue as it was begun, or start over with restart",
                fmt::format(what, std::forward<T>(values)...));
  }

  std::filesystem::path out_;
  std::filesystem::path path_;      ///< OUT.partial
  std::filesystem::path log_path_;  ///< OUT.partial.log
  std::string plan_;
  FileHandle file_;
  std::optional<FileHandle> log_;
  std::vector<Record> records_;
  std::map<std::size_t, std::string> reasons_;
  std::uint64_t bytes_ = 0;
  std::uint64_t log_bytes_ = 0;
  std::string uncommitted_;  ///< records
  std::size_t committed_count_ = 0;
  bool failed_ = false;  ///< nothing more can be committed
  Clock::time_point last_commit_ = Clock::now();
};

}  // namespace rcap
