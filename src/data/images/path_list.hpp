#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rcap {

/// Many paths below one folder, packed: a folder that files share is kept once, and names are in
/// one piece of memory. The names of ImageNet's 1.28 million files and their places take 41 MB (up
/// to twice that with room to grow); one string each would take over 100.
///
/// A copy copies everything; reading is safe from any number of threads.
class PathList {
 public:
  PathList() = default;
  explicit PathList(std::span<const std::string> paths);

  /// Appends a path; everything before its last '/' is its folder.
  void add(std::string_view path);
  void append(const PathList& other);

  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }
  [[nodiscard]] std::string operator[](std::size_t i) const;

  /// The name without the folder; valid until a path is added.
  [[nodiscard]] std::string_view name(std::size_t i) const noexcept;
  /// The folder of a path, as an index into `folders()`.
  [[nodiscard]] std::uint32_t folder_of(std::size_t i) const noexcept { return folder_of_[i]; }
  /// Every folder once, in order of first appearance, with a '/' at the end or empty.
  [[nodiscard]] const std::vector<std::string>& folders() const noexcept { return folders_; }

 private:
  void add(std::string_view folder, std::string_view name);

  std::vector<std::string> folders_;
  std::unordered_map<std::string, std::uint32_t> places_;  ///< in `folders_`
  std::string names_;
  std::vector<std::uint64_t> ends_;  ///< of the names
  std::vector<std::uint32_t> folder_of_;
};

/// The first path that appears a second time, as the places of both; empty if all differ.
[[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find_repeated(
    const PathList& paths);

}  // namespace rcap
