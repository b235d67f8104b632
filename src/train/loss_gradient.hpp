#pragma once

#include <cstdint>
#include <vector>

#include "rcap/core/ids.hpp"

namespace rcap {

/// The toy experiment behind RCAP's use of the loss: does an example's loss rise and fall with
/// the norm of its gradient? Three classes of thirty points in the plane, a feed-forward
/// network with two hidden layers, Adam.
struct LossGradientOptions {
  std::uint64_t seed = 0;
  std::int64_t epochs = 100;  ///< at least 1
};

/// One example while the network trains. Entry e of each vector is from after e epochs, so entry 0
/// is from the untrained network.
struct ExampleTrace {
  SampleId example = 0;
  ClassId label = 0;
  std::vector<double> losses;
  /// Norm of the gradient of this example's loss with respect to all parameters, at the same time.
  std::vector<double> gradient_norms;
};

/// Follows ten of the ninety examples, chosen by the seed, in the order of their ids. Runs on
/// one thread; the same seed gives the same numbers.
/// @throws InvalidArgument  `epochs` is below 1
[[nodiscard]] std::vector<ExampleTrace> trace_losses_and_gradients(
    const LossGradientOptions& options);

}  // namespace rcap
