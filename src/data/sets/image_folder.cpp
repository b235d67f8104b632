#include "data/sets/image_folder.hpp"

#include <cstddef>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "data/sets/class_folders.hpp"
#include "data/sets/file_list.hpp"
#include "data/subsample.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t TestImagesOneIn = 10;

void check_no_file_is_empty(const FileList& list) {
  for (std::size_t i = 0; i < list.files.size(); ++i) {
    const fs::path path = list.folder / list.files[i];
    if (size_of_file(path) > 0) continue;
    refuse_file(path,
                "is empty; replace or remove it, or leave out all images that cannot be decoded "
                "with skip-bad");
  }
}

FileList check_files(FileList list, const ImageFileOptions& options,
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
  refuse_file(
      root,
      "has train, but neither val nor test; put the images to evaluate with into one of them");
}

void open_both_splits(const fs::path& root, const ImageFileOptions& options, Dataset& dataset) {
  const fs::path test_folder = find_test_folder(root, dataset.remarks);
  dataset.class_names = list_classes(root / "train");
  const std::vector<std::string> test_classes = list_classes(test_folder);
  const Workers workers(options.threads);
  FileList train =
      list_class_images(root / "train", dataset.class_names, dataset.class_names, workers);
  FileList test = list_class_images(test_folder, test_classes, dataset.class_names, workers);
  remark_absent_classes(dataset.class_names, test_classes, test_folder, dataset.remarks);
  dataset.train =
      make_split(check_files(std::move(train), options, dataset.class_names, dataset.remarks),
                 options.least_side);
  dataset.test =
      make_split(check_files(std::move(test), options, dataset.class_names, dataset.remarks),
                 options.least_side);
}

void hold_out_test_split(const fs::path& root, const ImageFileOptions& options, Dataset& dataset) {
  for (const char* name : {"val", "test"}) {
    if (!is_folder(root / name)) continue;
    refuse_file(root,
                "has {}, but no train; put the training images there, or the folders of the "
                "classes directly into {}",
                name, root.string());
  }
  dataset.class_names = list_classes(root);
  FileList list = check_files(
      list_class_images(root, dataset.class_names, dataset.class_names, options.threads), options,
      dataset.class_names, dataset.remarks);
  const ClassIndex classes(list.labels, dataset.class_count());
  const HeldOutSplit split =
      hold_out(classes, TestImagesOneIn, options.seed, SubsampleUse::ImageFolderTest);
  if (split.held_out.empty()) {
    refuse_file(root, "no class has two images, so none can be held out for testing");
  }
  const Split all = make_split(std::move(list), options.least_side);
  dataset.train = subset(all, split.kept);
  dataset.test = subset(all, split.held_out);
  dataset.remarks.push_back(
      fmt::format("{} has no train folder: {} of {} images, a tenth of each class, are held out as "
                  "the test split (seed {})",
                  root.string(), dataset.test.size(), all.size(), options.seed));
}

}  // namespace

Dataset open_image_folder(const fs::path& root, const ImageFileOptions& options) {
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

}  // namespace rcap
