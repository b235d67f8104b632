// Every network in the arithmetic and memory format that training may ask for.

#include <algorithm>

#include <gmock/gmock.h>

#include "models/lower_precision.hpp"
#include "models/make_model.hpp"

namespace rcap {
namespace {

std::vector<std::string> networks() {
  std::vector<std::string> names;
  for (const ModelInfo& info : models()) {
    if (info.name != "dinov2-mlp") names.emplace_back(info.name);  // large: see dinov2_test.cpp
  }
  return names;
}

class PrecisionTest : public testing::TestWithParam<std::string> {};

TEST_P(PrecisionTest, Bf16AndChannelsLastGiveNearlyTheSame) {
  // EfficientFormerV2 needs 64 for more than one key in stage 3.
  const int side = GetParam().starts_with("efficientformer") ? 64 : 32;
  const auto network = make_model(GetParam(), {.image_height = side, .image_width = side});
  set_reference_weights(*network);
  expect_nearly_the_same_in_lower_precision(*network, side);
}

INSTANTIATE_TEST_SUITE_P(Networks, PrecisionTest, testing::ValuesIn(networks()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rcap
