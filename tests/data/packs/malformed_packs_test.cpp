#include <cstring>
#include <functional>
#include <limits>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/packs/packed_format.hpp"
#include "data/packs/packed_samples.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using packed_format::Entry;
using packed_format::Head;
using testing::AllOf;
using testing::HasSubstr;

/// Opens the file and reads every image, as `rcap data verify FILE` does.
void read_everything(const std::filesystem::path& path) {
  const Dataset dataset = open_packed(path).dataset;
  Image unused;
  for (const Split* split : {&dataset.train, &dataset.test}) {
    for (SampleId id = 0; id < split->size(); ++id) (void)split->images->read(id, unused);
  }
}

/// A packed file whose parts can be changed, with checksums that are right all the same.
class Forgery {
 public:
  explicit Forgery(Bytes bytes) : bytes_(std::move(bytes)) { get(0, head); }

  /// A field of entry `image`, at `field` bytes from its begin.
  template <class T>
  void set_entry(std::size_t image, std::size_t field, T value) {
    put(entry_offset(image) + field, value);
  }
  template <class T>
  void put(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }
  [[nodiscard]] std::size_t entry_offset(std::size_t image) const {
    return first_head().index_offset + image * sizeof(Entry);
  }
  [[nodiscard]] Entry entry(std::size_t image) const {
    Entry entry;
    get(entry_offset(image), entry);
    return entry;
  }
  /// Where the description begins.
  [[nodiscard]] std::size_t description() const {
    return first_head().file_bytes - first_head().description_bytes;
  }
  void append(std::size_t count) { bytes_.resize(bytes_.size() + count); }
  void cut(std::size_t count) { bytes_.resize(bytes_.size() - count); }

  /// Makes both checksums right.
  [[nodiscard]] Bytes seal() {
    const std::size_t begin = std::min<std::size_t>(first_head().index_offset, bytes_.size());
    head.tables_checksum = packed_format::checksum_of(bytes_.data() + begin, bytes_.size() - begin);
    head.head_checksum = checksum_of(head);
    put(0, head);
    return bytes_;
  }

  Head head;  ///< put into the file by `seal`

 private:
  [[nodiscard]] Head first_head() const {
    Head first;
    get(0, first);
    return first;
  }
  template <class T>
  void get(std::size_t offset, T& value) const {
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
  }

  Bytes bytes_;
};

struct Case {
  const char* what;
  std::function<void(Forgery&)> forge;
  std::vector<std::string> naming;
};

// Of `small_dataset`: pixels from byte 88 on, 72 + 45 + 147 + 48 + 48 bytes, so the index
// begins at byte 448; the name takes 4 + 12 bytes of the description.
constexpr std::size_t Index = 448;
const auto Most = std::numeric_limits<std::uint64_t>::max();

