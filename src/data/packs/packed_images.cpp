#include "data/packs/packed_images.hpp"

#include <array>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/file_handle.hpp"
#include "data/packs/packed_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using namespace packed_format;

}  // namespace

PackedImages::PackedImages(std::shared_ptr<const PackedFile> file, std::int64_t first,
                           std::int64_t count)
    : file_(std::move(file)), first_(first), count_(count) {
  for (std::int64_t id = 0; id < count_; ++id) {
    const ImageShape shape = file_->shape_of(file_->entry(static_cast<std::size_t>(first_ + id)));
    if (id == 0) shape_ = shape;
    if (shape_ != shape) {
      shape_.reset();
      return;
    }
  }
}

ImageView PackedImages::read(SampleId id, Image& buffer) const {
  file_->read(static_cast<std::size_t>(first_ + id), buffer);
  return buffer.view();
}

std::string PackedImages::name_of(SampleId id) const {
  return fmt::format("{}, {}", file_->path().string(),
                     file_->describe(static_cast<std::size_t>(first_ + id)));
}

PackedDataset open_packed(const fs::path& path) {
  const auto file = std::make_shared<const PackedFile>(path);
  const Head& head = file->head();
  const Description& description = file->description();
  PackedDataset packed{{}, description.recipe, head.file_bytes, head.plan};
  Dataset& dataset = packed.dataset;
  dataset.name = description.name;
  dataset.class_names = description.class_names;
  dataset.group_names = description.group_names;
  dataset.channels = description.channels;
  dataset.normalization = description.normalization;
  dataset.remarks = description.remarks;
  const auto make_split = [&](std::uint64_t first, std::uint64_t count) {
    Split split;
    split.images = std::make_shared<PackedImages>(file, static_cast<std::int64_t>(first),
                                                  static_cast<std::int64_t>(count));
    for (std::uint64_t i = first; i < first + count; ++i) {
      const Entry entry = file->entry(i);
      split.labels.push_back(entry.label);
      if (entry.group != NoGroup) split.groups.push_back(entry.group);
    }
    return split;
  };
  dataset.train = make_split(0, head.train_count);
  dataset.test = make_split(head.train_count, head.test_count);
  return packed;
}

bool is_packed(const fs::path& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  std::array<char, Magic.size()> start{};
  return file.get() >= 0 && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::pread(file.get(), start.data(), start.size(), 0) == static_cast<ssize_t>(start.size()) &&
         start == Magic;
}

std::optional<Dataset> open_if_packed(const fs::path& path, std::string_view name) {
  if (!is_packed(path)) return std::nullopt;
  PackedDataset packed = open_packed(path);
  if (packed.dataset.name != name) {
    throw InvalidArgument(fmt::format("{}: holds the data set {}, not {}; open it as {}",
                                      path.string(), packed.dataset.name, name,
                                      packed.dataset.name));
  }
  const PackRecipe& recipe = packed.recipe;
  if (recipe != PackRecipe{}) {
    packed.dataset.remarks.push_back(fmt::format(
        "the images were packed with center crop {}, resize {} ({}){}", recipe.center_crop,
        recipe.resize, recipe.interpolation == Interpolation::Bicubic ? "bicubic" : "bilinear",
        recipe.fast_decode ? ", fast decoding" : ""));
    packed.dataset.is_center_cropped = recipe.center_crop > 0;
  }
  return std::move(packed.dataset);
}

}  // namespace rcap
