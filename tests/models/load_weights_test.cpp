#include "models/load_weights.hpp"

#include <fstream>
#include <limits>

#include <gmock/gmock.h>

#include "models/weight_file_fixture.hpp"

namespace rcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(LoadWeightsTest, FillsEveryTensorByItsName) {
  const WeightReport report = load();
  EXPECT_TRUE(are_equal(state_of(*network_), tensors_));
  EXPECT_EQ(report.loaded_count, 20);  // 3 convolutions, 3 * 5 of batch norm, 2 of the classifier
  EXPECT_THAT(report.fresh, IsEmpty());
  EXPECT_THAT(report.ignored, IsEmpty());
  EXPECT_EQ(describe(report), "20 tensors");
}

TEST_F(LoadWeightsTest, LeavesParametersThatLearn) {
  load();
  for (const auto& parameter : network_->parameters()) {
    EXPECT_TRUE(parameter.requires_grad());
    EXPECT_TRUE(parameter.is_leaf());
  }
}

TEST_F(LoadWeightsTest, KeepsTheMemoryFormatOfTheNetwork) {
  auto weight = network_->named_parameters()["conv2.weight"];
  weight.set_data(weight.data().contiguous(at::MemoryFormat::ChannelsLast));
  load();
  EXPECT_TRUE(weight.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(torch::equal(weight, tensors_["conv2.weight"]));
}

TEST_F(LoadWeightsTest, TakesEveryFloatingPointType) {
  for (const auto type : {torch::kHalf, torch::kBFloat16, torch::kDouble}) {
    const Tensors wanted = reference_state(*network_);
    for (auto& [name, tensor] : tensors_) {
      if (tensor.is_floating_point()) tensor = wanted.at(name).to(type);
    }
    load();
    const auto& loaded = network_->named_parameters()["conv3.weight"];
    EXPECT_EQ(loaded.scalar_type(), torch::kFloat);
    EXPECT_TRUE(torch::equal(loaded, tensors_["conv3.weight"].to(torch::kFloat)));
  }
}

TEST_F(LoadWeightsTest, StripsWhatADataParallelWrapperAdds) {
  const Tensors wanted = tensors_;
  tensors_.clear();
  for (const auto& [name, tensor] : wanted) tensors_["module." + name] = tensor;
  load();
  EXPECT_TRUE(are_equal(state_of(*network_), wanted));
}

TEST_F(LoadWeightsTest, CountsFromZeroWhereAnOldFileHasNoCount) {
  network_->named_buffers()["bn2.num_batches_tracked"].fill_(5);
  tensors_.erase("bn2.num_batches_tracked");
  load();
  EXPECT_EQ(network_->named_buffers()["bn2.num_batches_tracked"].item<int>(), 0);
}

TEST_F(LoadWeightsTest, KeepsItsClassifierWhereTheFileHasOtherClasses) {
  tensors_["fc.weight"] = torch::ones({1000, 64});
  tensors_["fc.bias"] = torch::ones({1000});
  const Tensors before = copy_of(state_of(*network_));
  const WeightReport report = load();
  const Tensors after = state_of(*network_);
  EXPECT_TRUE(torch::equal(after.at("fc.weight"), before.at("fc.weight")));
  EXPECT_TRUE(torch::equal(after.at("fc.bias"), before.at("fc.bias")));
  EXPECT_TRUE(torch::equal(after.at("conv1.weight"), tensors_["conv1.weight"]));
  EXPECT_THAT(report.fresh, ElementsAre("fc.bias", "fc.weight"));
  EXPECT_EQ(report.file_class_count, 1000);
  EXPECT_EQ(describe(report), "18 tensors; the classifier is new: the file's is for 1000 classes");
}

TEST_F(LoadWeightsTest, KeepsItsClassifierWhereTheFileHasNone) {
  tensors_.erase("fc.weight");
  tensors_.erase("fc.bias");
  const Tensors before = copy_of(state_of(*network_));
  const WeightReport report = load();
  EXPECT_TRUE(torch::equal(state_of(*network_).at("fc.weight"), before.at("fc.weight")));
  EXPECT_EQ(report.file_class_count, 0);
  EXPECT_EQ(describe(report), "18 tensors; the classifier is new: the file has none");
}

TEST_F(LoadWeightsTest, RefusesHalfAClassifier) {
  tensors_.erase("fc.bias");
  EXPECT_THAT(refusal(), HasSubstr("has no tensor fc.bias of shape [10]"));
}

TEST_F(LoadWeightsTest, RefusesAClassifierOfOtherFeatures) {
  tensors_["fc.weight"] = torch::ones({1000, 512});
  tensors_["fc.bias"] = torch::ones({1000});
  EXPECT_THAT(refusal(),
              HasSubstr("tensor fc.weight has shape [1000, 512], this network needs [10, 64]"));
}

TEST_F(LoadWeightsTest, NamesATensorThatIsMissing) {
  tensors_.erase("bn3.running_var");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("has no tensor bn3.running_var of shape [64]"),
                               HasSubstr("1 of the 20 tensors of this network are missing")));
}

