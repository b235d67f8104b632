#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "models/load_weights.hpp"
#include "models/make_model.hpp"
#include "models/reference_weights.hpp"
#include "models/stored_tensor.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {

using Tensors = std::map<std::string, torch::Tensor>;

inline Tensors state_of(const Network& network) {
  Tensors state;
  for (const auto& item : network.named_parameters()) state[item.key()] = item.value().detach();
  for (const auto& item : network.named_buffers()) state[item.key()] = item.value();
  return state;
}

/// Tensors for a network, none of which it has by itself.
inline Tensors reference_state(const Network& network) {
  Tensors state;
  for (const auto& [name, tensor] : state_of(network)) {
    state[name] = reference_tensor(name, tensor.sizes()).to(tensor.scalar_type());
  }
  return state;
}

inline Tensors copy_of(const Tensors& tensors) {
  Tensors copy;
  for (const auto& [name, tensor] : tensors) copy[name] = tensor.clone();
  return copy;
}

inline bool are_equal(const Tensors& one, const Tensors& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
    return a.first == b.first && torch::equal(a.second, b.second);
  });
}

/// A network of 20 tensors, and a file for it that a test spoils.
class LoadWeightsTest : public testing::Test {
 protected:
  WeightReport load() {
    write();
    return load_weights(*network_, path_);
  }

  /// The message of the refusal; the network must be as before.
  std::string refusal() {
    write();
    const Tensors before = copy_of(state_of(*network_));
    std::string message = message_of<BadFile>([&] { (void)load_weights(*network_, path_); });
    EXPECT_THAT(message, testing::HasSubstr(path_.string()));
    EXPECT_TRUE(are_equal(state_of(*network_), before)) << "it changed the network";
    return message;
  }

  void write() const {
    std::vector<TensorView> views;
    for (const auto& [name, tensor] : tensors_) views.push_back(view_of(name, tensor));
    write_safetensors(path_, views);
  }

  void set_first(const std::string& name, double value) { tensors_[name].view({-1})[0] = value; }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "weights.safetensors";
  std::shared_ptr<Network> network_ = make_model("small-cnn", {3, 10, 0});
  Tensors tensors_ = reference_state(*network_);
};

}  // namespace rcap
