#include "models/forward_once.hpp"

#include <array>
#include <memory>
#include <vector>

#include <torch/torch.h>

#include "io/refuse_file.hpp"
#include "io/weight_file.hpp"
#include "models/load_weights.hpp"
#include "models/make_model.hpp"
#include "models/stored_tensor.hpp"
#include "models/torch_threads.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

/// The classifiers' weights in the files of all networks: their rows are the classes.
constexpr std::array ClassifierNames{"fc.weight",   "linear.weight", "classifier.weight",
                                     "head.weight", "head.2.weight", "classifier.1.weight"};
constexpr ClassId UsualClassCount = 1000;

/// How many classes the network of a file distinguishes, if it has a classifier.
std::optional<ClassId> class_count_of(const fs::path& path) {
  const WeightFile file(path);
  for (const std::string prefix : {"", "module."}) {
    for (const char* name : ClassifierNames) {
      const TensorView* view = file.find(prefix + name);
      if (view != nullptr && view->shape.size() == 2) return static_cast<ClassId>(view->shape[0]);
    }
  }
  return std::nullopt;
}

ClassId choose_class_count(const ForwardOptions& options) {
  if (options.class_count) return *options.class_count;
  if (options.weights.empty()) return UsualClassCount;
  return class_count_of(options.weights).value_or(UsualClassCount);
}

torch::Tensor read_images(const WeightFile& file, const fs::path& path) {
  const TensorView* view = file.find("x");
  if (view == nullptr || view->shape.size() != 4) {
    refuse_file(path, "has no tensor \"x\" of four dimensions, N x C x H x W");
  }
  return tensor_of(*view).to(torch::kFloat);
}

torch::Tensor read_labels(const WeightFile& file, const fs::path& path, std::int64_t count,
                          ClassId class_count) {
  const TensorView* view = file.find("y");
  if (view == nullptr || view->shape != std::vector{count}) {
    refuse_file(path, "training needs a tensor \"y\" of {} labels, one for each image of x", count);
  }
  torch::Tensor labels = tensor_of(*view).to(torch::kLong);
  const auto lowest = labels.min().item<std::int64_t>();
  const auto highest = labels.max().item<std::int64_t>();
  if (lowest < 0 || highest >= class_count) {
    refuse_file(path, "a label in y is {}; labels must lie between 0 and {}",
                lowest < 0 ? lowest : highest, class_count - 1);
  }
  return labels;
}

std::shared_ptr<Network> make_network(const ForwardOptions& options, const torch::Tensor& images,
                                      ClassId class_count) {
  return make_model(options.model, {.channels = static_cast<int>(images.size(1)),
                                    .class_count = class_count,
                                    .seed = options.seed,
                                    .image_height = static_cast<int>(images.size(2)),
                                    .image_width = static_cast<int>(images.size(3)),
                                    .dino = options.dino});
}

void run_evaluation(Network& network, const torch::Tensor& images, NamedTensors& outputs) {
  const torch::NoGradGuard no_grad;
  network.eval();
  outputs.emplace_back("logits", network.forward(images));
  for (auto& [name, tensor] : network.tokens(images)) outputs.emplace_back(name, tensor);
}

void run_training(Network& network, const torch::Tensor& images, const torch::Tensor& labels,
                  NamedTensors& outputs) {
  namespace F = torch::nn::functional;
  network.train();
  turn_off_chance(network);
  const torch::Tensor logits = network.forward(images);
  const torch::Tensor losses =
      F::cross_entropy(logits, labels, F::CrossEntropyFuncOptions().reduction(torch::kNone));
  const torch::Tensor loss = losses.mean();
  loss.backward();
  outputs.emplace_back("train_logits", logits);
  outputs.emplace_back("train_losses", losses);
  outputs.emplace_back("train_loss", loss);
  for (const auto& item : network.named_parameters()) {
    if (item.value().requires_grad()) {
      outputs.emplace_back("grad." + item.key(), item.value().grad());
    }
  }
  for (const auto& item : network.named_buffers()) {
    outputs.emplace_back("buf." + item.key(), item.value());
  }
}

}  // namespace

std::string forward_once(const ForwardOptions& options) {
  set_torch_threads(options.threads);
  const WeightFile input(options.input);
  const torch::Tensor images = read_images(input, options.input);
  const ClassId class_count = choose_class_count(options);
  torch::Tensor labels;
  if (options.train) {
    labels = read_labels(input, options.input, images.size(0), class_count);
  }
  const auto network = make_network(options, images, class_count);
  std::string remark;
  if (!options.weights.empty()) remark = describe(load_weights(*network, options.weights));
  NamedTensors outputs;
  run_evaluation(*network, images, outputs);
  if (options.train) run_training(*network, images, labels, outputs);
  save_tensors(options.output, outputs, {{"model", options.model}});
  return remark;
}

}  // namespace rcap
