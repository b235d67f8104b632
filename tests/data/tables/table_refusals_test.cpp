#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/malformed.hpp"
#include "data/open_dataset.hpp"
#include "data/sample_files.hpp"
#include "data/tables/table.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::filesystem::path& path, const std::string& label = "") {
  return message_of<BadFile>([&] { (void)open_table(path, {.label_column = label}); });
}

TEST(TableRefusals, NameFileLineColumnAndValue) {
  expect_all_refused(
      {
          {"nothing", "", "is empty"},
          {"a header alone", "x,label\n", "is only the header; there are no rows"},
          {"no label column", "x,lable,z\n1,2,3\n",
           R"(line 1: there is no column "label" (did you mean lable?); the columns are x, lable, z)"},
          {"no header", "1.5,a\n2.5,b\n", R"(there is no column "label"; the columns are 1.5, a)"},
          {"two columns of a name", "x,y,x,label\n", R"(line 1: two columns are called "x")"},
          {"a column without a name", ",x,label\n0,1,a\n", "line 1: column 1 has no name"},
          {"labels alone", "label\na\nb\n", R"(its only column is "label")"},
          {"a short row", "x,y,label\n1,2,a\n1,b\n", "line 3: has 2 fields, the header has 3"},
          {"a long row", "x,label\n1,a,b\n", "line 2: has 3 fields, the header has 2"},
          {"an empty field", "x,y,label\n1,2,a\n1,,b\n1, ,b\n",
           R"(line 3, column "y": the value is missing (""); 2 of 3 rows lack one; leave such)"},
          {"NA", "x,label\nNA,a\n1,b\n", R"(column "x": the value is missing ("NA"); 1 of 2 rows)"},
          {"a question mark", "x,label\n?,a\n1,b\n", R"(the value is missing ("?"))"},
          {"NaN", "x,label\nNaN,a\n1,b\n", R"(the value is missing ("NaN"))"},
          {"a negative NaN", "x,label\n-nan,a\n1,b\n", R"(the value is missing ("-nan"))"},
          {"a missing label", "x,label\n1,a\n1,\n", R"(line 3, column "label": the value is)"},
          {"two in a row", "x,y,label\n?,?,a\n1,1,b\n", "1 of 2 rows lack one"},
          {"infinity", "x,label\n1,a\n-inf,b\n",
           R"(line 3: column "x" is "-inf"; numbers must be)"},
          {"too large", "x,label\n1e999,a\n", R"(column "x" is "1e999"; numbers must be finite)"},
          {"too spread", "x,label\n1e300,a\n-1e300,b\n1e300,a\n-1e300,b\n",
           R"(the numbers in column "x" are too large or too small to be standardised)"},
          {"one class", "x,label\n1,a\n2,a\n", R"(all rows are of class "a")"},
          {"classes of one row", "x,label\n1,a\n2,b\n", "no class has two rows"},
          {"an open quote", "x,label\n1,a\n\"2,b\n3,a\n",
           "line 3: a quote is opened but not closed"},
          {"a quote inside", "x,label\n1\"2\",a\n", "has a quote inside"},
          {"a zero byte", std::string("x,label\n1,\0\n", 11), "line 2: byte 3 is zero"},
          {"not UTF-8", "x,label\n1,\xff\n", "is not UTF-8"},
      },
      "all.csv", [](const std::filesystem::path& path) { return open_table(path, {}); });
}

TEST(TableRefusals, CountCategoriesAndClasses) {
  const TemporaryFolder folder;
  std::string text = "x,label\n";
  for (int i = 0; i < 1000; ++i) text += "v" + std::to_string(i) + (i % 2 == 0 ? ",a\n" : ",b\n");
  put_file(folder / "all.csv", text);
  EXPECT_NO_THROW((void)open_table(folder / "all.csv", {}));
  put_file(folder / "all.csv", text + "one more,a\n");
  EXPECT_THAT(refusal(folder / "all.csv"),
              AllOf(HasSubstr("all.csv, line 1002: column \"x\" is \"one more\""),
                    HasSubstr("there are more than 1000; leave the column out")));
  text = "x,label\n";
  for (int i = 0; i <= 10'000; ++i) text += "1," + std::to_string(i) + "\n";
  put_file(folder / "all.csv", text);
  EXPECT_THAT(refusal(folder / "all.csv"),
              HasSubstr("the label column \"label\" has more than 10000 different values"));
}

TEST(TableRefusals, HoldTheSplitsAgainstEachOther) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal(folder.path()), HasSubstr("has neither train.csv nor train.npy"));
  put_file(folder / "train.csv", "x,y,label\n1,2,a\n2,3,b\n");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("test.csv: there is no such file; put the rows"));
  put_file(folder / "test.csv", "x,y,label\n1,2,c\n2,3,b\n");
  EXPECT_THAT(refusal(folder.path()),
              AllOf(HasSubstr("test.csv: class \"c\" (1 rows) does not occur in"),
                    HasSubstr("train.csv; every class needs rows to train on")));
  put_file(folder / "test.csv", "x,z,label\n1,2,a\n");
  EXPECT_THAT(refusal(folder.path()),
              HasSubstr("test.csv: has a column \"z\", which the training"));
  put_file(folder / "test.csv", "x,label\n1,a\n");
  EXPECT_THAT(refusal(folder.path()),
              HasSubstr("test.csv: has 2 columns, the training rows have 3"));
  put_file(folder / "test.csv", "x,y,label\n1,?,a\n");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("test.csv, line 2, column \"y\""));
  put_file(folder / "test.csv", "x,y,label\n");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("test.csv, line 1: is only the header"));
  put_file(folder / "train.npy", "");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("has both train.csv and train.npy"));
  EXPECT_THAT(refusal(folder / "absent.csv"), HasSubstr("absent.csv: there is no such file"));
}

/// A float64 array of two columns.
std::string npy_of(const std::vector<double>& values) {
  const std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" +
                             std::to_string(values.size() / 2) + ", 2), }\n";
  std::string file = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0';
  file += header;
  for (const double value : values) {
    file.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return file;
}

TEST(TableRefusals, NameRowAndColumnOfAnArray) {
  constexpr double Nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double Infinity = std::numeric_limits<double>::infinity();
  expect_all_refused(
      {
          {"nothing", npy_of({}), "holds no rows"},
          {"NaN", npy_of({1, 0, Nan, 1, Nan, 1}),
           R"(row 1, column 0 (from 0): the value is missing ("nan"); 2 of 3 rows lack one)"},
          {"infinity", npy_of({1, 0, 2, 1, -Infinity, 1}), "row 2, column 0 (from 0) is -inf"},
          {"a fraction as label", npy_of({1, 0, 2, 0.5}), "row 1 (from 0): the label is 0.5"},
          {"a label too large", npy_of({1, 0, 2, 1e17}),
           "the label is 1e+17; classes must be whole"},
      },
      "all.npy", [](const std::filesystem::path& path) { return open_table(path, {}); });
  const TemporaryFolder folder;
  put_file(folder / "all.npy", npy_of({1, 0, 2, 1}));
  for (const char* label : {"2", "-1", "x"}) {
    EXPECT_THAT(refusal(folder / "all.npy", label),
                HasSubstr("there is no column \"" + std::string(label) +
                          "\"; the columns are numbered from 0 to 1"));
  }
}

TEST(TableRefusals, SayWhereATableIsGiven) {
  EXPECT_THAT(message_of<InvalidArgument>([] { (void)open_dataset("table", {}); }),
              HasSubstr("give it with the option data: a CSV or .npy file, or a folder"));
}

}  // namespace
}  // namespace rcap
