// Weight files of other implementations: their names, brought to ours by `Network::translate`.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "models/weight_file_fixture.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LoadResNetTest : public LoadWeightsTest {
 protected:
  /// The file as other code for CIFAR writes it.
  void use_other_names() {
    for (const auto& [name, tensor] : std::exchange(tensors_, {})) {
      std::string other = name;
      if (const auto at = name.find("downsample"); at != std::string::npos) {
        other.replace(at, 10, "shortcut");
      }
      if (name.starts_with("fc.")) other.replace(0, 2, "linear");
      tensors_[other] = tensor;
    }
  }

  LoadResNetTest() {
    network_ = make_model("resnet18-cifar", {3, 10, 0});
    tensors_ = reference_state(*network_);
  }
};

TEST_F(LoadResNetTest, TakesTheNamesOfOtherCifarCode) {
  const Tensors wanted = tensors_;
  use_other_names();
  ASSERT_TRUE(tensors_.contains("layer2.0.shortcut.1.running_mean"));
  load();
  EXPECT_TRUE(are_equal(state_of(*network_), wanted));
}

TEST_F(LoadResNetTest, NamesATensorAsTheFileDoes) {
  use_other_names();
  tensors_["layer2.0.shortcut.0.weight"] = torch::ones({2, 2});
  EXPECT_THAT(refusal(),
              HasSubstr("tensor layer2.0.shortcut.0.weight (here layer2.0.downsample.0.weight) has "
                        "shape [2, 2], this network needs [128, 64, 1, 1]"));
}

TEST_F(LoadResNetTest, RefusesATensorUnderTwoNames) {
  tensors_["linear.bias"] = tensors_["fc.bias"];
  EXPECT_THAT(refusal(), HasSubstr("tensors fc.bias and linear.bias both stand for fc.bias"));
}

/// All names of timm's efficientnet_b3, in its order, which is also torchvision's.
std::vector<std::string> timm_names(bool of_buffers) {
  std::vector<std::string> names;
  const auto add_convolution = [&](const std::string& name, bool has_bias) {
    if (of_buffers) return;
    names.push_back(name + ".weight");
    if (has_bias) names.push_back(name + ".bias");
  };
  const auto add_norm = [&](const std::string& name) {
    for (const char* part : {"weight", "bias"}) {
      if (!of_buffers) names.push_back(name + "." + part);
    }
    for (const char* part : {"running_mean", "running_var", "num_batches_tracked"}) {
      if (of_buffers) names.push_back(name + "." + part);
    }
  };
  add_convolution("conv_stem", false);
  add_norm("bn1");
  const std::array block_counts{2, 3, 3, 5, 5, 6, 2};
  for (std::size_t stage = 0; stage < block_counts.size(); ++stage) {
    for (int block = 0; block < block_counts[stage]; ++block) {
      const std::string prefix = fmt::format("blocks.{}.{}.", stage, block);
      if (stage > 0) {
        add_convolution(prefix + "conv_pw", false);
        add_norm(prefix + "bn1");
      }
      add_convolution(prefix + "conv_dw", false);
      add_norm(prefix + (stage > 0 ? "bn2" : "bn1"));
      add_convolution(prefix + "se.conv_reduce", true);
      add_convolution(prefix + "se.conv_expand", true);
      add_convolution(prefix + (stage > 0 ? "conv_pwl" : "conv_pw"), false);
      add_norm(prefix + (stage > 0 ? "bn3" : "bn2"));
    }
  }
  add_convolution("conv_head", false);
  add_norm("bn2");
  add_convolution("classifier", true);
  return names;
}

class LoadEfficientNetTest : public LoadWeightsTest {
 protected:
  LoadEfficientNetTest() {
    network_ = make_model("efficientnet-b3", {3, 10, 0});
    tensors_.clear();
    add_under_timm_names(network_->named_parameters(), timm_names(false));
    add_under_timm_names(network_->named_buffers(), timm_names(true));
  }

  void add_under_timm_names(const torch::OrderedDict<std::string, torch::Tensor>& own,
                            const std::vector<std::string>& names) {
    ASSERT_EQ(own.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      tensors_[names[i]] =
          reference_tensor(own[i].key(), own[i].value().sizes()).to(own[i].value().scalar_type());
    }
  }
};

TEST_F(LoadEfficientNetTest, TakesTimmsNames) {
  EXPECT_EQ(load().loaded_count, 574);
  EXPECT_TRUE(are_equal(state_of(*network_), reference_state(*network_)));
}

TEST_F(LoadEfficientNetTest, TakesTorchvisionsNames) {
  tensors_ = reference_state(*network_);
  ASSERT_TRUE(tensors_.contains("features.2.0.block.1.0.weight"));
  EXPECT_EQ(load().loaded_count, 574);
  EXPECT_TRUE(are_equal(state_of(*network_), tensors_));
}

TEST_F(LoadEfficientNetTest, KeepsItsClassifierUnderTimmsNamesToo) {
  tensors_["classifier.weight"] = torch::ones({1000, 1536});
  tensors_["classifier.bias"] = torch::ones({1000});
  const WeightReport report = load();
  EXPECT_EQ(report.loaded_count, 572);
  EXPECT_THAT(report.fresh, ElementsAre("classifier.1.bias", "classifier.1.weight"));
}

TEST_F(LoadEfficientNetTest, NamesATensorAsTimmDoes) {
  tensors_["blocks.0.1.conv_pw.weight"] = torch::ones({24, 24});
  EXPECT_THAT(refusal(), HasSubstr("tensor blocks.0.1.conv_pw.weight (here "
                                   "features.1.1.block.2.0.weight) has shape [24, 24]"));
}

TEST_F(LoadEfficientNetTest, MakesNoTensorOfNamesThatTimmDoesNotHave) {
  for (const char* name : {"blocks.weight", "blocks.7.0.conv_pw.weight", "blocks.10.0.bn1.bias",
                           "blocks.0.0.conv_pwl.weight", "blocks..", "blocks.1.1.scale"}) {
    WeightSet weights("file");
    weights.add("conv_stem.weight", {});
    weights.add(name, {});
    network_->translate(weights);
    EXPECT_EQ(weights.entries().size(), 2U);
    for (const auto& [own_name, entry] : weights.entries()) {
      EXPECT_EQ(state_of(*network_).contains(own_name), entry.name_in_file != name) << name;
    }
  }
}

}  // namespace
}  // namespace rcap
