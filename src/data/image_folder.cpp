#include "rcap/data/image_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "data/payload_reader.hpp"
#include "data/subsample_streams.hpp"
#include "rcap/core/class_index.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/weighted_draw.hpp"
#include "rcap/data/decode_image.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t HeldOutPart = 10;
constexpr std::size_t MostImagesNamed = 3;
constexpr std::size_t MostClassesNamed = 5;

/// Images that are decoded when they are read.
class FolderImages final : public ImageSource {
 public:
  FolderImages(fs::path root, std::vector<std::string> files)
      : root_(std::move(root)), files_(std::move(files)) {}

  [[nodiscard]] std::int64_t size() const noexcept override {
    return static_cast<std::int64_t>(files_.size());
  }
  [[nodiscard]] ImageView read(SampleId id, Image& buffer) const override {
    decode_image(path_of(id), buffer);
    return buffer.view();
  }
  [[nodiscard]] std::string name_of(SampleId id) const override { return path_of(id).string(); }

 private:
  [[nodiscard]] fs::path path_of(SampleId id) const {
    return root_ / files_[static_cast<std::size_t>(id)];
  }

  fs::path root_;
  std::vector<std::string> files_;  ///< below root
};

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

[[noreturn]] void refuse_folder(const fs::path& path, const fs::filesystem_error& error) {
  throw BadFile(fmt::format("{}: cannot be listed: {}", path.string(), error.code().message()));
}

