#include "study/loss_gradient_figure.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "study/rank_correlation.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Values = std::vector<double>;

TEST(Ranks, AreSharedByEqualValues) {
  EXPECT_THAT(ranks_of(Values{30, 10, 20}), ElementsAre(3, 1, 2));
  // 5 and 5 have ranks 2 and 3.
  EXPECT_THAT(ranks_of(Values{5, 9, 5, 1}), ElementsAre(2.5, 4, 2.5, 1));
}

TEST(Spearman, IsOneForAnyRisingRelation) {
  EXPECT_DOUBLE_EQ(*spearman_correlation(Values{1, 2, 3, 4}, Values{1, 10, 11, 1000}), 1);
  EXPECT_DOUBLE_EQ(*spearman_correlation(Values{1, 2, 3}, Values{3, 2, 1}), -1);
}

TEST(Spearman, IsWhatTheFormulaOfSquaredDifferencesGives) {
  // Rank differences 0, 1, 1, 1, 1: 1 - 6 * 4 / (5 * 24) = 0.8.
  EXPECT_DOUBLE_EQ(*spearman_correlation(Values{1, 2, 3, 4, 5}, Values{1, 3, 2, 5, 4}), 0.8);
}

TEST(Spearman, AveragesTies) {
  // Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4; from the mean: -1.5, 0, 0, 1.5 and -1.5, -0.5, 0.5,
  // 1.5. Products 4.5, squares 4.5 and 5: 4.5 / sqrt(22.5).
  EXPECT_DOUBLE_EQ(*spearman_correlation(Values{1, 2, 2, 3}, Values{1, 2, 3, 4}),
                   4.5 / std::sqrt(22.5));
}

TEST(Spearman, DoesNotExistForAConstantSeries) {
  EXPECT_FALSE(spearman_correlation(Values{1, 1, 1}, Values{1, 2, 3}));
  EXPECT_FALSE(spearman_correlation(Values{1}, Values{2}));
  EXPECT_FALSE(spearman_correlation(Values{}, Values{}));
  EXPECT_FALSE(spearman_correlation(Values{1, 2}, Values{1, std::nan("")}));
}

TEST(Spearman, RefusesSeriesOfDifferentLength) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                (void)spearman_correlation(Values{1, 2}, Values{1});
              }),
              HasSubstr("2 values and 1"));
}

std::vector<ExampleTrace> sample_traces() {
  return {{.example = 7, .label = 1, .losses = {2, 1, 0.5}, .gradient_norms = {3, 2, 1}},
          {.example = 9, .label = 0, .losses = {1, 1, 1}, .gradient_norms = {3, 2, 1}}};
}

TEST(LossGradientCsv, HasALineForEachExampleAndMoment) {
  EXPECT_EQ(loss_gradient_csv(sample_traces()),
            "epoch,example,class,loss,gradient_norm\n"
            "0,7,1,2,3\n1,7,1,1,2\n2,7,1,0.5,1\n"
            "0,9,0,1,3\n1,9,0,1,2\n2,9,0,1,1\n");
}

TEST(LossGradientFigure, TellsTheCorrelationOfEachExample) {
  const std::string svg = loss_gradient_figure(sample_traces());
  EXPECT_THAT(svg, HasSubstr(">example 7: 1.000<"));
  EXPECT_THAT(svg, HasSubstr(">example 9: n/a<"));
  EXPECT_THAT(svg, HasSubstr(">Gradient norm<"));
}

}  // namespace
}  // namespace rcap
