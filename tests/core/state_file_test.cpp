#include "rcap/core/state_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#define XXH_INLINE_ALL
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "core/expect_throw.hpp"
#include "file_bytes.hpp"
#include "file_size_limit.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Five samples in two classes.
struct State {
  std::int64_t epoch = 3;
  std::vector<float> losses = {0.5F, 0.0F, 2.25F, 0.001F, 7.0F};
  SampleSet selected = [] {
    SampleSet set(5);
    set.insert(1);
    set.insert(4);
    return set;
  }();
  std::vector<double> weights = {1.5, 0.0};

  void list(StateFields& fields) {
    fields.number("epoch", epoch);
    fields.losses("losses", losses);
    fields.samples("selected", selected);
    fields.weights("weights", weights);
  }
  bool operator==(const State&) const = default;
};

/// A state that differs from the default one in every field.
State other_state() {
  State state;
  state.epoch = -1;
  state.losses.assign(5, 9.0F);
  state.selected = SampleSet(5);
  state.selected.insert(0);
  state.weights = {0.25, 8};
  return state;
}

StateIdentity identity() {
  return {.method = "rcap",
          .sample_count = 5,
          .class_count = 2,
          .label_fingerprint = 0x0123456789abcdefULL,
          .options = {"pruning_rate=0.5", "beta=1"}};
}

