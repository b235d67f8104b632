#include "data/sets/inaturalist.hpp"

#include "data/malformed.hpp"
#include "data/open_dataset.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A list with some of its members.
std::string list_of(const std::string& images, const std::string& categories,
                    const std::string& annotations) {
  return "{\"images\":[" + images + "],\"categories\":[" + categories + "],\"annotations\":[" +
         annotations + "]}";
}

const std::string Image1 = R"({"id":1,"file_name":"train_val_images/Aves/Wren/a.jpg"})";
const std::string Image2 = R"({"id":2,"file_name":"train_val_images/Fungi/Morel/b.jpg"})";
const std::string Birds = R"({"id":7,"name":"Wren","supercategory":"Aves"})";
const std::string Fungi = R"({"id":3,"name":"Morel","supercategory":"Fungi"})";
const std::string Tag1 = R"({"id":1,"image_id":1,"category_id":7})";
const std::string Tag2 = R"({"id":2,"image_id":2,"category_id":3})";

TEST(ReadInaturalistList, TakesMembersInAnyOrderAndPassesOverOthers) {
  const TemporaryFolder folder;
  put_file(folder / "train2017.json", R"({
    "info": {"year": 2017, "images": [{"id": "not this one"}], "deep": [[[{"id": -1}]]]},
    "annotations": [{"image_id": 20, "id": 1, "category_id": 4, "bbox": [1.5, {"id": 2}]},
                    {"id": 2, "category_id": 9, "image_id": 10}],
    "categories": [{"id": 9, "name": "Zebra", "supercategory": "Mammalia"},
                   {"supercategory": "Aves", "id": 4, "name": null},
                   {"id": 5, "name": "Owl", "supercategory": "Aves"}],
    "licenses": [],
    "images": [{"id": 10, "file_name": "a/b c/x.jpg", "width": 800, "height": 6e2, "license": 3},
               {"file_name": "a/y\u00e9.jpg", "id": 20, "rights_holder": "id"}]
  })");
  const InaturalistList list = read_inaturalist_list(folder / "train2017.json");
  EXPECT_THAT(list.supercategories, ElementsAre("Aves", "Mammalia"));
  EXPECT_THAT(list.labels, ElementsAre(1, 0));
  EXPECT_EQ(list.files[0], "a/b c/x.jpg");
  EXPECT_EQ(list.files[1], "a/y\xC3\xA9.jpg");
}

