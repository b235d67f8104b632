#include "data/sets/waterbirds.hpp"

#include "data/malformed.hpp"
#include "data/open_dataset.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string Header = "img_id,img_filename,y,split,place,place_filename\n";
const std::string Good = "1,001.Albatross/a.jpg,1,0,1,/o/ocean/1.jpg\n";

TEST(ReadWaterbirdsTable, TakesWhatWasPublished) {
  const TemporaryFolder folder;
  put_file(folder / "metadata.csv",
           Header + Good + "2,002.Wren/b.jpg,0,2,0,/b/bamboo_forest/7.jpg\n");
  const ImageRows table = read_waterbirds_table(folder / "metadata.csv");
  ASSERT_EQ(table.files.size(), 2U);
  EXPECT_EQ(table.files[0], "001.Albatross/a.jpg");
  EXPECT_THAT(table.labels, ElementsAre(1, 0));
  EXPECT_THAT(table.splits, ElementsAre(0, 2));
  EXPECT_THAT(table.groups, ElementsAre(3, 0));
}

TEST(ReadWaterbirdsTable, TakesOtherLineEndsAndQuotes) {
  const TemporaryFolder folder;
  for (const std::string& text :
       {"\xEF\xBB\xBF" + Header + "1,\"a, \"\"b\"\".jpg\",1,0,1,\"\"\n",
        std::string("img_id,img_filename,y,split,place,place_filename\r\n1,\"a, \"\"b\"\".jpg\","
                    "1,0,1,p\r\n"),
        Header + "1,\"a, \"\"b\"\".jpg\",1,0,1,p"}) {
    put_file(folder / "metadata.csv", text);
    const ImageRows table = read_waterbirds_table(folder / "metadata.csv");
    ASSERT_EQ(table.files.size(), 1U);
    EXPECT_EQ(table.files[0], "a, \"b\".jpg");
    EXPECT_THAT(table.groups, ElementsAre(3));
  }
}

TEST(ReadWaterbirdsTable, RefusesEveryMalformedLine) {
  using namespace std::string_literals;
  expect_all_refused(
      {
          {"empty", "", "metadata.csv: is empty"},
          {"a header alone", Header, "line 1: is only the header"},
          {"no header", Good, "line 1: the header is \"1,001.Albatross/a.jpg,1,0,1,/o/ocean"},
          {"another order", "img_id,img_filename,y,place,split,place_filename\n" + Good,
           "line 1: the header is \"img_id,img_filename,y,place,split"},
          {"too few fields", Header + Good + "2,b.jpg,1,0,1\n",
           "line 3: has 5 fields; 6 are expected"},
          {"too many fields", Header + "1,b.jpg,1,0,1,p,q\n", "line 2: has 7 fields"},
          {"a blank line", Header + Good + "\n", "line 3: has 1 fields"},
          {"id 0", Header + "0,a.jpg,1,0,1,p\n", "line 2: img_id is \"0\""},
          {"an id that is no number", Header + "x1,a.jpg,1,0,1,p\n", "line 2: img_id is \"x1\""},
          {"an id twice", Header + Good + "1,b.jpg,1,0,1,p\n",
           "line 3: img_id 1 is in line 2 already"},
          {"an id out of range", Header + "99999999999999999999,a.jpg,1,0,1,p\n",
           "img_id is \"99999999999999999999\""},
          {"a label of 2", Header + "1,a.jpg,2,0,1,p\n",
           "line 2: y is \"2\"; it must be a whole number between 0 and 1"},
          {"a negative label", Header + "1,a.jpg,-1,0,1,p\n", "line 2: y is \"-1\""},
          {"a label with a blank", Header + "1,a.jpg, 1,0,1,p\n", "line 2: y is \" 1\""},
          {"a fraction", Header + "1,a.jpg,1.0,0,1,p\n", "line 2: y is \"1.0\""},
          {"a split of 3", Header + Good + "2,b.jpg,1,3,1,p\n",
           "line 3: split is \"3\"; it must be a whole number between 0 and 2"},
          {"an empty split", Header + "1,a.jpg,1,,1,p\n", "line 2: split is \"\""},
          {"a place of 2", Header + "1,a.jpg,1,0,2,p\n", "line 2: place is \"2\""},
          {"an empty name", Header + "1,,1,0,1,p\n", "line 2: the file name \"\" is empty"},
          {"an absolute name", Header + "1,/etc/passwd,1,0,1,p\n",
           "line 2: the file name \"/etc/passwd\" is an absolute path"},
          {"a name that leads out", Header + "1,a/../../b.jpg,1,0,1,p\n",
           "line 2: the file name \"a/../../b.jpg\" leads out of its folder"},
          {"a name with an empty part", Header + "1,a//b.jpg,1,0,1,p\n", "has an empty part"},
          {"a name twice", Header + Good + "2,b.jpg,1,0,1,p\n3,001.Albatross/a.jpg,0,2,0,p\n",
           "line 4: \"001.Albatross/a.jpg\" is in line 2 already"},
          {"an open quote", Header + "1,\"a.jpg,1,0,1,p\n", "line 2: a quote is opened"},
          {"text behind a quote", Header + "1,\"a\"b.jpg,1,0,1,p\n",
           "line 2: \"b\" follows a closing quote"},
          {"a quote inside", Header + "1,a\"b.jpg,1,0,1,p\n",
           "line 2: \"a\"b.jpg\" has a quote inside"},
          {"a zero byte", Header + "1,a\0b.jpg,1,0,1,p\n"s, "line 2: byte 4 is zero"},
          {"no UTF-8", Header + "1,a\xFF.jpg,1,0,1,p\n", "is not UTF-8"},
          {"an overlong line", Header + Good + "2," + std::string(70000, 'a') + ".jpg,1,0,1,p\n",
           "line 3: has 70014 bytes; a line may have at most 65536"},
      },
      "metadata.csv", read_waterbirds_table);
}

