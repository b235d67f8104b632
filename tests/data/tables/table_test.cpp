#include "data/tables/table.hpp"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "base/staged_file.hpp"
#include "data/sample_files.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<float> row_of(const Split& split, SampleId id) {
  const float* row = split.images->row(id);
  return {row, row + split.images->fixed_shape()->channels};
}

/// The numbers of one column in all rows.
std::vector<float> column_of(const Split& split, int column) {
  std::vector<float> numbers;
  for (SampleId id = 0; id < split.size(); ++id) numbers.push_back(split.images->row(id)[column]);
  return numbers;
}

class Table : public testing::Test {
 protected:
  /// Opens a folder with both splits.
  Dataset open(std::string_view train, std::string_view test, const std::string& label = "") {
    put_file(folder_ / "train.csv", train);
    put_file(folder_ / "test.csv", test);
    return open_table(folder_.path(), {.label_column = label});
  }

  Dataset open_one(const std::string& text, const TableOptions& options = {}) {
    put_file(folder_ / "all.csv", text);
    return open_table(folder_ / "all.csv", options);
  }

  TemporaryFolder folder_;
};

TEST_F(Table, StandardisesWithTheTrainingRowsAlone) {
  // 2, 4, 4, 6: mean 4, variance (4 + 0 + 0 + 4) / 4 = 2.
  const Dataset dataset = open("x,label\n2,a\n4,b\n4,a\n6,b\n", "x,label\n8,a\n4,b\n");
  const float unit = 2 / std::sqrt(2.0F);
  EXPECT_THAT(column_of(dataset.train, 0),
              ElementsAre(FloatEq(-unit), FloatEq(0), FloatEq(0), FloatEq(unit)));
  EXPECT_THAT(column_of(dataset.test, 0), ElementsAre(FloatEq(2 * unit), FloatEq(0)));
  EXPECT_THAT(dataset.train.labels, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(dataset.class_names, ElementsAre("a", "b"));
  EXPECT_THAT(dataset.remarks, IsEmpty());
  EXPECT_EQ(dataset.channels, 1);
}

TEST_F(Table, MakesAConstantColumnZeroAndSaysSo) {
  // 0.1 is not exact in binary, so the mean of three is another number.
  const Dataset dataset =
      open("x,y,label\n0.1,1,a\n0.1,3,b\n0.1,5,b\n", "x,y,label\n7,1,a\n0.1,1,b\n");
  EXPECT_THAT(column_of(dataset.train, 0), ElementsAre(0, 0, 0));
  EXPECT_THAT(column_of(dataset.test, 0), ElementsAre(0, 0));
  EXPECT_THAT(dataset.remarks,
              ElementsAre("1 of 2 columns are constant in the training rows and become 0: x"));
}

TEST_F(Table, GivesEachCategoryANumberInByteOrder) {
  const Dataset dataset = open("n,colour,label\n-1,red,0\n1,blue,1\n-1,green,0\n1,red,1\n",
                               "n,colour,label\n1,green,0\n1,pink,1\n");
  // The number, then blue, green, red.
  EXPECT_THAT(row_of(dataset.train, 0), ElementsAre(-1, 0, 0, 1));
  EXPECT_THAT(row_of(dataset.train, 1), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(row_of(dataset.test, 0), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(row_of(dataset.test, 1), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(dataset.remarks, ElementsAre("1 values of test rows do not occur in the training "
                                           "rows and are encoded as no category; columns: colour"));
}

TEST_F(Table, TakesAColumnWithOneWordForCategories) {
  const Dataset dataset = open("x,label\n1,a\n2,b\n10,a\nmany,b\n", "x,label\n2,a\n2,b\n");
  // In byte order: 1, 10, 2, many.
  EXPECT_THAT(row_of(dataset.train, 2), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(row_of(dataset.test, 0), ElementsAre(0, 0, 1, 0));
  // The word may come in the test rows.
  const Dataset late = open("x,label\n1,a\n2,b\n", "x,label\n1,a\nmany,b\n");
  EXPECT_THAT(row_of(late.train, 1), ElementsAre(0, 1));
  EXPECT_THAT(row_of(late.test, 1), ElementsAre(0, 0));
}

TEST_F(Table, ReadsNumbersAsPeopleWriteThem) {
  // Mean 0, variance (4 * 16) / 4.
  const Dataset dataset =
      open("x,label\n+4,a\n-4.0,b\n 4e0 ,a\n\"-4\",b\n", "x,label\n1e-400,a\n004,b\n");
  EXPECT_THAT(column_of(dataset.train, 0), ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(column_of(dataset.test, 0), ElementsAre(0, 1));
}

TEST_F(Table, ReadsQuotesCommasAndLineBreaks) {
  const Dataset dataset = open(
      "\xEF\xBB\xBF\"a \"\"b\"\", c\",label\r\n\"x, y\",1\r\n\r\n\"two\r\nlines\",2\r\n\"say "
      "\"\"hi\"\"\",1",
      "\"a \"\"b\"\", c\",label\n\"two\nlines\",2\n\"x, y\",1\n");
  EXPECT_EQ(dataset.train.size(), 3);
  // say "hi"; two CR LF lines counts as two LF lines; x, y.
  EXPECT_THAT(row_of(dataset.train, 2), ElementsAre(1, 0, 0));
  EXPECT_THAT(row_of(dataset.train, 1), ElementsAre(0, 1, 0));
  EXPECT_THAT(row_of(dataset.test, 0), ElementsAre(0, 1, 0));
  EXPECT_THAT(row_of(dataset.test, 1), ElementsAre(0, 0, 1));
}

TEST_F(Table, SortsClassesAsNumbersWhereAllAre) {
  EXPECT_THAT(open("x,label\n1,10\n2,-1\n3,9\n", "x,label\n1,9\n").class_names,
              ElementsAre("-1", "9", "10"));
  EXPECT_THAT(open("x,label\n1,10\n2,9\n3,b\n", "x,label\n1,9\n").class_names,
              ElementsAre("10", "9", "b"));
}

TEST_F(Table, TakesTheLabelsFromTheColumnNamed) {
  const Dataset dataset =
      open("kind,label,x\nu,5,1\nv,7,-1\n", "kind,label,x\nv,5,1\nu,7,1\n", "kind");
  EXPECT_THAT(dataset.class_names, ElementsAre("u", "v"));
  EXPECT_THAT(dataset.test.labels, ElementsAre(1, 0));
  EXPECT_THAT(row_of(dataset.train, 1), ElementsAre(1, -1));
}

TEST_F(Table, SaysWhichClassesCannotBeTested) {
  EXPECT_THAT(open("x,label\n1,a\n2,b\n3,c\n", "x,label\n1,b\n").remarks,
              ElementsAre("2 of 3 classes have no test row: a, c"));
}

TEST_F(Table, HoldsOutAFifthOfEachClassOfASingleFile) {
  // 11 rows of a, 3 of b, 1 of c: 2, 1 and 0 are held out. x is the row's number.
  std::string text = "x,label\n";
  for (int i = 0; i < 15; ++i) {
    text += std::to_string(i) + (i < 11 ? ",a\n" : i < 14 ? ",b\n" : ",c\n");
  }
  const Dataset dataset = open_one(text);
  EXPECT_THAT(dataset.test.labels, ElementsAre(0, 0, 1));
  EXPECT_EQ(dataset.train.size(), 12);
  EXPECT_THAT(dataset.remarks,
              ElementsAre("3 of 15 rows, one in five of each class, are held out as the test split "
                          "(seed 0)",
                          "1 of 3 classes have no test row: c"));
  std::set<float> different;
  for (const Split* split : {&dataset.train, &dataset.test}) {
    for (const float number : column_of(*split, 0)) different.insert(number);
  }
  EXPECT_EQ(different.size(), 15U);  // no row twice, none lost
}

TEST_F(Table, SplitsBySeedAlone) {
  std::string text = "x,label\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + (i % 2 == 0 ? ",a\n" : ",b\n");
  const auto held_out = [&](std::uint64_t seed) {
    return column_of(open_one(text, {.seed = seed}).test, 0);
  };
  EXPECT_EQ(held_out(3), held_out(3));
  EXPECT_NE(held_out(3), held_out(4));
}

TEST_F(Table, ReadsNumPyArrays) {
  // Four rows of float64: the number 2 or 4, then the class 0 or 1.
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 2), }\n";
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  for (const double value : {2.0, 0.0, 4.0, 1.0, 2.0, 1.0, 4.0, 0.0}) {
    file.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  put_file(folder_ / "train.npy", file);
  put_file(folder_ / "test.npy", file);
  const Dataset dataset = open_table(folder_.path(), {});
  EXPECT_THAT(dataset.class_names, ElementsAre("0", "1"));
  EXPECT_THAT(dataset.train.labels, ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(column_of(dataset.train, 0), ElementsAre(-1, 1, -1, 1));
  const Dataset other = open_table(folder_ / "train.npy", {.label_column = "0"});
  EXPECT_THAT(other.class_names, ElementsAre("2", "4"));
  EXPECT_EQ(other.train.size(), 2);
}

}  // namespace
}  // namespace rcap
