#include "core/batch_checks.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace rcap {
namespace {

// Long enough for the widest vectors, with a rest.
constexpr std::size_t Count = 67;

TEST(BatchChecksTest, FindAnIdThatDoesNotExistAtEveryPlace) {
  constexpr auto Samples = std::int64_t{Count};
  std::vector<SampleId> ids(Count);
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_TRUE(all_exist(ids, Samples));
  EXPECT_TRUE(all_exist({}, 0));
  for (std::size_t at = 0; at < Count; ++at) {
    for (const SampleId bad : {Samples, SampleId{-1}, std::numeric_limits<SampleId>::min(),
                               std::numeric_limits<SampleId>::max(), SampleId{1} << 32}) {
      auto with_bad = ids;
      with_bad[at] = bad;
      EXPECT_FALSE(all_exist(with_bad, Samples)) << bad << " at " << at;
    }
  }
}

template <class Real>
class LossChecksTest : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LossChecksTest, Reals);

TYPED_TEST(LossChecksTest, FindALossThatIsNoneAtEveryPlace) {
  using Limits = std::numeric_limits<TypeParam>;
  std::vector<TypeParam> losses(Count, 1);
  losses[1] = 0;
  losses[2] = Limits::denorm_min();
  losses[3] = Limits::max();
  EXPECT_TRUE(all_are_losses(losses));
  EXPECT_TRUE(all_are_losses(std::span<const TypeParam>()));
  for (std::size_t at = 0; at < Count; ++at) {
    for (const TypeParam bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                                -Limits::quiet_NaN(), -Limits::denorm_min(), Limits::lowest()}) {
      auto with_bad = losses;
      with_bad[at] = bad;
      EXPECT_FALSE(all_are_losses(with_bad)) << bad << " at " << at;
    }
  }
}

}  // namespace
}  // namespace rcap
