#include "train/presets.hpp"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/nearest_name.hpp"
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
  options.lr = 0.05;
}

/// The same for every table. With SGD, classes of ten rows in 40,000 are not learnt in 20 epochs.
void apply_table(TrainOptions& options) {
  options.dataset = "table";
  options.imbalance = 1;
  options.model = "mlp";
  options.epochs = 20;
  options.batch_size = 128;
  options.optimizer = OptimizerKind::AdamW;
  options.lr = 3e-3;
}

/// Presets that repeat the paper use its rule and its pass before training.
void apply_paper(TrainOptions& options) {
  options.pruner.rcap.class_share = ClassShare::Paper;
  options.pruner.rcap.initial_loss = InitialLoss::Forward;
}

/// The paper's recipe for CIFAR.
void apply_cifar(TrainOptions& options, const char* dataset) {
  apply_paper(options);
  options.dataset = dataset;
  options.imbalance = 1;
  options.crop_padding = 4;
  options.flip = true;
  options.model = "resnet18-cifar";
  options.epochs = 200;
  options.batch_size = 128;
  options.lr = 0.1;
}

/// What the paper's four experiments on photographs have in common. The paper does not give the
/// sizes, here 256 and 224, nor the schedule, here a cosine by batch.
void apply_photographs(TrainOptions& options, const char* dataset, const char* model) {
  apply_paper(options);
  options.dataset = dataset;
  options.imbalance = 1;
  options.model = model;
  options.resize = 256;
  options.image_size = 224;
  options.random_crop = false;
  options.flip = true;
  options.trivial_augment = true;
  options.optimizer = OptimizerKind::AdamW;
  options.lr = 1e-3;
  options.weight_decay = 5e-4;
  options.batch_size = 256;
  options.epochs = 5;
}

void apply_imagenet(TrainOptions& options) {
  apply_photographs(options, "imagenet", "dinov2-mlp");
  options.flip = false;
  options.weight_decay = 0.01;  // the paper gives none: the default of AdamW
  options.epochs = 10;
}

void apply_waterbirds(TrainOptions& options) {
  apply_photographs(options, "waterbirds", "efficientnet-b3");
  options.random_crop = true;
  options.lr = 4e-5;
  options.batch_size = 32;
  options.epochs = 300;
}

void apply_celeba(TrainOptions& options) {
  apply_photographs(options, "celeba", "efficientformerv2-s0");
  options.center_crop = 178;  // the width of the images, which are 218 high
  options.resize = 224;
}

void apply_inaturalist(TrainOptions& options) {
  apply_photographs(options, "inaturalist", "resnet50");
}

constexpr std::array Presets{
    Preset{.name = "fashion-mnist-lt",
           .summary = "Fashion-MNIST made long-tailed (100), small-cnn, 60 epochs: for a laptop",
           .apply = apply_fashion_mnist_lt},
    Preset{.name = "cifar10",
           .summary = "the paper's CIFAR-10: ResNet-18, 200 epochs",
           .apply = [](TrainOptions& options) { apply_cifar(options, "cifar10"); },
           .beta = {3, 1, 2, 1}},
    Preset{.name = "cifar100",
           .summary = "the paper's CIFAR-100: ResNet-18, 200 epochs",
           .apply = [](TrainOptions& options) { apply_cifar(options, "cifar100"); },
           .beta = {3, 2, 2, 2}},
    Preset{
        .name = "imagenet",
        .summary =
            "the paper's ImageNet: a frozen DINOv2 with a trained head, 10 epochs; needs weights",
        .apply = apply_imagenet,
        .starts_from_weights = true,
        .beta = {1.0 / 3, 4, 2, 2}},
    Preset{.name = "waterbirds",
           .summary = "the paper's Waterbirds: EfficientNet-b3, 300 epochs; needs weights",
           .apply = apply_waterbirds,
           .starts_from_weights = true,
           .beta = {3, 0.5, 0.5, 0.5}},
    Preset{
        .name = "celeba",
        .summary = "the paper's CelebA, blond or not: EfficientFormerV2-S0 from scratch, 5 epochs",
        .apply = apply_celeba,
        .beta = {2, 2, 3, 1}},
    Preset{
        .name = "inaturalist",
        .summary = "the paper's iNaturalist, 13 superclasses: ResNet-50, 5 epochs; needs weights",
        .apply = apply_inaturalist,
        .starts_from_weights = true,
        .beta = {2, 3, 3, 1.0 / 3}},
    Preset{
        .name = "table",
        .summary = "a table of numbers and categories, mlp, 20 epochs: takes seconds; needs data",
        .apply = apply_table},
};

}  // namespace

std::span<const Preset> presets() noexcept { return Presets; }

const Preset& find_preset(std::string_view name, Reader reader) {
  std::vector<std::string> names;
  for (const Preset& preset : Presets) {
    if (preset.name == name) return preset;
    names.emplace_back(preset.name);
  }
  throw InvalidArgument(fmt::format("{} \"{}\" is not one of {}{}", spell("preset", reader), name,
                                    fmt::join(names, ", "), did_you_mean(name, names)));
}

std::optional<double> preset_beta(const Preset& preset, double pruning_rate) noexcept {
  for (std::size_t i = 0; i < Rates.size(); ++i) {
    const bool is_given = preset.beta[i] > 0;
    if (is_given && std::abs(Rates[i] - pruning_rate) < 1e-9) return preset.beta[i];
  }
  return std::nullopt;
}

}  // namespace rcap
