#include "data/sets/file_list.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "data/images/bad_images.hpp"
#include "data/images/file_images.hpp"
#include "io/refuse_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MostImagesNamed = 3;

/// The list without some of its images, whose places are given in order.
FileList without(const FileList& list, std::span<const std::size_t> places) {
  FileList kept{list.folder, {}, {}, {}};
  auto next = places.begin();
  for (std::size_t i = 0; i < list.files.size(); ++i) {
    if (next != places.end() && *next == i) {
      ++next;
      continue;
    }
    kept.files.add(list.files[i]);
    kept.labels.push_back(list.labels[i]);
    if (!list.groups.empty()) kept.groups.push_back(list.groups[i]);
  }
  return kept;
}

/// "a, b, c ..."
std::string name_first(std::span<const std::string> all, std::string_view between) {
  const std::size_t named = std::min(all.size(), MostImagesNamed);
  return fmt::format("{}{}", fmt::join(all.first(named), between),
                     all.size() > named ? " ..." : "");
}

std::string name_first_files(const FileList& list, std::span<const std::size_t> places) {
  std::vector<std::string> names;
  for (const std::size_t place : places.first(std::min(places.size(), MostImagesNamed + 1))) {
    names.push_back(list.files[place]);
  }
  return name_first(names, ", ");
}

std::string describe_missing(const FileList& list, std::span<const std::size_t> missing,
                             std::string_view source) {
  return fmt::format("{} of the {} images that {} names are not in {}: {}", missing.size(),
                     list.files.size(), source, list.folder.string(),
                     name_first_files(list, missing));
}

/// Which files of one folder are there.
std::unordered_set<std::string> list_names(const fs::path& folder) {
  std::unordered_set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.insert(entry->path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    refuse_file(folder, "cannot be listed: {}", error.message());
  }
  return names;
}

void refuse_lost_class(const FileList& list, const FileList& kept, std::span<const BadImage> bad,
                       std::span<const std::string> class_names) {
  std::vector<bool> has_images(class_names.size());
  for (const ClassId label : kept.labels) has_images[static_cast<std::size_t>(label)] = true;
  for (const BadImage& image : bad) {
    const auto label = static_cast<std::size_t>(list.labels[static_cast<std::size_t>(image.id)]);
    if (has_images[label]) continue;
    refuse_file(list.folder, "none of the images of class {} can be decoded; the first: {}",
                class_names[label], image.reason);
  }
}

}  // namespace

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Split make_split(FileList list, int least_side) {
  return {std::make_shared<FileImages>(std::move(list.folder), std::move(list.files), least_side),
          std::move(list.labels), std::move(list.groups)};
}

FileList without_bad_images(FileList list, const Workers& workers,
                            std::span<const std::string> class_names,
                            std::vector<std::string>& remarks) {
  const std::vector<BadImage> bad = find_bad_images(FileImages(list.folder, list.files), workers);
  if (bad.empty()) return list;
  std::vector<std::size_t> places;
  std::vector<std::string> reasons;
  for (const BadImage& image : bad) {
    places.push_back(static_cast<std::size_t>(image.id));
    reasons.push_back(image.reason);
  }
  FileList kept = without(list, places);
  refuse_lost_class(list, kept, bad, class_names);
  remarks.push_back(fmt::format("{} of {} images in {} cannot be decoded and are left out: {}",
                                bad.size(), list.labels.size(), list.folder.string(),
                                name_first(reasons, " | ")));
  return kept;
}

std::vector<std::size_t> find_missing_files(const FileList& list, const Workers& workers) {
  const std::vector<std::string>& folders = list.files.folders();
  std::vector<std::vector<std::size_t>> places_in(folders.size());
  for (std::size_t i = 0; i < list.files.size(); ++i) {
    places_in[list.files.folder_of(i)].push_back(i);
  }
  workers.for_each_chunk(static_cast<std::int64_t>(folders.size()), [&](std::int64_t chunk, int) {
    const auto folder = static_cast<std::size_t>(chunk);
    const std::unordered_set<std::string> names = list_names(list.folder / folders[folder]);
    std::erase_if(places_in[folder], [&](std::size_t place) {
      return names.contains(std::string(list.files.name(place)));
    });
  });
  std::vector<std::size_t> missing;
  for (const std::vector<std::size_t>& places : places_in) {
    missing.insert(missing.end(), places.begin(), places.end());
  }
  std::sort(missing.begin(), missing.end());
  return missing;
}

FileList without_missing_files(FileList list, const Workers& workers, std::string_view source,
                               std::vector<std::string>& remarks) {
  const std::vector<std::size_t> missing = find_missing_files(list, workers);
  if (missing.empty()) return list;
  remarks.push_back(describe_missing(list, missing, source) + "; they are left out");
  return without(list, missing);
}

void check_no_file_is_missing(const FileList& list, const Workers& workers, std::string_view source,
                              std::string_view remedy) {
  const std::vector<std::size_t> missing = find_missing_files(list, workers);
  if (missing.empty()) return;
  throw BadFile(fmt::format("{}; {}, or leave them out with skip-bad",
                            describe_missing(list, missing, source), remedy));
}

void check_every_class_has_images(const FileList& list, std::span<const std::string> class_names,
                                  std::string_view source) {
  std::vector<bool> has_images(class_names.size());
  for (const ClassId label : list.labels) has_images[static_cast<std::size_t>(label)] = true;
  for (std::size_t j = 0; j < class_names.size(); ++j) {
    if (has_images[j]) continue;
    refuse_file(source, "class {} has no training image; every class needs images to learn from",
                class_names[j]);
  }
}

}  // namespace rcap
