#pragma once

#include "data/dataset.hpp"
#include "train/options.hpp"

namespace rcap {

/// Opens the data of a run as it is trained on. This is the one place where samples leave the
/// training split: methods, scoring runs and the pass before training see what is left, and the id
/// of a sample is its position there.
///
/// In this order: the data set is opened, a part of it and the long tail are taken
/// (`open_dataset`), then `hold_out_samples`, then `add_label_noise`. Held-out samples that
/// accuracies are of come first: a class that is made rare on purpose is then judged on as many
/// samples as the others. Otherwise they are what such data would have.
/// @throws InvalidArgument, BadFile  as these do; groups that the data set does not have, or none
///                                   with enough samples to evaluate with
[[nodiscard]] Dataset open_training_data(const TrainOptions& options);

/// Moves the part `options.hold_out` of every group from `train` to `held_out`, by the seed alone
/// (see `hold_out_part`); groups are what the budget is split over. Leaves a remark.
void hold_out_samples(Dataset& dataset, const TrainOptions& options);

/// Makes the part `options.label_noise` of the labels of `train` wrong, by the seed alone (see
/// `change_labels`); held-out and test labels stay right. Leaves a remark.
/// @throws InvalidArgument  there is one class only
void add_label_noise(Dataset& dataset, const TrainOptions& options);

/// The samples that the reported accuracies are of.
[[nodiscard]] const Split& evaluated_split(const Dataset& dataset, Evaluate evaluate) noexcept;

/// @throws InvalidArgument  no group has `options.min_test_samples` samples to evaluate with
void require_counting_group(const Dataset& dataset, const TrainOptions& options);

}  // namespace rcap
