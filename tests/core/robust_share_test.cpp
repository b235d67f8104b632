#include "rcap/core/robust_share.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using Counts = std::vector<std::int64_t>;
using Values = std::vector<double>;

auto close_to(double value, double bound = 5e-6) { return testing::DoubleNear(value, bound); }
auto nearly(float value) { return testing::FloatNear(value, 5e-6F); }

// The worked case of docs/algorithm.md: classes of 900, 90 and 10, of which 50, 40 and 10 were
// taken and 100 shall be, after 27 epochs.
const Counts Sizes{900, 90, 10};
const Values MeanLosses{0.2, 0.6, 0.4};
constexpr std::int64_t Kept = 100;

Values worked_errors() {
  return errors_on_new_data(MeanLosses, expected_visits(Sizes, Kept, 27), 0.1);
}

Values worked_weights() {
  const Values errors = worked_errors();
  return robust_weights(Values{50 * errors[0], 40 * errors[1], 10 * errors[2]}, 1);
}

TEST(RobustShare, ExpectsASampleToBeSeenTheMoreOftenTheSmallerItsClass) {
  // A third of 100 is a 27th of 900, ten 27ths of 90, and more than 10.
  EXPECT_THAT(expected_visits(Sizes, Kept, 27), ElementsAre(close_to(1), close_to(10), 27));
  EXPECT_THAT(expected_visits(Sizes, Kept, 0), Each(0));
  EXPECT_THAT(expected_visits(Counts{50, 0, 50}, 10, 4), ElementsAre(0.4, 0, 0.4));
}

TEST(RobustShare, AllowsForWhatIsKnownByHeart) {
  // 0.2 (1 + 0.1), 0.6 (1 + 1), 0.4 (1 + 2.7)
  EXPECT_THAT(worked_errors(), ElementsAre(close_to(0.22), close_to(1.2), close_to(1.48)));
  EXPECT_THAT(errors_on_new_data(MeanLosses, Values{1, 10, 27}, 0), ElementsAre(0.2, 0.6, 0.4));
}

TEST(RobustShare, SplitsTheWorkedBudget) {
  const Values weights = worked_weights();
  EXPECT_THAT(weights, ElementsAre(close_to(3.316625), close_to(6.928203), close_to(3.847077)));
  EXPECT_THAT(share_budget(Sizes, weights, Kept),
              ElementsAre(close_to(29.13629), close_to(60.86371), 10));
  EXPECT_THAT(split_budget(Sizes, weights, Kept), ElementsAre(29, 61, 10));
}

TEST(RobustShare, FocusMovesTheFixedPointFromEqualCountsToErrorsAndBeyond) {
  // Where the counts stay as they are, they are as the errors to the power of the focus.
  for (const double focus : {0.0, 0.5, 1.0, 2.0, 5.0}) {
    Values counts{50, 50};
    for (int epoch = 0; epoch < 300; ++epoch) {
      const Values weights = robust_weights(Values{counts[0] * 1.0, counts[1] * 1.5}, focus);
      counts = share_budget(Counts{1000, 1000}, weights, 100);
    }
    EXPECT_NEAR(counts[1] / counts[0], std::pow(1.5, focus), 1e-6) << focus;
  }
}

TEST(RobustShare, LiftsFullClassesToWhatTheirWeightAsksFor) {
  const Values weights = worked_weights();
  EXPECT_THAT(lifts_of(Sizes, Counts{29, 61, 10}, weights, 10),
              ElementsAre(1, 1, nearly(3.379626F)));
  EXPECT_THAT(lifts_of(Sizes, Counts{29, 61, 10}, weights, 2), ElementsAre(1, 1, 2));
  EXPECT_THAT(lifts_of(Sizes, Counts{29, 61, 10}, weights, 1), Each(1));
}

TEST(RobustShare, LiftsNothingWhereNoClassGivesAnythingUp) {
  EXPECT_THAT(lifts_of(Sizes, Sizes, Values{1, 1, 1}, 10), Each(1));
  EXPECT_THAT(lifts_of(Sizes, Counts{10, 10, 10}, Values{0, 0, 3}, 10), Each(1));
  EXPECT_THAT(lifts_of(Counts{5, 0}, Counts{2, 0}, Values{1, 1}, 10), Each(1));
  // A full class that asks for less than it has is not made lighter.
  EXPECT_THAT(lifts_of(Counts{100, 10}, Counts{50, 10}, Values{50, 1}, 10), Each(1));
}

TEST(RobustShare, UnbiasesAClassTheMoreTheRarerItIsDrawn) {
  EXPECT_THAT(unbias_exponents(Sizes, Counts{29, 61, 10}, 30),
              ElementsAre(1, nearly(0.114353F), 0));
  EXPECT_THAT(unbias_exponents(Sizes, Counts{29, 61, 10}, 2), ElementsAre(1, nearly(0.561116F), 0));
  EXPECT_THAT(unbias_exponents(Sizes, Counts{29, 61, 10}, std::nullopt), Each(0));
  EXPECT_THAT(unbias_exponents(Counts{100, 0, 10}, Counts{0, 0, 1}, 30), Each(0));
}

TEST(RobustOptions, AreRefusedOutOfRange) {
  const auto refusal = [](const RobustOptions& options) {
    return message_of<InvalidArgument>([&] { check_options(options); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal({.allowance = -1}), HasSubstr("allowance is -1; it must lie between 0"));
  EXPECT_THAT(refusal({.allowance = nan}), HasSubstr("allowance is nan"));
  EXPECT_THAT(refusal({.focus = 101}), HasSubstr("focus is 101; it must lie between 0 and 100"));
  EXPECT_THAT(refusal({.lift = 0.5}), HasSubstr("lift is 0.5; it must lie between 1"));
  EXPECT_THAT(refusal({.lift = nan}), HasSubstr("lift is nan"));
  EXPECT_THAT(refusal({.unbias = 1}), HasSubstr("unbias is 1; it must be above 1"));
  EXPECT_THAT(refusal({.unbias = nan}), HasSubstr("unbias is nan"));
  EXPECT_NO_THROW(check_options(RobustOptions{.unbias = std::nullopt}));
}

}  // namespace
}  // namespace rcap
