#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace rcap {

/// Images of one shape in memory, one after another.
class MemoryImages final : public ImageSource {
 public:
  /// Images that came from one file: its name, and how many there are.
  struct Part {
    std::string name;
    std::int64_t count = 0;
  };

  /// @param pixels  all images, each `shape.height * shape.width * shape.channels` bytes
  /// @param parts   where they came from; the counts add up to the number of images
  MemoryImages(ImageShape shape, std::vector<std::uint8_t> pixels, std::vector<Part> parts);

  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  [[nodiscard]] ImageView read(SampleId id, Image& buffer) const override;
  [[nodiscard]] std::string name_of(SampleId id) const override;
  [[nodiscard]] std::optional<ImageShape> fixed_shape() const noexcept override { return shape_; }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }

 private:
  ImageShape shape_;
  std::vector<std::uint8_t> pixels_;
  std::vector<Part> parts_;
  std::int64_t size_ = 0;
};

}  // namespace rcap
