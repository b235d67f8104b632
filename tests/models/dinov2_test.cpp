#include "models/dinov2.hpp"

#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/expect_throw.hpp"
#include "models/load_weights.hpp"
#include "models/lower_precision.hpp"
#include "models/reference_weights.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

ModelOptions small_options() { return {.class_count = 10, .image_height = 28, .image_width = 42}; }

/// The network is large: all tests share one with reference weights, and those that change it
/// put it right again.
class DinoV2 : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    network_ = std::make_shared<DinoV2Mlp>(small_options());
    set_reference_weights(*network_);
  }
  static void TearDownTestSuite() { network_.reset(); }

  static DinoV2Mlp& network() { return *network_; }

 private:
  static std::shared_ptr<DinoV2Mlp> network_;
};
std::shared_ptr<DinoV2Mlp> DinoV2::network_;

bool is_of_head(const std::string& name) { return name.starts_with("head."); }

TEST_F(DinoV2, HasTheOfficialTensorsAndAHead) {
  std::int64_t backbone_values = 0;
  std::int64_t backbone_tensors = 0;
  std::int64_t head_values = 0;
  for (const auto& item : network().named_parameters()) {
    (is_of_head(item.key()) ? head_values : backbone_values) += item.value().numel();
    if (!is_of_head(item.key())) ++backbone_tensors;
  }
  EXPECT_EQ(backbone_values, 86'583'552);
  EXPECT_EQ(backbone_tensors, 176);
  // 1,693,160 with 1000 classes: 513 more for each of the other 990.
  EXPECT_EQ(head_values + 513 * 990, 1'693'160);
  EXPECT_THAT(network().buffers(), SizeIs(0));
}

TEST_F(DinoV2, NeedsSidesThatAreMultiplesOf14) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                (void)make_model("dinov2-mlp", {.image_height = 224, .image_width = 225});
              }),
              AllOf(HasSubstr("model dinov2-mlp: images of 224 x 225 pixels (height x width)"),
                    HasSubstr("both sides must be multiples of 14")));
  EXPECT_THAT(message_of<InvalidArgument>([] {
                (void)network().forward(torch::zeros({1, 3, 32, 28}));
              }),
              HasSubstr("images of 32 x 28 pixels"));
}

TEST_F(DinoV2, TrainsTheHeadAlone) {
  network().train();
  network().forward(torch::rand({2, 3, 28, 42})).sum().backward();
  for (const auto& item : network().named_parameters()) {
    EXPECT_EQ(item.value().requires_grad(), is_of_head(item.key())) << item.key();
    EXPECT_EQ(item.value().grad().defined(), is_of_head(item.key())) << item.key();
  }
  network().zero_grad();
}

TEST_F(DinoV2, KeepsTheBackboneInEvaluationMode) {
  network().train();
  for (const auto& child : network().named_modules()) {
    if (child.key().empty()) continue;
    const bool is_head = child.key() == "head" || is_of_head(child.key());
    EXPECT_EQ(child.value()->is_training(), is_head) << child.key();
  }
  network().eval();
  EXPECT_FALSE(network().is_training());
}

TEST_F(DinoV2, NamesTokensAndFeatures) {
  // Images with gradients, so that the backbone would have something to keep for a backward pass.
  const auto images = torch::rand({2, 3, 28, 42}, torch::requires_grad());
  const auto features = network().tokens(images);
  std::vector<std::string> names;
  std::map<std::string, torch::Tensor> by_name;
  for (const auto& [name, value] : features) {
    names.push_back(name);
    by_name[name] = value;
    EXPECT_FALSE(value.requires_grad()) << name;
  }
  EXPECT_THAT(names, ElementsAre("tok_cls", "tok_reg", "tok_patch", "feat.cls_reg_patch",
                                 "feat.cls2_avg", "feat.cls3"));
  EXPECT_THAT(by_name["tok_cls"].sizes(), ElementsAre(2, 768));
  EXPECT_THAT(by_name["tok_reg"].sizes(), ElementsAre(2, 4, 768));
  EXPECT_THAT(by_name["tok_patch"].sizes(), ElementsAre(2, 6, 768));
  const auto expected =
      torch::cat({by_name["tok_cls"], by_name["tok_reg"].mean(1), by_name["tok_patch"].mean(1)}, 1);
  EXPECT_TRUE(torch::equal(by_name["feat.cls_reg_patch"], expected));
  EXPECT_THAT(by_name["feat.cls3"].sizes(), ElementsAre(2, 2304));
}