TEST(ReadInaturalistList, RefusesEveryMalformedList) {
  using namespace std::string_literals;
  const std::string good = list_of(Image1, Birds, Tag1);
  expect_all_refused(
      {
          {"empty", "", "train2017.json: is empty"},
          {"cut off", good.substr(0, good.size() - 2), "is not JSON at byte"},
          {"something behind", good + "x",
           "is not JSON at byte " + std::to_string(good.size() + 1)},
          {"a zero byte", good + "\0 "s, "byte " + std::to_string(good.size() + 1) + " is zero"},
          {"no UTF-8", list_of("{\"id\":1,\"file_name\":\"\xFF\"}", Birds, Tag1),
           "is not JSON at byte"},
          {"an array", "[]", "is an array; it must be an object"},
          {"a number", "17", "is the number 17; it must be an object"},
          {"no images", "{\"categories\":[" + Birds + "],\"annotations\":[" + Tag1 + "]}",
           "has no member images"},
          {"no categories", "{\"images\":[" + Image1 + "],\"annotations\":[" + Tag1 + "]}",
           "has no member categories"},
          {"no annotations", "{\"images\":[" + Image1 + "],\"categories\":[" + Birds + "]}",
           "has no member annotations"},
          {"images twice", "{\"images\":[" + Image1 + "],\"images\":[]}",
           "has the member images twice"},
          {"images that are empty", list_of("", Birds, Tag1), "images is empty"},
          {"images that are an object", "{\"images\":{}}",
           "images is an object; it must be an array"},
          {"categories that are null", "{\"categories\":null}", "categories is null"},
          {"an image that is a string", list_of(Image1 + ",\"b.jpg\"", Birds, Tag1),
           "images[1] is \"b.jpg\"; it must be an object"},
          {"an image that is an array", list_of("[]", Birds, Tag1), "images[0] is an array"},
          {"an image without id", list_of(R"({"file_name":"a"})", Birds, Tag1),
           "images[0] has no id"},
          {"an image without a name", list_of(Image1 + R"(,{"id":2})", Birds, Tag1),
           "images[1] has no file_name"},
          {"an id that is a string", list_of(R"({"id":"1","file_name":"a"})", Birds, Tag1),
           "images[0] has \"1\" as id; it must be a whole number >= 0"},
          {"an id that is a fraction", list_of(R"({"id":1.5,"file_name":"a"})", Birds, Tag1),
           "images[0] has the number 1.5 as id"},
          {"a negative id", list_of(R"({"id":-1,"file_name":"a"})", Birds, Tag1),
           "images[0] has the number -1 as id"},
          {"an id out of range",
           list_of(R"({"id":18446744073709551615,"file_name":"a"})", Birds, Tag1),
           "images[0] has the number 18446744073709551615 as id"},
          {"an id twice in one image", list_of(R"({"id":1,"id":2,"file_name":"a"})", Birds, Tag1),
           "images[0] has id twice"},
          {"a name that is a number", list_of(R"({"id":1,"file_name":5})", Birds, Tag1),
           "images[0] has the number 5 as file_name; it must be a string"},
          {"a name that is an object", list_of(R"({"id":1,"file_name":{}})", Birds, Tag1),
           "images[0] has an object as file_name"},
          {"an absolute name", list_of(R"({"id":1,"file_name":"/a"})", Birds, Tag1),
           "images[0] has the file_name \"/a\", which is an absolute path"},
          {"a name that leads out", list_of(R"({"id":1,"file_name":"a/.."})", Birds, Tag1),
           "which leads out of its folder"},
          {"a name with a zero byte", list_of(R"({"id":1,"file_name":"a\u0000"})", Birds, Tag1),
           "which contains a zero byte"},
          {"two images of one id",
           list_of(Image1 + R"(,{"id":1,"file_name":"b.jpg"})", Birds, Tag1),
           "images[1] has the same id 1 as images[0]"},
          {"two images of one name",
           list_of(Image1 + R"(,{"id":2,"file_name":"train_val_images/Aves/Wren/a.jpg"})",
                   Birds + "," + Fungi, Tag1 + "," + Tag2),
           "images[1] has the file_name \"train_val_images/Aves/Wren/a.jpg\", and so has "
           "images[0]"},
          {"a category without supercategory", list_of(Image1, R"({"id":7,"name":"Wren"})", Tag1),
           "categories[0] has no supercategory"},
          {"an empty supercategory", list_of(Image1, R"({"id":7,"supercategory":""})", Tag1),
           "categories[0] has an empty supercategory"},
          {"two categories of one id",
           list_of(Image1, Birds + R"(,{"id":7,"supercategory":"Fungi"})", Tag1),
           "categories[1] has the same id 7 as categories[0]"},
          {"an unknown category", list_of(Image1, Birds, R"({"image_id":1,"category_id":8})"),
           "annotations[0] names category 8, which does not exist"},
          {"an unknown image", list_of(Image1, Birds, Tag1 + R"(,{"image_id":5,"category_id":7})"),
           "annotations[1] names image 5, which does not exist"},
          {"an annotation without image", list_of(Image1, Birds, R"({"category_id":7})"),
           "annotations[0] has no image_id"},
          {"a category that is a truth value",
           list_of(Image1, Birds, R"({"image_id":1,"category_id":true})"),
           "annotations[0] has true as category_id"},
          {"an image without annotation", list_of(Image1 + "," + Image2, Birds, Tag1),
           "images[1], id 2, has no annotation"},
          {"two annotations of one image", list_of(Image1, Birds, Tag1 + "," + Tag1),
           "annotations[1] is a second one for image 1"},
      },
      "train2017.json", read_inaturalist_list);
}

