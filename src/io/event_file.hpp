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
  double value = 0.0;  ///< stored as float, as the format has it; NaN and infinities too
};

/// Writes scalars for TensorBoard: point `tensorboard --logdir` at the folder or above it.
///
///     EventFile events(run_folder, seconds_since_1970());
///     events.add_scalars(std::array{Scalar{"loss", 0.25}}, epoch, seconds_since_1970());
///     events.flush();
///
/// The file is a sequence of records that only grows, so a reader may follow it, and after a
/// crash what was flushed is whole. A run that goes on makes a new file in the same folder:
/// TensorBoard reads all files of a folder in the order of their names, which is the order of
/// their times, as one run.
///
/// The clock is the caller's: times are seconds since 1970. Not for several threads at once.
class EventFile {
 public:
  /// Makes `events.out.tfevents.<seconds>.<host>.rcap` in `folder`, which must exist, with a
  /// number behind it if that name is taken. No file is ever replaced or appended to.
  /// @throws InvalidArgument  a time that is not from 0 to 9,999,999,999 seconds
  /// @throws BadFile          names the path and the reason
  EventFile(const std::filesystem::path& folder, double wall_time_seconds);
  /// Writes what is left. Whoever wants to know whether that worked calls `flush` before.
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Adds a point to each of some curves at one step, as one record. None are written if one is
  /// refused; without scalars nothing is.
  /// @throws InvalidArgument  a tag that is empty or not UTF-8, or a time as above
  /// @throws BadFile          as `flush`, which is called now and then
  void add_scalars(std::span<const Scalar> scalars, std::int64_t step, double wall_time_seconds);

  /// Hands everything to the system, so that readers and a crash of this process find it.
  /// After a failure the rest is kept, and the next call goes on where this one stopped.
  /// @throws BadFile  names the path and the reason, e.g. a full disk
  void flush();

 private:
  void add_record(std::string_view event);

  std::filesystem::path path_;
  int descriptor_;
  std::string unwritten_;
};

}  // namespace rcap
