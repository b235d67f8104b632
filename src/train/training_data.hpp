#pragma once

#include "data/dataset.hpp"
#include "train/options.hpp"

namespace rcap {

/// Opens the data of a run as it is trained on. This is the one place where samples leave the
/// training split: methods, scoring runs and the pass before training see what is left, and the id
/// of a sample is its position there.
///
/// The order is: open the data set, thin it out and make it long-tailed (`open_dataset`), then
/// `hold_out_samples`, then `add_label_noise`. If accuracies are measured on held-out samples,
/// those are taken first, so that a class made rare on purpose is judged on as many samples as the
/// others.
/// @throws InvalidArgument, BadFile  as these do; groups that the data set does not have, or none
///                                   with enough samples to evaluate on
[[nodiscard]] Dataset open_training_data(const TrainOptions& options);

/// Moves the fraction `options.hold_out` of every group from `train` to `held_out`, by the seed
/// alone (see `hold_out_part`); groups are what the budget is split over. Adds a remark.
void hold_out_samples(Dataset& dataset, const TrainOptions& options);

/// Makes the fraction `options.label_noise` of the labels of `train` wrong, by the seed alone (see
/// `change_labels`); held-out and test labels stay right. Adds a remark.
/// @throws InvalidArgument  there is only one class
void add_label_noise(Dataset& dataset, const TrainOptions& options);

/// The samples that accuracies are measured on.
[[nodiscard]] const Split& evaluated_split(const Dataset& dataset, Evaluate evaluate) noexcept;

/// @throws InvalidArgument  no group has `options.min_test_samples` samples to evaluate on
void require_counting_group(const Dataset& dataset, const TrainOptions& options);

}  // namespace rcap