class OpenInaturalist : public testing::Test {
 protected:
  OpenInaturalist() {
    put_list("train2017.json", Image1 + "," + Image2, Tag1 + "," + Tag2);
    put_list("val2017.json", R"({"id":1,"file_name":"train_val_images/Fungi/Morel/c.jpg"})",
             R"({"id":1,"image_id":1,"category_id":3})");
    for (const char* name : {"Aves/Wren/a.jpg", "Fungi/Morel/b.jpg", "Fungi/Morel/c.jpg"}) {
      put_file(folder_ / "train_val_images" / name, encode_jpeg(counting_image(4, 6, 3)));
    }
  }
  void put_list(const std::string& name, const std::string& images,
                const std::string& annotations) const {
    put_file(folder_ / name, list_of(images, Birds + "," + Fungi, annotations));
  }
  [[nodiscard]] Dataset open() const {
    DatasetOptions options;
    options.folder = folder_.path();
    return open_dataset("inaturalist", options);
  }
  [[nodiscard]] std::string refusal() const {
    return message_of<BadFile>([&] { (void)open(); });
  }

  TemporaryFolder folder_;
};

TEST_F(OpenInaturalist, SeparatesTheSplitsByTheListsAlone) {
  put_file(folder_ / "train_val_images/Fungi/Morel/in_no_list.jpg", "");
  const Dataset dataset = open();
  EXPECT_THAT(dataset.class_names, ElementsAre("Aves", "Fungi"));
  EXPECT_THAT(dataset.group_names, testing::IsEmpty());
  EXPECT_THAT(dataset.train.labels, ElementsAre(0, 1));
  EXPECT_THAT(dataset.test.labels, ElementsAre(1));
  EXPECT_EQ(dataset.test.images->name_of(0),
            (folder_ / "train_val_images/Fungi/Morel/c.jpg").string());
  Image buffer;
  EXPECT_EQ(dataset.train.images->read(1, buffer).width, 6);
  EXPECT_THAT(dataset.remarks, ElementsAre("a subset: 2 of 579,184 training images",
                                           "a subset: 1 of 95,986 test images"));
}

TEST_F(OpenInaturalist, TakesListsInTheFolderTheyUnpackTo) {
  std::filesystem::create_directory(folder_ / "train_val2017");
  for (const char* name : {"train2017.json", "val2017.json"}) {
    std::filesystem::rename(folder_ / name, folder_ / "train_val2017" / name);
  }
  EXPECT_EQ(open().train.size(), 2);
}

TEST_F(OpenInaturalist, RefusesListsThatDoNotFit) {
  put_list("val2017.json", Image1, Tag1);
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("val2017.json: names \"train_val_images/Aves/Wren/a.jpg\", as"),
                    HasSubstr("no image may be used for both training and testing")));
  put_file(folder_ / "val2017.json",
           list_of(R"({"id":1,"file_name":"c.jpg"})", R"({"id":3,"supercategory":"Bacteria"})",
                   R"({"image_id":1,"category_id":3})"));
  EXPECT_THAT(refusal(), HasSubstr("val2017.json: \"c.jpg\" has the supercategory \"Bacteria\""));
  put_list("train2017.json", Image1, Tag1);
  put_list("val2017.json", Image2, Tag2);
  EXPECT_THAT(refusal(), HasSubstr("train2017.json: class Fungi has no training image"));
}

TEST_F(OpenInaturalist, NamesWhatIsMissing) {
  std::filesystem::remove(folder_ / "train_val_images/Fungi/Morel/c.jpg");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("val2017.json names are not in"),
                               HasSubstr(": train_val_images/Fungi/Morel/c.jpg; unpack")));
  std::filesystem::remove(folder_ / "val2017.json");
  EXPECT_THAT(refusal(), HasSubstr("has no val2017.json; unpack train_val2017.zip"));
}

}  // namespace
}  // namespace rcap