TEST_F(DinoV2, InterpolatesPositionsOncePerSizeAndAgainWhenTheyChange) {
  dinov2::PatchPositions positions;
  const auto learned = torch::rand({1, 1370, 768});
  const torch::Tensor first = positions.resized(learned, 2, 3);
  EXPECT_THAT(first.sizes(), ElementsAre(1, 6, 768));
  (void)positions.resized(learned, 37, 37);
  EXPECT_TRUE(positions.resized(learned, 2, 3).is_same(first));
  learned.mul_(2);
  EXPECT_TRUE(torch::allclose(positions.resized(learned, 2, 3), 2 * first));
}

TEST_F(DinoV2, LeavesThePositionsOfTheLearnedGridAsTheyAre) {
  dinov2::PatchPositions positions;
  const auto learned = torch::rand({1, 1370, 768});
  EXPECT_TRUE(torch::equal(positions.resized(learned, 37, 37), learned.slice(1, 1)));
}

TEST_F(DinoV2, TakesTheFeaturesAndTheActivationAskedFor) {
  auto options = small_options();
  options.dino = {DinoFeatures::Cls3, HeadActivation::Gelu};
  DinoV2Mlp other(options);
  const torch::NoGradGuard no_grad;
  const auto images = torch::rand({2, 3, 28, 42});
  const auto features = other.tokens(images).back().second;
  const auto head = other.named_parameters();
  const auto hidden =
      torch::gelu(torch::linear(features, head["head.0.weight"], head["head.0.bias"]));
  const auto logits = torch::linear(hidden, head["head.2.weight"], head["head.2.bias"]);
  EXPECT_TRUE(torch::allclose(other.forward(images), logits, 1e-5, 1e-6));
}

TEST(DinoV2Head, HasTheActivationAskedFor) {
  const auto x = torch::tensor({-1.0F, 0.0F, 2.0F});
  const auto activated = [&x](HeadActivation activation) {
    auto head = dinov2::make_head(activation, 2);
    return (head->begin() + 1)->forward(x);
  };
  EXPECT_TRUE(torch::equal(activated(HeadActivation::Relu), torch::relu(x)));
  EXPECT_TRUE(torch::equal(activated(HeadActivation::Gelu), torch::gelu(x)));
  EXPECT_TRUE(torch::equal(activated(HeadActivation::None), x));
}

/// What timm's backbone gives with the same weights; scripts/compare-models wrote it.
nlohmann::json read_fixture() {
  std::ifstream file(std::string(RCAP_REFERENCE_FOLDER) + "/dinov2-mlp.json");
  return nlohmann::json::parse(file);
}

void expect_near(const torch::Tensor& found, const nlohmann::json& json, const std::string& name) {
  const auto wanted = torch::tensor(json.get<std::vector<float>>());
  ASSERT_EQ(found.numel(), wanted.numel()) << name;
  EXPECT_LT(difference(found.flatten(), wanted), 1e-4) << name;
}

TEST_F(DinoV2, GivesTheTokensAndFeaturesOfTimm) {
  const auto fixture = read_fixture();
  const auto images = reference_images(fixture["input_shape"].get<std::vector<std::int64_t>>());
  for (const auto& [name, values] : network().tokens(images)) {
    // The fixture has every 211th number.
    expect_near(values.flatten().slice(0, 0, std::nullopt, 211), fixture["tokens"][name], name);
  }
}

TEST_F(DinoV2, GivesTheLogitsAndTheHeadsGradientsOfTimm) {
  const auto fixture = read_fixture();
  const auto images = reference_images(fixture["input_shape"].get<std::vector<std::int64_t>>());
  network().train();
  const auto logits = network().forward(images);
  expect_near(logits.detach(), fixture["logits"], "logits");
  torch::nn::functional::cross_entropy(logits, torch::arange(2)).backward();
  std::vector<torch::Tensor> mean_sizes;
  for (const char* name : {"head.0.bias", "head.0.weight", "head.2.bias", "head.2.weight"}) {
    mean_sizes.push_back(network().named_parameters()[name].grad().abs().mean());
  }
  expect_near(torch::stack(mean_sizes), fixture["gradients"], "gradients");
  network().zero_grad();
}

TEST_F(DinoV2, NormalisesWithTheOfficialEpsilon) {
  int norm_count = 0;
  for (const auto& module : network().modules()) {
    const auto* norm = module->as<torch::nn::LayerNorm>();
    if (norm == nullptr) continue;
    ++norm_count;
    EXPECT_EQ(norm->options.eps(), 1e-6);
  }
  EXPECT_EQ(norm_count, 25);
}

