#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.hpp"
#include "data/packs/pack_images.hpp"
#include "data/sample_files.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

/// Images in memory that behave as if they were decoded from files; some cannot be.
class ListedImages final : public ImageSource {
 public:
  ListedImages(std::string folder, std::vector<Image> images, std::vector<SampleId> bad = {})
      : folder_(std::move(folder)), images_(std::move(images)), bad_(std::move(bad)) {}

  [[nodiscard]] std::int64_t size() const noexcept override {
    return static_cast<std::int64_t>(images_.size());
  }
  [[nodiscard]] ImageView read(SampleId id, Image& buffer) const override {
    for (const SampleId bad : bad_) {
      if (bad == id) throw BadFile(name_of(id) + ": cannot be decoded");
    }
    buffer = images_[static_cast<std::size_t>(id)];
    return buffer.view();
  }
  [[nodiscard]] std::string name_of(SampleId id) const override {
    return folder_ + "/" + std::to_string(id) + ".jpg";
  }

 private:
  std::string folder_;
  std::vector<Image> images_;
  std::vector<SampleId> bad_;
};

/// Three training images of different sizes and two test images of one size, in two classes
/// and two groups.
inline Dataset small_dataset(std::vector<SampleId> bad_train = {}) {
  Dataset dataset;
  dataset.name = "image-folder";
  dataset.class_names = {"cat", "dog"};
  dataset.group_names = {"indoors", "outdoors"};
  dataset.normalization = {{0.5F, 0.25F, 0}, {1, 2, 0.5F}};
  dataset.remarks = {"a remark"};
  dataset.train.images = std::make_shared<ListedImages>(
      "root/train",
      std::vector{counting_image(4, 6, 3), counting_image(5, 3, 3), counting_image(7, 7, 3)},
      std::move(bad_train));
  dataset.train.labels = {0, 1, 1};
  dataset.train.groups = {1, 0, 1};
  dataset.test.images = std::make_shared<ListedImages>(
      "root/val", std::vector{counting_image(4, 4, 3), counting_image(4, 4, 3)});
  dataset.test.labels = {1, 0};
  dataset.test.groups = {0, 1};
  return dataset;
}

/// Packs to the end and gives back the file.
inline Bytes pack(const Dataset& dataset, const std::filesystem::path& out,
                  const PackOptions& options = {}) {
  (void)pack_images(dataset, "root", out, options);
  return get_file(out);
}

/// Every file of a folder.
inline std::map<std::string, Bytes> files_in(const std::filesystem::path& folder) {
  std::map<std::string, Bytes> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = get_file(entry.path());
  }
  return files;
}

}  // namespace rcap
