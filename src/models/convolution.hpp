#pragma once

#include <torch/torch.h>

namespace rcap {

/// A square convolution of odd size that keeps the image's size at stride 1, without a bias,
/// because the batch norm that follows has its own.
[[nodiscard]] torch::nn::Conv2d convolution(int from, int to, int size, int stride, int groups = 1);

/// The initialisation of the paper that introduced it, as in torchvision: normal, with the variance
/// that keeps the scale of gradients. Biases become 0.
void initialise_convolutions(torch::nn::Module& network);

}  // namespace rcap
