#include "cli/progress_bar.hpp"

#include <gtest/gtest.h>

namespace rcap::cli {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

// What captures the standard error is no terminal, so this is what a log gets.

TEST(ProgressBar, WritesLinesToALogThatWouldBeSilent) {
  CaptureStderr();
  ProgressBar bar(true, seconds(0));
  bar.show(0.254, "1 of 4 runs");
  bar.show(1, "4 of 4 runs");
  bar.clear();
  EXPECT_EQ(GetCapturedStderr(), " 25 %  1 of 4 runs\n100 %  4 of 4 runs\n");
}

TEST(ProgressBar, LeavesALogAloneThatHasOtherLines) {
  CaptureStderr();
  ProgressBar bar(true, hours(1));
  EXPECT_FALSE(bar.is_due());
  bar.clear();  // as before a line of somebody else
  bar.show(0.5, "2 of 4 runs");
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(ProgressBar, SaysNothingWhereItIsNotShown) {
  CaptureStderr();
  ProgressBar bar(false, seconds(0));
  EXPECT_FALSE(bar.is_due());
  bar.show(0.5, "2 of 4 runs");
  EXPECT_EQ(GetCapturedStderr(), "");
}

}  // namespace
}  // namespace rcap::cli
