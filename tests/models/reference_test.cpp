// Every network against outputs of another implementation with the same weights and images:
// tests/models/reference/*.json, which scripts/compare-models --write-fixtures makes.

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "models/make_model.hpp"
#include "models/reference_weights.hpp"

namespace rcap {
namespace {

using Json = nlohmann::json;

/// Of a value, relative to the largest of its kind: what float32 and another order of the sums
/// leave over in networks of up to 100 layers.
constexpr double Float32Tolerance = 1e-4;
/// A pass of training is compared in float64: in float32 rounding alone can move a gradient by a
/// percent, where it makes a ReLU change sides. The fixtures have seven digits.
constexpr double Float64Tolerance = 1e-6;

std::vector<std::string> networks_with_a_reference() {
  std::vector<std::string> names;
  for (const ModelInfo& info : models()) {
    if (info.name == "small-cnn" || info.name == "mlp") continue;  // rcap's own
    if (info.name == "dinov2-mlp") continue;  // large: dinov2_test.cpp makes it once
    names.emplace_back(info.name);
  }
  return names;
}

Json read_fixture(const std::string& name) {
  std::ifstream file(std::string(RCAP_REFERENCE_FOLDER) + "/" + name + ".json");
  EXPECT_TRUE(file) << "no fixture; run scripts/compare-models --write-fixtures " << name;
  return file ? Json::parse(file) : Json{};
}

torch::Tensor numbers(const Json& json) {
  return torch::tensor(json.get<std::vector<double>>(), torch::kDouble);
}

void expect_near(const torch::Tensor& found, const Json& wanted, double tolerance,
                 const char* what) {
  const auto expected = numbers(wanted);
  ASSERT_EQ(found.numel(), expected.numel()) << what;
  const auto differences = (found.flatten().to(torch::kDouble) - expected).abs();
  const double largest = expected.abs().max().item<double>();
  EXPECT_GT(largest, 1e-3) << what << ": a signal that died proves nothing";
  EXPECT_LE(differences.max().item<double>(), tolerance * largest) << what;
}

/// By name, so that they come in the order of the fixture.
using SizesByName = std::map<std::string, double>;

double mean_size(const torch::Tensor& tensor) {
  return tensor.to(torch::kDouble).abs().mean().item<double>();
}

/// Each relative to its own size, which spans many powers of ten. What a later batch norm takes
/// out again has a gradient of 0 but for rounding, which is a matter of the largest one.
void expect_each_near(const SizesByName& found, const Json& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  if (found.empty()) return;
  const double rounding = 1e-9 * numbers(wanted).max().item<double>();
  std::size_t i = 0;
  for (const auto& [name, value] : found) {
    const auto expected = wanted[i++].get<double>();
    EXPECT_NEAR(value, expected, Float64Tolerance * expected + rounding) << name;
  }
}

SizesByName gradient_sizes(const Network& network) {
  SizesByName sizes;
  for (const auto& item : network.named_parameters()) {
    if (item.value().grad().defined()) sizes[item.key()] = mean_size(item.value().grad());
  }
  return sizes;
}

SizesByName buffer_sizes(const Network& network) {
  SizesByName sizes;
  for (const auto& item : network.named_buffers()) {
    if (item.value().is_floating_point()) sizes[item.key()] = mean_size(item.value());
  }
  return sizes;
}

/// `Module::to` would make fractions of the counts, too.
void use_float64(Network& network) {
  for (auto& tensors : {network.parameters(), network.buffers()}) {
    for (torch::Tensor tensor : tensors) {
      if (tensor.is_floating_point()) tensor.set_data(tensor.data().to(torch::kDouble));
    }
  }
}

class ReferenceTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fixture_ = read_fixture(GetParam());
    ASSERT_FALSE(fixture_.is_null());
    const auto shape = fixture_["input_shape"].get<std::vector<std::int64_t>>();
    network_ = make_model(GetParam(), {static_cast<int>(shape[1]), fixture_["class_count"], 0,
                                       static_cast<int>(shape[2]), static_cast<int>(shape[3])});
    set_reference_weights(*network_);
    images_ = reference_images(shape);
  }

  void expect_logits(const char* what) {
    const torch::NoGradGuard no_grad;
    network_->eval();
    expect_near(network_->forward(images_), fixture_["logits"], Float32Tolerance, what);
  }

  /// A pass of training without chance, and what it leaves behind.
  void expect_training() {
    namespace F = torch::nn::functional;
    use_float64(*network_);
    network_->train();
    turn_off_chance(*network_);
    const auto logits = network_->forward(images_.to(torch::kDouble));
    const auto labels = torch::arange(logits.size(0)) % logits.size(1);
    const auto losses =
        F::cross_entropy(logits, labels, F::CrossEntropyFuncOptions().reduction(torch::kNone));
    losses.mean().backward();
    expect_near(logits, fixture_["train_logits"], Float64Tolerance, "train_logits");
    expect_near(losses, fixture_["train_losses"], Float64Tolerance, "train_losses");
    expect_each_near(gradient_sizes(*network_), fixture_["gradients"]);
    expect_each_near(buffer_sizes(*network_), fixture_["buffers"]);
  }

  Json fixture_;
  std::shared_ptr<Network> network_;
  torch::Tensor images_;
};

TEST_P(ReferenceTest, ComputesTheSame) {
  // One test: a network takes longer to fill than to run.
  std::int64_t parameter_count = 0;
  for (const auto& parameter : network_->parameters()) parameter_count += parameter.numel();
  EXPECT_EQ(parameter_count, fixture_["parameter_count"].get<std::int64_t>());
  expect_logits("logits");
  use_channels_last(*network_);
  images_ = images_.contiguous(at::MemoryFormat::ChannelsLast);
  expect_logits("logits in channels-last");
  expect_training();
}

INSTANTIATE_TEST_SUITE_P(Networks, ReferenceTest, testing::ValuesIn(networks_with_a_reference()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rcap
