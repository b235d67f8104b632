#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "models/dino_options.hpp"
#include "rcap/core/ids.hpp"

namespace rcap {

struct ForwardOptions {
  std::string model;
  std::filesystem::path weights;  ///< empty: random weights
  std::filesystem::path input;
  std::filesystem::path output;
  std::optional<ClassId> class_count;  ///< empty: as in the weights, or else 1000
  DinoOptions dino;
  std::uint64_t seed = 0;
  int threads = 1;
  bool train = false;  ///< a training pass too
};

/// Runs a network once on the tensors of a file and writes the outputs, so that anyone can compare
/// them with another implementation.
///
/// Reads `x`, N x C x H x W, and for `train` the labels `y`. Writes `logits` in evaluation mode;
/// for `train` (with batch statistics, without randomness) also `train_logits`, `train_losses`,
/// `train_loss`, `grad.NAME` of every trained parameter and `buf.NAME` of every buffer afterwards;
/// for a network with tokens, these and its features too.
///
/// @return the report of loading the weights
/// @throws InvalidArgument  an unknown network, tensors that do not fit
/// @throws BadFile          a file that cannot be read or written
std::string forward_once(const ForwardOptions& options);

}  // namespace rcap
