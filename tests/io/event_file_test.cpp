#include "io/event_file.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "file_bytes.hpp"
#include "file_size_limit.hpp"
#include "io/crc32c.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr double StartSeconds = 1'700'000'000.5;

template <class Number>
Number take(std::string_view& bytes) {
  Number number{};
  if (bytes.size() < sizeof(Number)) throw std::runtime_error("the file ends within a record");
  std::memcpy(&number, bytes.data(), sizeof(Number));
  bytes.remove_prefix(sizeof(Number));
  return number;
}

std::uint32_t masked(std::string_view bytes) {
  const std::uint32_t crc = io::crc32c(std::as_bytes(std::span(bytes)));
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

/// The data of all records; their checksums are checked on the way.
std::vector<std::string> records_of(const std::filesystem::path& path) {
  const std::string file = read_bytes(path);
  std::string_view rest = file;
  std::vector<std::string> records;
  while (!rest.empty()) {
    const std::string_view length_bytes = rest.substr(0, 8);
    const auto length = take<std::uint64_t>(rest);
    EXPECT_EQ(take<std::uint32_t>(rest), masked(length_bytes));
    if (length > rest.size()) throw std::runtime_error("the file ends within a record");
    records.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
    EXPECT_EQ(take<std::uint32_t>(rest), masked(records.back()));
  }
  return records;
}

// Bytes worked out by hand from the definition of Event. The time is 0x6553f100 and a half, as
// double 41d954fc40200000. 09 is field 1 as fixed64 (the time), 10 field 2 as varint (the
// step), 1a field 3 as bytes (the version), 2a field 5 (the summary); in it 0a is a value, in
// that 0a the tag and 15 the float.
const std::string Version(
    "\x09\0\0\x20\x40\xfc\x54\xd9\x41\x1a\x0d"
    "brain.Event:2",
    24);

TEST(EventFile, BeginsWithTheVersionOfTheFormat) {
  const TemporaryFolder folder;
  const EventFile events(folder.path(), StartSeconds);
  EXPECT_THAT(records_of(events.path()), ElementsAre(Version));
}

TEST(EventFile, WritesAScalarAsTensorBoardReadsIt) {
  const TemporaryFolder folder;
  EventFile events(folder.path(), StartSeconds);
  events.add_scalars(std::array{Scalar{"loss", 0.25}}, 300, StartSeconds);
  events.flush();
  // Step 300 is ac 02; 0.25 is 3e800000.
  EXPECT_THAT(records_of(events.path()),
              ElementsAre(Version, std::string("\x09\0\0\x20\x40\xfc\x54\xd9\x41\x10\xac\x02"
                                               "\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3e",
                                               27)));
}

TEST(EventFile, PutsSeveralScalarsIntoOneRecord) {
  const TemporaryFolder folder;
  EventFile events(folder.path(), StartSeconds);
  events.add_scalars(std::vector<Scalar>{{"a", 1.0}, {"b", -2.0}}, 0, 0.0);
  events.add_scalars({}, 1, 0.0);
  events.flush();
  // 1.0 is 3f800000, -2.0 is c0000000.
  EXPECT_THAT(records_of(events.path()),
              ElementsAre(Version, std::string("\x09\0\0\0\0\0\0\0\0\x10\0\x2a\x14"
                                               "\x0a\x08\x0a\x01"
                                               "a\x15\0\0\x80\x3f"
                                               "\x0a\x08\x0a\x01"
                                               "b\x15\0\0\0\xc0",
                                               33)));
}

TEST(EventFile, IsNamedByItsTimeAndNeverTakesAName) {
  const TemporaryFolder folder;
  const EventFile first(folder.path(), StartSeconds);
  const EventFile second(folder.path(), StartSeconds);
  EXPECT_THAT(first.path().filename().string(),
              MatchesRegex("events\\.out\\.tfevents\\.1700000000\\.[-._a-zA-Z0-9]+\\.rcap"));
  EXPECT_EQ(second.path().string(), first.path().string() + ".001");
  const EventFile early(folder.path(), 7.0);
  EXPECT_THAT(early.path().filename().string(), HasSubstr(".tfevents.0000000007."));
}

TEST(EventFile, WritesWhatIsLeftWhenItGoes) {
  const TemporaryFolder folder;
  std::filesystem::path path;
  {
    EventFile events(folder.path(), StartSeconds);
    path = events.path();
    events.add_scalars(std::array{Scalar{"loss", 1.0}}, 1, StartSeconds);
    EXPECT_EQ(records_of(path).size(), 1);
  }
  EXPECT_EQ(records_of(path).size(), 2);
}

TEST(EventFile, WritesALotWithoutBeingFlushed) {
  const TemporaryFolder folder;
  EventFile events(folder.path(), StartSeconds);
  for (int step = 0; step < 10'000; ++step)
    events.add_scalars(std::array{Scalar{"loss", 1.0}}, step, StartSeconds);
  const auto on_disk = records_of(events.path()).size();
  EXPECT_GT(on_disk, 1'000);
  EXPECT_LT(on_disk, 10'001);
  events.flush();
  EXPECT_EQ(records_of(events.path()).size(), 10'001);
}

TEST(EventFile, HoldsValuesBeyondFloatAsInfinity) {
  const TemporaryFolder folder;
  EventFile events(folder.path(), StartSeconds);
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {1e39, -1e39, infinity, -infinity, nan}) {
    events.add_scalars(std::array{Scalar{"x", value}}, 0, 0.0);
  }
  events.flush();
  const auto records = records_of(events.path());
  ASSERT_EQ(records.size(), 6);
  EXPECT_THAT(records[1], EndsWith(std::string("\0\0\x80\x7f", 4)));
  EXPECT_THAT(records[2], EndsWith(std::string("\0\0\x80\xff", 4)));
  EXPECT_THAT(records[3], EndsWith(std::string("\0\0\x80\x7f", 4)));
  EXPECT_THAT(records[4], EndsWith(std::string("\0\0\x80\xff", 4)));
  EXPECT_THAT(records[5], EndsWith(std::string("\0\0\xc0\x7f", 4)));
}

TEST(EventFile, RefusesTagsAndTimesThatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<InvalidArgument>([&] { EventFile events(folder.path(), -1.0); }),
              HasSubstr("EventFile: wall_time_seconds is -1; it must be seconds since 1970, from 0 "
                        "to 9999999999"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EventFile events(folder.path(), StartSeconds);
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                events.add_scalars(std::array{Scalar{"", 1.0}}, 0, 0.0);
              }),
              HasSubstr("a tag is empty"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                events.add_scalars(std::array{Scalar{"\xff", 1.0}}, 0, 0.0);
              }),
              HasSubstr("a tag is not UTF-8"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                events.add_scalars(std::array{Scalar{"a", 1.0}}, 0, nan);
              }),
              HasSubstr("EventFile::add_scalars: wall_time_seconds is nan"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                events.add_scalars(std::vector<Scalar>{{"a", 1.0}, {"", 1.0}}, 0, 0.0);
              }),
              HasSubstr("a tag is empty"));
  events.flush();
  EXPECT_EQ(records_of(events.path()).size(), 1);
}

