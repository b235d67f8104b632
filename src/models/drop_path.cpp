#include "models/drop_path.hpp"

#include "models/network.hpp"

namespace rcap {

torch::Tensor DropPathImpl::forward(const torch::Tensor& branch) {
  if (!is_training() || drop_probability_ == 0.0) return branch;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(branch.dim()), 1);
  shape[0] = branch.size(0);
  const double keep_probability = 1.0 - drop_probability_;
  const auto mask =
      torch::empty(shape, branch.options().requires_grad(false)).bernoulli_(keep_probability);
  return branch * mask.div_(keep_probability);
}

void turn_off_chance(torch::nn::Module& network) {
  for (const auto& module : network.modules()) {
    if (module->as<torch::nn::Dropout>() != nullptr || module->as<DropPath>() != nullptr) {
      module->eval();
    }
  }
}

void use_channels_last(torch::nn::Module& network) {
  for (torch::Tensor& parameter : network.parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.data().contiguous(at::MemoryFormat::ChannelsLast));
  }
}

}  // namespace rcap
