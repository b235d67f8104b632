#include "models/make_model.hpp"

#include <array>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "models/dinov2.hpp"
#include "models/efficientformer.hpp"
#include "models/efficientnet.hpp"
#include "models/mlp.hpp"
#include "models/resnet.hpp"
#include "models/small_cnn.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

template <class Model>
std::shared_ptr<Network> make(const ModelOptions& options) {
  return std::make_shared<Model>(options);
}

template <EfficientFormerSize Size>
std::shared_ptr<Network> make_efficientformer(const ModelOptions& options) {
  return std::make_shared<EfficientFormerV2>(Size, options);
}

struct Entry {
  ModelInfo info;
  std::shared_ptr<Network> (*make)(const ModelOptions&);
};

constexpr std::array Entries{
    Entry{{"small-cnn", "3 convolutions, 16-32-64 channels, small enough for a CPU"},
          make<SmallCnn>},
    Entry{{"mlp", "2 hidden layers of 128, for rows of numbers; images are flattened"}, make<Mlp>},
    Entry{{"resnet18-cifar", "ResNet-18 with a 3x3 stem, for images of about 32 x 32"},
          make<ResNet18Cifar>},
    Entry{{"resnet18", "ResNet-18 for photographs"}, make<ResNet18>},
    Entry{{"resnet50", "ResNet-50 for photographs, to be fine-tuned"}, make<ResNet50>},
    Entry{{"efficientnet-b3", "EfficientNet-b3 for photographs, to be fine-tuned"},
          make<EfficientNetB3>},
    Entry{{"efficientformerv2-s0", "EfficientFormerV2 S0, 3.2 million parameters"},
          make_efficientformer<EfficientFormerSize::S0>},
    Entry{{"efficientformerv2-s1", "EfficientFormerV2 S1, 5.7 million parameters"},
          make_efficientformer<EfficientFormerSize::S1>},
    Entry{{"efficientformerv2-s2", "EfficientFormerV2 S2, 12 million parameters"},
          make_efficientformer<EfficientFormerSize::S2>},
    Entry{{"efficientformerv2-l", "EfficientFormerV2 L, 26 million parameters"},
          make_efficientformer<EfficientFormerSize::L>},
    Entry{{"dinov2-mlp", "DINOv2 ViT-B/14 with registers, frozen, and two linear layers to train"},
          make<DinoV2Mlp>},
};

constexpr auto Infos = [] {
  std::array<ModelInfo, Entries.size()> infos;
  for (std::size_t i = 0; i < Entries.size(); ++i) infos[i] = Entries[i].info;
  return infos;
}();

}  // namespace

std::span<const ModelInfo> models() noexcept { return Infos; }

std::shared_ptr<Network> make_model(std::string_view name, const ModelOptions& options) {
  for (const Entry& entry : Entries) {
    if (entry.info.name != name) continue;
    torch::manual_seed(RandomStream(options.seed, Purpose::InitialWeights, 0).bits(0));
    return entry.make(options);
  }
  std::vector<std::string_view> names;
  for (const ModelInfo& info : models()) names.push_back(info.name);
  throw InvalidArgument(fmt::format("model \"{}\" is not one of {}", name, fmt::join(names, ", ")));
}

}  // namespace rcap
