#include "train/schedule.hpp"

#include <gmock/gmock.h>

namespace rcap {
namespace {

using testing::DoubleNear;

TEST(Schedule, CosineFallsOverTheBatchesReallyMade) {
  const Schedule schedule(ScheduleKind::CosineStep, 0.1, 200, 8000);
  // 0.1 (1 + cos(pi s / 8000)) / 2 at s = 0, 2000, 4000, 6000, 8000.
  EXPECT_DOUBLE_EQ(schedule.learning_rate({.step = 0}), 0.1);
  EXPECT_THAT(schedule.learning_rate({.step = 2000}), DoubleNear(0.0853553, 1e-7));
  EXPECT_THAT(schedule.learning_rate({.step = 4000}), DoubleNear(0.05, 1e-12));
  EXPECT_THAT(schedule.learning_rate({.step = 6000}), DoubleNear(0.0146447, 1e-7));
  EXPECT_THAT(schedule.learning_rate({.step = 8000}), DoubleNear(0, 1e-12));
}

TEST(Schedule, CosineFollowsEpochsWhereBatchesAreNotKnown) {
  const Schedule schedule(ScheduleKind::CosineStep, 1.0, 4, std::nullopt);
  // Half of epoch 1 of 4 is 3/8 of the run, whatever the step.
  const Position position{.epoch = 1, .batch = 5, .batches_in_epoch = 10, .step = 999};
  EXPECT_THAT(schedule.learning_rate(position), DoubleNear(0.6913417, 1e-7));
}

TEST(Schedule, CosineByEpochHasARateInTheLastOne) {
  const Schedule schedule(ScheduleKind::CosineEpoch, 1.0, 4, 400);
  EXPECT_DOUBLE_EQ(schedule.learning_rate({.epoch = 0, .batch = 99, .step = 99}), 1.0);
  EXPECT_THAT(schedule.learning_rate({.epoch = 3, .step = 399}), DoubleNear(0.1464466, 1e-7));
}

TEST(Schedule, ConstantStays) {
  const Schedule schedule(ScheduleKind::Constant, 0.3, 4, 400);
  EXPECT_DOUBLE_EQ(schedule.learning_rate({.epoch = 3, .step = 399}), 0.3);
}

}  // namespace
}  // namespace rcap
