#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/transform.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {

/// Some samples as a network reads them.
struct Batch {
  std::span<const SampleId> ids;
  std::span<const float> images;         ///< samples x height x width x channels
  std::span<const std::int64_t> labels;  ///< the class of each
  /// In place of `images`, if the reader gives levels: the same before they are scaled and
  /// normalised.
  std::span<const std::uint8_t> levels = {};
};

/// Reads a list of samples batch by batch.
///
/// Images in memory are prepared when they are asked for, which takes less time than passing them
/// between threads. Images that must be decoded are prepared by worker threads, a few batches
/// ahead, and only those in the list. Rows of a table are copied as they are, in training too.
///
///     BatchReader reader(split, transform, {.batch_size = 64, .workers = 2});
///     reader.start(order, 0, RandomStream(seed, Purpose::Augmentation, epoch));
///     while (const Batch* batch = reader.next()) ...
class BatchReader {
 public:
  struct Options {
    std::int64_t batch_size = 64;
    int workers = 1;  ///< threads that decode
    int batches_ahead = 4;
    /// A batch stays valid until this many later ones have been asked for.
    int batches_held = 1;
    /// Images as levels, a quarter of the bytes, for a device that scales them itself. Rows of a
    /// table have no levels and stay numbers.
    bool levels = false;
    /// Provides the memory for batches; empty: ordinary memory. Called when a list is started, and
    /// only if the memory at hand is too small.
    std::function<std::shared_ptr<std::byte[]>(std::size_t bytes)> allocate = {};
  };

  /// All images must have the same size after the transform.
  /// @throws InvalidArgument  sizes below 1, or images of different sizes without a crop
  BatchReader(const Split& split, const Transform& transform, const Options& options);
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  [[nodiscard]] ImageShape shape() const noexcept;

  /// Starts with batch `first_batch` of `ids`.
  /// @param random  for training; empty for evaluation
  void start(std::span<const SampleId> ids, std::int64_t first_batch,
             std::optional<RandomStream> random);

  /// The next batch, or nullptr after the last one. It stays valid until the next call, or for as
  /// many calls as `batches_held` says, or until `start`.
  /// @throws BadFile  an image cannot be decoded; names it
  [[nodiscard]] const Batch* next();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace rcap
