#include "models/weight_set.hpp"

#include <utility>

#include "io/refuse_file.hpp"

namespace rcap {

const torch::Tensor& WeightSet::at(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse_file(path_, "has no tensor {}", name);
  return found->second.tensor;
}

void WeightSet::insert(const std::string& name, Entry entry) {
  const auto [place, is_new] = entries_.emplace(name, entry);
  if (is_new) return;
  refuse_file(path_, "tensors {} and {} both stand for {}; a file must contain it once",
              place->second.name_in_file, entry.name_in_file, name);
}

void WeightSet::add(const std::string& name, torch::Tensor tensor) {
  insert(name, {name, std::move(tensor)});
}

void WeightSet::replace(std::string_view name, torch::Tensor tensor) {
  (void)at(name);
  entries_.find(name)->second.tensor = std::move(tensor);
}

void WeightSet::rename(const std::function<std::string(const std::string&)>& new_name) {
  for (auto& [name, entry] : std::exchange(entries_, {})) insert(new_name(name), entry);
}

void WeightSet::ignore(std::string_view name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  ignored_.push_back(found->second.name_in_file);
  entries_.erase(found);
}

}  // namespace rcap