const std::vector<Case> Cases{
    {"file size above", [](Forgery& f) { f.head.file_bytes += 1; }, {"byte 16", "truncated"}},
    {"file size below", [](Forgery& f) { f.head.file_bytes -= 1; }, {"byte 16", "too long"}},
    {"trailing bytes", [](Forgery& f) { f.append(3); }, {"byte 16", "too long"}},
    {"cut off", [](Forgery& f) { f.cut(1); }, {"byte 16", "truncated"}},
    {"one training image more",
     [](Forgery& f) { f.head.train_count += 1; },
     {"byte 40", "the index begins at byte 448", "at 408"}},
    {"training images without end",
     [](Forgery& f) { f.head.train_count = Most; },
     {"byte 24", "train has 18446744073709551615 images"}},
    {"training images whose bytes overflow",
     [](Forgery& f) { f.head.train_count = Most / sizeof(Entry) + 2; },
     {"byte 24", "train has 461168601842738792 images"}},
    {"test images without end",
     [](Forgery& f) { f.head.test_count = Most - 2; },
     {"byte 32", "test has 18446744073709551613 images"}},
    {"names without end",
     [](Forgery& f) { f.head.name_bytes = Most; },
     {"byte 48", "the names take 18446744073709551615 bytes"}},
    {"a description without end",
     [](Forgery& f) { f.head.description_bytes = Most - 100; },
     {"byte 56", "the description takes 18446744073709551515 bytes"}},
    {"an index in the head", [](Forgery& f) { f.head.index_offset = 8; }, {"byte 40", "byte 8"}},
    {"an index behind the end",
     [](Forgery& f) { f.head.index_offset = Most; },
     {"byte 40", "18446744073709551615"}},
    {"images out of order",
     [](Forgery& f) {
       const Entry first = f.entry(0), second = f.entry(1);
       f.set_entry(0, 0, second);
       f.set_entry(1, 0, first);
     },
     {"byte 448", "image 0: it begins at byte 160, not at 88"}},
    {"overlapping images",
     [](Forgery& f) { f.set_entry(1, offsetof(Entry, offset), std::uint64_t{159}); },
     {"byte 488", "image 1: it begins at byte 159, not at 160"}},
    {"a gap between images",
     [](Forgery& f) { f.set_entry(1, offsetof(Entry, offset), std::uint64_t{161}); },
     {"byte 488", "image 1: it begins at byte 161, not at 160"}},
    {"an image outside of the file",
     [](Forgery& f) { f.set_entry(2, offsetof(Entry, offset), Most); },
     {"byte 528", "image 2: it begins at byte 18446744073709551615"}},
    {"height 0",
     [](Forgery& f) { f.set_entry(0, offsetof(Entry, height), 0U); },
     {"byte 472", "image 0: it has 6 x 0 pixels"}},
    {"width 0",
     [](Forgery& f) { f.set_entry(3, offsetof(Entry, width), 0U); },
     {"byte 592", "image 3: it has 0 x 4 pixels"}},
    {"sides without end",
     [](Forgery& f) { f.set_entry(0, offsetof(Entry, height), Most); },
     {"byte 472", "4294967295 x 4294967295 pixels"}},
    {"more pixels than an image may have",
     [](Forgery& f) { f.set_entry(0, offsetof(Entry, height), 20'000'000U); },
     {"byte 472", "6 x 20000000 pixels; an image must have between 1 and 100000000"}},
    {"an image that reaches into the index",
     [](Forgery& f) { f.set_entry(4, offsetof(Entry, height), 5U); },
     {"byte 632", "image 4: its 4 x 5 pixels take 60 bytes, but 48 are left"}},
    {"pixels that belong to no image",
     [](Forgery& f) { f.set_entry(4, offsetof(Entry, height), 3U); },
     {"byte 436", "12 bytes follow the last image"}},
    {"a label above the classes",
     [](Forgery& f) { f.set_entry(2, offsetof(Entry, label), 2); },
     {"byte 560", "image 2: its label is 2; there are 2 classes"}},
    {"a negative label",
     [](Forgery& f) { f.set_entry(2, offsetof(Entry, label), -1); },
     {"byte 560", "image 2: its label is -1"}},
    {"a group above the groups",
     [](Forgery& f) { f.set_entry(1, offsetof(Entry, group), 2); },
     {"byte 524", "image 1: its group is 2; there are 2 groups"}},
    {"no group where others have one",
     [](Forgery& f) { f.set_entry(1, offsetof(Entry, group), -1); },
     {"byte 524", "image 1: its group is -1"}},
    {"a group where others have none",
     [](Forgery& f) { f.set_entry(0, offsetof(Entry, group), -1); },
     {"byte 524", "image 1: its group is 0; the images of its split have no group"}},
    {"a name that ends before it begins",
     [](Forgery& f) { f.set_entry(1, offsetof(Entry, name_end), std::uint64_t{1}); },
     {"byte 504", "image 1: its name ends at 1 of the names"}},
    {"a name behind the names",
     [](Forgery& f) { f.set_entry(4, offsetof(Entry, name_end), std::uint64_t{1000}); },
     {"byte 624", "image 4: its name ends at 1000"}},
    {"names that belong to no image",
     [](Forgery& f) { f.set_entry(4, offsetof(Entry, name_end), f.entry(4).name_end - 2); },
     {"2 bytes follow the last name"}},
    {"a text without end",
     [](Forgery& f) { f.put(f.description(), 0xffffffffU); },
     {"the name claims 4294967295 bytes"}},
    {"two channels",
     [](Forgery& f) { f.put(f.description() + 16, 2U); },
     {"the number of channels is 2; it must be 1 or 3"}},
    {"channels that images do not have",
     [](Forgery& f) { f.put(f.description() + 16, 1U); },
     {"the length of the normalisation is 3; it must be 0 or 1"}},
    {"classes without end",
     [](Forgery& f) { f.put(f.description() + 20, 0x7fffffffU); },
     {"the class names claim to be 2147483647"}},
    {"no classes", [](Forgery& f) { f.put(f.description() + 20, 0U); }, {"byte "}},
    {"a mean that is no number",
     [](Forgery& f) { f.put(f.head.file_bytes - 40, std::numeric_limits<float>::quiet_NaN()); },
     {"the mean of channel 0 is nan"}},
    {"a deviation of 0",
     [](Forgery& f) { f.put(f.head.file_bytes - 20, 0.0F); },
     {"the deviation of channel 2 is 0; it must be finite and above 0"}},
    {"a mark of fast decoding that is none",
     [](Forgery& f) { f.put(f.head.file_bytes - 16, 2U); },
     {"the mark of fast decoding is 2"}},
    {"a crop too large",
     [](Forgery& f) { f.put(f.head.file_bytes - 12, 65536U); },
     {"the side of the central crop is 65536"}},
    {"a resize too large",
     [](Forgery& f) { f.put(f.head.file_bytes - 8, 0x80000000U); },
     {"the side of the resize is 2147483648"}},
    {"a mark of bicubic resizing that is none",
     [](Forgery& f) { f.put(f.head.file_bytes - 4, 7U); },
     {"the mark of bicubic resizing is 7"}},
    {"a description that goes on",
     [](Forgery& f) {
       f.append(2);
       f.head.file_bytes += 2;
       f.head.description_bytes += 2;
     },
     {"2 bytes follow the description"}},
    {"a description that ends early",
     [](Forgery& f) {
       f.cut(2);
       f.head.file_bytes -= 2;
       f.head.description_bytes -= 2;
     },
     {"the mark of bicubic resizing needs 4 bytes, but 2 are left"}},
};