void write_bytes(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

template <class T>
void put_at(std::string& bytes, std::size_t offset, T value) {
  ASSERT_LE(offset + sizeof value, bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// Makes the length in the head and the checksum at the end right again.
std::string resealed(std::string bytes) {
  put_at(bytes, 16, static_cast<std::uint64_t>(bytes.size()));
  const std::uint64_t checksum = XXH64(bytes.data(), bytes.size() - 8, 0);
  put_at(bytes, bytes.size() - 8, checksum);
  return bytes;
}

class StateFile : public testing::Test {
 protected:
  void write(State state) const {
    write_state_file(path_, identity(), [&](StateFields& fields) { state.list(fields); });
  }

  void read(State& state, const StateIdentity& ours = identity()) const {
    read_state_file(path_, ours, [&](StateFields& fields) { state.list(fields); });
  }

  /// The message with which the file at `path_` is refused as an `Expected`; checks that
  /// the fields are as they were.
  template <class Expected>
  std::string refusal(const StateIdentity& ours = identity()) const {
    State state = other_state();
    try {
      read(state, ours);
      ADD_FAILURE() << "accepted";
    } catch (const Expected& error) {
      EXPECT_EQ(state, other_state()) << "fields changed";
      return error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "another exception: " << error.what();
    }
    return {};
  }

  std::string refusal_of(std::string_view bytes) const {
    write_bytes(path_, bytes);
    return refusal<BadFile>();
  }

  /// The bytes of the default state.
  std::string sound_bytes() const {
    write(State());
    return read_bytes(path_);
  }

  std::string write_failure(const fs::path& path) const {
    State state;
    try {
      write_state_file(path, identity(), [&](StateFields& fields) { state.list(fields); });
      ADD_FAILURE() << "wrote " << path;
    } catch (const BadFile& error) {
      return error.what();
    }
    return {};
  }

  std::vector<std::string> names_in_folder() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  fs::path path_ = folder_ / "run.rcap";
};

TEST_F(StateFile, GivesBackWhatWasWritten) {
  write(State());
  State state = other_state();
  read(state);
  EXPECT_EQ(state, State());
}

TEST_F(StateFile, GivesBackArraysLargerThanItsBuffer) {
  // 600,000 floats are 2.4 MB, the buffer has 1 MiB.
  std::vector<float> written(600'000);
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = static_cast<float>(i) / 3.0F;
  SampleSet written_set(600'001);
  for (SampleId id = 0; id < written_set.sample_count(); id += 7) written_set.insert(id);
  std::int64_t number = std::numeric_limits<std::int64_t>::min();
  const auto list = [](std::int64_t& n, std::vector<float>& losses, SampleSet& set) {
    return [&](StateFields& fields) {
      fields.number("before", n);
      fields.losses("losses", losses);
      fields.samples("set", set);
      fields.number("after", n);
    };
  };
  write_state_file(path_, identity(), list(number, written, written_set));

  std::int64_t read_number = 0;
  std::vector<float> read(600'000);
  SampleSet read_set(600'001);
  read_state_file(path_, identity(), list(read_number, read, read_set));
  EXPECT_EQ(read_number, number);
  EXPECT_EQ(read, written);
  EXPECT_EQ(read_set, written_set);
}

TEST_F(StateFile, KeepsTheExtremesOfALoss) {
  State state;
  state.losses = {0.0F, -0.0F, std::numeric_limits<float>::denorm_min(),
                  std::numeric_limits<float>::min(), std::numeric_limits<float>::max()};
  write(state);
  State back = other_state();
  read(back);
  EXPECT_EQ(std::memcmp(back.losses.data(), state.losses.data(), 20), 0);
}

TEST_F(StateFile, KeepsEveryBitOfAWeight) {
  using Limits = std::numeric_limits<double>;
  for (const std::vector<double>& weights : {std::vector<double>{1.0 / 3, 0x1.fffffffffffffp52},
                                             {Limits::denorm_min(), Limits::max()}}) {
    State state;
    state.weights = weights;
    write(state);
    State back = other_state();
    read(back);
    EXPECT_EQ(back.weights, weights);
  }
}

TEST_F(StateFile, TellsWhoseItIs) {
  write(State());
  const StateIdentity read = read_state_identity(path_);
  EXPECT_EQ(read.method, "rcap");
  EXPECT_EQ(read.sample_count, 5);
  EXPECT_EQ(read.class_count, 2);
  EXPECT_EQ(read.label_fingerprint, 0x0123456789abcdefULL);
  EXPECT_THAT(read.options, testing::ElementsAre("pruning_rate=0.5", "beta=1"));
}

TEST_F(StateFile, IsByteForByteTheExampleOfTheDocs) {
  // docs/state_format.md shows these bytes and the program that makes them.
  const std::vector<int> expected = {
      0x52, 0x43, 0x41, 0x50, 0x53, 0x54, 0x41, 0x54, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0xa9, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x72, 0x63,
      0x61, 0x70, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x01, 0x00, 0x00, 0x00,
      0x06, 0x00, 0x00, 0x00, 0x62, 0x65, 0x74, 0x61, 0x3d, 0x31, 0x05, 0x00, 0x00, 0x00, 0x65,
      0x70, 0x6f, 0x63, 0x68, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x6c, 0x6f,
      0x73, 0x73, 0x65, 0x73, 0x02, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x00, 0x40, 0x08, 0x00, 0x00, 0x00, 0x73, 0x65,
      0x6c, 0x65, 0x63, 0x74, 0x65, 0x64, 0x03, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x93, 0x55, 0xff, 0xd4,
      0x01, 0xab, 0xda, 0x6c};
  std::int64_t epoch = 3;
  std::vector<float> losses = {0.5F, 2.0F};
  SampleSet selected(2);
  selected.insert(1);
  const StateIdentity example{.method = "rcap",
                              .sample_count = 2,
                              .class_count = 1,
                              .label_fingerprint = 0x1122334455667788ULL,
                              .options = {"beta=1"}};
  write_state_file(path_, example, [&](StateFields& fields) {
    fields.number("epoch", epoch);
    fields.losses("losses", losses);
    fields.samples("selected", selected);
  });
  std::vector<int> written;
  for (const char byte : read_bytes(path_)) written.push_back(static_cast<unsigned char>(byte));
  EXPECT_EQ(written, expected);
}

TEST_F(StateFile, StoresAFlagAsTheNumber0Or1) {
  for (std::int64_t number : {0, 1}) {
    bool flag = number == 1;
    const auto list_flag = [&](StateFields& fields) { fields.flag("seen", flag); };
    write_state_file(path_, identity(), list_flag);
    const std::string bytes = read_bytes(path_);
    flag = !flag;
    read_state_file(path_, identity(), list_flag);
    EXPECT_EQ(flag, number == 1);
    write_state_file(path_, identity(),
                     [&](StateFields& fields) { fields.number("seen", number); });
    EXPECT_EQ(read_bytes(path_), bytes);
  }
}

// ---- files that are not sound

TEST_F(StateFile, RefusesAFlagThatIsNeither0Nor1) {
  for (std::int64_t number : {-1, 2, 256}) {
    write_state_file(path_, identity(),
                     [&](StateFields& fields) { fields.number("seen", number); });
    bool flag = true;
    EXPECT_THAT(message_of<BadFile>([&] {
                  read_state_file(path_, identity(),
                                  [&](StateFields& fields) { fields.flag("seen", flag); });
                }),
                HasSubstr("seen is " + std::to_string(number) + "; it must be 0 or 1"));
    EXPECT_TRUE(flag);
  }
}

TEST_F(StateFile, RefusesEveryTruncation) {
  const std::string bytes = sound_bytes();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    EXPECT_THAT(refusal_of(bytes.substr(0, length)),
                AllOf(StartsWith("load_state \"" + path_.string() + "\": truncated: "),
                      HasSubstr(std::to_string(length) + " bytes")));
    EXPECT_THROW((void)read_state_identity(path_), BadFile);
  }
}

TEST_F(StateFile, RefusesEveryTruncationWhoseLengthFieldAgrees) {
  const std::string bytes = sound_bytes();
  for (std::size_t length = 64; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    std::string shorter = bytes.substr(0, length);
    put_at(shorter, 16, static_cast<std::uint64_t>(length));
    EXPECT_THAT(refusal_of(shorter), HasSubstr("altered: checksum"));
  }
}

TEST_F(StateFile, RefusesEveryFlippedByte) {
  const std::string bytes = sound_bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 0xff, 0x55, 0xaa}) {
      SCOPED_TRACE(testing::Message() << "byte " << i << " xor " << flip);
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ flip);
      write_bytes(path_, flipped);
      const bool in_version = i >= 8 && i < 12;
      const std::string message = in_version ? refusal<StateMismatch>() : refusal<BadFile>();
      EXPECT_THAT(message, StartsWith("load_state \"" + path_.string() + "\": "));
      EXPECT_THROW((void)read_state_identity(path_), Error);
    }
  }
}

TEST_F(StateFile, RefusesAppendedBytes) {
  const std::string bytes = sound_bytes();
  for (const std::size_t extra : {1, 8, 100}) {
    EXPECT_THAT(refusal_of(bytes + std::string(extra, '\0')), HasSubstr("longer than it says"));
  }
  // The same with a length and a checksum that agree: left over after the last field.
  EXPECT_THAT(refusal_of(resealed(bytes + std::string(3, '\0'))),
              HasSubstr("3 bytes after the last of 4 fields"));
}

TEST_F(StateFile, RefusesOtherFiles) {
  EXPECT_THAT(refusal_of("PK\x03\x04 something else altogether"),
              HasSubstr("is not an rcap state file"));
  EXPECT_THAT(refusal_of(""), HasSubstr("truncated: 0 bytes"));
}

TEST_F(StateFile, NamesBothVersions) {
  std::string bytes = sound_bytes();
  put_at(bytes, 8, std::uint32_t{7});
  write_bytes(path_, resealed(bytes));
  EXPECT_THAT(refusal<StateMismatch>(),
              HasSubstr("written in format version 7, this rcap reads version 4"));
}

TEST_F(StateFile, RefusesAReservedWordInUse) {
  std::string bytes = sound_bytes();
  put_at(bytes, 12, std::uint32_t{1});
  EXPECT_THAT(refusal_of(resealed(bytes)), HasSubstr("reserved word is 1"));
}

TEST_F(StateFile, RefusesWhatIsNotARegularFile) {
  fs::create_directory(path_);
  EXPECT_THAT(refusal<BadFile>(), HasSubstr("is a directory"));
  fs::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(refusal<BadFile>(), HasSubstr("is not a regular file"));
}

TEST_F(StateFile, SaysWhyAFileCannotBeOpened) {
  EXPECT_THAT(refusal<BadFile>(), HasSubstr("cannot be opened: No such file or directory"));
}

// ---- sound checksums over contents that are not

class CraftedStateFile : public StateFile {
 protected:
  CraftedStateFile() : bytes_(sound_bytes()) {}

  /// Where the field's type code lies: after its name.
  std::size_t field(std::string_view name) const { return bytes_.find(name) + name.size(); }

  std::string bytes_;
};

TEST_F(CraftedStateFile, IsAcceptedWhenNothingIsChanged) {
  write_bytes(path_, resealed(bytes_));
  State state = other_state();
  read(state);
  EXPECT_EQ(state, State());
}

TEST_F(CraftedStateFile, CannotAskForAbsurdLengths) {
  for (const std::uint64_t count :
       {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{6}, std::uint64_t{1} << 32,
        std::uint64_t{1} << 62, (std::uint64_t{1} << 62) + 5, ~std::uint64_t{0}}) {
    for (const std::string name : {"epoch", "losses", "selected", "weights"}) {
      SCOPED_TRACE(testing::Message() << name << " " << count);
      std::string bytes = bytes_;
      put_at(bytes, field(name) + 4, count);
      EXPECT_THAT(refusal_of(resealed(bytes)), HasSubstr("length " + std::to_string(count)));
    }
  }
}

TEST_F(CraftedStateFile, CannotAskForAbsurdStrings) {
  for (const std::uint32_t length : {65536U, 0x7fffffffU, 0xffffffffU}) {
    for (const std::string name : {"rcap", "beta=1", "losses"}) {
      SCOPED_TRACE(testing::Message() << name << " " << length);
      std::string bytes = bytes_;
      put_at(bytes, bytes.find(name, 24) - 4, length);
      EXPECT_THAT(refusal_of(resealed(bytes)), HasSubstr(std::to_string(length) + " bytes"));
    }
  }
}

TEST_F(CraftedStateFile, CannotAskForAbsurdlyManyOptions) {
  for (const std::uint32_t count : {0x7fffffffU, 0xffffffffU}) {
    std::string bytes = bytes_;
    put_at(bytes, bytes.find("pruning_rate") - 8, count);
    EXPECT_THAT(refusal_of(resealed(bytes)), HasSubstr(std::to_string(count) + " options"));
  }
}

TEST_F(CraftedStateFile, CannotHoldNegativeCounts) {
  std::string bytes = bytes_;
  put_at(bytes, bytes.find("rcap", 24) + 4, std::int64_t{-5});
  EXPECT_THAT(refusal_of(resealed(bytes)), HasSubstr("written for -5 samples"));
  EXPECT_THROW((void)read_state_identity(path_), BadFile);
}

TEST_F(CraftedStateFile, CannotRenameOrRetypeAField) {
  std::string bytes = bytes_;
  bytes[bytes.find("losses")] = 'b';
  EXPECT_THAT(refusal_of(resealed(bytes)),
              HasSubstr("field 2 is \"bosses\" of type 2 and length 5; it must be \"losses\""));
  bytes = bytes_;
  put_at(bytes, field("losses"), std::uint32_t{3});
  EXPECT_THAT(refusal_of(resealed(bytes)),
              HasSubstr("of type 3 and length 5; it must be \"losses\" of type 2"));
}

TEST_F(CraftedStateFile, CannotHoldALossThatIsNone) {
  const auto third_loss = field("losses") + 12 + 2 * sizeof(float);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [value, text] :
       {std::pair{std::nanf(""), "losses[2] is nan"}, std::pair{infinity, "losses[2] is inf"},
        std::pair{-infinity, "losses[2] is -inf"}, std::pair{-0.25F, "losses[2] is -0.25"}}) {
    std::string bytes = bytes_;
    put_at(bytes, third_loss, value);
    EXPECT_THAT(refusal_of(resealed(bytes)),
                AllOf(HasSubstr(text), HasSubstr("must be finite and >= 0")));
  }
}

TEST_F(CraftedStateFile, CannotHoldAWeightThatIsNone) {
  const auto second_weight = field("weights") + 12 + sizeof(double);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [value, text] :
       {std::pair{std::nan(""), "weights[1] is nan"}, std::pair{infinity, "weights[1] is inf"},
        std::pair{-1e-300, "weights[1] is -1e-300"}}) {
    std::string bytes = bytes_;
    put_at(bytes, second_weight, value);
    EXPECT_THAT(refusal_of(resealed(bytes)),
                AllOf(HasSubstr(text), HasSubstr("must be finite and >= 0")));
  }
}

