#include "data/packs/partial_pack.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/file.h>

#include "base/staged_file.hpp"
#include "data/images/decode_image.hpp"
#include "data/packs/packed_format.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using packed_format::checksum_of;

constexpr std::string_view LogMagic = "RCAPPLOG";
constexpr std::uint32_t LogVersion = 1;
constexpr std::size_t ChecksumBytes = 8;
constexpr std::uint64_t MostLogBytes = std::uint64_t{1} << 40;
/// What a kill can lose. Each commit waits for the disk.
constexpr auto BetweenCommits = std::chrono::milliseconds(250);

fs::path with_ending(const fs::path& path, const char* ending) {
  fs::path longer = path;
  longer += ending;
  return longer;
}

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_checksum(std::string& bytes, std::uint64_t seed) {
  put(bytes, checksum_of(bytes.data(), bytes.size(), seed));
}

/// Takes a value off the front; false if too few bytes are left.
template <class T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

/// Whether the checksum after the first `size` bytes matches them.
bool is_sealed(std::string_view bytes, std::size_t size, std::uint64_t seed) {
  if (bytes.size() < ChecksumBytes || size > bytes.size() - ChecksumBytes) return false;
  std::uint64_t stored = 0;
  std::memcpy(&stored, bytes.data() + size, sizeof stored);
  return stored == checksum_of(bytes.data(), size, seed);
}

std::string make_log_head(std::string_view plan) {
  std::string head(LogMagic);
  put(head, LogVersion);
  put(head, static_cast<std::uint32_t>(plan.size()));
  head += plan;
  put_checksum(head, 0);
  return head;
}

int open_file(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file >= 0) return file;
  refuse_file(path, "cannot be opened: {}", describe_error(errno));
}

void sync_folder_of(const fs::path& path) {
  const FileHandle folder(
      ::open(path.has_parent_path() ? path.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY));
  // EINVAL: a file system that does not sync folders.
  if (folder.get() >= 0 && (::fsync(folder.get()) == 0 || errno == EINVAL)) return;
  refuse_file(path,
              "the file is complete, but its folder cannot be synced: {}; it may be lost if the "
              "machine stops now",
              describe_error(errno));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The lines of two plans that differ: "resize = 256, now resize = 224".
std::string describe_difference(std::string_view before, std::string_view now) {
  const auto old_lines = lines_of(before), new_lines = lines_of(now);
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < std::max(old_lines.size(), new_lines.size()); ++i) {
    const std::string_view old_line = i < old_lines.size() ? old_lines[i] : "nothing";
    const std::string_view new_line = i < new_lines.size() ? new_lines[i] : "nothing";
    if (old_line != new_line) differences.push_back(fmt::format("{}, now {}", old_line, new_line));
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

}  // namespace

PartialPack::PartialPack(const fs::path& out, const std::string& plan, int channels, bool restart)
    : out_(out),
      path_(with_ending(out, ".partial")),
      log_path_(with_ending(path_, ".log")),
      plan_(plan),
      file_(open_file(path_, O_RDWR | O_CREAT)) {
  lock();
  if (restart || !resume(channels)) begin();
  committed_count_ = records_.size();
}

/// Two processes would overwrite each other.
void PartialPack::lock() const {
  struct stat opened {
  }, there{};
  // The file may have been finished and renamed between opening and locking it.
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(file_.get(), &opened) == 0 &&
      ::stat(path_.c_str(), &there) == 0 && opened.st_ino == there.st_ino &&
      opened.st_dev == there.st_dev) {
    return;
  }
  refuse_file(path_, "another process is packing into it; wait for it or choose another file");
}

void PartialPack::begin() {
  records_.clear();
  reasons_.clear();
  bytes_ = sizeof(packed_format::Head);
  // Without the log nothing in the partial file counts, so the log is removed first and written
  // last.
  remove_log(out_);
  if (::ftruncate(file_.get(), 0) != 0) fail("cannot be emptied", errno);
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) fail("cannot be written", errno);
  const std::string head = make_log_head(plan_);
  StagedFile log(log_path_);
  log.write(head.data(), head.size());
  log.publish();
  log_.emplace(open_file(log_path_, O_WRONLY));
  log_bytes_ = head.size();
}

