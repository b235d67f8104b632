#include "data/images/path_list.hpp"

#include <algorithm>
#include <functional>

namespace rcap {

PathList::PathList(std::span<const std::string> paths) {
  for (const std::string& path : paths) add(path);
}

void PathList::add(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t folder_bytes = slash == path.npos ? 0 : slash + 1;
  add(path.substr(0, folder_bytes), path.substr(folder_bytes));
}

void PathList::add(std::string_view folder, std::string_view name) {
  // Neighbours usually share their folder.
  if (folder_of_.empty() || folders_[folder_of_.back()] != folder) {
    const auto [place, added] =
        places_.try_emplace(std::string(folder), static_cast<std::uint32_t>(folders_.size()));
    if (added) folders_.emplace_back(folder);
    folder_of_.push_back(place->second);
  } else {
    folder_of_.push_back(folder_of_.back());
  }
  names_.append(name);
  ends_.push_back(names_.size());
}

void PathList::append(const PathList& other) {
  for (std::size_t i = 0; i < other.size(); ++i) {
    add(other.folders_[other.folder_of_[i]], other.name(i));
  }
}

std::string PathList::operator[](std::size_t i) const {
  return folders_[folder_of_[i]] + std::string(name(i));
}

std::string_view PathList::name(std::size_t i) const noexcept {
  const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(names_).substr(begin, ends_[i] - begin);
}

std::optional<std::pair<std::size_t, std::size_t>> find_repeated(const PathList& paths) {
  // Sorted hashes take a fraction of the memory of a set of strings.
  struct Key {
    std::size_t hash;
    std::size_t place;
  };
  const auto same = [&](std::size_t a, std::size_t b) {
    return paths.folder_of(a) == paths.folder_of(b) && paths.name(a) == paths.name(b);
  };
  std::vector<Key> keys;
  keys.reserve(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    keys.push_back({std::hash<std::string_view>{}(paths.name(i)) ^ paths.folder_of(i), i});
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::pair(a.hash, a.place) < std::pair(b.hash, b.place);
  });
  std::optional<std::pair<std::size_t, std::size_t>> first;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = i + 1; j < keys.size() && keys[j].hash == keys[i].hash; ++j) {
      if (!same(keys[i].place, keys[j].place)) continue;
      if (!first || keys[j].place < first->second) first = {keys[i].place, keys[j].place};
      break;
    }
  }
  return first;
}

}  // namespace rcap