TEST_F(CraftedStateFile, CannotHoldASamplePastTheLast) {
  for (const int bit : {5, 6, 63}) {
    SCOPED_TRACE(bit);
    std::string bytes = bytes_;
    put_at(bytes, field("selected") + 12, std::uint64_t{1} << bit);
    EXPECT_THAT(refusal_of(resealed(bytes)),
                HasSubstr("selected holds a sample past the last one, 4"));
  }
  std::string bytes = bytes_;
  put_at(bytes, field("selected") + 12, std::uint64_t{0x1f});
  write_bytes(path_, resealed(bytes));
  State state;
  read(state);
  EXPECT_EQ(state.selected.count(), 5);
}

TEST_F(CraftedStateFile, CannotHoldALongStringEvenIfItIsThere) {
  const auto option = bytes_.find("beta=1");
  std::string bytes = bytes_;
  bytes.replace(option, 6, std::string(65536, 'b'));
  put_at(bytes, option - 4, std::uint32_t{65536});
  EXPECT_THAT(refusal_of(resealed(bytes)), HasSubstr("an option claims 65536 bytes"));
}

TEST_F(CraftedStateFile, CannotEndInMidField) {
  // Every cut between the identity and the checksum, length and checksum made right.
  const auto first = bytes_.find("epoch") - 4;
  const auto second = bytes_.find("losses") - 4;
  const auto third = bytes_.find("selected") - 4;
  const auto fourth = bytes_.find("weights") - 4;
  for (std::size_t end = first; end < bytes_.size() - 8; ++end) {
    SCOPED_TRACE(end);
    const bool between_fields = end == first || end == second || end == third || end == fourth;
    EXPECT_THAT(refusal_of(resealed(bytes_.substr(0, end) + std::string(8, '\0'))),
                HasSubstr(between_fields ? "ends before field" : "are left"));
  }
}

