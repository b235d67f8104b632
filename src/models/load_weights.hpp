#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/network.hpp"

namespace rcap {

/// What `load_weights` found and did.
struct WeightReport {
  std::int64_t loaded_count = 0;         ///< tensors taken from the file
  std::vector<std::string> fresh;        ///< tensors of the classifier that keep their values
  std::int64_t file_class_count = 0;     ///< of a classifier left in the file; 0 if there is none
  std::vector<std::string> ignored;      ///< tensors of the file that are not used here
  std::string wrapper;                   ///< as `WeightFile::wrapper`
  std::vector<std::string> passed_over;  ///< as `WeightFile::passed_over`
};

/// Fills a network with the weights of a safetensors or PyTorch file, by name.
///
///  - Names may be those of other implementations (`Network::translate`), and all may begin with
///    `module.` (which a data-parallel wrapper adds).
///  - Numbers of any floating-point type become float32. NaN and infinities are refused.
///  - If the file has no classifier, or one for another number of classes, the network keeps its
///    own. One that fits is loaded: whether to start with a new one is the caller's choice.
///  - If a batch norm's `num_batches_tracked` is absent it becomes 0; old files lack it.
///  - Any other tensor that is missing, extra or of another shape is an error.
///
/// Everything is checked before anything is copied: after an error the network is as it was.
/// The network may be on any device and in any memory format.
///
/// @throws BadFile  names the file, the first tensor that is wrong, and both shapes
WeightReport load_weights(Network& network, const std::filesystem::path& path);

/// The same in words, for the person who chose the file, such as "318 tensors; the classifier is
/// new: the file's is for 1000 classes".
[[nodiscard]] std::string describe(const WeightReport& report);

}  // namespace rcap
