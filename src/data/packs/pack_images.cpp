#include "data/packs/pack_images.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/staged_file.hpp"
#include "data/images/cut_out.hpp"
#include "data/images/resize_image.hpp"
#include "data/packs/pack_tables.hpp"
#include "data/packs/packed_format.hpp"
#include "data/packs/partial_pack.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/workers.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using packed_format::Entry;
using packed_format::Head;

constexpr int LongestSide = 65535;
constexpr std::int64_t EstimatedFrom = 24;

void check_options(const PackOptions& options) {
  const PackRecipe& recipe = options.recipe;
  for (const auto& [name, side] :
       {std::pair{"resize", recipe.resize}, std::pair{"center_crop", recipe.center_crop}}) {
    if (side >= 0 && side <= LongestSide) continue;
    throw InvalidArgument(fmt::format("pack_images: {} is {}; it must lie between 0 and {}", name,
                                      side, LongestSide));
  }
  if (recipe.fast_decode && (recipe.resize == 0 || recipe.center_crop > 0)) {
    throw InvalidArgument(
        "pack_images: fast decoding makes images smaller before anything else; it needs a resize "
        "and allows no crop before it");
  }
}

/// The images of both splits, train before test.
class AllImages {
 public:
  explicit AllImages(const Dataset& dataset) : dataset_(dataset) {}

  [[nodiscard]] std::int64_t size() const { return dataset_.train.size() + dataset_.test.size(); }
  [[nodiscard]] const Split& split_of(std::int64_t image) const {
    return image < dataset_.train.size() ? dataset_.train : dataset_.test;
  }
  [[nodiscard]] SampleId id_of(std::int64_t image) const {
    return image < dataset_.train.size() ? image : image - dataset_.train.size();
  }
  [[nodiscard]] ImageView read(std::int64_t image, Image& buffer) const {
    return split_of(image).images->read(id_of(image), buffer);
  }

 private:
  const Dataset& dataset_;
};

/// What determines the bytes of the file, line by line; the user is told which line changed.
std::string make_plan(const Dataset& dataset, const PackedNames& names, const PackRecipe& recipe) {
  const auto describe_names = [](const std::vector<std::string>& list) {
    std::uint64_t checksum = 0;
    for (const std::string& name : list) {
      checksum = packed_format::checksum_of(name.data(), name.size(), checksum);
    }
    return fmt::format("{} (names {:016x})", list.size(), checksum);
  };
  const auto describe_split = [&](const Split& split) {
    std::uint64_t list = 0, files = 0;
    for (SampleId id = 0; id < split.size(); ++id) {
      const auto i = static_cast<std::size_t>(id);
      const std::string image =
          fmt::format("{} {} {}", split.labels[i], split.groups.empty() ? 0 : split.groups[i],
                      names.of(*split.images, id));
      list = packed_format::checksum_of(image.data(), image.size(), list);
      const std::uint64_t stamp = split.images->stamp_of(id);
      files = packed_format::checksum_of(&stamp, sizeof stamp, files);
    }
    return fmt::format("{} images (list {:016x}, sizes and times of files {:016x})", split.size(),
                       list, files);
  };
  return fmt::format(
      "dataset = {}\nfast-decode = {}\ncenter-crop = {}\nresize = {}\ninterpolation = {}\nclasses "
      "= {}\ngroups = {}\n"
      "train = {}\ntest = {}\n",
      dataset.name, recipe.fast_decode ? "on" : "off", recipe.center_crop, recipe.resize,
      recipe.interpolation == Interpolation::Bicubic ? "bicubic" : "bilinear",
      describe_names(dataset.class_names), describe_names(dataset.group_names),
      describe_split(dataset.train), describe_split(dataset.test));
}

/// Memory of one thread.
struct Memory {
  Image decoded;
  Image cropped;
};

/// An image ready to be written, or the reason why there is none.
struct Made {
  Image image;
  std::uint64_t checksum = 0;
  std::string bad_reason;    ///< not empty: it cannot be decoded
  std::exception_ptr error;  ///< anything else that went wrong
};