TEST_F(DinoV2, GivesNearlyTheSameInLowerPrecision) {
  expect_nearly_the_same_in_lower_precision(network(), 28);
}

/// A set of weights that has no more than `translate` looks at.
WeightSet timm_weights() {
  WeightSet weights("timm.safetensors");
  weights.add("cls_token", torch::full({1, 1, 768}, 3.0));
  weights.add("pos_embed", torch::rand({1, 1369, 768}));
  weights.add("reg_token", torch::rand({1, 4, 768}));
  return weights;
}

TEST_F(DinoV2, TakesTheNamesOfTimm) {
  WeightSet weights = timm_weights();
  const auto registers = weights.at("reg_token");
  const auto positions = weights.at("pos_embed");
  network().translate(weights);
  EXPECT_FALSE(weights.contains("reg_token"));
  EXPECT_TRUE(torch::equal(weights.at("register_tokens"), registers));
  EXPECT_THAT(weights.at("mask_token").sizes(), ElementsAre(1, 768));
  // The class token has its position in it already.
  ASSERT_THAT(weights.at("pos_embed").sizes(), ElementsAre(1, 1370, 768));
  EXPECT_EQ(weights.at("pos_embed").narrow(1, 0, 1).abs().max().item<float>(), 0.0F);
  EXPECT_TRUE(torch::equal(weights.at("pos_embed").slice(1, 1), positions));
  EXPECT_TRUE(torch::equal(weights.at("cls_token"), torch::full({1, 1, 768}, 3.0)));
}

TEST_F(DinoV2, RefusesWeightsWithoutRegisters) {
  WeightSet weights("plain.pth");
  weights.add("pos_embed", torch::rand({1, 1370, 768}));
  EXPECT_THAT(message_of<BadFile>([&] { network().translate(weights); }),
              AllOf(HasSubstr("plain.pth: has neither register_tokens"),
                    HasSubstr("weights of dinov2_vitb14_reg")));
}

TEST_F(DinoV2, RefusesTimmsWeightsWithAnotherGrid) {
  WeightSet weights = timm_weights();
  weights.replace("pos_embed", torch::rand({1, 256, 768}));
  EXPECT_THAT(message_of<BadFile>([&] { network().translate(weights); }),
              HasSubstr("tensor pos_embed has shape [1, 256, 768]; in timm's "
                        "vit_base_patch14_reg4_dinov2 it has [1, 1369, 768]"));
}

/// Writes a safetensors file in which all numbers are 0, so that it takes no space on the disk.
void write_zeros(const std::filesystem::path& path,
                 const std::map<std::string, torch::Tensor>& tensors) {
  std::string header = "{";
  std::int64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::int64_t begin = std::exchange(end, end + 4 * tensor.numel());
    header += fmt::format(R"({}"{}":{{"dtype":"F32","shape":{},"data_offsets":[{},{}]}})",
                          begin == 0 ? "" : ",", name, tensor.sizes().vec(), begin, end);
  }
  header += "}";
  const std::uint64_t header_bytes = header.size();
  std::array<char, 8> length;
  std::memcpy(length.data(), &header_bytes, length.size());
  std::ofstream(path, std::ios::binary).write(length.data(), length.size()) << header;
  std::filesystem::resize_file(path,
                               length.size() + header_bytes + static_cast<std::uint64_t>(end));
}

TEST_F(DinoV2, LoadsABackboneWithAndWithoutAHead) {
  const TemporaryFolder folder;
  const auto parameters = network().named_parameters();
  const auto head = parameters["head.0.weight"].clone();
  std::map<std::string, torch::Tensor> weights;
  for (const auto& item : parameters) {
    if (!is_of_head(item.key())) weights[item.key()] = item.value();
  }
  write_zeros(folder / "backbone.safetensors", weights);
  const WeightReport report = load_weights(network(), folder / "backbone.safetensors");
  EXPECT_EQ(report.loaded_count, 176);
  EXPECT_THAT(report.fresh,
              ElementsAre("head.0.bias", "head.0.weight", "head.2.bias", "head.2.weight"));
  EXPECT_TRUE(torch::equal(parameters["head.0.weight"], head));

  for (const auto& item : parameters) weights[item.key()] = item.value();
  write_zeros(folder / "all.safetensors", weights);
  EXPECT_EQ(load_weights(network(), folder / "all.safetensors").loaded_count, 180);
  for (const auto& item : parameters) {
    EXPECT_FALSE(item.value().any().item<bool>()) << item.key();
    EXPECT_EQ(item.value().requires_grad(), is_of_head(item.key())) << item.key();
  }
  set_reference_weights(network());
}

}  // namespace
}  // namespace rcap