// ---- a sound file of something else

TEST_F(StateFile, NamesOtherSizes) {
  write(State());
  StateIdentity ours = identity();
  ours.sample_count = 6;
  EXPECT_THAT(refusal<StateMismatch>(ours),
              testing::StrEq("load_state \"" + path_.string() +
                             "\": written for 5 samples in 2 classes, this data set has 6 in 2; "
                             "resume with the data set the run began with, or start a new run"));
  ours = identity();
  ours.class_count = 3;
  EXPECT_THAT(refusal<StateMismatch>(ours), HasSubstr("this data set has 5 in 3"));
}

TEST_F(StateFile, TellsDataSetsOfEqualSizeApart) {
  write(State());
  StateIdentity ours = identity();
  ours.label_fingerprint ^= 1;
  EXPECT_THAT(refusal<StateMismatch>(ours),
              AllOf(HasSubstr("the labels differ"), HasSubstr("0123456789abcdef"),
                    HasSubstr("0123456789abcdee")));
}

TEST_F(StateFile, NamesAnotherMethod) {
  write(State());
  StateIdentity ours = identity();
  ours.method = "rs2";
  EXPECT_THAT(refusal<StateMismatch>(ours),
              HasSubstr("written by method \"rcap\", this run has \"rs2\""));
}

