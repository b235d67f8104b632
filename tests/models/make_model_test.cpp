#include "rcap/models/make_model.hpp"

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const auto& parameter : network.parameters()) count += parameter.numel();
  return count;
}

TEST(MakeModel, SmallCnnHasTwentyFourThousandParameters) {
  // 9 (16 + 16 * 32 + 32 * 64) of the convolutions, 2 (16 + 32 + 64) of batch norm, 65 * 10.
  EXPECT_EQ(parameter_count(*make_model("small-cnn", {1, 10, 0})), 24'058);
}

TEST(MakeModel, ResNet18HasThePublishedNumberOfParameters) {
  // With the 3x3 stem, for CIFAR-10 and CIFAR-100.
  EXPECT_EQ(parameter_count(*make_model("resnet18-cifar", {3, 10, 0})), 11'173'962);
  EXPECT_EQ(parameter_count(*make_model("resnet18-cifar", {3, 100, 0})), 11'220'132);
}

TEST(MakeModel, ResNet18HasTorchvisionsNames) {
  const auto network = make_model("resnet18-cifar", {3, 10, 0});
  const auto names = network->named_parameters().keys();
  for (const char* name : {"conv1.weight", "bn1.bias", "layer1.0.conv1.weight",
                           "layer2.0.downsample.0.weight", "layer4.1.bn2.weight", "fc.bias"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
}

TEST(MakeModel, GivesARowOfLogitsForEachImage) {
  for (const ModelInfo& info : models()) {
    const auto network = make_model(info.name, {3, 7, 0});
    network->eval();
    EXPECT_EQ(network->forward(torch::zeros({2, 3, 32, 32})).sizes(), torch::IntArrayRef({2, 7}))
        << info.name;
  }
}

TEST(MakeModel, RefusesAnUnknownName) {
  EXPECT_THAT(message_of<InvalidArgument>([] { (void)make_model("vgg", {}); }),
              HasSubstr("model \"vgg\" is none of small-cnn, resnet18-cifar"));
}

}  // namespace
}  // namespace rcap
