#include "data/batch_reader.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "base/start_threads.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

class BatchReader::Work {
 public:
  Work(const Split& split, const Transform& transform, const Options& options)
      : split_(split),
        transform_(transform),
        options_(options),
        shape_(find_shape()),
        gives_levels_(options.levels && !split.images->holds_rows()) {
    if (options.batch_size < 1 || options.workers < 1 || options.batches_ahead < 1 ||
        options.batches_held < 1) {
      throw InvalidArgument(fmt::format(
          "batch_reader: batch_size {}, workers {}, batches_ahead {}, batches_held {}; "
          "each must be at least 1",
          options.batch_size, options.workers, options.batches_ahead, options.batches_held));
    }
    const bool ready = split.images->in_memory();
    slots_.resize(
        static_cast<std::size_t>(options.batches_held + (ready ? 0 : options.batches_ahead)));
    if (!ready) threads_ = start_threads(options.workers, [this](int) { make_ready(); });
  }

  ~Work() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  [[nodiscard]] ImageShape shape() const noexcept { return shape_; }

  void start(std::span<const SampleId> ids, std::int64_t first_batch,
             std::optional<RandomStream> random) {
    std::unique_lock lock(mutex_);
    // An epoch may be abandoned half way: what is under way is waited for and discarded.
    allowed_end_ = next_item_;
    starting_ = true;
    item_done_.wait(lock, [this] { return under_way_ == 0; });
    starting_ = false;
    ids_.assign(ids.begin(), ids.end());
    random_ = random;
    first_batch_ = next_batch_ = first_batch;
    // Memory is only for samples that exist, however large a batch may be.
    batch_size_ = std::clamp<std::int64_t>(item_count(), 1, options_.batch_size);
    next_item_ = std::min(first_batch * batch_size_, item_count());
    for (Slot& slot : slots_) prepare(slot);
    allow_batches();
    lock.unlock();
    work_changed_.notify_all();
  }

  const Batch* next() {
    const std::int64_t first = next_batch_ * batch_size_;
    if (first >= item_count()) return nullptr;
    const std::size_t count = size_of(next_batch_);
    Slot& slot = slot_of(next_batch_);
    if (threads_.empty()) {
      for (std::size_t i = 0; i < count; ++i) {
        make_item(first + static_cast<std::int64_t>(i), slot, own_memory_);
      }
    } else {
      wait_for(slot, count);
    }
    ++next_batch_;
    const std::size_t numbers = count * numbers_per_image();
    batch_ = {.ids = std::span(ids_).subspan(static_cast<std::size_t>(first), count),
              .images = {slot.images.as<float>(), gives_levels_ ? 0 : numbers},
              .labels = {slot.labels.as<std::int64_t>(), count},
              .levels = {slot.images.as<std::uint8_t>(), gives_levels_ ? numbers : 0}};
    return &batch_;
  }

 private:
  /// Memory that grows.
  struct Buffer {
    std::shared_ptr<std::byte[]> bytes;
    std::size_t size = 0;

    template <class T>
    [[nodiscard]] T* as() const {
      return reinterpret_cast<T*>(bytes.get());
    }
  };

  /// One batch, being made or ready.
  struct Slot {
    Buffer images;
    Buffer labels;
    std::size_t done = 0;
    std::exception_ptr error;
    std::int64_t error_item = -1;

    void reset() {
      done = 0;
      error = nullptr;
      error_item = -1;
    }
  };

  /// What a thread decodes and transforms into.
  struct Memory {
    Image decoded;
    Transform::Scratch scratch;
  };

  [[nodiscard]] ImageShape find_shape() const {
    const auto fixed = split_.images->fixed_shape();
    if (fixed && split_.images->holds_rows()) return *fixed;
    // Decoded images have three channels; their sizes matter only without a crop.
    const ImageShape shape = transform_.output_shape(fixed.value_or(ImageShape{0, 0, 3}));
    if (shape.height == 0 || shape.width == 0) {
      throw InvalidArgument(
          "batch_reader: the images differ in size; a batch needs one size; give a crop");
    }
    return shape;
  }

  [[nodiscard]] std::int64_t item_count() const { return static_cast<std::int64_t>(ids_.size()); }
  [[nodiscard]] std::size_t numbers_per_image() const {
    return static_cast<std::size_t>(shape_.height) * static_cast<std::size_t>(shape_.width) *
           static_cast<std::size_t>(shape_.channels);
  }
  [[nodiscard]] Slot& slot_of(std::int64_t batch) {
    return slots_[static_cast<std::size_t>(batch) % slots_.size()];
  }

  [[nodiscard]] std::size_t size_of(std::int64_t batch) const {
    const std::int64_t left = item_count() - batch * batch_size_;
    return static_cast<std::size_t>(std::min(batch_size_, left));
  }

