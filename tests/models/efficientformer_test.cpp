#include "models/efficientformer.hpp"

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using efficientformer::DistanceBias;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::shared_ptr<Network> make_s0(int height, int width) {
  return make_model("efficientformerv2-s0",
                    {.class_count = 2, .image_height = height, .image_width = width});
}

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const auto& parameter : network.parameters()) count += parameter.numel();
  return count;
}

std::size_t tensor_count(const Network& network) {
  return network.parameters().size() + network.buffers().size();
}

std::vector<std::int64_t> values_of(const torch::Tensor& tensor) {
  const auto flat = tensor.to(torch::kLong).flatten().contiguous();
  const auto* data = flat.const_data_ptr<std::int64_t>();
  return {data, data + flat.numel()};
}

TEST(EfficientFormer, HasThePublishedNumbersOfParametersAndTensors) {
  struct Case {
    const char* name;
    std::int64_t of_two_classes, of_thousand_classes;
    std::size_t tensors;
  };
  for (const Case& size : {Case{"efficientformerv2-s0", 3'246'964, 3'600'256, 568},
                           Case{"efficientformerv2-s1", 5'736'460, 6'185'560, 722},
                           Case{"efficientformerv2-s2", 12'133'268, 12'710'112, 1054},
                           Case{"efficientformerv2-l", 25'553'828, 26'322'288, 1386}}) {
    const auto small = make_model(size.name, {.class_count = 2});
    EXPECT_EQ(parameter_count(*small), size.of_two_classes) << size.name;
    EXPECT_EQ(tensor_count(*small), size.tensors) << size.name;
    const auto big = make_model(size.name, {.class_count = 1000});
    EXPECT_EQ(parameter_count(*big), size.of_thousand_classes) << size.name;
  }
}

TEST(EfficientFormer, RefusesSidesThatItCannotHalveAndDoubleAgain) {
  // 112 / 16 = 7 rows, halved 4, doubled 8.
  EXPECT_THAT(message_of<InvalidArgument>([] { (void)make_s0(112, 112); }),
              AllOf(HasSubstr("model efficientformerv2-s0: images of 112 x 112 pixels"),
                    HasSubstr("a side must be a multiple of 32 (64, 96, 128")));
  EXPECT_THAT(message_of<InvalidArgument>([] { (void)make_s0(64, 65); }),
              HasSubstr("images of 64 x 65 pixels (height x width) do not fit, because of the side "
                        "65; "));
  EXPECT_THROW((void)make_s0(0, 64), InvalidArgument);
}

TEST(EfficientFormer, TakesTheSizesOfCelebA) {
  const torch::NoGradGuard no_grad;
  const auto network = make_s0(218, 178);
  network->eval();
  EXPECT_THAT(network->forward(torch::zeros({1, 3, 218, 178})).sizes(), ElementsAre(1, 2));
}

TEST(EfficientFormer, RefusesImagesOfAnotherSizeThanItWasMadeFor) {
  const auto network = make_s0(64, 96);
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                network->forward(torch::zeros({1, 3, 96, 64}));
              }),
              HasSubstr("was made for images of 64 x 96 pixels (height x width), got 96 x 64"));
}

TEST(EfficientFormer, TakesABiasByTheDistanceInRowsAndColumns) {
  // 2 rows of 3: the distance (rows, columns) has the number 3 rows + columns.
  DistanceBias bias({2, 3}, 1);
  const auto numbers = torch::arange(6).to(torch::kFloat).view({1, 6});
  const auto spread = bias.spread(numbers);
  EXPECT_THAT(spread.sizes(), ElementsAre(1, 6, 6));
  EXPECT_THAT(values_of(spread[0][0]), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values_of(spread[0][4]), ElementsAre(4, 3, 4, 1, 0, 1));
}

TEST(EfficientFormer, TakesQueriesAtEverySecondPositionWhenItHalves) {
  // Queries stand in columns 0 and 2 of the only row that is even.
  DistanceBias bias({2, 3}, 2);
  const auto numbers = torch::arange(6).to(torch::kFloat).view({1, 6});
  const auto spread = bias.spread(numbers);
  EXPECT_THAT(spread.sizes(), ElementsAre(1, 2, 6));
  EXPECT_THAT(values_of(spread[0][1]), ElementsAre(2, 1, 0, 5, 4, 3));
}

TEST(EfficientFormer, StartsWithTheValuesOfTimm) {
  const auto network = make_model("efficientformerv2-s0",
                                  {.class_count = 100, .image_height = 64, .image_width = 64});
  for (const auto& item : network->named_parameters()) {
    const torch::Tensor& values = item.value();
    if (item.key().ends_with("gamma")) {
      EXPECT_TRUE(torch::equal(values, torch::full_like(values, 1e-5))) << item.key();
    }
    if (item.key().ends_with("attention_biases") || item.key() == "head.bias" ||
        item.key() == "head_dist.bias") {
      EXPECT_EQ(values.abs().max().item<float>(), 0.0F) << item.key();
    }
    if (item.key() == "head.weight" || item.key() == "head_dist.weight") {
      // 17,600 numbers: the deviation of their deviation is 0.5 per cent.
      EXPECT_NEAR(values.std().item<float>(), 0.02F, 0.0006F) << item.key();
    }
  }
}

/// Of the blocks, first to last.
std::vector<double> drop_probabilities(const char* name) {
  const auto network = make_model(name, {.image_height = 64, .image_width = 64});
  std::vector<double> probabilities;
  for (const auto& module : network->modules()) {
    const auto* block = module->as<efficientformer::Block>();
    if (block == nullptr) continue;
    const auto layers = block->named_children();
    probabilities.push_back(layers["drop_path2"]->as<DropPath>()->drop_probability());
    if (!layers.contains("drop_path1")) continue;
    EXPECT_EQ(layers["drop_path1"]->as<DropPath>()->drop_probability(), probabilities.back());
  }
  return probabilities;
}

TEST(EfficientFormer, DropsPathsOfDeeperBlocksMoreOftenFromSizeS2On) {
  EXPECT_THAT(drop_probabilities("efficientformerv2-s1"), AllOf(SizeIs(21), Each(0.0)));
  const auto of_s2 = drop_probabilities("efficientformerv2-s2");
  ASSERT_THAT(of_s2, SizeIs(28));
  const auto of_l = drop_probabilities("efficientformerv2-l");
  ASSERT_THAT(of_l, SizeIs(35));
  for (std::size_t i = 0; i < 28; ++i) {
    EXPECT_DOUBLE_EQ(of_s2[i], 0.02 * static_cast<double>(i) / 27);
  }
  for (std::size_t i = 0; i < 35; ++i) {
    EXPECT_DOUBLE_EQ(of_l[i], 0.1 * static_cast<double>(i) / 34);
  }
}

TEST(EfficientFormer, SetsTheIndexTablesOfAFileAside) {
  WeightSet weights("some.safetensors");
  weights.add("stages.2.blocks.4.token_mixer.attention_bias_idxs", torch::zeros({49, 49}));
  weights.add("norm.weight", torch::zeros({176}));
  make_s0(64, 64)->translate(weights);
  EXPECT_THAT(weights.ignored(), ElementsAre("stages.2.blocks.4.token_mixer.attention_bias_idxs"));
  EXPECT_TRUE(weights.contains("norm.weight"));
}

}  // namespace
}  // namespace rcap
