#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/images/resize_weights.hpp"

namespace rcap {

/// Rows of 8-bit pixels, one below the other.
struct PixelRows {
  const std::uint8_t* pixels = nullptr;
  std::size_t row_bytes = 0;  ///< from the start of a row to that of the next
};

/// Computes weighted sums of neighbouring pixels within rows: the first half of a resize.
class AcrossResizer {
 public:
  enum class Code { Plain, Vector };

  /// The fastest code that this processor can run.
  [[nodiscard]] static Code best_code() noexcept;

  /// @param source  `rows` rows of `width` pixels without gaps, of 1 or 3 channels
  /// @return the resized rows, valid until the next call
  [[nodiscard]] PixelRows resize(const std::uint8_t* source, std::size_t rows, std::size_t width,
                                 int channels, const ResizeWeights& weights,
                                 Code code = best_code());

 private:
  void resize_vector(const std::uint8_t* source, std::size_t rows, std::size_t source_bytes,
                     std::size_t result_bytes, const ResizeWeights& weights);

  std::vector<std::uint8_t> result_;
  std::vector<std::uint8_t> last_rows_;  ///< copies that may be read beyond their end
  std::vector<std::int32_t> pairs_;
};

}  // namespace rcap