/// @return false if there is nothing to continue
bool PartialPack::resume(int channels) {
  std::error_code ignored;
  if (!fs::exists(log_path_, ignored) || fs::file_size(path_, ignored) == 0) return false;
  const std::vector<std::uint8_t> bytes = read_file(log_path_, MostLogBytes);
  std::string_view log(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  log.remove_prefix(read_plan(log));
  while (const std::size_t size = read_commit(log)) log.remove_prefix(size);
  log_bytes_ = bytes.size() - log.size();
  cut_off_rest(channels);
  log_.emplace(open_file(log_path_, O_WRONLY));
  if (::ftruncate(log_->get(), static_cast<off_t>(log_bytes_)) != 0) {
    fail("its log cannot be truncated", errno);
  }
  return true;
}

/// @return how many bytes it takes
std::size_t PartialPack::read_plan(std::string_view log) const {
  std::string_view rest = log;
  std::uint32_t version = 0, plan_bytes = 0;
  if (!rest.starts_with(LogMagic)) {
    refuse("{} does not begin with {}", log_path_.filename().string(), LogMagic);
  }
  rest.remove_prefix(LogMagic.size());
  if (!take(rest, version) || !take(rest, plan_bytes) || version != LogVersion) {
    refuse("{} has version {}, this rcap continues version {}", log_path_.filename().string(),
           version, LogVersion);
  }
  const std::size_t size = log.size() - rest.size() + plan_bytes;
  if (!is_sealed(log, size, 0)) {
    refuse("the first {} bytes of {} are damaged", size + ChecksumBytes,
           log_path_.filename().string());
  }
  const std::string_view begun_with = rest.substr(0, plan_bytes);
  if (begun_with != plan_) refuse("was begun with {}", describe_difference(begun_with, plan_));
  return size + ChecksumBytes;
}

/// @return how many bytes it takes; 0 for one that is not whole, which ends the log
std::size_t PartialPack::read_commit(std::string_view log) {
  std::string_view rest = log;
  std::uint32_t count = 0, record_bytes = 0;
  if (!take(rest, count) || !take(rest, record_bytes)) return 0;
  const std::size_t size = log.size() - rest.size() + record_bytes;
  if (!is_sealed(log, size, records_.size())) return 0;
  rest = rest.substr(0, record_bytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    Record record;
    std::uint32_t reason_bytes = 0;
    bool whole = take(rest, record);
    if (whole && record.height == 0) {
      whole = take(rest, reason_bytes) && reason_bytes <= rest.size();
      if (whole) reasons_[records_.size()] = rest.substr(0, reason_bytes);
      if (whole) rest.remove_prefix(reason_bytes);
    }
    if (!whole) refuse("record {} of its log is damaged", records_.size());
    records_.push_back(record);
  }
  return size + ChecksumBytes;
}

/// What was written after the last commit is made again.
void PartialPack::cut_off_rest(int channels) {
  bytes_ = sizeof(packed_format::Head);
  for (const Record& record : records_) {
    const std::uint64_t pixels = std::uint64_t{record.height} * record.width;
    if (pixels > static_cast<std::uint64_t>(MostPixels)) {
      refuse("its log lists an image of {} x {} pixels", record.width, record.height);
    }
    bytes_ += pixels * static_cast<std::uint64_t>(channels);
  }
  const std::uint64_t there = fs::file_size(path_);
  if (there < bytes_) refuse("has {} bytes, but its log lists {}", there, bytes_);
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) fail("cannot be truncated", errno);
}

void PartialPack::append(const Record& record, std::span<const std::uint8_t> pixels) {
  write(file_.get(), bytes_, {reinterpret_cast<const char*>(pixels.data()), pixels.size()});
  bytes_ += pixels.size();
  add(record, {});
}

void PartialPack::append_bad(const std::string& reason) {
  reasons_[records_.size()] = reason;
  std::string text;
  put(text, static_cast<std::uint32_t>(reason.size()));
  add({}, text + reason);
}

void PartialPack::add(const Record& record, std::string_view text) {
  put(uncommitted_, record);
  uncommitted_ += text;
  records_.push_back(record);
  if (Clock::now() - last_commit_ >= BetweenCommits) commit();
}

void PartialPack::commit() {
  if (uncommitted_.empty() || failed_) return;
  sync(file_.get());
  std::string commit;
  put(commit, static_cast<std::uint32_t>(records_.size() - committed_count_));
  put(commit, static_cast<std::uint32_t>(uncommitted_.size()));
  commit += uncommitted_;
  put_checksum(commit, committed_count_);
  failed_ = true;  // unless the next two come back
  write(log_->get(), log_bytes_, commit);
  sync(log_->get());
  failed_ = false;
  log_bytes_ += commit.size();
  committed_count_ = records_.size();
  uncommitted_.clear();
  last_commit_ = Clock::now();
}

void PartialPack::publish(std::string_view head, std::string_view tables) {
  commit();
  write(file_.get(), bytes_, tables);
  write(file_.get(), 0, head);
  sync(file_.get());
  if (::rename(path_.c_str(), out_.c_str()) != 0) fail("cannot be renamed", errno);
  sync_folder_of(out_);
  remove_log(out_);
}

void PartialPack::remove_log(const fs::path& out) {
  std::error_code ignored;
  fs::remove(with_ending(out, ".partial.log"), ignored);
}

void PartialPack::write(int file, std::uint64_t offset, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void PartialPack::sync(int file) {
  if (::fdatasync(file) == 0) return;
  // A retry could succeed without having written anything.
  failed_ = true;
  fail("cannot be synced", errno);
}

void PartialPack::fail(std::string_view what, int error) const {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  refuse_file(path_, "{}: {}; its contents are kept: {}run the same command again", what,
              describe_error(error), is_full ? "free some space and " : "");
}

}  // namespace rcap
