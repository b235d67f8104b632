#include "train/grouping.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

Dataset birds() {
  Dataset dataset;
  dataset.name = "birds";
  dataset.class_names = {"landbird", "waterbird"};
  dataset.group_names = {"landbird on land", "landbird on water", "waterbird on land",
                         "waterbird on water"};
  dataset.train.labels = {0, 1, 1, 0, 1};
  dataset.train.groups = {0, 3, 3, 1, 2};
  return dataset;
}

TEST(Grouping, IsByClassOrByGroup) {
  const Dataset dataset = birds();
  EXPECT_THAT(groups_of(dataset.train, GroupBy::Class), ElementsAre(0, 1, 1, 0, 1));
  EXPECT_THAT(groups_of(dataset.train, GroupBy::Group), ElementsAre(0, 3, 3, 1, 2));
  EXPECT_THAT(group_names(dataset, GroupBy::Class), ElementsAre("landbird", "waterbird"));
  EXPECT_EQ(group_names(dataset, GroupBy::Group).size(), 4U);
  EXPECT_THAT(group_sizes(dataset, dataset.train, GroupBy::Class), ElementsAre(2, 3));
  EXPECT_THAT(group_sizes(dataset, dataset.train, GroupBy::Group), ElementsAre(1, 1, 1, 2));
}

TEST(Grouping, AddsUpThePriorOfTheGroupsOfAClass) {
  // Groups with 0.5, 0.2, 0.2 and 0.1 of what was trained: 0.7 are landbirds.
  const Dataset dataset = birds();
  const std::vector<double> groups{std::log(0.5), std::log(0.2), std::log(0.2), std::log(0.1)};
  EXPECT_THAT(class_log_prior(groups, dataset.train.groups, dataset.train.labels, 2),
              ElementsAre(DoubleNear(std::log(0.7), 1e-12), DoubleNear(std::log(0.3), 1e-12)));
}

TEST(Grouping, SharesAGroupAmongTheLabelsOfItsMembers) {
  // Group 0 has 0.4, half of it of class 0; group 1 has 0.6, all of class 1; class 2 has no member.
  const std::vector<double> groups{std::log(0.4), std::log(0.6)};
  EXPECT_THAT(
      class_log_prior(groups, std::vector<ClassId>{0, 0, 1}, std::vector<ClassId>{0, 1, 1}, 3),
      ElementsAre(DoubleNear(std::log(0.2), 1e-12), DoubleNear(std::log(0.8), 1e-12),
                  DoubleNear(std::log(0.4), 1e-12)));
}

TEST(Grouping, RefusesGroupsThatAreNotThere) {
  Dataset dataset = birds();
  EXPECT_NO_THROW(require_groups(dataset, GroupBy::Group));
  dataset.group_names.clear();
  EXPECT_NO_THROW(require_groups(dataset, GroupBy::Class));
  EXPECT_THAT(message_of<InvalidArgument>([&] { require_groups(dataset, GroupBy::Group); }),
              HasSubstr("group-by is group: birds has no groups; choose class"));
}

}  // namespace
}  // namespace rcap
