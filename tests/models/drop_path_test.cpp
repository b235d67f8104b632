#include "models/drop_path.hpp"

#include <gmock/gmock.h>

#include "models/make_model.hpp"

namespace rcap {
namespace {

TEST(DropPath, ZeroesWholeSamplesAndScalesTheOthersUp) {
  torch::manual_seed(1);
  DropPath layer(0.25);
  const auto outputs = layer(torch::ones({4000, 2, 3, 3}));
  const auto firsts = outputs.select(1, 0).select(1, 0).select(1, 0);
  // One draw a sample, for all of its channels and places.
  EXPECT_TRUE(torch::equal(outputs, firsts.view({-1, 1, 1, 1}).expand_as(outputs)));
  const auto is_kept = firsts > 0;
  EXPECT_TRUE(torch::allclose(firsts.masked_select(is_kept), torch::full({1}, 1.0F / 0.75F)));
  // 3000 of 4000 with a standard error of 27; the bound is five of them.
  EXPECT_NEAR(is_kept.sum().item<double>(), 3000, 137);
}

TEST(DropPath, TakesTokensToo) {
  torch::manual_seed(1);
  EXPECT_EQ(DropPath(0.5)(torch::ones({6, 5, 8})).sizes(), torch::IntArrayRef({6, 5, 8}));
}

TEST(DropPath, PassesGradientsOfKeptSamplesOnly) {
  torch::manual_seed(1);
  const auto branch = torch::ones({64, 2}, torch::requires_grad());
  const auto outputs = DropPath(0.5)(branch);
  outputs.sum().backward();
  EXPECT_TRUE(torch::equal(branch.grad(), outputs.detach()));
}

TEST(DropPath, DoesNothingInEvaluation) {
  DropPath layer(0.5);
  layer->eval();
  const auto branch = torch::ones({64, 2});
  EXPECT_TRUE(torch::equal(layer(branch), branch));
}

TEST(DropPath, DrawsNothingWhereItCannotDrop) {
  torch::manual_seed(1);
  const auto wanted = torch::rand({4});
  torch::manual_seed(1);
  (void)DropPath(0.0)(torch::ones({64, 2}));
  EXPECT_TRUE(torch::equal(torch::rand({4}), wanted));
}

/// Whether two passes over the same images in training mode differ.
bool acts_by_chance(Network& network) {
  const auto images = torch::ones({8, 3, 32, 32});
  const torch::NoGradGuard no_grad;
  return !torch::equal(network.forward(images), network.forward(images));
}

TEST(TurnOffChance, LeavesNothingToChance) {
  torch::manual_seed(1);
  const auto network = make_model("efficientnet-b3", {3, 10, 0});
  EXPECT_TRUE(acts_by_chance(*network));
  turn_off_chance(*network);
  EXPECT_FALSE(acts_by_chance(*network));
  EXPECT_TRUE(network->is_training()) << "batch norm still learns";
  network->train();
  EXPECT_TRUE(acts_by_chance(*network));
}

TEST(TurnOffChance, ReachesDropoutAndDropPathAlike) {
  const auto network = make_model("efficientnet-b3", {3, 10, 0});
  turn_off_chance(*network);
  for (const auto& module : network->modules()) {
    const bool is_chance =
        module->as<torch::nn::Dropout>() != nullptr || module->as<DropPath>() != nullptr;
    EXPECT_EQ(module->is_training(), !is_chance) << module->name();
  }
}

}  // namespace
}  // namespace rcap