TEST(EventFile, NamesTheFolderThatIsNotThere) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<BadFile>([&] { EventFile events(folder / "none", StartSeconds); }),
              MatchesRegex("EventFile \".*/none/events\\.out.*\": cannot be written: No such.*"));
}

TEST(EventFile, LeavesNothingBehindIfItCannotBegin) {
  const TemporaryFolder folder;
  const FileSizeLimit limit(10);
  EXPECT_THAT(message_of<BadFile>([&] { EventFile events(folder.path(), StartSeconds); }),
              HasSubstr("cannot be written: File too large"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(EventFile, GoesOnWhereAFullDiskStoppedIt) {
  const TemporaryFolder folder;
  EventFile events(folder.path(), StartSeconds);
  events.add_scalars(std::array{Scalar{"a", 1.0}}, 1, StartSeconds);
  events.add_scalars(std::array{Scalar{"b", 2.0}}, 2, StartSeconds);
  {
    const FileSizeLimit limit(100);  // 40 are the version, 40 the first scalar
    EXPECT_THAT(message_of<BadFile>([&] { events.flush(); }),
                HasSubstr("cannot be written: File too large"));
    EXPECT_EQ(std::filesystem::file_size(events.path()), 100);
  }
  events.flush();
  const auto records = records_of(events.path());
  ASSERT_EQ(records.size(), 3);
  EXPECT_THAT(records[2], HasSubstr("\x0a\x01"
                                    "b\x15"));
}

}  // namespace
}  // namespace rcap
