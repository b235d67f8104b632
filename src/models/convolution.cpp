#include "models/convolution.hpp"

namespace rcap {

torch::nn::Conv2d convolution(int from, int to, int size, int stride, int groups) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, size)
                               .stride(stride)
                               .padding(size / 2)
                               .groups(groups)
                               .bias(false));
}

void initialise_convolutions(torch::nn::Module& network) {
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (auto* layer = module->as<torch::nn::Conv2d>()) {
      torch::nn::init::kaiming_normal_(layer->weight, 0.0, torch::kFanOut, torch::kReLU);
      if (layer->bias.defined()) torch::nn::init::zeros_(layer->bias);
    }
  }
}

}  // namespace rcap