Made make(const AllImages& images, std::int64_t number, const PackRecipe& recipe, Memory& memory) {
  Made made;
  try {
    ImageView view = images.read(number, memory.decoded);
    if (recipe.center_crop > 0) {
      const ImageShape square{recipe.center_crop, recipe.center_crop, view.channels};
      cut_out(view, central_window(view.shape(), square), memory.cropped);
      view = memory.cropped.view();
    }
    const ImageShape shape =
        packed_shape({view.height, view.width, view.channels}, {.resize = recipe.resize});
    resize_image(view, shape.height, shape.width, made.image, recipe.interpolation);
    made.checksum = packed_format::checksum_of(made.image.pixels.data(), made.image.pixels.size());
  } catch (const BadFile& error) {
    made.bad_reason = error.what();
  } catch (const InvalidArgument& error) {
    const ImageSource& source = *images.split_of(number).images;
    made.error = std::make_exception_ptr(
        InvalidArgument(fmt::format("{}: {}", source.name_of(images.id_of(number)), error.what())));
  }
  return made;
}

/// Makes images in threads and writes them in order.
class Packer {
 public:
  Packer(const AllImages& images, const PackOptions& options, PartialPack& partial,
         const std::function<bool(const PackProgress&)>& go_on)
      : images_(images),
        options_(options),
        partial_(partial),
        go_on_(go_on),
        next_(static_cast<std::int64_t>(partial.records().size())),
        most_waiting_(4 * std::int64_t{options.threads}) {}

  /// @return false if it was stopped
  [[nodiscard]] bool run() {
    const Workers workers(options_.threads);
    std::vector<Memory> memories(static_cast<std::size_t>(workers.count()));
    const std::int64_t first = next_;
    ended_ = !report();
    try {
      workers.for_each_chunk(images_.size() - first, [&](std::int64_t chunk, int worker) {
        if (ended_) return;
        hand_over(first + chunk, make(images_, first + chunk, options_.recipe,
                                      memories[static_cast<std::size_t>(worker)]));
      });
    } catch (...) {
      keep_what_is_there();
      throw;
    }
    partial_.commit();
    return !ended_;
  }

 private:
  /// After an error, which is the one to report.
  void keep_what_is_there() {
    try {
      partial_.commit();
    } catch (const BadFile&) {
    }
  }

  /// The thread that brings the next image in order writes it and all that wait behind it.
  void hand_over(std::int64_t number, Made&& made) {
    std::unique_lock lock(mutex_);
    written_.wait(lock, [&] { return ended_ || number < next_ + most_waiting_; });
    if (ended_) return;
    waiting_.emplace(number, std::move(made));
    try {
      while (!ended_ && !waiting_.empty() && waiting_.begin()->first == next_) {
        write(waiting_.begin()->second);
        waiting_.erase(waiting_.begin());
        ++next_;
        if (!report()) ended_ = true;
      }
    } catch (...) {
      ended_ = true;
      written_.notify_all();
      throw;
    }
    written_.notify_all();
  }

  void write(const Made& made) {
    if (made.error) std::rethrow_exception(made.error);
    if (made.bad_reason.empty()) {
      partial_.append({made.checksum, static_cast<std::uint32_t>(made.image.height),
                       static_cast<std::uint32_t>(made.image.width)},
                      made.image.pixels);
    } else if (options_.skip_bad) {
      partial_.append_bad(made.bad_reason);
    } else {
      throw BadFile(
          fmt::format("{}; {} images before it are packed: replace it, or leave such images out "
                      "with skip-bad, and pack again",
                      made.bad_reason, next_));
    }
  }

  [[nodiscard]] bool report() const {
    return !go_on_ || go_on_({next_, images_.size(), partial_.bytes()});
  }

  const AllImages& images_;
  const PackOptions& options_;
  PartialPack& partial_;
  const std::function<bool(const PackProgress&)>& go_on_;

