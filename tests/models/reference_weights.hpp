#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <torch/torch.h>

#include "rcap/core/random_stream.hpp"

namespace rcap {

/// Weights that are a function of their names, so that another implementation can be given the
/// same ones without a file: scripts/compare-models has this function in Python, to the bit.
/// Nothing in them is 0 or 1 throughout, as it would be in a fresh network, so that no part of
/// a network is without effect.
///
/// Element i of the tensor called `name` is made of u, 24 random bits in [0, 1), and s = 2u - 1:
///
///     u = (mix64(fnv1a(name) + (i + 1) * 0x9e3779b97f4a7c15) >> 40) * 2^-24
///
///     last part of the name             value
///     running_var                       0.5 + u
///     running_mean                      0.2 s
///     num_batches_tracked               0
///     gamma (layer scale)               0.1 + 0.04 s
///     attention_biases                  0.5 s
///     bias, *token*, pos_embed          0.2 s
///     weight, of one dimension          1 + 0.2 s
///     x (the images)                    2 s
///     any other, of shape [., 1, ., .]  s sqrt(24 / fan_in)
///     any other                         s sqrt(3 / fan_in), with a variance of 1 / fan_in
///
/// in double, rounded to float32. fan_in is the product of all sizes but the first. With these
/// numbers the outputs of every network differ between images by about as much as they are
/// large. Depthwise convolutions have more than their share because the signal of
/// EfficientNet dies otherwise (squeeze-excite halves it in each block), and layer scale is
/// small because that of EfficientFormerV2 would grow until attention sees one key alone.
class ReferenceValue {
 public:
  ReferenceValue(std::string_view name, torch::IntArrayRef shape)
      : stream_(RandomStream::from_start(fnv1a(name))) {
    const std::string_view last = name.substr(name.rfind('.') + 1);
    const auto is = [&](std::string_view word) { return last == word; };
    if (is("running_var")) {
      set(0.5, 1.0, 0.0);
    } else if (is("running_mean")) {
      set(0.0, 0.0, 0.2);
    } else if (is("num_batches_tracked")) {
      set(0.0, 0.0, 0.0);
    } else if (is("gamma")) {
      set(0.1, 0.0, 0.04);
    } else if (is("attention_biases")) {
      set(0.0, 0.0, 0.5);
    } else if (is("bias") || is("pos_embed") || last.find("token") != std::string_view::npos) {
      set(0.0, 0.0, 0.2);
    } else if (is("weight") && shape.size() == 1) {
      set(1.0, 0.0, 0.2);
    } else if (name == "x") {
      set(0.0, 0.0, 2.0);
    } else {
      const bool is_depthwise = shape.size() == 4 && shape[1] == 1;
      const auto fan_in = static_cast<double>(c10::multiply_integers(shape.slice(1)));
      set(0.0, 0.0, std::sqrt((is_depthwise ? 24.0 : 3.0) / fan_in));
    }
  }

  [[nodiscard]] double operator()(std::int64_t element) const {
    const double u =
        static_cast<double>(stream_.bits(static_cast<SampleId>(element)) >> 40) * 0x1p-24;
    return base_ + u_factor_ * u + s_factor_ * (2.0 * u - 1.0);
  }

 private:
  static std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
  }

  void set(double base, double u_factor, double s_factor) {
    base_ = base;
    u_factor_ = u_factor;
    s_factor_ = s_factor;
  }

  RandomStream stream_;
  double base_ = 0.0;
  double u_factor_ = 0.0;
  double s_factor_ = 0.0;
};

inline torch::Tensor reference_tensor(std::string_view name, torch::IntArrayRef shape) {
  auto tensor = torch::empty(shape);
  auto* values = tensor.data_ptr<float>();
  const ReferenceValue value(name, shape);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<float>(value(i));
  return tensor;
}

/// Fills the parameters and buffers of a network.
inline void set_reference_weights(torch::nn::Module& network) {
  const torch::NoGradGuard no_grad;
  for (const auto& item : network.named_parameters()) {
    item.value().copy_(reference_tensor(item.key(), item.value().sizes()));
  }
  for (const auto& item : network.named_buffers()) {
    item.value().copy_(reference_tensor(item.key(), item.value().sizes()));
  }
}

inline torch::Tensor reference_images(torch::IntArrayRef shape) {
  return reference_tensor("x", shape);
}

}  // namespace rcap
