#include "models/efficientformer.hpp"

#include <array>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using efficientformer::Grid;

struct StageShape {
  int width;
  int block_count;
  int narrow_begin = 0;  ///< blocks in [begin, end) have an MLP 3 times as wide as the stage,
  int narrow_end = 0;    ///< the others 4 times
};

struct Shape {
  std::string_view name;
  std::array<StageShape, 4> stages;
  int attention_count;      ///< blocks with attention at the end of each of the last two stages
  double drop_probability;  ///< of the last block; grows evenly from 0 at the first
};

// In the order of EfficientFormerSize.
constexpr std::array Shapes{
    Shape{"efficientformerv2-s0", {{{32, 2}, {48, 2}, {96, 6, 1, 4}, {176, 4, 1, 3}}}, 2, 0.0},
    Shape{"efficientformerv2-s1", {{{32, 3}, {48, 3}, {120, 9, 2, 6}, {224, 6, 2, 4}}}, 2, 0.0},
    Shape{"efficientformerv2-s2", {{{32, 4}, {64, 4}, {144, 12, 2, 8}, {288, 8, 2, 6}}}, 4, 0.02},
    Shape{"efficientformerv2-l", {{{40, 5}, {80, 5}, {192, 15, 4, 11}, {384, 10, 3, 7}}}, 6, 0.1},
};

const Shape& shape_of(EfficientFormerSize size) {
  return Shapes.at(static_cast<std::size_t>(size));
}

/// Stage 2 works at a sixteenth of the image's size, rounded up. Its attention halves the map and
/// doubles it again, which must result in the same size.
bool fits(std::int64_t image_side) { return image_side > 0 && (image_side + 15) / 16 % 2 == 0; }

Grid check_image_size(const Shape& shape, const ModelOptions& options) {
  const Grid image{options.image_height, options.image_width};
  for (const std::int64_t side : {image.rows, image.columns}) {
    if (fits(side)) continue;
    throw InvalidArgument(
        fmt::format("model {}: images of {} x {} pixels (height x width) do not fit, because of "
                    "the side {}; a side must be a multiple of 32 (64, 96, 128, 160, 192, 224, 256 "
                    "...) or less by at most 15 (178, 218); choose another size or crop",
                    shape.name, image.rows, image.columns, side));
  }
  return image;
}

int block_count(const Shape& shape) {
  int count = 0;
  for (const StageShape& stage : shape.stages) count += stage.block_count;
  return count;
}

/// Makes the blocks of a network one after another.
class BlockMaker {
 public:
  explicit BlockMaker(const Shape& shape) : shape_(shape), last_(block_count(shape) - 1) {}

  /// @param grid  of the stage's map
  torch::nn::Sequential make_blocks(std::size_t stage_index, Grid grid) {
    const StageShape& stage = shape_.stages.at(stage_index);
    const int attention_begin =
        stage_index < 2 ? stage.block_count : stage.block_count - shape_.attention_count;
    torch::nn::Sequential blocks;
    for (int i = 0; i < stage.block_count; ++i) {
      efficientformer::Attention mixer{nullptr};
      if (i >= attention_begin) {
        mixer = efficientformer::Attention(stage.width, grid, /*halves=*/stage_index == 2);
      }
      const bool is_narrow = stage.narrow_begin <= i && i < stage.narrow_end;
      blocks->push_back(
          efficientformer::Block(stage.width, is_narrow ? 3 : 4, next_drop_probability(), mixer));
    }
    return blocks;
  }

 private:
  double next_drop_probability() { return shape_.drop_probability * next_++ / last_; }

  const Shape& shape_;
  int last_;
  int next_ = 0;
};

/// Halving, except in the first stage, then blocks.
class Stage final : public torch::nn::Module {
 public:
  Stage(efficientformer::Downsample downsample, torch::nn::Sequential blocks)
      : downsample_(std::move(downsample)), blocks_(std::move(blocks)) {
    if (!downsample_.is_empty()) register_module("downsample", downsample_);
    register_module("blocks", blocks_);
  }

  torch::Tensor forward(const torch::Tensor& x) {
    return blocks_->forward(downsample_.is_empty() ? x : downsample_(x));
  }

 private:
  efficientformer::Downsample downsample_;
  torch::nn::Sequential blocks_;
};

torch::nn::Sequential make_stages(const Shape& shape, Grid grid) {
  torch::nn::Sequential stages;
  BlockMaker maker(shape);
  for (std::size_t i = 0; i < shape.stages.size(); ++i) {
    efficientformer::Downsample downsample{nullptr};
    if (i > 0) {
      downsample = efficientformer::Downsample(shape.stages[i - 1].width, shape.stages[i].width,
                                               grid, /*attends=*/i == 3);
      grid = grid.halved();
    }
    stages->push_back(Stage(downsample, maker.make_blocks(i, grid)));
  }
  return stages;
}

torch::nn::Linear make_head(int width, ClassId class_count) {
  torch::nn::Linear head(width, class_count);
  torch::nn::init::normal_(head->weight, 0.0, 0.02);
  torch::nn::init::zeros_(head->bias);
  return head;
}

}  // namespace

EfficientFormerV2::EfficientFormerV2(EfficientFormerSize size, const ModelOptions& options)
    : name_(shape_of(size).name), image_(check_image_size(shape_of(size), options)) {
  const Shape& shape = shape_of(size);
  const int last_width = shape.stages.back().width;
  stem_ =
      register_module("stem", efficientformer::Stem(options.channels, shape.stages.front().width));
  stages_ = register_module("stages", make_stages(shape, image_.halved().halved()));
  norm_ = register_module("norm", torch::nn::BatchNorm2d(last_width));
  head_ = register_module("head", make_head(last_width, options.class_count));
  head_dist_ = register_module("head_dist", make_head(last_width, options.class_count));
}

torch::Tensor EfficientFormerV2::forward(const torch::Tensor& images) {
  if (images.size(2) != image_.rows || images.size(3) != image_.columns) {
    throw InvalidArgument(
        fmt::format("model {}: was made for images of {} x {} pixels (height x width), got {} x {}",
                    name_, image_.rows, image_.columns, images.size(2), images.size(3)));
  }
  const auto features = norm_(stages_->forward(stem_(images))).mean({2, 3});
  return (head_(features) + head_dist_(features)) / 2;
}

void EfficientFormerV2::translate(WeightSet& weights) const {
  std::vector<std::string> tables;
  for (const auto& [name, entry] : weights.entries()) {
    if (name.ends_with(".attention_bias_idxs")) tables.push_back(name);
  }
  for (const std::string& name : tables) weights.ignore(name);
}

}  // namespace rcap