class OpenWaterbirds : public testing::Test {
 protected:
  OpenWaterbirds() {
    // Train, validation, train, test, train, test.
    put_file(folder_ / "metadata.csv",
             Header + "1,001.Albatross/a.jpg,1,0,0,p\n" + "2,001.Albatross/b.jpg,1,1,1,p\n" +
                 "3,002.Wren/c.jpg,0,0,1,p\n" + "4,002.Wren/d.jpg,0,2,0,p\n" +
                 "5,001.Albatross/e.jpg,1,0,1,p\n" + "6,001.Albatross/f.jpg,1,2,1,p\n");
    for (const char* name : {"001.Albatross/a.jpg", "001.Albatross/b.jpg", "002.Wren/c.jpg",
                             "002.Wren/d.jpg", "001.Albatross/e.jpg", "001.Albatross/f.jpg"}) {
      put_file(folder_ / name, encode_jpeg(counting_image(4, 6, 3)));
    }
  }
  [[nodiscard]] Dataset open(bool skip_bad = false) const {
    return open_waterbirds(folder_.path(), {skip_bad, 2, 0});
  }
  [[nodiscard]] std::string refusal() const {
    return message_of<BadFile>([&] { (void)open(); });
  }

  TemporaryFolder folder_;
};

TEST_F(OpenWaterbirds, TellsClassesAndGroups) {
  const Dataset dataset = open();
  EXPECT_THAT(dataset.class_names, ElementsAre("landbird", "waterbird"));
  EXPECT_THAT(dataset.group_names,
              ElementsAre("landbird/land", "landbird/water", "waterbird/land", "waterbird/water"));
  EXPECT_THAT(dataset.train.labels, ElementsAre(1, 0, 1));
  EXPECT_THAT(dataset.train.groups, ElementsAre(2, 1, 3));
  EXPECT_THAT(dataset.test.labels, ElementsAre(0, 1));
  EXPECT_THAT(dataset.test.groups, ElementsAre(0, 3));
  EXPECT_EQ(dataset.train.images->name_of(2), (folder_ / "001.Albatross/e.jpg").string());
  Image buffer;
  EXPECT_EQ(dataset.test.images->read(1, buffer).width, 6);
  EXPECT_THAT(dataset.remarks, ElementsAre("a subset: 3 of 4,795 training images",
                                           "a subset: 2 of 5,794 test images"));
}

TEST_F(OpenWaterbirds, IsOpenedByNameAlsoFromTheFolderAbove) {
  const TemporaryFolder above;
  std::filesystem::create_directory_symlink(folder_.path(),
                                            above / "waterbird_complete95_forest2water2");
  DatasetOptions options;
  options.folder = above.path();
  const Dataset dataset = open_dataset("waterbirds", options);
  EXPECT_EQ(dataset.name, "waterbirds");
  EXPECT_EQ(dataset.train.size(), 3);
  EXPECT_THAT(dataset.normalization.mean, ElementsAre(0.485F, 0.456F, 0.406F));
}

TEST_F(OpenWaterbirds, NamesImagesThatAreNotThere) {
  std::filesystem::remove(folder_ / "002.Wren/d.jpg");
  std::filesystem::remove_all(folder_ / "001.Albatross");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("2 of the 3 images that"), HasSubstr("metadata.csv names"),
                               HasSubstr(": 001.Albatross/a.jpg, 001.Albatross/e.jpg; unpack"),
                               HasSubstr("with skip-bad")));
}

TEST_F(OpenWaterbirds, LeavesOutWhatIsMissingOrBadWhereAskedTo) {
  std::filesystem::remove(folder_ / "001.Albatross/a.jpg");
  put_file(folder_ / "002.Wren/d.jpg", "bad");
  const std::string refused = message_of<BadFile>([&] { (void)open(true); });
  EXPECT_THAT(refused, HasSubstr("none of the images of class landbird can be decoded"));
  put_file(folder_ / "002.Wren/d.jpg", encode_jpeg(counting_image(4, 6, 3)));
  const Dataset dataset = open(true);
  EXPECT_THAT(dataset.train.groups, ElementsAre(1, 3));
  EXPECT_THAT(dataset.remarks,
              Contains(AllOf(HasSubstr("1 of the 3 images that"),
                             HasSubstr("001.Albatross/a.jpg; they are left out"))));
  EXPECT_THAT(dataset.remarks, Contains(HasSubstr("a subset: 2 of 4,795")));
}

TEST_F(OpenWaterbirds, RefusesAClassOrASplitWithoutImages) {
  put_file(folder_ / "metadata.csv",
           Header + "1,001.Albatross/a.jpg,1,0,0,p\n2,002.Wren/c.jpg,0,2,0,p\n");
  EXPECT_THAT(refusal(), HasSubstr("metadata.csv: class landbird has no training image"));
  put_file(folder_ / "metadata.csv",
           Header + "1,001.Albatross/a.jpg,1,0,0,p\n2,002.Wren/c.jpg,0,0,0,p\n");
  EXPECT_THAT(refusal(), HasSubstr("metadata.csv: names no test image"));
  std::filesystem::remove(folder_ / "metadata.csv");
  EXPECT_THAT(refusal(), HasSubstr("has no metadata.csv, neither directly nor in"));
}

}  // namespace
}  // namespace rcap
