#include "data/sets/celeba.hpp"

#include "data/malformed.hpp"
#include "data/open_dataset.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string Names = "Arched_Eyebrows Blond_Hair Male Young \n";
/// Blond are 2 and 4, male 3 and 4.
const std::string Attributes = "4\n" + Names +
                               "000001.jpg -1 -1 -1  1\n"
                               "000002.jpg  1  1 -1 -1\n"
                               "000003.jpg -1 -1  1  1\n"
                               "000004.jpg -1  1  1  1\n";
const std::string AttributesCopy =
    "image_id,Arched_Eyebrows,Blond_Hair,Male,Young\n"
    "000001.jpg,-1,-1,-1,1\n000002.jpg,1,1,-1,-1\n000003.jpg,-1,-1,1,1\n000004.jpg,-1,1,1,1\n";

class CelebaLists : public testing::Test {
 protected:
  [[nodiscard]] CelebaAttributes attributes(const std::string& text) const {
    put_file(folder_ / "list_attr_celeba.txt", text);
    return read_celeba_attributes(folder_ / "list_attr_celeba.txt");
  }
  [[nodiscard]] CelebaPartition partition(const std::string& text) const {
    put_file(folder_ / "list_eval_partition.txt", text);
    return read_celeba_partition(folder_ / "list_eval_partition.txt");
  }

  TemporaryFolder folder_;
};

TEST_F(CelebaLists, FindAttributesByNameInBothForms) {
  for (const std::string& text : {Attributes, AttributesCopy}) {
    const CelebaAttributes read = attributes(text);
    ASSERT_EQ(read.files.size(), 4U);
    EXPECT_EQ(read.files[3], "000004.jpg");
    EXPECT_THAT(read.blond, ElementsAre(0, 1, 0, 1));
    EXPECT_THAT(read.male, ElementsAre(0, 0, 1, 1));
  }
}

TEST_F(CelebaLists, MayHaveOtherLineEndsAndColumns) {
  const CelebaAttributes read =
      attributes("2\r\n Male\tBlond_Hair\r\n000001.jpg 1 -1\r\n000002.jpg\t-1  1");
  EXPECT_THAT(read.blond, ElementsAre(0, 1));
  EXPECT_THAT(read.male, ElementsAre(1, 0));
}

TEST_F(CelebaLists, TellTheSplitInBothForms) {
  for (const char* text : {"000001.jpg 0\n000002.jpg 1\r\n000003.jpg 2",
                           "image_id,partition\n000001.jpg,0\n000002.jpg,1\n000003.jpg,2\n"}) {
    const CelebaPartition read = partition(text);
    EXPECT_EQ(read.files[2], "000003.jpg");
    EXPECT_THAT(read.splits, ElementsAre(0, 1, 2));
  }
}

TEST_F(CelebaLists, RefuseEveryMalformedLineOfAttributes) {
  using namespace std::string_literals;
  expect_all_refused(
      {
          {"empty", "", "list_attr.txt: is empty"},
          {"no count", Names + "000001.jpg 1 1 1 1\n",
           "line 1: is \"Arched_Eyebrows Blond_Hair Male Young \"; the list begins with the "
           "number"},
          {"a count that is no number", "four\n" + Names,
           "line 1: the number of images is \"four\""},
          {"a count of 0", "0\n" + Names, "line 1: the number of images is \"0\""},
          {"a count alone", "4\n", "line 1: is the last; the names of the attributes must follow"},
          {"no image", "1\n" + Names, "line 2: is the last; no image follows"},
          {"too few images", "5\n" + Attributes.substr(2), "line 1: says 5 images; 4 follow"},
          {"too many images", "3\n" + Attributes.substr(2), "line 1: says 3 images; 4 follow"},
          {"no Blond_Hair", "1\nBald Male\n000001.jpg 1 1\n",
           "line 2: Blond_Hair is not one of the 2 attributes"},
          {"no Male", "1\nBlond_Hair Bald\n000001.jpg 1 1\n", "line 2: Male is not one of"},
          {"Male twice", "1\nBlond_Hair Male Male\n000001.jpg 1 1 1\n",
           "line 2: the attribute Male appears twice"},
          {"too few values", "1\n" + Names + "000001.jpg 1 1 1\n",
           "line 3: has 4 fields; 5 are expected"},
          {"too many values", "1\n" + Names + "000001.jpg 1 1 1 1 1\n", "line 3: has 6 fields"},
          {"a value of 0", "1\n" + Names + "000001.jpg 1 1 0 1\n",
           "line 3: Male is \"0\"; attributes are -1 or 1"},
          {"a value with a sign", "1\n" + Names + "000001.jpg +1 1 1 1\n",
           "line 3: Arched_Eyebrows is \"+1\""},
          {"an absolute name", "1\n" + Names + "/000001.jpg 1 1 1 1\n", "is an absolute path"},
          {"a name that leads out", "1\n" + Names + "../000001.jpg 1 1 1 1\n",
           "line 3: the file name \"../000001.jpg\" leads out"},
          {"a name twice", "2\n" + Names + "000001.jpg 1 1 1 1\n000001.jpg 1 1 1 1\n",
           "line 4: \"000001.jpg\" is in line 3 already"},
          {"a zero byte", "1\n" + Names + "000001.jpg\0 1 1 1 1\n"s, "line 3: byte 11 is zero"},
          {"no UTF-8", "1\n" + Names + "\xC0\x80.jpg 1 1 1 1\n", "is not UTF-8"},
          {"a copy without values", "image_id,Blond_Hair,Male\n", "line 1: is the last"},
          {"a copy with an empty value", "image_id,Blond_Hair,Male\n000001.jpg,1,\n",
           "line 2: Male is \"\""},
          {"a copy with blanks", "image_id,Blond_Hair,Male\n000001.jpg 1 1\n",
           "line 2: has 1 fields; 3 are expected"},
      },
      "list_attr.txt", read_celeba_attributes);
}

