#include "models/load_weights.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/refuse_file.hpp"
#include "io/weight_file.hpp"
#include "models/stored_tensor.hpp"

namespace rcap {
namespace {

using Targets = std::map<std::string, torch::Tensor, std::less<>>;

struct Copy {
  torch::Tensor to;
  torch::Tensor from;
};

/// A classifier that the network keeps, because the file has none that fits.
struct KeptHead {
  std::vector<std::string> names;  ///< none if the file's is to be loaded
  std::int64_t file_class_count = 0;

  [[nodiscard]] bool contains(const std::string& name) const {
    return std::ranges::find(names, name) != names.end();
  }
};

Targets tensors_of(const Network& network) {
  Targets targets;
  for (const auto& item : network.named_parameters()) targets.emplace(item.key(), item.value());
  for (const auto& item : network.named_buffers()) targets.emplace(item.key(), item.value());
  return targets;
}

/// The tensors of a file as views of it; converted ones are copies.
WeightSet read_weights(const WeightFile& file, const std::filesystem::path& path) {
  constexpr std::string_view Prefix = "module.";
  const bool is_prefixed = std::ranges::all_of(
      file.tensors(), [&](const TensorView& stored) { return stored.name.starts_with(Prefix); });
  WeightSet weights(path);
  for (const TensorView& stored : file.tensors()) {
    auto tensor = tensor_of(stored);
    if (tensor.is_floating_point()) tensor = tensor.to(torch::kFloat);
    weights.add(is_prefixed ? stored.name.substr(Prefix.size()) : stored.name, std::move(tensor));
  }
  return weights;
}

/// Whether the shapes differ only in the first number, like those of classifiers for different
/// numbers of classes.
bool differ_in_rows_only(const torch::Tensor& a, const torch::Tensor& b) {
  return a.dim() > 0 && a.dim() == b.dim() && a.size(0) != b.size(0) &&
         a.sizes().slice(1) == b.sizes().slice(1);
}

bool is_of_head(const std::string& name, std::span<const std::string> head_names) {
  return std::ranges::any_of(
      head_names, [&](const std::string& head_name) { return name.starts_with(head_name + '.'); });
}

KeptHead find_kept_head(const Network& network, const Targets& targets, const WeightSet& weights) {
  KeptHead head;
  std::size_t absent_count = 0;
  const auto head_names = network.head_names();
  for (const auto& [name, target] : targets) {
    if (!is_of_head(name, head_names)) continue;
    head.names.push_back(name);
    if (!weights.contains(name)) {
      ++absent_count;
    } else if (differ_in_rows_only(weights.at(name), target)) {
      head.file_class_count = weights.at(name).size(0);
    }
  }
  const bool has_none = absent_count == head.names.size();
  const bool has_another = absent_count == 0 && head.file_class_count > 0;
  return has_none || has_another ? head : KeptHead{};
}

/// How a message names a tensor: with its name in the file if the network uses another.
std::string both_names(const std::string& name, const std::string& name_in_file) {
  return name == name_in_file ? name : fmt::format("{} (here {})", name_in_file, name);
}

void refuse_missing(const Targets& targets, const WeightSet& weights, const KeptHead& head) {
  std::vector<std::string> missing;
  for (const auto& [name, target] : targets) {
    const bool may_be_absent = head.contains(name) || name.ends_with(".num_batches_tracked");
    if (!may_be_absent && !weights.contains(name)) missing.push_back(name);
  }
  if (missing.empty()) return;
  refuse_file(weights.path(),
              "has no tensor {} of shape {}; {} of the {} tensors of this network are missing; use "
              "weights of the chosen network",
              missing[0], targets.at(missing[0]).sizes().vec(), missing.size(), targets.size());
}

void refuse_extra(const Targets& targets, const WeightSet& weights) {
  std::vector<std::string> extra;
  for (const auto& [name, entry] : weights.entries()) {
    if (!targets.contains(name)) extra.push_back(name);
  }
  if (extra.empty()) return;
  const auto& first = weights.entries().at(extra[0]);
  refuse_file(weights.path(),
              "tensor {} of shape {} does not belong to this network, nor do {} others; use "
              "weights of the chosen network",
              both_names(extra[0], first.name_in_file), first.tensor.sizes().vec(),
              extra.size() - 1);
}

void refuse_misfit(const std::string& name, const WeightSet::Entry& entry,
                   const torch::Tensor& target, const WeightSet& weights) {
  const std::string names = both_names(name, entry.name_in_file);
  if (entry.tensor.sizes() != target.sizes()) {
    refuse_file(weights.path(),
                "tensor {} has shape {}, this network needs {}; use weights of the chosen network",
                names, entry.tensor.sizes().vec(), target.sizes().vec());
  }
  if (entry.tensor.is_floating_point() != target.is_floating_point()) {
    refuse_file(weights.path(),
                "tensor {} has type {}, this network needs {}; weights must be stored as "
                "floating-point numbers, counts as integers",
                names, c10::toString(entry.tensor.scalar_type()),
                c10::toString(target.scalar_type()));
  }
  if (entry.tensor.is_floating_point() && !entry.tensor.isfinite().all().item<bool>()) {
    refuse_file(
        weights.path(),
        "tensor {} contains NaN, infinity or a number too large for float32; use an undamaged file",
        names);
  }
}

/// Everything that is to be copied, after every check.
std::vector<Copy> plan_copies(const Targets& targets, const WeightSet& weights,
                              const KeptHead& head) {
  refuse_missing(targets, weights, head);
  refuse_extra(targets, weights);
  std::vector<Copy> copies;
  for (const auto& [name, target] : targets) {
    const auto found = weights.entries().find(name);
    if (found == weights.entries().end()) continue;
    const torch::Tensor& tensor = found->second.tensor;
    if (head.contains(name) && differ_in_rows_only(tensor, target)) continue;
    refuse_misfit(name, found->second, target, weights);
    if (!head.contains(name)) copies.push_back({target, tensor});
  }
  return copies;
}

}  // namespace

WeightReport load_weights(Network& network, const std::filesystem::path& path) {
  const torch::NoGradGuard no_grad;
  const WeightFile file(path);
  WeightSet weights = read_weights(file, path);
  network.translate(weights);
  const Targets targets = tensors_of(network);
  const KeptHead head = find_kept_head(network, targets, weights);
  const std::vector<Copy> copies = plan_copies(targets, weights, head);

  for (const Copy& copy : copies) copy.to.copy_(copy.from);
  for (const auto& [name, target] : targets) {
    // Counters that an old file lacks.
    if (!weights.contains(name) && !head.contains(name)) target.zero_();
  }
  return {static_cast<std::int64_t>(copies.size()),
          head.names,
          head.file_class_count,
          weights.ignored(),
          std::string(file.wrapper()),
          {file.passed_over().begin(), file.passed_over().end()}};
}

std::string describe(const WeightReport& report) {
  std::string text = fmt::format("{} tensors", report.loaded_count);
  if (!report.wrapper.empty()) text += fmt::format(" of \"{}\"", report.wrapper);
  if (!report.passed_over.empty()) {
    text += fmt::format(", not of \"{}\"", fmt::join(report.passed_over, "\", \""));
  }
  if (report.file_class_count > 0) {
    text += fmt::format("; the classifier is new: the file's is for {} classes",
                        report.file_class_count);
  } else if (!report.fresh.empty()) {
    text += "; the classifier is new: the file has none";
  }
  if (!report.ignored.empty()) {
    text += fmt::format("; left out: {}", fmt::join(report.ignored, ", "));
  }
  return text;
}

}  // namespace rcap
