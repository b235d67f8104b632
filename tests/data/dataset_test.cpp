#include "data/dataset.hpp"

#include <memory>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/images/memory_images.hpp"
#include "data/sample_files.hpp"
#include "data/tables/table_rows.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Split four_samples() {
  const std::vector<MemoryImages::Part> parts{{"first", 3}, {"second", 1}};
  return {std::make_shared<MemoryImages>(ImageShape{1, 2, 1}, counting_bytes(8), parts),
          {0, 1, 2, 3},
          {}};
}

TEST(MemoryImages, AreNamedAfterTheirFile) {
  const Split split = four_samples();
  EXPECT_EQ(split.images->name_of(2), "first, image 2");
  EXPECT_EQ(split.images->name_of(3), "second, image 0");
}

TEST(Subset, TakesSamplesInTheGivenOrder) {
  const std::vector<SampleId> positions{3, 1, 3};
  Split whole = four_samples();
  const Split part = subset(whole, positions);
  EXPECT_THAT(part.labels, ElementsAre(3, 1, 3));
  EXPECT_THAT(part.groups, IsEmpty());
  EXPECT_EQ(part.images->size(), 3);
  EXPECT_EQ(part.images->name_of(0), "second, image 0");
  EXPECT_TRUE(part.images->in_memory());
  EXPECT_EQ(part.images->fixed_shape(), (ImageShape{1, 2, 1}));
  Image unused;
  EXPECT_EQ(part.images->read(1, unused).pixels[0], 2);
  whole.groups = {4, 5, 6, 7};
  EXPECT_THAT(subset(whole, positions).groups, ElementsAre(7, 5, 7));
}

TEST(TableRows, AreNumbersOfAShapeAndNoImages) {
  const TableRows rows("a.csv", 2, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(rows.size(), 3);
  EXPECT_EQ(rows.fixed_shape(), (ImageShape{1, 1, 2}));
  EXPECT_EQ(rows.row(2)[1], 6.0F);
  EXPECT_EQ(rows.name_of(2), "a.csv, row 2");
  Image unused;
  EXPECT_EQ(message_of<InvalidArgument>([&] { (void)rows.read(2, unused); }),
            "a.csv, row 2 holds numbers, not an image");
  EXPECT_THROW(TableRows("a.csv", 4, {1, 2, 3, 4, 5, 6}), InvalidArgument);
}

TEST(Subset, TakesRowsInTheGivenOrder) {
  const std::vector<SampleId> positions{2, 0};
  const Split whole{
      std::make_shared<TableRows>("a.csv", 2, std::vector<float>{1, 2, 3, 4, 5, 6}), {0, 1, 2}, {}};
  const Split part = subset(whole, positions);
  EXPECT_TRUE(part.images->holds_rows());
  EXPECT_EQ(part.images->row(0)[0], 5.0F);
  EXPECT_EQ(part.images->row(1)[1], 2.0F);
  EXPECT_EQ(subset(four_samples(), positions).images->row(0), nullptr);
}

}  // namespace
}  // namespace rcap
