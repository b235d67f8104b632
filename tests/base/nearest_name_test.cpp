#include "base/nearest_name.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace rcap {
namespace {

TEST(NearestName, CountsASwapOfNeighboursAsOneChange) {
  const std::vector<std::string> names{"select", "bench", "doctor"};
  EXPECT_EQ(nearest_name("slect", names), "select");
  EXPECT_EQ(nearest_name("docotr", names), "doctor");
  EXPECT_EQ(nearest_name("frobnicate", names), std::nullopt);
}

}  // namespace
}  // namespace rcap
