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
  /// In the place of `images`, where a reader gives levels: the same before they are scaled and
  /// normalised.
  std::span<const std::uint8_t> levels = {};
};

/// Reads a list of samples batch by batch.
///
/// Images that lie in memory are made ready when they are asked for, which takes less time
/// than handing them from thread to thread. Images that must be decoded are made ready by
/// worker threads, a few batches ahead, and only those of the list. Rows of a table are copied
/// as they are, in training too.
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
    /// A batch holds until so many later ones have been asked for.
    int batches_held = 1;
    /// Images as levels, a quarter of the bytes, for a device that scales them itself. Rows of a
    /// table have none and stay numbers.
    bool levels = false;
    /// Gives the memory that batches are made in; nothing takes any. It is asked when a list is
    /// started, and only where the memory there is does not suffice.
    std::function<std::shared_ptr<std::byte[]>(std::size_t bytes)> allocate = {};
  };

  /// All images must come out of the transform with one size.
  /// @throws InvalidArgument  sizes below 1, or images of different sizes without a crop
  BatchReader(const Split& split, const Transform& transform, const Options& options);
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  [[nodiscard]] ImageShape shape() const noexcept;

  /// Begins with batch `first_batch` of `ids`.
  /// @param random  for training; nothing for evaluation
  void start(std::span<const SampleId> ids, std::int64_t first_batch,
             std::optional<RandomStream> random);

  /// The next batch, or nullptr after the last one. It holds until the next call, or as many
  /// calls as `batches_held` says, or `start`.
  /// @throws BadFile  an image cannot be decoded; names it
  [[nodiscard]] const Batch* next();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace rcap
