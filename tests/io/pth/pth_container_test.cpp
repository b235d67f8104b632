#include "io/pth/pth_fixture.hpp"
#include "io/weight_file.hpp"

namespace rcap {
namespace {

using namespace pth_samples;
using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

/// The file with the bytes at that place changed.
std::string with(std::string bytes, std::size_t offset, const std::string& change) {
  return bytes.replace(offset, change.size(), change);
}

TEST_F(Pth, RefusesWhatCannotBeAFileOfThisKind) {
  EXPECT_THAT(message_of<BadFile>([&] { PthFile file(folder_ / "none"); }),
              HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(message_of<BadFile>([&] { PthFile file(folder_.path()); }),
              HasSubstr("is a directory"));
  EXPECT_THAT(refusal(""), HasSubstr("was not written by torch.save"));
  EXPECT_THAT(refusal("PK\x03"), HasSubstr("was not written by torch.save"));
  EXPECT_THAT(refusal("\x80\x02}."), HasSubstr("is a pickle, but not one that torch.save wrote"));
  EXPECT_THAT(refusal(with(std::string(512, '\0'), 257, "ustar")), HasSubstr("is a tar archive"));
}

TEST_F(Pth, RefusesOtherArchives) {
  const std::string dict = pickle_of("}");
  EXPECT_THAT(refusal(zip({{"readme.txt", "hello"}})), HasSubstr("a zip archive without data.pkl"));
  EXPECT_THAT(refusal(zip({{"data.pkl", dict}})), HasSubstr("without data.pkl in a folder"));
  EXPECT_THAT(refusal(zip({{"a/b/data.pkl", dict}})), HasSubstr("without data.pkl in a folder"));
  EXPECT_THAT(refusal(zip({{"a/data.pkl", dict}, {"b/data.pkl", dict}})),
              HasSubstr("holds data.pkl in two folders"));
  EXPECT_THAT(refusal(zip({{"a/data.pkl", dict}, {"a/data.pkl", dict}})),
              HasSubstr("record \"a/data.pkl\" appears twice"));
  EXPECT_THAT(refusal(zip({{"a/data.pkl", dict}, {"a/constants.pkl", dict}})),
              HasSubstr("is a TorchScript archive"));
  EXPECT_THAT(refusal(zip({{"a/data.pkl", dict}, {"a/byteorder", "big"}})),
              HasSubstr("record byteorder says \"big\"; only \"little\" is read"));
}

TEST_F(Pth, RefusesDamagedArchives) {
  const std::string whole = zip({{"a/data.pkl", pickle_of("}")}});
  const std::size_t end = whole.size() - 22;
  const std::size_t list = whole.find("PK\x01\x02");
  EXPECT_THAT(refusal(whole.substr(0, end)), HasSubstr("a zip archive without its end"));
  EXPECT_THAT(refusal(whole + "x"), HasSubstr("a zip archive without its end"));
  EXPECT_THAT(refusal(with(whole, end + 4, "\1")), HasSubstr("a zip archive of several parts"));
  EXPECT_THAT(refusal(with(whole, end + 8, "\2")), HasSubstr("a zip archive of several parts"));
  EXPECT_THAT(refusal(with(whole, end + 8, "\0\0\0\0"s)), HasSubstr("follow the list of its 0"));
  EXPECT_THAT(refusal(with(whole, end + 8, "\2\0\2\0"s)), HasSubstr("claims 2 records in a list"));
  EXPECT_THAT(refusal(with(whole, end + 12, "\1")), HasSubstr("its list of records should fill"));
  EXPECT_THAT(refusal(with(whole, end + 16, "\xff\xff\xff\xff")),
              HasSubstr("from byte 4294967295"));
  EXPECT_THAT(refusal(with(whole, list, "XX")), HasSubstr("does not begin a record"));
  EXPECT_THAT(refusal(with(whole, list + 8, "\1")),
              HasSubstr("record \"a/data.pkl\" is encrypted"));
  EXPECT_THAT(refusal(with(whole, list + 10, "\x08")), HasSubstr("is compressed (method 8)"));
  EXPECT_THAT(refusal(with(whole, list + 16, "x")), HasSubstr("has the checksum"));
  EXPECT_THAT(refusal(with(whole, list + 20, "\1")),
              HasSubstr("has 1 bytes packed and 4 unpacked"));
  EXPECT_THAT(refusal(with(whole, list + 20, "\xff\xff\xff\xff")),
              HasSubstr("a number at byte 0 of the extra fields of record \"a/data.pkl\" needs 8"));
  EXPECT_THAT(refusal(with(whole, list + 20, "\0\1\0\0\0\1"s)), HasSubstr("needs 256 bytes"));
  EXPECT_THAT(refusal(with(whole, list + 20, "\x06\0\0\0\x06"s)),
              HasSubstr("but the next one begins"));
  EXPECT_THAT(refusal(with(whole, list + 28, "\xff")), HasSubstr("a name at byte"));
  EXPECT_THAT(refusal(with(whole, list + 42, "\1")),
              HasSubstr("should begin at byte 1, but there"));
  EXPECT_THAT(refusal(with(whole, list + 45, "\x7f")), HasSubstr("but there is none"));
  EXPECT_THAT(refusal(with(whole, 30, "b")), HasSubstr("is called \"b/data.pkl\" at byte 0"));
}

TEST_F(Pth, RefusesDamagedLargeArchives) {
  const std::string whole = zip({{"a/data.pkl", pickle_of("}")}}, true);
  const std::size_t end = whole.find("PK\x06\x06");
  const std::size_t locator = whole.find("PK\x06\x07");
  EXPECT_THAT(refusal(with(whole, locator + 8, "\1")), HasSubstr("but byte 1 is named"));
  EXPECT_THAT(refusal(with(whole, end, "XX")), HasSubstr("the ZIP64 end of its list should be at"));
  EXPECT_THAT(refusal(with(whole, locator, "XX")), HasSubstr("from byte 4294967295 on"));
  EXPECT_THAT(refusal(with(whole, end + 24, "\2")), HasSubstr("contradict each other"));
  EXPECT_THAT(refusal(with(whole, whole.size() - 14, "\2\0\2\0"s)), HasSubstr("contradict"));
  EXPECT_THAT(refusal(with(whole, end + 24, "\2\0\0\0\0\0\0\0\2"s)), HasSubstr("claims 2 records"));
  EXPECT_THAT(refusal(with(whole, end + 40, "\1")), HasSubstr("its list of records should fill"));
  EXPECT_THAT(refusal(with(whole, end + 55, "\xff")), HasSubstr("its list of records should fill"));
}

TEST_F(Pth, RefusesRecordsThatOverlap) {
  std::string bytes = zip({{"a/data.pkl", pickle_of("}")}, {"a/other", "PK"}});
  const std::size_t inner = bytes.find("a/other") - 30;
  // The first record, whose data begin at byte 40, reaches ten bytes into the second one.
  const std::size_t first = bytes.find("PK\x01\x02");
  const std::string size(1, static_cast<char>(inner - 40 + 10));
  bytes = with(with(bytes, first + 20, size), first + 24, size);
  EXPECT_THAT(refusal(bytes), HasSubstr("but the next one begins at"));
}

TEST_F(Pth, RefusesDamagedOldFiles) {
  const std::string object =
      pickle_of(dictionary({{"w", tensor(storage("k", "Float", 1, true), 0, {1}, {1})}}));
  const std::string sound = old_file(object, {{"k", 1, "1234"}});
  put(sound);
  EXPECT_EQ(PthFile(path()).tensors().size(), 1);
  EXPECT_THAT(refusal(sound + "x"), HasSubstr("1 bytes follow the last storage"));
  EXPECT_THAT(refusal(sound.substr(0, sound.size() - 1)),
              HasSubstr("storage \"k\" has 1 elements of 4 bytes, but 3 bytes are left"));
  EXPECT_THAT(refusal(old_file(object, {{"k", 2, "12345678"}})), HasSubstr("the pickle says 1"));
  EXPECT_THAT(refusal(old_file(object, {{"k", -1, ""}})), HasSubstr("has 18446744073709551615"));
  EXPECT_THAT(refusal(old_file(object, {})), HasSubstr("holds no data for storage \"k\""));
  EXPECT_THAT(refusal(old_file(object, {{"k", 1, "1234"}, {"k", 1, "1234"}})),
              HasSubstr("lists storage \"k\", which no tensor uses or which appears twice"));
  EXPECT_THAT(refusal(old_file(object, {{"m", 1, "1234"}})), HasSubstr("lists storage \"m\""));
  EXPECT_THAT(refusal(old_file("N.", {})), HasSubstr("does not hold a dictionary"));
  const std::size_t version = sound.find(integer(1001));
  EXPECT_THAT(refusal(with(sound, version + 2, "x")), HasSubstr("but not its version 1001"));
  const std::size_t order = sound.find("little_endian") + 13;
  EXPECT_THAT(refusal(with(sound, order, "\x89")), HasSubstr("is not marked as little-endian"));
  const std::size_t keys = sound.rfind("](");
  EXPECT_THAT(refusal(with(sound, keys, "}N")), HasSubstr("no mark"));
}

// ---- one class for both formats

TEST(WeightFile, TellsTheFormatByTheFirstBytes) {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.safetensors", std::ios::binary) << small_archive();
  const WeightFile pth(folder / "a.safetensors");
  EXPECT_EQ(pth.format(), WeightFile::Format::Pth);
  ASSERT_EQ(pth.tensors().size(), 3);
  EXPECT_THAT(floats_of(*pth.find("turned")), ElementsAre(0, 3, 1, 4, 2, 5));

  write_safetensors(folder / "b.pth", pth.tensors());
  const WeightFile safetensors(folder / "b.pth");
  EXPECT_EQ(safetensors.format(), WeightFile::Format::Safetensors);
  EXPECT_THAT(floats_of(*safetensors.find("turned")), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(safetensors.find("bias"), nullptr);
  EXPECT_EQ(safetensors.wrapper(), "");
}

TEST(WeightFile, AlignsWhatLiesAskew) {
  const TemporaryFolder folder;
  // The header has 53 bytes, so the floats lie at byte 61.
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  const std::vector<float> numbers = {2.5F, -1.0F};
  ASSERT_NE((8 + header.size()) % 4, 0);
  std::ofstream(folder / "x", std::ios::binary) << length << header << bytes_of_numbers(numbers);
  const WeightFile file(folder / "x");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensors()[0].data.data()) % 4, 0);
  EXPECT_THAT(floats_of(file.tensors()[0]), ElementsAre(2.5F, -1.0F));
}

TEST(WeightFile, NamesAFileThatIsNotThere) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<BadFile>([&] { WeightFile file(folder / "none"); }),
              HasSubstr("none\": cannot be opened: No such file"));
}

}  // namespace
}  // namespace rcap
