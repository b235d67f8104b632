#include "data/sets/imagenet.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/number_text.hpp"
#include "data/sets/class_folders.hpp"
#include "data/sets/file_list.hpp"
#include "data/sets/official_counts.hpp"
#include "data/text_table.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr OfficialCounts ImagenetTrain{"training", 1281167, {}};
constexpr OfficialCounts ImagenetTest{"test", 50000, {}};
constexpr std::int64_t OfficialClasses = 1000;
constexpr std::string_view FlatBegins = "ILSVRC2012_val_";
constexpr std::string_view FlatEnds = ".JPEG";
constexpr std::string_view GroundTruthName = "ILSVRC2012_validation_ground_truth.txt";
constexpr std::string_view SynsetsName = "meta.mat";
constexpr std::string_view Devkit = "ILSVRC2012_devkit_t12";

void check_wnids(const fs::path& folder, std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (is_wnid(name)) continue;
    refuse_file(folder / name,
                "is not named like a class of ImageNet, n and eight digits; open folders with "
                "other names as image-folder");
  }
}

/// The number in ILSVRC2012_val_00000017.JPEG; empty if a file is named differently.
std::optional<std::size_t> number_of(std::string_view name) {
  if (!name.starts_with(FlatBegins) || !name.ends_with(FlatEnds)) return std::nullopt;
  name.remove_prefix(FlatBegins.size());
  name.remove_suffix(FlatEnds.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = error == std::errc{} && end == name.data() + name.size();
  return whole && number >= 1 ? std::optional(number) : std::nullopt;
}

/// The flat validation images of a folder, in byte order; none if they are in class folders.
std::vector<std::string> list_flat_images(const fs::path& folder) {
  std::vector<std::string> names;
  std::string class_folder;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (is_wnid(name)) class_folder = name;
    if (number_of(name)) names.push_back(std::move(name));
  }
  if (error) refuse_file(folder, "cannot be listed: {}", error.message());
  std::sort(names.begin(), names.end());
  if (!names.empty() && !class_folder.empty()) {
    refuse_file(
        folder,
        "has images such as {} and class folders such as {}; sort all images into folders, or none",
        names.front(), class_folder);
  }
  return names;
}

fs::path find_in_devkit(const fs::path& folder, std::string_view name) {
  for (const fs::path& place : {folder / name, folder / Devkit / "data" / name}) {
    if (is_there(place)) return place;
  }
  refuse_file(folder,
              "the images in val are not sorted into folders, and there is no {} with their "
              "classes; unpack {}.tar.gz there",
              name, Devkit);
}

void remark_left_out(std::size_t left_out, std::size_t all, std::vector<std::string>& remarks) {
  if (left_out == 0) return;
  remarks.push_back(
      fmt::format("{} of {} images in val are of classes without training images and are left out",
                  with_commas(static_cast<std::int64_t>(left_out)),
                  with_commas(static_cast<std::int64_t>(all))));
}

/// Looks up the class of a flat image: number -> ILSVRC id -> wnid -> rank.
class FlatLabels {
 public:
  FlatLabels(const fs::path& folder, std::span<const std::string> class_names)
      : truth_path_(find_in_devkit(folder, GroundTruthName)),
        synsets_path_(find_in_devkit(folder, SynsetsName)),
        ids_(read_imagenet_ground_truth(truth_path_)),
        wnids_(read_imagenet_synsets(synsets_path_)),
        class_names_(class_names) {}

  /// Empty if the class has no training images.
  [[nodiscard]] std::optional<ClassId> of(const std::string& name) const {
    const std::size_t number = *number_of(name);
    if (number > ids_.size()) {
      refuse_file(truth_path_, "has {} lines, none for {}", ids_.size(), name);
    }
    const auto id = static_cast<std::size_t>(ids_[number - 1]);
    if (id > wnids_.size()) {
      refuse_file(synsets_path_, "has {} rows, none for ILSVRC id {} of {}", wnids_.size(), id,
                  name);
    }
    const std::string& wnid = wnids_[id - 1];
    const auto place = std::lower_bound(class_names_.begin(), class_names_.end(), wnid);
    if (place == class_names_.end() || *place != wnid) return std::nullopt;
    return static_cast<ClassId>(place - class_names_.begin());
  }