TEST_F(LoadWeightsTest, NamesATensorThatIsExtra) {
  tensors_["conv4.weight"] = torch::ones({2, 3});
  EXPECT_THAT(refusal(), HasSubstr("tensor conv4.weight of shape [2, 3] does not belong to this "
                                   "network, nor do 0 others"));
}

TEST_F(LoadWeightsTest, NamesAnExtraTensorOfTheClassifierToo) {
  tensors_["fc.scale"] = torch::ones({10});
  EXPECT_THAT(refusal(), HasSubstr("tensor fc.scale of shape [10] does not belong"));
}

TEST_F(LoadWeightsTest, StripsNoPrefixThatSomeNamesLack) {
  tensors_["module.conv1.weight"] = tensors_["conv1.weight"];
  EXPECT_THAT(refusal(),
              HasSubstr("tensor module.conv1.weight of shape [16, 3, 3, 3] does not belong"));
}

TEST_F(LoadWeightsTest, NamesBothShapesWhereTheyDiffer) {
  tensors_["conv2.weight"] = torch::ones({32, 16, 5, 5});
  EXPECT_THAT(refusal(), HasSubstr("tensor conv2.weight has shape [32, 16, 5, 5], this network "
                                   "needs [32, 16, 3, 3]"));
}

TEST_F(LoadWeightsTest, RefusesFewerChannelsOfTheImages) {
  tensors_["conv1.weight"] = torch::ones({16, 1, 3, 3});
  EXPECT_THAT(refusal(), HasSubstr("conv1.weight has shape [16, 1, 3, 3], this network needs "
                                   "[16, 3, 3, 3]"));
}

TEST_F(LoadWeightsTest, RefusesOtherRowsOutsideTheClassifier) {
  tensors_["bn1.weight"] = torch::ones({17});
  EXPECT_THAT(refusal(), HasSubstr("tensor bn1.weight has shape [17], this network needs [16]"));
}

TEST_F(LoadWeightsTest, RefusesNumbersThatAreNotFinite) {
  constexpr double Infinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), Infinity, -Infinity}) {
    tensors_["bn2.bias"] = reference_tensor("bn2.bias", {32});
    set_first("bn2.bias", value);
    EXPECT_THAT(refusal(), HasSubstr("tensor bn2.bias contains NaN, infinity"));
  }
}

TEST_F(LoadWeightsTest, RefusesNumbersTooLargeForFloat32) {
  tensors_["bn2.bias"] = tensors_["bn2.bias"].to(torch::kDouble);
  set_first("bn2.bias", 1e300);
  EXPECT_THAT(refusal(), HasSubstr("tensor bn2.bias contains"));
}

TEST_F(LoadWeightsTest, RefusesIntegersForWeights) {
  tensors_["conv1.weight"] = torch::ones({16, 3, 3, 3}, torch::kChar);
  EXPECT_THAT(refusal(), HasSubstr("tensor conv1.weight has type Char, this network needs Float"));
}

TEST_F(LoadWeightsTest, RefusesFractionsForCounts) {
  tensors_["bn1.num_batches_tracked"] = torch::full({}, 0.5);
  EXPECT_THAT(refusal(), HasSubstr("bn1.num_batches_tracked has type Float, this network needs "
                                   "Long"));
}

TEST_F(LoadWeightsTest, RefusesTheWeightsOfAnotherNetwork) {
  tensors_ = state_of(*make_model("resnet18-cifar", {3, 10, 0}));
  // Both have conv1, bn1 and fc.
  EXPECT_THAT(refusal(), AllOf(HasSubstr("has no tensor bn2.bias of shape [32]"),
                               HasSubstr("10 of the 20 tensors of this network are missing")));
}

TEST_F(LoadWeightsTest, RefusesAFileWithoutTensors) {
  tensors_.clear();
  EXPECT_THAT(refusal(), HasSubstr("has no tensor bn1.bias"));
}

TEST_F(LoadWeightsTest, RefusesWhatIsNoWeightFile) {
  std::ofstream(path_) << "weights";
  EXPECT_THAT(message_of<BadFile>([&] { (void)load_weights(*network_, path_); }),
              HasSubstr(path_.string()));
  EXPECT_THAT(message_of<BadFile>([&] { (void)load_weights(*network_, folder_ / "none"); }),
              HasSubstr("none"));
}

}  // namespace
}  // namespace rcap
