#include "rcap/train/presets.hpp"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

constexpr std::array Rates{0.5, 0.7, 0.8, 0.9};

void apply_fashion_mnist_lt(TrainOptions& options) {
  options.dataset = "fashion-mnist";
  options.imbalance = 100;
  options.model = "small-cnn";
  options.epochs = 60;
  options.batch_size = 64;
  options.learning_rate = 0.05;
}

/// The paper's recipe for CIFAR.
void apply_cifar(TrainOptions& options, const char* dataset) {
  options.dataset = dataset;
  options.imbalance = 1;
  options.crop_padding = 4;
  options.flip = true;
  options.model = "resnet18-cifar";
  options.epochs = 200;
  options.batch_size = 128;
  options.learning_rate = 0.1;
}

constexpr std::array Presets{
    Preset{"fashion-mnist-lt",
           "Fashion-MNIST made long-tailed (100), small-cnn, 60 epochs: for a laptop",
           apply_fashion_mnist_lt,
           {1, 1, 1, 1}},
    Preset{"cifar10",
           "the paper's CIFAR-10: ResNet-18, 200 epochs",
           [](TrainOptions& options) { apply_cifar(options, "cifar10"); },
           {3, 1, 2, 1}},
    Preset{"cifar100",
           "the paper's CIFAR-100: ResNet-18, 200 epochs",
           [](TrainOptions& options) { apply_cifar(options, "cifar100"); },
           {3, 2, 2, 2}},
};

}  // namespace

std::span<const Preset> presets() noexcept { return Presets; }

const Preset& find_preset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Preset& preset : Presets) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  throw InvalidArgument(fmt::format("--preset \"{}\" is none of {}", name, fmt::join(names, ", ")));
}

double preset_beta(const Preset& preset, double pruning_rate) noexcept {
  for (std::size_t i = 0; i < Rates.size(); ++i) {
    if (std::abs(Rates[i] - pruning_rate) < 1e-9) return preset.beta[i];
  }
  return 1.0;
}

}  // namespace rcap