 private:
  fs::path truth_path_;
  fs::path synsets_path_;
  std::vector<std::int32_t> ids_;   ///< by number
  std::vector<std::string> wnids_;  ///< by id
  std::span<const std::string> class_names_;
};

FileList list_flat_val(const fs::path& folder, std::span<const std::string> names,
                       Dataset& dataset) {
  const FlatLabels labels(folder, dataset.class_names);
  FileList list{folder / "val", {}, {}, {}};
  for (const std::string& name : names) {
    const std::optional<ClassId> label = labels.of(name);
    if (!label) continue;
    list.files.add(name);
    list.labels.push_back(*label);
  }
  remark_left_out(names.size() - list.labels.size(), names.size(), dataset.remarks);
  return list;
}

FileList list_sorted_val(const fs::path& folder, const Workers& workers, Dataset& dataset) {
  const fs::path val = folder / "val";
  std::vector<std::string> present = list_classes(val);
  check_wnids(val, present);
  const std::size_t found = std::erase_if(present, [&](const std::string& name) {
    return !std::binary_search(dataset.class_names.begin(), dataset.class_names.end(), name);
  });
  if (found > 0) {
    dataset.remarks.push_back(fmt::format(
        "{} of {} folders in {} are of classes without training images and are left out", found,
        found + present.size(), val.string()));
  }
  remark_absent_classes(dataset.class_names, present, val, dataset.remarks);
  return list_class_images(val, present, dataset.class_names, workers);
}

FileList list_val(const fs::path& folder, const Workers& workers, Dataset& dataset) {
  const fs::path val = folder / "val";
  if (!is_folder(val)) refuse_file(folder, "has no folder val; put the validation images there");
  const std::vector<std::string> flat = list_flat_images(val);
  FileList list = flat.empty() ? list_sorted_val(folder, workers, dataset)
                               : list_flat_val(folder, flat, dataset);
  if (list.files.empty()) {
    refuse_file(val, "none of its images belongs to a class with training images");
  }
  return list;
}

void remark_classes(Dataset& dataset) {
  if (dataset.class_count() == OfficialClasses) return;
  dataset.remarks.push_back(fmt::format("{} classes; ImageNet has {}",
                                        with_commas(dataset.class_count()),
                                        with_commas(OfficialClasses)));
}

}  // namespace

Dataset open_imagenet(const fs::path& folder, const ImageFileOptions& options) {
  const Workers workers(options.threads);
  const fs::path train_folder = folder / "train";
  Dataset dataset;
  dataset.name = "imagenet";
  if (!is_folder(train_folder)) {
    refuse_file(folder,
                "has no folder train, which must contain a folder for each class, n01440764 and so "
                "on, with the images of the training archive");
  }
  dataset.class_names = list_classes(train_folder);
  check_wnids(train_folder, dataset.class_names);
  FileList train =
      list_class_images(train_folder, dataset.class_names, dataset.class_names, workers);
  FileList test = list_val(folder, workers, dataset);
  if (options.skip_bad) {
    train = without_bad_images(std::move(train), workers, dataset.class_names, dataset.remarks);
    test = without_bad_images(std::move(test), workers, dataset.class_names, dataset.remarks);
  }
  dataset.train = make_split(std::move(train), options.least_side);
  dataset.test = make_split(std::move(test), options.least_side);
  remark_classes(dataset);
  dataset.remarks.push_back(compare_counts(ImagenetTrain, dataset.train, {}));
  dataset.remarks.push_back(compare_counts(ImagenetTest, dataset.test, {}));
  return dataset;
}

}  // namespace rcap
