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
/// They are on the CPU; floating-point ones are float32, whatever the file has.
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

  /// Adds a tensor under a new name.
  /// @throws BadFile  the name is taken
  void add(const std::string& name, torch::Tensor tensor);
  /// Replaces the values of a tensor, and perhaps its shape.
  /// @throws BadFile  there is none of that name
  void replace(std::string_view name, torch::Tensor tensor);
  /// Renames every tensor to what `new_name` makes of its present name.
  /// @throws BadFile  two tensors get the same name
  void rename(const std::function<std::string(const std::string&)>& new_name);
  /// Removes a tensor that the network does not use and notes its name; does nothing if there is
  /// none.
  void ignore(std::string_view name);
  /// The names, in the file, of the tensors removed.
  [[nodiscard]] const std::vector<std::string>& ignored() const noexcept { return ignored_; }

 private:
  void insert(const std::string& name, Entry entry);

  std::filesystem::path path_;
  Entries entries_;
  std::vector<std::string> ignored_;
};

}  // namespace rcap
