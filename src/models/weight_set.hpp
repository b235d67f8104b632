#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>

namespace rcap {

/// The tensors of a weight file on their way into a network: what `Network::translate` works on.
/// They are on the processor; those with a fraction are float32, whatever the file has.
class WeightSet {
 public:
  struct Entry {
    std::string name_in_file;  ///< for messages
    torch::Tensor tensor;      ///< may be a view of the file: never write into it
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  explicit WeightSet(std::filesystem::path path) : path_(std::move(path)) {}

  /// The file, for messages.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const Entries& entries() const noexcept { return entries_; }
  [[nodiscard]] bool contains(std::string_view name) const { return entries_.contains(name); }
  /// The tensor of that name.
  /// @throws BadFile  there is none
  [[nodiscard]] const torch::Tensor& at(std::string_view name) const;

  /// Puts in a tensor under a new name.
  /// @throws BadFile  the name is taken
  void add(const std::string& name, torch::Tensor tensor);
  /// Gives a tensor other values, and perhaps another shape.
  /// @throws BadFile  there is none of that name
  void replace(std::string_view name, torch::Tensor tensor);
  /// Gives every tensor the name that `new_name` makes of its present one.
  /// @throws BadFile  two tensors get the same name
  void rename(const std::function<std::string(const std::string&)>& new_name);
  /// Takes out a tensor that the network has no use for and notes its name; nothing without it.
  void ignore(std::string_view name);
  /// What was taken out: the names in the file.
  [[nodiscard]] const std::vector<std::string>& ignored() const noexcept { return ignored_; }

 private:
  void insert(const std::string& name, Entry entry);

  std::filesystem::path path_;
  Entries entries_;
  std::vector<std::string> ignored_;
};

}  // namespace rcap
