#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "train/options.hpp"

namespace rcap {

/// All settings of one experiment.
struct Preset {
  std::string_view name;
  std::string_view summary;
  void (*apply)(TrainOptions&);
  bool starts_from_weights = false;  ///< official ones, which the user has to give
  /// The paper's temperature at pruning rates 0.5, 0.7, 0.8 and 0.9; all 0 if it has none.
  double beta[4] = {};
};

/// All presets, the default one first.
[[nodiscard]] std::span<const Preset> presets() noexcept;

/// @throws InvalidArgument  an unknown name (lists the known ones)
[[nodiscard]] const Preset& find_preset(std::string_view name, Reader reader = Reader::Code);

/// The temperature of a preset at a rate, if the paper gives one.
[[nodiscard]] std::optional<double> preset_beta(const Preset& preset, double pruning_rate) noexcept;

}  // namespace rcap
