#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace rcap {

/// A point of one curve in TensorBoard.
struct Scalar {
  std::string tag;     ///< the curve; a '/' groups, as in "accuracy/worst_class"
  double value = 0.0;  ///< stored as float, as the format requires; may be NaN or infinite
};

/// Writes scalars for TensorBoard: point `tensorboard --logdir` at the folder or above it.
///
///     EventFile events(run_folder, seconds_since_1970());
///     events.add_scalars(std::array{Scalar{"loss", 0.25}}, epoch, seconds_since_1970());
///     events.flush();
///
/// The file is a sequence of records that only grows, so a reader may follow it, and after a crash
/// everything flushed is intact. A resumed run writes a new file in the same folder: TensorBoard
/// reads all files of a folder as one run, in the order of their names, which is that of their
/// times.
///
/// The caller supplies the times, as seconds since 1970. Not for use by several threads at once.
class EventFile {
 public:
  /// Creates `events.out.tfevents.<seconds>.<host>.rcap` in `folder`, which must exist, with a
  /// number appended if that name is taken. An existing file is never replaced or appended to.
  /// @throws InvalidArgument  a time that is not between 0 and 9,999,999,999 seconds
  /// @throws BadFile          names the path and the reason
  EventFile(const std::filesystem::path& folder, double wall_time_seconds);
  /// Writes what is left. To learn whether that worked, call `flush` before.
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Adds one point to each of several curves at one step, as one record. If one is refused, none
  /// is written; without scalars, nothing is.
  /// @throws InvalidArgument  a tag that is empty or not UTF-8, or a time out of range
  /// @throws BadFile          like `flush`, which is called from time to time
  void add_scalars(std::span<const Scalar> scalars, std::int64_t step, double wall_time_seconds);

  /// Passes everything to the operating system, so that readers see it and a crash of this process
  /// does not lose it. After a failure the rest is kept, and the next call continues where this one
  /// stopped.
  /// @throws BadFile  names the path and the reason, e.g. a full disk
  void flush();

 private:
  void add_record(std::string_view event);

  std::filesystem::path path_;
  int descriptor_;
  std::string unwritten_;
};

}  // namespace rcap
