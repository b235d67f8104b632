#include "cli/synthetic_data.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TEST(MakeClassSizes, BalancedSizesDifferByAtMostOne) {
  EXPECT_THAT(make_class_sizes(11, 3, ClassProfile::Balanced), ElementsAre(4, 4, 3));
}

TEST(MakeClassSizes, LongTailedSizesFallByAHundredInEqualSteps) {
  // 100 : 10 : 1
  EXPECT_THAT(make_class_sizes(1110, 3, ClassProfile::LongTailed), ElementsAre(1000, 100, 10));
}

TEST(MakeClassSizes, RefusesMoreClassesThanSamples) {
  EXPECT_THROW((void)make_class_sizes(2, 3, ClassProfile::Balanced), InvalidArgument);
  EXPECT_THROW((void)make_class_sizes(2, 0, ClassProfile::Balanced), InvalidArgument);
  EXPECT_THROW((void)make_class_sizes(-5, 1, ClassProfile::Balanced), InvalidArgument);
}

TEST(MakeClasses, HaveTheSizesInEitherOrder) {
  const std::vector<std::int64_t> sizes{50, 30, 20};
  const auto sorted = make_classes(sizes, LabelOrder::Sorted, 1);
  const auto shuffled = make_classes(sizes, LabelOrder::Shuffled, 1);
  EXPECT_THAT(sorted->class_sizes(), ElementsAreArray(sizes));
  EXPECT_THAT(shuffled->class_sizes(), ElementsAreArray(sizes));
  EXPECT_NE(sorted->fingerprint(), shuffled->fingerprint());
  EXPECT_EQ(shuffled->fingerprint(), make_classes(sizes, LabelOrder::Shuffled, 1)->fingerprint());
  EXPECT_NE(shuffled->fingerprint(), make_classes(sizes, LabelOrder::Shuffled, 2)->fingerprint());
}

TEST(SyntheticLosses, ScatterAroundTheMeanOfTheClass) {
  const std::vector<std::int64_t> sizes{20000, 20000};
  const auto classes = make_classes(sizes, LabelOrder::Sorted, 3);
  std::vector<SampleId> ids(20000);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<float> losses;
  SyntheticLosses(classes, 3).fill(ids, -1, losses);
  EXPECT_GE(*std::min_element(losses.begin(), losses.end()), 0.0f);
  EXPECT_LE(*std::max_element(losses.begin(), losses.end()), 10.0f);
  const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / 20000;
  EXPECT_GT(mean, 0.09);
  EXPECT_LT(mean, 2.1);
}

}  // namespace
}  // namespace rcap::cli