TEST_F(StateFile, NamesTheOptionsThatDifferAndNoOther) {
  write(State());
  StateIdentity ours = identity();
  ours.options = {"pruning_rate=0.5", "beta=2"};
  EXPECT_THAT(refusal<StateMismatch>(ours), HasSubstr("written with beta=1, this run has beta=2;"));
  ours.options = {"pruning_rate=0.5"};
  EXPECT_THAT(refusal<StateMismatch>(ours),
              HasSubstr("written with beta=1, this run has no such option;"));
  ours.options = {"pruning_rate=0.5", "beta=1", "clip=log-c"};
  EXPECT_THAT(refusal<StateMismatch>(ours),
              HasSubstr("written with no such option, this run has clip=log-c;"));
  ours.options = {"beta=1", "pruning_rate=0.5"};
  EXPECT_THAT(refusal<StateMismatch>(ours), HasSubstr("in the order pruning_rate=0.5 beta=1"));
}

TEST_F(StateFile, PutsFieldsBackWhenThePrunerRefusesThem) {
  write(State());
  State state = other_state();
  EXPECT_THROW(read_state_file(path_, identity(),
                               [&](StateFields& fields) {
                                 state.list(fields);
                                 EXPECT_EQ(state, State()) << "fields are filled at once";
                                 throw BadFile("epoch 3 is past the end");
                               }),
               BadFile);
  EXPECT_EQ(state, other_state());
}

