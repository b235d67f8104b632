#include "data/sets/catalogue.hpp"

#include <set>

#include <gmock/gmock.h>

#include "data/open_dataset.hpp"
#include "data/sample_files.hpp"
#include "data/sets/digest.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// "abc": the example of both standards.
constexpr std::string_view AbcSha256 =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view AbcMd5 = "900150983cd24fb0d6963f7d28e17f72";

constexpr OfficialFile SmallFiles[] = {{"one", 3, AbcSha256, ""}, {"two", 3, "", AbcMd5}};
constexpr CatalogueEntry SmallSet{"small", "", "below", "", "", "", {}, SmallFiles};

std::string digest_of(DigestKind kind, std::string_view text) {
  Digest digest(kind);
  const Bytes bytes(text.begin(), text.end());
  digest.add(std::span(bytes).first(bytes.size() / 2));
  digest.add(std::span(bytes).subspan(bytes.size() / 2));
  return digest.finish();
}

TEST(Digest, MakesTheChecksumsOfTheStandards) {
  EXPECT_EQ(digest_of(DigestKind::Sha256, "abc"), AbcSha256);
  EXPECT_EQ(digest_of(DigestKind::Md5, "abc"), AbcMd5);
  EXPECT_EQ(digest_of(DigestKind::Md5, ""), "d41d8cd98f00b204e9800998ecf8427e");
}

class Verify : public testing::Test {
 protected:
  [[nodiscard]] FileCheck check(std::size_t i) const { return verify(SmallSet, folder_.path())[i]; }

  TemporaryFolder folder_;
};

TEST_F(Verify, KnowsGoodFilesPlainPackedAndInTheFolderBelow) {
  put_file(folder_ / "one.gz", gzip({'a', 'b', 'c'}));
  put_file(folder_ / "below/two", "abc");
  const std::vector<FileCheck> checks = verify(SmallSet, folder_.path());
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_THAT(checks, Each(AllOf(Field(&FileCheck::state, FileState::Good),
                                 Field(&FileCheck::finding, IsEmpty()))));
  EXPECT_EQ(checks[0].file.name, "one.gz");
  EXPECT_EQ(checks[1].file.path, folder_ / "below/two");
  EXPECT_EQ(checks[1].file.bytes, 3U);
}

TEST_F(Verify, TellsTheSizeFirst) {
  put_file(folder_ / "one", "abcd");
  EXPECT_EQ(check(0).state, FileState::Damaged);
  EXPECT_EQ(check(0).finding, "holds 4 bytes; 3 are expected");
  put_file(folder_ / "one", gzip({'a', 'b'}));
  EXPECT_EQ(check(0).finding, "unpacks to 2 bytes; 3 are expected");
  put_file(folder_ / "one", gzip(Bytes(1000, 'a')));
  EXPECT_EQ(check(0).finding, "unpacks to more than the 3 bytes expected");
}

TEST_F(Verify, TellsTheChecksumFoundAndExpected) {
  put_file(folder_ / "one", "abd");
  EXPECT_EQ(check(0).state, FileState::Damaged);
  EXPECT_THAT(
      check(0).finding,
      AllOf(HasSubstr("has SHA-256 a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298"
                      "449c9"),
            HasSubstr("; ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad is "
                      "expected")));
}

TEST_F(Verify, OnlyDoubtsWhereTheChecksumIsAThirdPartys) {
  put_file(folder_ / "two", "abd");
  EXPECT_EQ(check(1).state, FileState::Doubtful);
  EXPECT_THAT(check(1).finding,
              AllOf(HasSubstr("has MD5 4911e516e5aa21d327512e0c8b197616"), HasSubstr(AbcMd5)));
}

TEST_F(Verify, FindsDamagedPackingAndMissingFiles) {
  Bytes packed = gzip({'a', 'b', 'c'});
  packed.resize(packed.size() - 4);
  put_file(folder_ / "one.gz", packed);
  EXPECT_EQ(check(0).state, FileState::Damaged);
  EXPECT_THAT(check(0).finding, HasSubstr("one.gz: the gzip stream ends early"));
  EXPECT_EQ(check(1).state, FileState::Missing);
  EXPECT_EQ(name_of(check(1).state), "missing");
}

TEST_F(Verify, DoubtsACopyThatHasNoChecksum) {
  constexpr OfficialFile Files[] = {{"list.txt", 3, AbcSha256, "", "list.csv"}};
  const CatalogueEntry entry{"small", "", "", "", "", "", {}, Files};
  put_file(folder_ / "list.csv", "anything");
  const FileCheck copy = verify(entry, folder_.path())[0];
  EXPECT_EQ(copy.state, FileState::Doubtful);
  EXPECT_EQ(copy.finding, "is a copy; a checksum is published for list.txt only");
  put_file(folder_ / "list.txt", "abc");
  EXPECT_EQ(verify(entry, folder_.path())[0].state, FileState::Good);
}

TEST_F(Verify, TellsProgress) {
  put_file(folder_ / "one", "abc");
  std::vector<std::string> told;
  (void)verify(SmallSet, folder_.path(),
               [&](const std::string& name, std::uint64_t done, std::uint64_t total) {
                 told.push_back(name + " " + std::to_string(done) + "/" + std::to_string(total));
               });
  EXPECT_THAT(told, testing::ElementsAre("one 3/3"));
}

TEST(Catalogue, HoldsWellFormedEntriesOfKnownDataSets) {
  std::set<std::string_view> names;
  for (const DatasetInfo& info : datasets()) names.insert(info.name);
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_TRUE(names.contains(entry.name)) << entry.name;
    EXPECT_EQ(find_in_catalogue(entry.name), &entry);
    // CelebA's publisher has no other address.
    EXPECT_THAT(entry.address,
                testing::StartsWith(entry.name == "celeba" ? "http://mmlab." : "https://"));
    EXPECT_TRUE(entry.images_in_files || !entry.files.empty()) << entry.name;
    for (const OfficialFile& file : entry.files) {
      SCOPED_TRACE(file.name);
      EXPECT_TRUE(file.sha256.size() == 64 || (file.sha256.empty() && file.md5.size() == 32));
      const std::string digits = std::string(file.sha256) + std::string(file.md5);
      EXPECT_EQ(digits.find_first_not_of("0123456789abcdef"), std::string::npos);
    }
  }
  EXPECT_EQ(find_in_catalogue("synthetic"), nullptr);
}

}  // namespace
}  // namespace rcap