  std::mutex mutex_;
  std::condition_variable written_;
  std::map<std::int64_t, Made> waiting_;
  std::int64_t next_;  ///< the image to be written next
  const std::int64_t most_waiting_;
  std::atomic<bool> ended_ = false;
};

/// The summary of a file that an earlier call finished; empty if there is none.
std::optional<PackSummary> find_finished(const fs::path& out, std::uint64_t plan) {
  if (!is_there(out)) return std::nullopt;
  if (is_packed(out)) {
    const PackedDataset packed = open_packed(out);
    const Dataset& dataset = packed.dataset;
    if (packed.plan == plan) {
      PartialPack::remove_log(out);
      return PackSummary{dataset.train.size(),
                         dataset.test.size(),
                         packed.file_bytes,
                         dataset.train.size() + dataset.test.size(),
                         {}};
    }
  }
  refuse_file(out,
              "exists, but is not a pack of these images (names, sizes and times of their files) "
              "with these options; choose another file, or replace it with restart");
}

}  // namespace

std::optional<PackSummary> pack_images(const Dataset& dataset, const fs::path& source,
                                       const fs::path& out, const PackOptions& options,
                                       const std::function<bool(const PackProgress&)>& go_on) {
  check_options(options);
  check_can_write(out);
  const PackedNames names(source);
  const AllImages images(dataset);
  const std::string plan = make_plan(dataset, names, options.recipe);
  const std::uint64_t plan_checksum = packed_format::checksum_of(plan.data(), plan.size());
  if (!options.restart) {
    if (auto finished = find_finished(out, plan_checksum)) return finished;
  }
  PartialPack partial(out, plan, dataset.channels, options.restart);
  const auto done_before = static_cast<std::int64_t>(partial.records().size());
  if (done_before > images.size()) {
    throw BadFile(fmt::format(
        "{}.partial.log: lists {} images, but there are {}; it is damaged; start over with restart",
        out.string(), done_before, images.size()));
  }
  if (!options.skip_bad && !partial.reasons().empty()) {
    throw BadFile(
        fmt::format("{}.partial: {} images are left out of it; continue with skip-bad, or start "
                    "over with restart",
                    out.string(), partial.reasons().size()));
  }
  if (!Packer(images, options, partial, go_on).run()) return std::nullopt;

  const PackTables tables(dataset, names, partial);
  const auto [head, bytes] = tables.finish(options.recipe, plan_checksum);
  partial.publish({reinterpret_cast<const char*>(&head), sizeof head}, bytes);
  PackSummary summary{tables.train_count(), tables.test_count(), head.file_bytes, done_before, {}};
  for (const auto& [image, reason] : partial.reasons()) summary.left_out.push_back(reason);
  return summary;
}

std::uint64_t estimate_packed_bytes(const Dataset& dataset, const PackRecipe& recipe) {
  const AllImages images(dataset);
  const std::int64_t samples = std::min(EstimatedFrom, images.size());
  double bytes = 0;
  std::int64_t counted = 0;
  Image buffer;
  for (std::int64_t i = 0; i < samples; ++i) {
    try {
      const ImageView image = images.read(images.size() * i / samples, buffer);
      const ImageShape shape = packed_shape({image.height, image.width, image.channels}, recipe);
      bytes += static_cast<double>(shape.height) * shape.width * shape.channels;
      ++counted;
    } catch (const Error&) {
      // Packing will report it.
    }
  }
  const double each = counted == 0 ? 0 : bytes / static_cast<double>(counted);
  return static_cast<std::uint64_t>((each + sizeof(Entry)) * static_cast<double>(images.size()));
}

ImageShape packed_shape(ImageShape shape, const PackRecipe& recipe) {
  if (recipe.center_crop > 0) shape.height = shape.width = recipe.center_crop;
  return recipe.resize > 0 ? with_shorter_side(shape, recipe.resize) : shape;
}

}  // namespace rcap