class MalformedPacks : public testing::Test {
 protected:
  MalformedPacks() : path_(folder_ / "a.pack"), whole_(pack(small_dataset(), path_)) {}

  std::string refusal(const Bytes& bytes) {
    std::filesystem::remove(path_);  // some file systems sync a file that is overwritten
    put_file(path_, bytes);
    return message_of<BadFile>([&] { read_everything(path_); });
  }

  TemporaryFolder folder_;
  std::filesystem::path path_;
  Bytes whole_;
};

TEST_F(MalformedPacks, AreRefusedWithThePlaceAndTheValue) {
  ASSERT_EQ(Forgery(whole_).head.index_offset, Index);
  EXPECT_GE(Cases.size(), 25U);
  for (const Case& test : Cases) {
    SCOPED_TRACE(test.what);
    Forgery forgery(whole_);
    test.forge(forgery);
    const std::string message = refusal(forgery.seal());
    EXPECT_THAT(message, AllOf(HasSubstr(path_.string()), HasSubstr(": byte ")));
    for (const std::string& text : test.naming) EXPECT_THAT(message, HasSubstr(text));
  }
  // What is forged above is all that is wrong.
  put_file(path_, Forgery(whole_).seal());
  EXPECT_NO_THROW(read_everything(path_));
}

TEST_F(MalformedPacks, AreRefusedByTheirHead) {
  EXPECT_THAT(refusal({}), HasSubstr("has 0 bytes, a packed file at least 88"));
  const auto changed = [this](std::size_t offset, std::uint8_t value) {
    Bytes bytes = whole_;
    bytes[offset] = value;
    return refusal(bytes);
  };
  EXPECT_THAT(changed(3, 'X'), HasSubstr("byte 0: is not a packed file of rcap"));
  EXPECT_THAT(changed(8, 2),
              HasSubstr("byte 8: written in format version 2, this rcap reads version 1"));
  EXPECT_THAT(changed(12, 5), HasSubstr("byte 12: the reserved word is 5"));
  EXPECT_THAT(changed(64, 0), HasSubstr("byte 80: the head has the checksum"));
  EXPECT_THAT(message_of<BadFile>([&] { (void)open_packed(folder_ / "none"); }),
              HasSubstr("none: cannot be opened"));
  EXPECT_THAT(message_of<BadFile>([&] { (void)open_packed(folder_.path()); }),
              HasSubstr("is a directory"));
}

TEST_F(MalformedPacks, AreRefusedWhereverTheyAreCutOff) {
  for (std::size_t count = 0; count < whole_.size(); ++count) {
    SCOPED_TRACE(count);
    const Bytes start(whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(count));
    EXPECT_THAT(refusal(start), HasSubstr(path_.string()));
  }
}

TEST_F(MalformedPacks, AreFoundByEveryFlippedByte) {
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      SCOPED_TRACE(i);
      Bytes damaged = whole_;
      damaged[i] = static_cast<std::uint8_t>(damaged[i] ^ flip);
      EXPECT_THAT(refusal(damaged), HasSubstr(path_.string()));
    }
  }
}

}  // namespace
}  // namespace rcap
