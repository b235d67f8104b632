#include "train/training_data.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "data/label_noise.hpp"
#include "data/open_dataset.hpp"
#include "data/subsample.hpp"
#include "rcap/core/class_index.hpp"
#include "rcap/core/error.hpp"
#include "train/grouping.hpp"

namespace rcap {
namespace {

/// How small JPEGs may be decoded; 0: at full size.
int least_side(const TrainOptions& options) {
  if (!options.fast_decode || options.center_crop > 0) return 0;
  return std::max(options.resize, options.image_size);
}

DatasetOptions dataset_options(const TrainOptions& options) {
  return {.folder = options.data,
          .label_column = options.label_column,
          .train_samples = options.train_samples,
          .imbalance = options.imbalance,
          .seed = options.seed,
          .least_side = least_side(options),
          .skip_bad = options.skip_bad,
          .threads = options.data_workers.value_or(options.threads)};
}

}  // namespace

Dataset open_training_data(const TrainOptions& options) {
  const DatasetOptions wanted = dataset_options(options);
  const bool holds_out_first = options.evaluate == Evaluate::HeldOut;
  DatasetOptions opened = wanted;
  if (holds_out_first) {
    opened.train_samples.reset();
    opened.imbalance = 1;
  }
  Dataset dataset = open_dataset(options.dataset, opened);
  require_groups(dataset, options.group_by);
  hold_out_samples(dataset, options);
  if (holds_out_first) thin_out(dataset, wanted);
  add_label_noise(dataset, options);
  require_counting_group(dataset, options);
  return dataset;
}

void hold_out_samples(Dataset& dataset, const TrainOptions& options) {
  if (options.hold_out == 0) return;
  const ClassIndex groups(groups_of(dataset.train, options.group_by),
                          static_cast<ClassId>(group_names(dataset, options.group_by).size()));
  const auto [kept, held_out] =
      hold_out_part(groups, options.hold_out, options.seed, SubsampleUse::HeldOut);
  dataset.remarks.push_back(fmt::format("{} of {} training samples are held out (seed {})",
                                        held_out.size(), dataset.train.size(), options.seed));
  dataset.held_out = subset(dataset.train, held_out);
  dataset.train = subset(dataset.train, kept);
}

void add_label_noise(Dataset& dataset, const TrainOptions& options) {
  if (options.label_noise == 0) return;
  const auto changed = change_labels(dataset.train, dataset.class_count(),
                                     static_cast<ClassId>(dataset.group_names.size()),
                                     options.label_noise, options.seed);
  dataset.changed_labels = static_cast<std::int64_t>(changed.size());
  dataset.remarks.push_back(fmt::format("{} of {} training labels are wrong on purpose (seed {})",
                                        changed.size(), dataset.train.size(), options.seed));
}

const Split& evaluated_split(const Dataset& dataset, Evaluate evaluate) noexcept {
  return evaluate == Evaluate::HeldOut ? dataset.held_out : dataset.test;
}

void require_counting_group(const Dataset& dataset, const TrainOptions& options) {
  const std::vector<std::int64_t> sizes =
      group_sizes(dataset, evaluated_split(dataset, options.evaluate), options.group_by);
  const std::int64_t largest = sizes.empty() ? 0 : std::ranges::max(sizes);
  if (largest >= options.min_test_samples) return;
  throw InvalidArgument(fmt::format(
      "min-test-samples is {}: the largest group of {} has {} samples to evaluate on, so no group "
      "would count{}",
      options.min_test_samples, dataset.name, largest,
      largest == 0 ? "" : fmt::format("; choose at most {}", largest)));
}

}  // namespace rcap
