#include "data/sets/synthetic_images.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/images/memory_images.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

constexpr ClassId ClassCount = 10;
constexpr std::int64_t TrainCount = 6000;
constexpr std::int64_t TestCount = 1000;
constexpr int Side = 28;
constexpr int MostShift = 4;
constexpr int CanvasSide = Side + 2 * MostShift;
constexpr int LatticeSide = 8;
constexpr double LowestContrast = 0.35;
constexpr double MostOverlay = 0.9;
constexpr double LeastNoise = 30;
constexpr double MostNoise = 110;

/// The streams of `Purpose::Synthetic` have this in place of the epoch; images follow the patterns.
constexpr std::int64_t FirstImageStream = 1000;

/// The numbers of one stream, one after another.
class Sequence {
 public:
  explicit Sequence(const RandomStream& stream) : stream_(stream) {}

  double uniform() { return stream_.uniform(next_++); }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  int below(int bound) {
    return static_cast<int>(stream_.below(static_cast<std::uint64_t>(bound), next_++));
  }

  /// Close to normal: the sum of four 16-bit numbers, scaled to deviation 1. Integers, so that it
  /// is the same everywhere.
  double normal() {
    const std::uint64_t bits = stream_.bits(next_++);
    const auto sum = static_cast<double>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                         (bits >> 32 & 0xffff) + (bits >> 48));
    constexpr double Mean = 2 * 65535.0;
    constexpr double Deviation = 37837.0;  // 65536 * sqrt(4 / 12)
    return (sum - Mean) / Deviation;
  }

 private:
  RandomStream stream_;
  SampleId next_ = 0;
};

using Canvas = std::array<double, CanvasSide * CanvasSide>;

/// From 0 to 1, smooth at both ends.
double smooth(double t) { return t * t * (3 - 2 * t); }

/// Random values on a coarse grid, interpolated smoothly; between -1 and 1.
Canvas make_pattern(Sequence numbers) {
  std::array<double, LatticeSide * LatticeSide> lattice{};
  for (double& value : lattice) value = numbers.between(-1, 1);
  const auto at = [&](int row, int column) {
    return lattice[static_cast<std::size_t>(row * LatticeSide + column)];
  };
  Canvas canvas{};
  for (int y = 0; y < CanvasSide; ++y) {
    for (int x = 0; x < CanvasSide; ++x) {
      const double v = y * (LatticeSide - 1.0) / CanvasSide,
                   u = x * (LatticeSide - 1.0) / CanvasSide;
      const int row = static_cast<int>(v), column = static_cast<int>(u);
      const double down = smooth(v - row), right = smooth(u - column);
      const double upper = at(row, column) * (1 - right) + at(row, column + 1) * right;
      const double lower = at(row + 1, column) * (1 - right) + at(row + 1, column + 1) * right;
      canvas[static_cast<std::size_t>(y * CanvasSide + x)] = upper * (1 - down) + lower * down;
    }
  }
  return canvas;
}

using Patterns = std::array<Canvas, ClassCount>;

Patterns make_patterns(std::uint64_t seed) {
  Patterns patterns;
  for (ClassId label = 0; label < ClassCount; ++label) {
    patterns[static_cast<std::size_t>(label)] =
        make_pattern(Sequence(RandomStream(seed, Purpose::Synthetic, label)));
  }
  return patterns;
}

/// A pattern seen through a window that is shifted at random.
class ShiftedPattern {
 public:
  ShiftedPattern(const Canvas& canvas, Sequence& numbers)
      : canvas_(canvas),
        top_(numbers.below(2 * MostShift + 1)),
        left_(numbers.below(2 * MostShift + 1)) {}

  [[nodiscard]] double at(int y, int x) const {
    return canvas_[static_cast<std::size_t>((y + top_) * CanvasSide + x + left_)];
  }

 private:
  const Canvas& canvas_;
  int top_;
  int left_;
};

void draw_image(const Patterns& patterns, ClassId label, Sequence numbers, std::uint8_t* pixels) {
  const ClassId other = (label + 1 + numbers.below(ClassCount - 1)) % ClassCount;
  const ShiftedPattern own(patterns[static_cast<std::size_t>(label)], numbers);
  const ShiftedPattern overlay(patterns[static_cast<std::size_t>(other)], numbers);
  const double contrast = numbers.between(LowestContrast, 1) * 127;
  const double share = numbers.between(0, MostOverlay);
  const double noise = numbers.between(LeastNoise, MostNoise);
  for (int y = 0; y < Side; ++y) {
    for (int x = 0; x < Side; ++x) {
      const double shown = own.at(y, x) + share * overlay.at(y, x);
      const double value = 127.5 + contrast * shown + noise * numbers.normal();
      *pixels++ = static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
    }
  }
}

Split make_split(const Patterns& patterns, std::uint64_t seed, std::int64_t first_image,
                 std::int64_t count, const std::string& name) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count) * Side * Side);
  std::vector<ClassId> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<ClassId>(i % ClassCount);
    const RandomStream stream(seed, Purpose::Synthetic, FirstImageStream + first_image + i);
    draw_image(patterns, label, Sequence(stream),
               pixels.data() + static_cast<std::size_t>(i) * Side * Side);
    labels.push_back(label);
  }
  const std::vector<MemoryImages::Part> parts{{name, count}};
  return {std::make_shared<MemoryImages>(ImageShape{Side, Side, 1}, std::move(pixels), parts),
          std::move(labels),
          {}};
}

}  // namespace

Dataset make_synthetic_images(std::uint64_t seed) {
  const Patterns patterns = make_patterns(seed);
  Dataset dataset;
  dataset.name = "synthetic";
  for (ClassId label = 0; label < ClassCount; ++label) {
    dataset.class_names.push_back("pattern " + std::to_string(label));
  }
  dataset.channels = 1;
  dataset.normalization = {{0.5F}, {0.30F}};
  dataset.train = make_split(patterns, seed, 0, TrainCount, "synthetic train");
  dataset.test = make_split(patterns, seed, TrainCount, TestCount, "synthetic test");
  return dataset;
}

}  // namespace rcap
