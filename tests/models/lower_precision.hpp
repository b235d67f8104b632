#pragma once

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "models/network.hpp"
#include "models/reference_weights.hpp"

namespace rcap {

/// Within it operations that are safe in bf16 run in bf16, as in `rcap train --precision bf16`.
class Bf16 {
 public:
  Bf16() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  }
  ~Bf16() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
  Bf16(const Bf16&) = delete;
  Bf16& operator=(const Bf16&) = delete;
};

/// The largest difference, relative to the largest value.
inline double difference(const torch::Tensor& found, const torch::Tensor& wanted) {
  return ((found - wanted).abs().max() / wanted.abs().max()).item<double>();
}

/// Expects that a network with reference weights gives nearly the same in channels-last, and in
/// bf16 too, where its gradients are finite numbers of fp32. On few pixels: bf16 is slow on
/// processors that have no instructions for it.
inline void expect_nearly_the_same_in_lower_precision(Network& network, int image_side) {
  auto images = reference_images({1, 3, image_side, image_side});
  network.eval();
  const auto wanted = network.forward(images).detach();

  use_channels_last(network);
  images = images.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_LT(difference(network.forward(images).detach(), wanted), 1e-4);

  const Bf16 bf16;
  const auto logits = network.forward(images).to(torch::kFloat);
  ASSERT_EQ(logits.sizes(), wanted.sizes());
  // bf16 has 8 bits: each operation is off by up to 0.4 %.
  EXPECT_LT(difference(logits.detach(), wanted), 0.05);
  logits.sum().backward();
  for (const auto& item : network.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    EXPECT_EQ(item.value().grad().scalar_type(), torch::kFloat) << item.key();
    EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
  }
  network.zero_grad();
}

}  // namespace rcap
