#include "data/sets/file_list.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "data/images/bad_images.hpp"
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

/// Which files exist in one folder.
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

std::vector<bool> classes_with_images(const FileList& list, std::size_t class_count) {
  std::vector<bool> has_images(class_count);
  for (const ClassId label : list.labels) has_images[static_cast<std::size_t>(label)] = true;
  return has_images;
}

void refuse_lost_class(const FileList& list, const FileList& kept, std::span<const BadImage> bad,
                       std::span<const std::string> class_names) {
  const std::vector<bool> has_images = classes_with_images(kept, class_names.size());
  for (const BadImage& image : bad) {
    const auto label = static_cast<std::size_t>(list.labels[static_cast<std::size_t>(image.id)]);
    if (has_images[label]) continue;
    refuse_file(list.folder, "none of the images of class {} can be decoded; the first: {}",
                class_names[label], image.reason);
  }
}

void check_every_class_has_images(const FileList& list, std::span<const std::string> class_names,
                                  const std::string& source) {
  const std::vector<bool> has_images = classes_with_images(list, class_names.size());
  const auto lost = std::ranges::find(has_images, false);
  if (lost == has_images.end()) return;
  refuse_file(source, "class {} has no training image; every class needs images to learn from",
              class_names[static_cast<std::size_t>(lost - has_images.begin())]);
}

/// @param source  what names the files
/// @param remedy  where they come from
FileList check_images(FileList list, const std::string& source, const std::string& remedy,
                      bool skip_bad, const Workers& workers, Dataset& dataset) {
  const std::vector<std::size_t> missing = find_missing_files(list, workers);
  if (!missing.empty()) {
    std::vector<std::string> names;
    for (const std::size_t place :
         std::span(missing).first(std::min(missing.size(), MostImagesNamed + 1)))
      names.push_back(list.files[place]);
    const std::string finding = fmt::format(
        "{} of the {} images that {} names are not in {}: {}", missing.size(), list.files.size(),
        source, list.folder.string(), first_few(names, MostImagesNamed));
    if (!skip_bad)
      throw BadFile(fmt::format("{}; {}, or leave them out with skip-bad", finding, remedy));
    dataset.remarks.push_back(finding + "; they are left out");
    list = without(list, missing);
  }
  return skip_bad
             ? without_bad_images(std::move(list), workers, dataset.class_names, dataset.remarks)
             : list;
}

}  // namespace

Split make_split(FileList list, int least_side) {
  return {std::make_shared<FileImages>(std::move(list.folder), std::move(list.files), least_side),
          std::move(list.labels), std::move(list.groups)};
}

FileList ImageRows::take(std::uint8_t split, const fs::path& folder) const {
  FileList list{folder, {}, {}, {}};
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (splits[i] != split) continue;
    list.files.add(files[i]);
    list.labels.push_back(labels[i]);
    list.groups.push_back(groups[i]);
  }
  return list;
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
                                first_few(reasons, MostImagesNamed, " | ")));
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

void open_listed_images(ListedImages listed, const ImageFileOptions& options, Dataset& dataset) {
  const Workers workers(options.threads);
  const auto check = [&](FileList& list, const std::string& source) {
    return check_images(std::move(list), source, listed.remedy, options.skip_bad, workers, dataset);
  };
  FileList train = check(listed.train, listed.train_source);
  FileList test = check(listed.test, listed.test_source);
  check_every_class_has_images(train, dataset.class_names, listed.train_source);
  if (test.files.empty()) {
    refuse_file(listed.test_source, "names no test image; there is nothing to evaluate with");
  }
  dataset.train = make_split(std::move(train), options.least_side);
  dataset.test = make_split(std::move(test), options.least_side);
}

}  // namespace rcap