  void grow(Buffer& buffer, std::size_t size) const {
    if (buffer.size >= size) return;
    buffer.bytes.reset();  // before the same amount is allocated again
    buffer.bytes = options_.allocate ? options_.allocate(size)
                                     : std::shared_ptr<std::byte[]>(new std::byte[size]);
    buffer.size = size;
  }

  void prepare(Slot& slot) const {
    const auto count = static_cast<std::size_t>(batch_size_);
    const std::size_t number_bytes = gives_levels_ ? sizeof(std::uint8_t) : sizeof(float);
    grow(slot.images, count * numbers_per_image() * number_bytes);
    grow(slot.labels, count * sizeof(std::int64_t));
    slot.reset();
  }

  void make_item(std::int64_t item, Slot& slot, Memory& memory) {
    const SampleId id = ids_[static_cast<std::size_t>(item)];
    const auto place = static_cast<std::size_t>(item % batch_size_);
    const std::size_t first = place * numbers_per_image();
    slot.labels.as<std::int64_t>()[place] = split_.labels[static_cast<std::size_t>(id)];
    if (const float* row = split_.images->row(id)) {
      std::copy_n(row, numbers_per_image(), slot.images.as<float>() + first);
      return;
    }
    const ImageView image = split_.images->read(id, memory.decoded);
    const auto random = random_ ? std::optional(SampleRandom(*random_, id)) : std::nullopt;
    if (gives_levels_) {
      const ImageView levels = transform_.apply_to_levels(image, random, memory.scratch);
      std::copy_n(levels.pixels, levels.bytes(), slot.images.as<std::uint8_t>() + first);
    } else {
      transform_.apply(image, random, memory.scratch, slot.images.as<float>() + first);
    }
  }

  /// Workers may begin the batch about to be read and those ahead of it.
  void allow_batches() {
    const std::int64_t batches = next_batch_ + options_.batches_ahead + 1;
    allowed_end_ = std::min(batches * batch_size_, item_count());
  }

  /// The loop of a worker thread.
  void make_ready() {
    Memory memory;
    std::unique_lock lock(mutex_);
    while (true) {
      work_changed_.wait(lock, [this] { return stopping_ || next_item_ < allowed_end_; });
      if (stopping_) return;
      const std::int64_t item = next_item_++;
      Slot& slot = slot_of(item / batch_size_);
      ++under_way_;
      lock.unlock();
      std::exception_ptr error;
      try {
        make_item(item, slot, memory);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      // Of several broken images the first one is reported, whichever thread was faster.
      if (error && (slot.error_item < 0 || item < slot.error_item)) {
        slot.error = error;
        slot.error_item = item;
      }
      ++slot.done;
      --under_way_;
      // The reader is woken for a whole batch: once per image it would compete with the workers.
      const bool ends_batch = slot.done == size_of(item / batch_size_);
      if (ends_batch || (starting_ && under_way_ == 0)) item_done_.notify_one();
    }
  }

  void wait_for(Slot& slot, std::size_t count) {
    std::unique_lock lock(mutex_);
    if (next_batch_ > first_batch_) {
      // The oldest batch that was held has been used, so its place is free.
      const std::int64_t used = next_batch_ - options_.batches_held;
      if (used >= first_batch_) slot_of(used).reset();
      allow_batches();
      work_changed_.notify_all();
    }
    item_done_.wait(lock, [&] { return slot.done == count; });
    if (slot.error) std::rethrow_exception(slot.error);
  }

  const Split split_;
  const Transform transform_;
  const Options options_;
  const ImageShape shape_;
  const bool gives_levels_;
  std::vector<Slot> slots_;
  std::int64_t batch_size_ = 1;  ///< at most the samples of the epoch
  Batch batch_;
  Memory own_memory_;

  /// A copy: a caller that stops in mid-epoch may drop the list while workers read it.
  std::vector<SampleId> ids_;
  std::optional<RandomStream> random_;
  std::int64_t first_batch_ = 0;  ///< since `start`
  std::int64_t next_batch_ = 0;

  std::mutex mutex_;
  std::condition_variable work_changed_;
  std::condition_variable item_done_;
  std::int64_t next_item_ = 0;    ///< the first that no worker has taken yet
  std::int64_t allowed_end_ = 0;  ///< items before this one may be taken
  int under_way_ = 0;
  bool starting_ = false;  ///< `start` waits until nothing is under way any more
  bool stopping_ = false;
  std::vector<std::thread> threads_;  ///< none if images are in memory, or if
                                      ///< the system has none: `next` makes batches then
};

BatchReader::BatchReader(const Split& split, const Transform& transform, const Options& options)
    : work_(std::make_unique<Work>(split, transform, options)) {}

BatchReader::~BatchReader() = default;

ImageShape BatchReader::shape() const noexcept { return work_->shape(); }

void BatchReader::start(std::span<const SampleId> ids, std::int64_t first_batch,
                        std::optional<RandomStream> random) {
  work_->start(ids, first_batch, random);
}

const Batch* BatchReader::next() { return work_->next(); }

}  // namespace rcap