/// The names of the folders in a folder, in byte order.
std::vector<std::string> list_classes(const fs::path& folder) {
  std::vector<std::string> names;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (!is_hidden(entry.path()) && is_folder(entry.path())) {
        names.push_back(entry.path().filename().string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    refuse_folder(folder, error);
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) {
    throw BadFile(
        fmt::format("{}: holds no folder; images lie in a folder for each class", folder.string()));
  }
  return names;
}

/// The images of one class: paths below `folder`, in byte order.
std::vector<std::string> list_images(const fs::path& folder, const std::string& class_name) {
  std::vector<std::string> files;
  const fs::path class_folder = folder / class_name;
  try {
    for (fs::recursive_directory_iterator entry(class_folder), end; entry != end; ++entry) {
      if (is_hidden(entry->path())) {
        if (entry->is_directory()) entry.disable_recursion_pending();
      } else if (has_image_extension(entry->path()) && !entry->is_directory()) {
        files.push_back(class_name + "/" +
                        entry->path().lexically_relative(class_folder).generic_string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    refuse_folder(class_folder, error);
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// One split before its images become a source.
struct FileList {
  fs::path folder;
  std::vector<std::string> files;
  std::vector<ClassId> labels;
};

[[noreturn]] void refuse_empty_class(const fs::path& folder, const std::string& class_name) {
  throw BadFile(
      fmt::format("{}: holds no image; every class has at least one, remove the folder "
                  "or fill it",
                  (folder / class_name).string()));
}

/// Lists the images of `present`, whose indices are their places in `class_names`.
FileList list_files(const fs::path& folder, std::span<const std::string> present,
                    std::span<const std::string> class_names) {
  FileList list{folder, {}, {}};
  for (const std::string& name : present) {
    const auto place = std::lower_bound(class_names.begin(), class_names.end(), name);
    if (place == class_names.end() || *place != name) {
      throw BadFile(
          fmt::format("{}: class {} is not among those of the training images; every "
                      "class needs images to learn from",
                      (folder / name).string(), name));
    }
    std::vector<std::string> files = list_images(folder, name);
    if (files.empty()) refuse_empty_class(folder, name);
    list.labels.insert(list.labels.end(), files.size(),
                       static_cast<ClassId>(place - class_names.begin()));
    std::move(files.begin(), files.end(), std::back_inserter(list.files));
  }
  return list;
}

void check_no_file_is_empty(const FileList& list) {
  for (const std::string& file : list.files) {
    const fs::path path = list.folder / file;
    if (size_of_file(path) > 0) continue;
    throw BadFile(
        fmt::format("{}: is empty; replace or remove it, or leave out all images that "
                    "cannot be decoded with --skip-bad",
                    path.string()));
  }
}

Split make_split(FileList list) {
  return {std::make_shared<FolderImages>(std::move(list.folder), std::move(list.files)),
          std::move(list.labels),
          {}};
}

/// The list without its bad images, of which the remark names the first few.
FileList without_bad_images(FileList list, const Workers& workers,
                            std::span<const std::string> class_names,
                            std::vector<std::string>& remarks) {
  const std::vector<BadImage> bad = find_bad_images(FolderImages(list.folder, list.files), workers);
  if (bad.empty()) return list;
  std::vector<std::int64_t> kept_of_class(class_names.size());
  std::vector<bool> had_class(class_names.size());
  FileList kept{list.folder, {}, {}};
  auto next_bad = bad.begin();
  for (std::size_t i = 0; i < list.files.size(); ++i) {
    const auto label = static_cast<std::size_t>(list.labels[i]);
    had_class[label] = true;
    if (next_bad != bad.end() && static_cast<std::size_t>(next_bad->id) == i) {
      ++next_bad;
      continue;
    }
    ++kept_of_class[label];
    kept.files.push_back(std::move(list.files[i]));
    kept.labels.push_back(list.labels[i]);
  }
  for (std::size_t j = 0; j < class_names.size(); ++j) {
    if (!had_class[j] || kept_of_class[j] > 0) continue;
    const auto first = std::find_if(bad.begin(), bad.end(), [&](const BadImage& image) {
      return static_cast<std::size_t>(list.labels[static_cast<std::size_t>(image.id)]) == j;
    });
    throw BadFile(fmt::format("{}: none of its images can be decoded; the first: {}",
                              (kept.folder / class_names[j]).string(), first->reason));
  }
  std::vector<std::string_view> named;
  for (const BadImage& image : bad) {
    if (named.size() < MostImagesNamed) named.push_back(image.reason);
  }
  remarks.push_back(fmt::format("{} of {} images in {} cannot be decoded and are left out: {}{}",
                                bad.size(), list.labels.size(), kept.folder.string(),
                                fmt::join(named, " | "), bad.size() > named.size() ? " ..." : ""));
  return kept;
}

FileList check_files(FileList list, const ImageFolderOptions& options,
                     std::span<const std::string> class_names, std::vector<std::string>& remarks) {
  if (options.skip_bad) {
    return without_bad_images(std::move(list), options.threads, class_names, remarks);
  }
  if (options.refuse_empty) check_no_file_is_empty(list);
  return list;
}

/// The folder of the test images beside train.
fs::path find_test_folder(const fs::path& root, std::vector<std::string>& remarks) {
  if (is_folder(root / "val")) {
    if (is_folder(root / "test")) remarks.emplace_back("val is the test split; test is not used");
    return root / "val";
  }
  if (is_folder(root / "test")) return root / "test";
  throw BadFile(
      fmt::format("{}: holds train, but neither val nor test; put the images to evaluate "
                  "with into one of them",
                  root.string()));
}

void remark_absent_classes(Dataset& dataset, std::span<const std::string> present,
                           const fs::path& folder) {
  std::vector<std::string> absent;
  std::set_difference(dataset.class_names.begin(), dataset.class_names.end(), present.begin(),
                      present.end(), std::back_inserter(absent));
  if (absent.empty()) return;
  const std::size_t named = std::min(absent.size(), MostClassesNamed);
  dataset.remarks.push_back(fmt::format(
      "{} of {} classes have no image in {}: {}{}", absent.size(), dataset.class_names.size(),
      folder.string(), fmt::join(absent.begin(), absent.begin() + static_cast<long>(named), ", "),
      absent.size() > named ? " ..." : ""));
}

void open_both_splits(const fs::path& root, const ImageFolderOptions& options, Dataset& dataset) {
  const fs::path test_folder = find_test_folder(root, dataset.remarks);
  dataset.class_names = list_classes(root / "train");
  const std::vector<std::string> test_classes = list_classes(test_folder);
  FileList train = list_files(root / "train", dataset.class_names, dataset.class_names);
  FileList test = list_files(test_folder, test_classes, dataset.class_names);
  remark_absent_classes(dataset, test_classes, test_folder);
  dataset.train =
      make_split(check_files(std::move(train), options, dataset.class_names, dataset.remarks));
  dataset.test =
      make_split(check_files(std::move(test), options, dataset.class_names, dataset.remarks));
}

/// How many of each class are held out.
std::vector<std::int64_t> count_held_out(const ClassIndex& classes) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t size : classes.class_sizes()) {
    counts.push_back(std::max<std::int64_t>(size / HeldOutPart, size >= 2 ? 1 : 0));
  }
  return counts;
}

void hold_out_test_split(const fs::path& root, const ImageFolderOptions& options,
                         Dataset& dataset) {
  for (const char* name : {"val", "test"}) {
    if (!is_folder(root / name)) continue;
    throw BadFile(
        fmt::format("{}: holds {}, but no train; put the training images there, or the "
                    "folders of the classes directly into {}",
                    root.string(), name, root.string()));
  }
  dataset.class_names = list_classes(root);
  FileList list = check_files(list_files(root, dataset.class_names, dataset.class_names), options,
                              dataset.class_names, dataset.remarks);
  const ClassIndex classes(list.labels, dataset.class_count());
  const RandomStream stream(options.seed, Purpose::Subsample,
                            static_cast<std::int64_t>(SubsampleStream::HeldOut));
  const SampleSet held_out = draw_per_class(classes, count_held_out(classes), stream, 1);
  if (held_out.count() == 0) {
    throw BadFile(fmt::format("{}: no class has two images, so none can be held out for testing",
                              root.string()));
  }
  SampleSet rest = SampleSet::all(classes.sample_count());
  rest.subtract(held_out);
  const Split all = make_split(std::move(list));
  dataset.train = subset(all, rest.ids());
  dataset.test = subset(all, held_out.ids());
  dataset.remarks.push_back(
      fmt::format("{} holds no train folder: {} of {} images, a tenth of each class, are held out "
                  "as the test split (seed {})",
                  root.string(), dataset.test.size(), all.size(), options.seed));
}

}  // namespace

Dataset open_image_folder(const fs::path& root, const ImageFolderOptions& options) {
  Dataset dataset;
  dataset.name = "image-folder";
  dataset.channels = 3;
  if (is_folder(root / "train")) {
    open_both_splits(root, options, dataset);
  } else {
    hold_out_test_split(root, options, dataset);
  }
  return dataset;
}

std::vector<BadImage> find_bad_images(const ImageSource& images, const Workers& workers,
                                      const std::function<void(std::int64_t)>& progress) {
  std::map<SampleId, std::string> reasons;
  std::vector<Image> buffers(static_cast<std::size_t>(workers.count()));
  std::mutex mutex;
  std::int64_t done = 0;
  workers.for_each_chunk(images.size(), [&](std::int64_t id, int worker) {
    std::string reason;
    try {
      (void)images.read(id, buffers[static_cast<std::size_t>(worker)]);
    } catch (const BadFile& error) {
      reason = error.what();
    }
    const std::lock_guard lock(mutex);
    if (!reason.empty()) reasons.emplace(id, std::move(reason));
    if (progress) progress(++done);
  });
  std::vector<BadImage> bad;
  for (auto& [id, reason] : reasons) bad.push_back({id, std::move(reason)});
  return bad;
}

}  // namespace rcap
