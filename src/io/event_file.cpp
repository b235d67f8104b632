#include "io/event_file.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/utf8.hpp"
#include "io/crc32c.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little,
              "numbers are written as they are in memory");
static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

constexpr std::size_t BufferBytes = std::size_t{1} << 16;
constexpr double LatestSecond = 9'999'999'999.0;  // ten digits, so that names sort by time
constexpr int LastAttempt = 999;

// ---- protobuf: the seven fields used of TensorBoard's Event, Summary and Summary.Value

enum class Wire : unsigned { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

namespace event_field {
constexpr unsigned WallTime = 1;
constexpr unsigned Step = 2;
constexpr unsigned FileVersion = 3;
constexpr unsigned Summary = 5;
}  // namespace event_field
namespace summary_field {
constexpr unsigned Value = 1;
}
namespace value_field {
constexpr unsigned Tag = 1;
constexpr unsigned SimpleValue = 2;
}  // namespace value_field

template <class Number>
void append_bytes(std::string& out, Number number) {
  std::array<char, sizeof(Number)> bytes;
  std::memcpy(bytes.data(), &number, sizeof(Number));
  out.append(bytes.data(), bytes.size());
}

/// Seven bits per byte, the lowest first; the top bit says that more follow.
void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(value | 0x80U));
  out.push_back(static_cast<char>(value));
}

void append_key(std::string& out, unsigned field, Wire wire) {
  append_varint(out, field << 3U | static_cast<unsigned>(wire));
}

void append_text(std::string& out, unsigned field, std::string_view text) {
  append_key(out, field, Wire::Bytes);
  append_varint(out, text.size());
  out += text;
}

std::string start_event(double wall_time_seconds) {
  std::string event;
  append_key(event, event_field::WallTime, Wire::Fixed64);
  append_bytes(event, wall_time_seconds);
  return event;
}

/// Values beyond float become infinity; the language leaves the plain conversion undefined.
float to_float(double value) {
  constexpr double Largest = std::numeric_limits<float>::max();
  if (std::abs(value) <= Largest || std::isnan(value)) return static_cast<float>(value);
  return std::copysign(std::numeric_limits<float>::infinity(), value < 0 ? -1.0F : 1.0F);
}

void append_value(std::string& summary, std::string_view tag, double value) {
  std::string message;
  append_text(message, value_field::Tag, tag);
  append_key(message, value_field::SimpleValue, Wire::Fixed32);
  append_bytes(message, to_float(value));
  append_text(summary, summary_field::Value, message);
}

std::string scalar_event(std::string_view summary, std::int64_t step, double wall_time_seconds) {
  std::string event = start_event(wall_time_seconds);
  append_key(event, event_field::Step, Wire::Varint);
  append_varint(event, static_cast<std::uint64_t>(step));
  append_text(event, event_field::Summary, summary);
  return event;
}

// ---- records

/// Rotated and shifted, so that a checksum of data that contain checksums stays a good one.
std::uint32_t masked_checksum(std::string_view bytes) {
  return std::rotr(io::crc32c(std::as_bytes(std::span(bytes))), 15) + 0xA282EAD8U;
}

void append_record(std::string& out, std::string_view data) {
  std::string length;
  append_bytes(length, std::uint64_t{data.size()});
  out += length;
  append_bytes(out, masked_checksum(length));
  out += data;
  append_bytes(out, masked_checksum(data));
}

// ---- the file

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  throw BadFile(fmt::format("EventFile \"{}\": cannot be written: {}", path.string(),
                            std::generic_category().message(error)));
}

void check_time(std::string_view where, double wall_time_seconds) {
  if (wall_time_seconds >= 0 && wall_time_seconds <= LatestSecond) return;
  throw InvalidArgument(
      fmt::format("{}: wall_time_seconds is {}; it must be seconds since 1970, from 0 to {:.0f}",
                  where, wall_time_seconds, LatestSecond));
}

void check_tag(std::string_view tag) {
  if (tag.empty()) throw InvalidArgument("EventFile: a tag is empty; tags name the curves");
  if (!is_utf8(tag)) {
    throw InvalidArgument("EventFile: a tag is not UTF-8; TensorBoard could not read the file");
  }
}

/// The host name as part of a file name.
std::string host_name() {
  std::array<char, 256> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0) return "localhost";
  std::string name(buffer.data());
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-' && c != '.') c = '_';
  }
  return name.empty() ? "localhost" : name.substr(0, 64);
}

fs::path path_of(const fs::path& folder, double wall_time_seconds, int attempt) {
  return folder / fmt::format("events.out.tfevents.{:010}.{}.rcap{}",
                              static_cast<std::int64_t>(wall_time_seconds), host_name(),
                              attempt == 0 ? "" : fmt::format(".{:03}", attempt));
}

}  // namespace

EventFile::EventFile(const fs::path& folder, double wall_time_seconds) : descriptor_(-1) {
  check_time("EventFile", wall_time_seconds);
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    path_ = path_of(folder, wall_time_seconds, attempt);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == LastAttempt)) {
      fail_to_write(path_, errno);
    }
  }
  try {
    std::string event = start_event(wall_time_seconds);
    append_text(event, event_field::FileVersion, "brain.Event:2");
    add_record(event);
    flush();
  } catch (...) {
    ::close(descriptor_);
    ::unlink(path_.c_str());
    throw;
  }
}

EventFile::~EventFile() {
  try {
    flush();
  } catch (const BadFile&) {
    // As documented, `flush` is the call that reports a failure.
  }
  ::close(descriptor_);
}

void EventFile::add_scalars(std::span<const Scalar> scalars, std::int64_t step,
                            double wall_time_seconds) {
  check_time("EventFile::add_scalars", wall_time_seconds);
  std::string summary;
  for (const Scalar& scalar : scalars) {
    check_tag(scalar.tag);
    append_value(summary, scalar.tag, scalar.value);
  }
  if (!scalars.empty()) add_record(scalar_event(summary, step, wall_time_seconds));
}

void EventFile::add_record(std::string_view event) {
  append_record(unwritten_, event);
  if (unwritten_.size() >= BufferBytes) flush();
}

void EventFile::flush() {
  std::size_t written_bytes = 0;
  int error = 0;
  while (written_bytes < unwritten_.size() && error == 0) {
    const ssize_t written =
        ::write(descriptor_, unwritten_.data() + written_bytes, unwritten_.size() - written_bytes);
    if (written >= 0) {
      written_bytes += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  unwritten_.erase(0, written_bytes);
  if (error != 0) fail_to_write(path_, error);
}

}  // namespace rcap