TEST_F(StateFile, PutsTheFirstValueBackOfAFieldListedTwice) {
  std::int64_t value = 1;
  bool flag = true;
  const auto list_twice = [&](StateFields& fields) {
    fields.number("a", value);
    fields.flag("flag", flag);
    fields.number("b", value);
  };
  write_state_file(path_, identity(), list_twice);
  value = 2;
  flag = false;
  EXPECT_THROW(read_state_file(path_, identity(),
                               [&](StateFields& fields) {
                                 list_twice(fields);
                                 throw BadFile("no");
                               }),
               BadFile);
  EXPECT_EQ(value, 2);
  EXPECT_FALSE(flag);
}

TEST_F(StateFile, AsksForEveryFieldOfTheFile) {
  write(State());
  std::int64_t epoch = 0;
  try {
    read_state_file(path_, identity(), [&](StateFields& fields) { fields.number("epoch", epoch); });
    FAIL() << "two fields were left unread";
  } catch (const BadFile& error) {
    EXPECT_THAT(error.what(), HasSubstr("bytes after the last of 1 fields"));
  }
  EXPECT_EQ(epoch, 0);
}

// ---- writing

TEST_F(StateFile, KeepsTheOldFileWholeUntilTheNewOneIs) {
  const std::string old_bytes = sound_bytes();
  State state = other_state();
  int calls = 0;
  write_state_file(path_, identity(), [&](StateFields& fields) {
    state.list(fields);
    EXPECT_EQ(read_bytes(path_), old_bytes);
    ++calls;
  });
  EXPECT_EQ(calls, 2);
  State back;
  read(back);
  EXPECT_EQ(back, other_state());
  EXPECT_THAT(names_in_folder(), testing::ElementsAre("run.rcap"));
}

TEST_F(StateFile, LeavesNothingBehindWhenTheFieldsThrow) {
  const std::string old_bytes = sound_bytes();
  for (const int failing_call : {1, 2}) {
    int calls = 0;
    State state = other_state();
    EXPECT_THROW(write_state_file(path_, identity(),
                                  [&](StateFields& fields) {
                                    state.list(fields);
                                    if (++calls == failing_call) throw InvalidArgument("no");
                                  }),
                 InvalidArgument);
    EXPECT_EQ(read_bytes(path_), old_bytes);
    EXPECT_THAT(names_in_folder(), testing::ElementsAre("run.rcap"));
  }
}

TEST_F(StateFile, LeavesNothingBehindWhenTheDiskRefusesMore) {
  const std::string old_bytes = sound_bytes();
  {
    const FileSizeLimit limit(100);
    EXPECT_THAT(write_failure(path_), HasSubstr("cannot write the file: File too large"));
  }
  EXPECT_EQ(read_bytes(path_), old_bytes);
  EXPECT_THAT(names_in_folder(), testing::ElementsAre("run.rcap"));
}

TEST_F(StateFile, SaysWhyAFileCannotBeWritten) {
  EXPECT_THAT(write_failure(folder_ / "missing" / "run.rcap"),
              AllOf(StartsWith("save_state \"" + folder_.string() + "/missing/run.rcap\": "),
                    HasSubstr("No such file or directory; create the folder first")));
  write(State());
  EXPECT_THAT(write_failure(path_ / "run.rcap"), HasSubstr("Not a directory"));
  EXPECT_THAT(write_failure(""), HasSubstr("does not name a file"));
  EXPECT_THAT(names_in_folder(), testing::ElementsAre("run.rcap"));
}

TEST_F(StateFile, DoesNotWriteWhatItWouldRefuseToRead) {
  State state;
  state.losses[4] = std::nanf("");
  EXPECT_THROW(write(state), InternalError);
  state = State();
  state.weights[1] = -1;
  EXPECT_THROW(write(state), InternalError);
  state = State();
  state.selected.words()[0] |= std::uint64_t{1} << 5;
  EXPECT_THROW(write(state), InternalError);
  EXPECT_THAT(names_in_folder(), testing::IsEmpty());
}

TEST_F(StateFile, NoticesFieldsThatAreNotListedAlikeEveryTime) {
  std::int64_t value = 0;
  int calls = 0;
  EXPECT_THROW(write_state_file(path_, identity(),
                                [&](StateFields& fields) {
                                  fields.number("value", value);
                                  if (++calls == 2) fields.number("more", value);
                                }),
               InternalError);
  EXPECT_THAT(names_in_folder(), testing::IsEmpty());
}

}  // namespace
}  // namespace rcap
