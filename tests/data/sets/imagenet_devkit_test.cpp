#include "data/malformed.hpp"
#include "data/sets/imagenet.hpp"
#include "data/sets/mat_samples.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Made by SciPy 1.17.1: savemat of an object array "synsets", 2 x 1, with do_compression, whose
/// fields are ILSVRC2012_ID (2 and 1), WNID (n02119789 and n02119790), words, num_children and
/// children; without the 124 bytes of text before it.
constexpr std::string_view SciPyFile =
    "0001494d0f000000ca000000789ce3636060906066606003d21c40ccc40001ac487c46286607e2e2cabce2d4"
    "9262a03c0b031f54dc0d883d7d82c3829c8d0c0c8de23d5d18c2fd80041c94e717a514c37979a5b9f1c91999"
    "392945a9790c0c08160480ccb46040b8870dcd3d8c48180438a1e250e000d2ef80a49f058b7e4e24fd02507e"
    "9e8191a1a1a5b98525923b3c08982381660e889f9d59a290965fa1a310569a53905aac909b985c945f92590c"
    "32cf00c93c4e02fe6282b2d0f5a187070c208707e5e1f8c19ec270b4341826e10800204b2fa8";

Bytes from_hex(std::string_view digits) {
  Bytes bytes(124, ' ');
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

class Synsets : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> read(const Bytes& bytes) const {
    put_file(folder_ / "meta.mat", bytes);
    return read_imagenet_synsets(folder_ / "meta.mat");
  }
  [[nodiscard]] std::string refusal(const Bytes& bytes) const {
    return message_of<BadFile>([&] { (void)read(bytes); });
  }

  TemporaryFolder folder_;
};

TEST_F(Synsets, AreReadPackedAndPlain) {
  for (const bool packed : {true, false}) {
    MatSample sample;
    sample.rows = {{3, "n00000030"}, {1, "n00000010"}, {2, "n00000020"}};
    sample.packed = packed;
    EXPECT_THAT(read(sample.bytes()), ElementsAre("n00000010", "n00000020", "n00000030"));
  }
}

TEST_F(Synsets, OfAllTheDevkitsRowsAreRead) {
  MatSample sample;
  for (int id = 1; id <= 1860; ++id)
    sample.rows.push_back({id, "n0000" + std::to_string(9999 - id)});
  const std::vector<std::string> wnids = read(sample.bytes());
  ASSERT_EQ(wnids.size(), 1860U);
  EXPECT_EQ(wnids[1859], "n00008139");
}

TEST_F(Synsets, OfAnotherWriterAreRead) {
  EXPECT_THAT(read(from_hex(SciPyFile)), ElementsAre("n02119790", "n02119789"));
}

TEST_F(Synsets, AreRefusedByWhatIsWrongWithThem) {
  const auto told = [&](const MatSample& sample) { return refusal(sample.bytes()); };
  const std::vector<SynsetRow> good{{1, "n00000010"}, {2, "n00000020"}};
  EXPECT_THAT(told({.rows = good, .variable = "sunsets"}),
              HasSubstr("none of the 1 variables is called synsets"));
  EXPECT_THAT(told({.rows = good, .fields = {"WNID", "words"}}),
              HasSubstr("has no field ILSVRC2012_ID"));
  EXPECT_THAT(told({.rows = good, .fields = {"ILSVRC2012_ID"}}), HasSubstr("has no field WNID"));
  EXPECT_THAT(told({.rows = {}}), HasSubstr("0 cells do not make whole rows of 4 fields"));
  EXPECT_THAT(told({.rows = {{1, "n00000010"}, {3, "n00000030"}}}),
              HasSubstr("ILSVRC2012_ID is 3; it must be a whole number between 1 and 2"));
  EXPECT_THAT(told({.rows = {{0, "n00000010"}}}), HasSubstr("ILSVRC2012_ID is 0"));
  EXPECT_THAT(told({.rows = {{1, "n00000010"}, {1, "n00000020"}}}),
              HasSubstr("ILSVRC2012_ID 1 appears twice"));
  EXPECT_THAT(told({.rows = {{1, "n1"}}}),
              HasSubstr("WNID is \"n1\"; it must be n and eight digits"));
  EXPECT_THAT(told({.rows = {{1, "n00000010"}, {2, "n00000010"}}}),
              HasSubstr("WNID n00000010 appears twice"));
}

TEST_F(Synsets, AreRefusedFromAnotherFile) {
  EXPECT_THAT(refusal({}), HasSubstr("meta.mat, byte 0 of its (unpacked) data: this is not a"));
  EXPECT_THAT(refusal(Bytes(200, 'x')), HasSubstr("this is not a little-endian MAT file"));
  Bytes other_end = from_hex(SciPyFile);
  std::swap(other_end[126], other_end[127]);
  EXPECT_THAT(refusal(other_end), HasSubstr("this is not a little-endian MAT file"));
}

TEST_F(Synsets, CutOffAreRefused) {
  for (const bool packed : {true, false}) {
    MatSample sample{.rows = {{1, "n00000010"}, {2, "n00000020"}}};
    sample.packed = packed;
    const Bytes whole = sample.bytes();
    for (std::size_t size = 0; size < whole.size(); size += 3) {
      SCOPED_TRACE(size);
      const std::string told =
          refusal(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
      EXPECT_THAT(told, HasSubstr("meta.mat"));
    }
  }
}

TEST_F(Synsets, WithAFlippedByteAreReadOrRefused) {
  MatSample sample{.rows = {{1, "n00000010"}, {2, "n00000020"}}};
  sample.packed = false;
  const Bytes whole = sample.bytes();
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes damaged = whole;
    damaged[i] = static_cast<std::uint8_t>(~damaged[i]);
    try {
      (void)read(damaged);
    } catch (const BadFile&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(ReadImagenetGroundTruth, TakesAnIdALine) {
  const TemporaryFolder folder;
  put_file(folder / "truth.txt", "490\r\n361\n1000");
  EXPECT_THAT(read_imagenet_ground_truth(folder / "truth.txt"), ElementsAre(490, 361, 1000));
}

TEST(ReadImagenetGroundTruth, RefusesEveryMalformedLine) {
  using namespace std::string_literals;
  expect_all_refused(
      {
          {"empty", "", "truth.txt: is empty"},
          {"id 0", "1\n0\n",
           "line 2: the ILSVRC id is \"0\"; it must be a whole number between 1 and 1000"},
          {"an id above 1000", "1001\n", "line 1: the ILSVRC id is \"1001\""},
          {"a wnid", "n01440764\n", "line 1: the ILSVRC id is \"n01440764\""},
          {"a blank", "1\n 2\n", "line 2: the ILSVRC id is \" 2\""},
          {"a blank line", "1\n\n2\n", "line 2: the ILSVRC id is \"\""},
          {"two ids", "1 2\n", "line 1: the ILSVRC id is \"1 2\""},
          {"a zero byte", "1\n2\0\n"s, "line 2: byte 2 is zero"},
      },
      "truth.txt", read_imagenet_ground_truth);
}

}  // namespace
}  // namespace rcap
