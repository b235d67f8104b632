#include "data/label_noise.hpp"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// So many samples, the classes in turn.
Split labelled(int count, ClassId class_count) {
  Split split;
  for (int i = 0; i < count; ++i) split.labels.push_back(i % class_count);
  return split;
}

TEST(ChangeLabels, ChangesExactlyThePart) {
  const Split right = labelled(1001, 4);
  Split noisy = right;
  // 0.25 * 1001 = 250.25.
  const auto changed = change_labels(noisy, 4, 4, 0.25, 3);
  EXPECT_THAT(changed, SizeIs(250));
  std::vector<SampleId> different;
  for (std::size_t i = 0; i < right.labels.size(); ++i) {
    if (noisy.labels[i] != right.labels[i]) different.push_back(static_cast<SampleId>(i));
    EXPECT_TRUE(noisy.labels[i] >= 0 && noisy.labels[i] < 4);
  }
  EXPECT_EQ(different, changed);
}

TEST(ChangeLabels, TakesTheOtherClassesEquallyOften) {
  // 10,000 changed labels of class 1 go to three others: 3333 each with a standard error of 47.
  // Five of them: one false alarm in half a million such tests.
  Split split;
  split.labels.assign(20000, 1);
  (void)change_labels(split, 4, 4, 0.5, 0);
  for (const ClassId other : {0, 2, 3}) {
    EXPECT_NEAR(static_cast<double>(std::ranges::count(split.labels, other)), 10000.0 / 3, 5 * 47);
  }
}

TEST(ChangeLabels, GoesByTheSeedAlone) {
  Split one = labelled(500, 3);
  Split again = one;
  Split other = one;
  const auto changed = change_labels(one, 3, 3, 0.2, 7);
  EXPECT_EQ(change_labels(again, 3, 3, 0.2, 7), changed);
  EXPECT_EQ(again.labels, one.labels);
  EXPECT_NE(change_labels(other, 3, 3, 0.2, 8), changed);
}

TEST(ChangeLabels, KeepsTheAttributeOfAGroup) {
  // Groups 0 and 1 are of class 0, groups 2 and 3 of class 1.
  Split split = labelled(100, 4);
  split.groups.assign(split.labels.begin(), split.labels.end());
  for (ClassId& label : split.labels) label /= 2;
  for (const SampleId id : change_labels(split, 2, 4, 0.5, 0)) {
    const auto i = static_cast<std::size_t>(id);
    EXPECT_EQ(split.groups[i] / 2, split.labels[i]);
    EXPECT_EQ(split.groups[i] % 2, id % 2);
  }
}

TEST(ChangeLabels, LeavesAllAsTheyAreForNoNoise) {
  Split split = labelled(10, 1);
  EXPECT_THAT(change_labels(split, 1, 1, 0, 0), IsEmpty());
  EXPECT_EQ(split.labels, labelled(10, 1).labels);
}

TEST(ChangeLabels, RefusesOneClassAndEveryLabel) {
  Split split = labelled(10, 1);
  const auto refusal = [&](ClassId classes, double part) {
    return message_of<InvalidArgument>(
        [&] { (void)change_labels(split, classes, classes, part, 0); });
  };
  EXPECT_THAT(refusal(1, 0.5), HasSubstr("there is no other class to change a label to"));
  EXPECT_THAT(refusal(2, 1), HasSubstr("label noise is 1; it is a fraction of the labels"));
  EXPECT_THAT(refusal(2, std::nan("")), HasSubstr("at least 0 and below 1"));
}

}  // namespace
}  // namespace rcap