TEST_F(CelebaLists, RefuseEveryMalformedLineOfThePartition) {
  expect_all_refused(
      {
          {"empty", "", "list_eval.txt: is empty"},
          {"a split of 3", "000001.jpg 0\n000002.jpg 3\n",
           "line 2: the split is \"3\"; it must be a whole number between 0 and 2"},
          {"no split", "000001.jpg\n", "line 1: has 1 fields; 2 are expected"},
          {"a third field", "000001.jpg 0 0\n", "line 1: has 3 fields"},
          {"a blank line", "000001.jpg 0\n\n000002.jpg 0\n", "line 2: has 0 fields"},
          {"another header", "image_id,split\n000001.jpg,0\n",
           "line 1: the header is \"image_id,split\"; it must be \"image_id,partition\""},
          {"a header alone", "image_id,partition\n", "line 1: no image is named"},
          {"a copy's name twice", "image_id,partition\na.jpg,0\nb.jpg,0\na.jpg,2\n",
           "line 4: \"a.jpg\" is in line 2 already"},
          {"a name that leads out", "..  0\n", "line 1: the file name \"..\" leads out"},
      },
      "list_eval.txt", read_celeba_partition);
}

class OpenCeleba : public testing::Test {
 protected:
  OpenCeleba() {
    put_file(folder_ / "list_attr_celeba.txt", Attributes);
    put_file(folder_ / "list_eval_partition.txt",
             "000002.jpg 0\n000001.jpg 0\n000003.jpg 1\n000004.jpg 2\n");
    for (const char* name : {"000001.jpg", "000002.jpg", "000003.jpg", "000004.jpg"}) {
      put_file(folder_ / "img_align_celeba" / name, encode_jpeg(counting_image(218, 178, 3)));
    }
  }
  [[nodiscard]] Dataset open() const { return open_celeba(folder_.path(), {}); }
  [[nodiscard]] std::string refusal() const {
    return message_of<BadFile>([&] { (void)open(); });
  }

  TemporaryFolder folder_;
};

TEST_F(OpenCeleba, TellsClassesAndGroups) {
  const Dataset dataset = open();
  EXPECT_THAT(dataset.class_names, ElementsAre("not blond", "blond"));
  EXPECT_THAT(dataset.group_names,
              ElementsAre("not blond/female", "not blond/male", "blond/female", "blond/male"));
  EXPECT_THAT(dataset.train.labels, ElementsAre(1, 0));
  EXPECT_THAT(dataset.train.groups, ElementsAre(2, 0));
  EXPECT_THAT(dataset.test.labels, ElementsAre(1));
  EXPECT_THAT(dataset.test.groups, ElementsAre(3));
  EXPECT_EQ(dataset.train.images->name_of(0), (folder_ / "img_align_celeba/000002.jpg").string());
  EXPECT_THAT(dataset.remarks, ElementsAre("a subset: 2 of 162,770 training images",
                                           "a subset: 1 of 19,962 test images"));
}

TEST_F(OpenCeleba, TakesTheCopyWithItsFolderInAFolder) {
  std::filesystem::remove(folder_ / "list_attr_celeba.txt");
  std::filesystem::remove(folder_ / "list_eval_partition.txt");
  put_file(folder_ / "list_attr_celeba.csv", AttributesCopy);
  put_file(folder_ / "list_eval_partition.csv",
           "image_id,partition\n000001.jpg,0\n000002.jpg,0\n000003.jpg,0\n000004.jpg,2\n");
  std::filesystem::rename(folder_ / "img_align_celeba", folder_ / "images");
  std::filesystem::create_directory(folder_ / "img_align_celeba");
  std::filesystem::rename(folder_ / "images", folder_ / "img_align_celeba/img_align_celeba");
  DatasetOptions options;
  options.folder = folder_.path();
  const Dataset dataset = open_dataset("celeba", options);
  EXPECT_THAT(dataset.train.groups, ElementsAre(0, 2, 1));
  Image buffer;
  EXPECT_EQ(dataset.test.images->read(0, buffer).height, 218);
}

TEST_F(OpenCeleba, RefusesListsThatDoNotFit) {
  put_file(folder_ / "list_eval_partition.txt", "000001.jpg 0\n000009.jpg 0\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("list_eval_partition.txt: names \"000009.jpg\", but"),
                               HasSubstr("list_attr_celeba.txt does not")));
  put_file(folder_ / "list_eval_partition.txt", "000001.jpg 0\n000002.jpg 0\n000004.jpg 2\n");
  EXPECT_THAT(refusal(), HasSubstr("list_attr_celeba.txt: names \"000003.jpg\", but"));
}

TEST_F(OpenCeleba, NamesWhatIsMissing) {
  std::filesystem::remove(folder_ / "img_align_celeba/000004.jpg");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("1 of the 1 images that"), HasSubstr(": 000004.jpg;")));
  std::filesystem::remove_all(folder_ / "img_align_celeba");
  EXPECT_THAT(refusal(), HasSubstr("has no folder img_align_celeba"));
  std::filesystem::remove(folder_ / "list_attr_celeba.txt");
  EXPECT_THAT(refusal(), HasSubstr("has neither list_attr_celeba.txt nor list_attr_celeba.csv"));
}

}  // namespace
}  // namespace rcap
