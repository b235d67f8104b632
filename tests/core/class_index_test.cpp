#include "rcap/core/class_index.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ClassIndex, CountsItsClasses) {
  const ClassIndex classes(std::vector<int>{2, 0, 2, 2});
  EXPECT_EQ(classes.sample_count(), 4);
  EXPECT_THAT(classes.class_sizes(), ElementsAre(1, 0, 3));
  EXPECT_EQ(classes.filled_class_count(), 2);
  EXPECT_EQ(classes.class_of(2), 2);
  EXPECT_THAT(classes.count_by_class(std::vector<SampleId>{0, 1}), ElementsAre(1, 0, 1));
}

TEST(ClassIndex, MayHaveEmptyClassesAtTheEnd) {
  const ClassIndex classes(std::vector<int>{0, 1}, 5);
  EXPECT_EQ(classes.class_count(), 5);
  EXPECT_THAT(classes.class_sizes(), ElementsAre(1, 1, 0, 0, 0));
}

template <class Label>
std::uint64_t fingerprint_as(std::vector<int> labels) {
  return ClassIndex(std::vector<Label>(labels.begin(), labels.end())).fingerprint();
}

TEST(ClassIndex, IsTheSameFromEveryIntegerType) {
  const std::vector<int> labels{3, 1, 0, 2, 1};
  const std::uint64_t expected = fingerprint_as<int>(labels);
  EXPECT_EQ(fingerprint_as<std::int8_t>(labels), expected);
  EXPECT_EQ(fingerprint_as<std::uint8_t>(labels), expected);
  EXPECT_EQ(fingerprint_as<std::int16_t>(labels), expected);
  EXPECT_EQ(fingerprint_as<std::uint16_t>(labels), expected);
  EXPECT_EQ(fingerprint_as<std::uint32_t>(labels), expected);
  EXPECT_EQ(fingerprint_as<std::int64_t>(labels), expected);
  EXPECT_EQ(fingerprint_as<std::uint64_t>(labels), expected);
}

TEST(ClassIndex, FingerprintTellsLabelsOfEqualSizesApart) {
  EXPECT_NE(fingerprint_as<int>({0, 1, 0, 1}), fingerprint_as<int>({0, 0, 1, 1}));
  EXPECT_NE(ClassIndex(std::vector<int>{0, 1}).fingerprint(),
            ClassIndex(std::vector<int>{0, 1}, 3).fingerprint());
}

std::size_t stored_bytes(ClassId class_count) {
  const ClassIndex classes(std::vector<ClassId>{class_count - 1});
  return classes.visit([](auto labels) { return sizeof(typename decltype(labels)::value_type); });
}

TEST(ClassIndex, StoresLabelsInTheNarrowestType) {
  EXPECT_EQ(stored_bytes(256), 1U);
  EXPECT_EQ(stored_bytes(257), 2U);
  EXPECT_EQ(stored_bytes(65536), 2U);
  EXPECT_EQ(stored_bytes(65537), 4U);
}

TEST(ClassIndex, RefusesLabelsOutOfRangeByNameAndValue) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                ClassIndex(std::vector<int>{0, 1, -1});
              }),
              HasSubstr("the label of sample 2 is -1; labels must lie between 0 and 16777215"));
  EXPECT_THAT(message_of<InvalidArgument>([] {
                ClassIndex(std::vector<int>{0, 10}, 10);
              }),
              HasSubstr("the label of sample 1 is 10; labels must lie between 0 and 9"));
  EXPECT_THAT(message_of<InvalidArgument>(
                  [] { ClassIndex(std::vector<std::uint64_t>{0xffffffffffffffffU}); }),
              HasSubstr("is 18446744073709551615"));
}

TEST(ClassIndex, RefusesAnEmptyDataSet) {
  EXPECT_THAT(message_of<InvalidArgument>([] { ClassIndex(std::vector<int>{}); }),
              HasSubstr("the data set is empty"));
}

TEST(ClassIndex, RefusesAClassCountOutOfRange) {
  EXPECT_THAT(message_of<InvalidArgument>([] { ClassIndex(std::vector<int>{0}, 0); }),
              HasSubstr("class_count is 0"));
}

}  // namespace
}  // namespace rcap
