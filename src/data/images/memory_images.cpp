#include "data/images/memory_images.hpp"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {

MemoryImages::MemoryImages(ImageShape shape, std::vector<std::uint8_t> pixels,
                           std::vector<Part> parts)
    : shape_(shape), pixels_(std::move(pixels)), parts_(std::move(parts)) {
  for (const Part& part : parts_) size_ += part.count;
  const std::size_t image_bytes =
      ImageView{nullptr, shape.height, shape.width, shape.channels}.bytes();
  if (static_cast<std::size_t>(size_) * image_bytes != pixels_.size()) {
    throw InternalError(fmt::format("MemoryImages: {} images of {} bytes in {} bytes", size_,
                                    image_bytes, pixels_.size()));
  }
}

ImageView MemoryImages::read(SampleId id, Image&) const {
  ImageView view{nullptr, shape_.height, shape_.width, shape_.channels};
  view.pixels = pixels_.data() + static_cast<std::size_t>(id) * view.bytes();
  return view;
}

std::string MemoryImages::name_of(SampleId id) const {
  for (const Part& part : parts_) {
    if (id < part.count) return fmt::format("{}, image {}", part.name, id);
    id -= part.count;
  }
  return fmt::format("image {}", id);
}

}  // namespace rcap
