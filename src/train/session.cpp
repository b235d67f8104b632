#include "train/session.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/training_order.hpp"
#include "train/grouping.hpp"
#include "train/stopwatch.hpp"

namespace rcap {
namespace {

/// The order of the pass before the first epoch.
constexpr std::int64_t InitialEpoch = -1;

/// Without anything random.
TransformOptions plain_transform(const TrainOptions& options, const Dataset& dataset) {
  TransformOptions transform;
  transform.normalization = dataset.normalization;
  transform.center_crop = options.center_crop;
  transform.resize = options.resize > 0 ? options.resize : options.image_size;
  transform.interpolation = options.interpolation;
  transform.crop = options.image_size;
  const auto shape = dataset.train.images->fixed_shape();
  if (shape && transform.resize == 0 && transform.center_crop == 0) {
    // As stored, but shifted if there is padding.
    transform.crop = shape->height == shape->width ? shape->height : 0;
  }
  return transform;
}

TransformOptions training_transform(const TrainOptions& options, const Dataset& dataset) {
  TransformOptions transform = plain_transform(options, dataset);
  transform.random_crop = options.random_crop;
  transform.padding = options.crop_padding;
  transform.flip = options.flip;
  transform.trivial_augment = options.trivial_augment;
  return transform;
}

/// Smaller batches for large images: an evaluation should not take more memory than a step.
std::int64_t evaluation_batch(ImageShape shape) {
  constexpr std::int64_t MostPixels = 1 << 21;
  const std::int64_t pixels = std::int64_t{shape.height} * shape.width;
  return std::clamp<std::int64_t>(MostPixels / pixels, 1, 256);
}

std::vector<SampleId> all_ids(const Split& split) {
  std::vector<SampleId> ids(static_cast<std::size_t>(split.size()));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace

Session::Session(const TrainOptions& options, const Dataset& dataset, const Split& train,
                 std::unique_ptr<Pruner> pruner, std::string_view phase, TrainListener& listener,
                 std::shared_ptr<DeviceQueue> device)
    : options_(options),
      dataset_(dataset),
      train_(train),
      pruner_(std::move(pruner)),
      phase_(phase),
      listener_(listener),
      device_(device ? std::move(device) : open_device(options.device)),
      reader_(train, Transform(training_transform(options, dataset)), reading(options.batch_size)),
      engine_(options, reader_.shape(), dataset.class_count(), dataset.normalization, device_),
      planned_(pruner_->planned_batches(options.epochs, options.batch_size)),
      schedule_(options.schedule, options.lr, options.epochs, planned_) {
  state_.class_loss_sums.resize(pruner_->classes().class_sizes().size());
}

bool Session::done() const {
  return state_.epoch >= options_.epochs || (planned_ && state_.step >= *planned_);
}

BatchReader::Options Session::reading(std::int64_t batch_size) const {
  BatchReader::Options options{.batch_size = batch_size,
                               .workers = options_.data_workers.value_or(options_.threads)};
  if (!device_->works_alone()) return options;
  options.batches_held = 2;  // the next one is made while the device copies one
  options.levels = true;
  options.allocate = [device = device_](std::size_t bytes) { return device->host_memory(bytes); };
  return options;
}

double Session::loss_sum() const {
  return std::reduce(state_.class_loss_sums.begin(), state_.class_loss_sums.end());
}

void Session::report(std::string_view phase, std::int64_t samples, std::int64_t total) const {
  Progress progress{phase, state_.epoch, options_.epochs, samples, total};
  const double part = total == 0 ? 1 : static_cast<double>(samples) / static_cast<double>(total);
  progress.done = part;
  if (phase == phase_) {
    std::int64_t told = samples;
    for (const BatchLosses& batch : expected_) told -= static_cast<std::int64_t>(batch.ids.size());
    progress.loss = told == 0 ? 0 : loss_sum() / static_cast<double>(told);
    progress.done = planned_ ? static_cast<double>(state_.step) / static_cast<double>(*planned_)
                             : (static_cast<double>(state_.epoch) + part) /
                                   static_cast<double>(options_.epochs);
  }
  listener_.on_progress(progress);
}

void Session::initial_pass() {
  const Stopwatch watch(state_.run_seconds.initial_pass);
  // Shuffled as in training, since each batch is normalised by its own statistics.
  const auto order = training_order(all_ids(train_), options_.seed, InitialEpoch);
  BatchReader reader(train_, Transform(plain_transform(options_, dataset_)),
                     reading(options_.batch_size));
  reader.start(order, 0, std::nullopt);
  std::int64_t samples = 0;
  tell_prior();
  engine_.begin_initial_pass();
  while (const Batch* batch = reader.next()) {
    expect_losses(*batch, {.epoch = InitialEpoch}, engine_.initial_losses(*batch));
    tell_arrived_losses();
    samples += static_cast<std::int64_t>(batch->ids.size());
    report("initial pass", samples, train_.size());
  }
  engine_.end_initial_pass();
  tell_all_losses();
  count_forward(samples);
}

void Session::count_forward(std::int64_t samples) {
  if (state_.forward_samples) *state_.forward_samples += samples;
}

void Session::tell_prior() {
  const std::vector<double> prior = pruner_->log_prior();
  if (options_.group_by == GroupBy::Class) return engine_.use_prior(prior);
  engine_.use_prior(class_log_prior(prior, groups_of(train_, options_.group_by), train_.labels,
                                    dataset_.class_count()));
}

void Session::tell_class_errors() {
  // Not if accuracies are measured on these samples, which must then not influence the selection.
  // Nor before the network has learnt anything, or within an epoch that is selected already.
  const bool may_look = dataset_.held_out.size() > 0 && options_.evaluate == Evaluate::Test;
  if (!may_look || !pruner_->judges_classes() || state_.epoch == 0) return;
  if (pruner_->epoch() == state_.epoch) return;
  const Stopwatch watch(state_.epoch_seconds.select);
  std::vector<double> errors = class_losses(dataset_.held_out);
  // A class of which nothing could be held out counts as the worst.
  const double worst =
      std::ranges::max(errors, {}, [](double error) { return std::isnan(error) ? -1.0 : error; });
  std::ranges::replace_if(
      errors, [](double error) { return std::isnan(error); }, worst);
  for (double& error : errors) error *= options_.loss_scale;
  pruner_->observe_classes(errors);
}

void Session::expect_losses(const Batch& batch, const Position& position, PendingCopy losses) {
  expected_.push_back({{batch.ids.begin(), batch.ids.end()}, position, std::move(losses)});
}

void Session::tell_arrived_losses() {
  while (!expected_.empty() && expected_.front().losses.done()) {
    BatchLosses batch = std::move(expected_.front());
    expected_.pop_front();
    const auto losses = batch.losses.values<float>();
    check_losses(batch.ids, losses, batch.position);
    tell_losses(batch.ids, losses);
    if (batch.position.epoch == InitialEpoch) continue;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const auto j = static_cast<std::size_t>(pruner_->classes().class_of(batch.ids[i]));
      state_.class_loss_sums[j] += static_cast<double>(losses[i]);
    }
  }
}

void Session::tell_all_losses() {
  if (expected_.empty()) return;
  expected_.back().losses.wait();  // they arrive in order, so with the last one all are there
  tell_arrived_losses();
}

template <class Use>
void Session::scale_losses(std::span<const float> losses, Use&& use) const {
  if (options_.loss_scale == 1) return use(losses);
  std::vector<double> scaled(losses.begin(), losses.end());
  for (double& loss : scaled) loss *= options_.loss_scale;
  use(std::span<const double>(scaled));
}

void Session::tell_losses(std::span<const SampleId> ids, std::span<const float> losses) {
  scale_losses(losses, [&](auto scaled) { pruner_->observe(ids, scaled); });
}

std::optional<EpochRecord> Session::train_epoch(const AfterBatch& after_batch) {
  EpochRecord record;
  record.epoch = state_.epoch;
  tell_all_losses();  // of an epoch that was stopped and is resumed
  tell_class_errors();
  {
    const Stopwatch watch(state_.epoch_seconds.select);
    put_in_training_order(pruner_->select(state_.epoch), options_.seed, ordered_);
    tell_prior();
  }
  record.selected = static_cast<std::int64_t>(ordered_.ids.size());
  record.class_counts = pruner_->classes().count_by_class(ordered_.ids);
  reader_.start(ordered_.ids, state_.batch,
                RandomStream(options_.seed, Purpose::Augmentation, state_.epoch));
  batches_ = batches_of(record.selected, options_.batch_size);
  while (true) {
    const Batch* batch = nullptr;
    {
      const Stopwatch watch(state_.epoch_seconds.data_wait);
      batch = reader_.next();
    }
    if (batch == nullptr) break;
    const std::int64_t first = state_.batch * options_.batch_size;
    const auto weights = ordered_.weights.empty()
                             ? std::span<const float>()
                             : std::span<const float>(ordered_.weights)
                                   .subspan(static_cast<std::size_t>(first), batch->ids.size());
    train_batch(*batch, weights, {state_.epoch, state_.batch, batches_, state_.step});
    ++state_.batch;
    ++state_.step;
    state_.samples_seen += static_cast<std::int64_t>(batch->ids.size());
    report(phase_, first + static_cast<std::int64_t>(batch->ids.size()), record.selected);
    if (!after_batch(*batch)) return std::nullopt;
  }
  {
    const Stopwatch watch(state_.epoch_seconds.train);
    tell_all_losses();
  }
  refresh();
  record.lr = learning_rate_;
  record.train_loss = loss_sum() / static_cast<double>(record.selected);
  for (std::size_t j = 0; j < record.class_counts.size(); ++j) {
    record.class_losses.push_back(state_.class_loss_sums[j] /
                                  static_cast<double>(record.class_counts[j]));
  }
  ++state_.epoch;
  state_.batch = 0;
  std::ranges::fill(state_.class_loss_sums, 0.0);
  return record;
}

void Session::train_batch(const Batch& batch, std::span<const float> weights,
                          const Position& position) {
  {
    const Stopwatch watch(state_.epoch_seconds.train);
    const RandomStream dropout(options_.seed, Purpose::Dropout, position.epoch);
    PendingCopy losses = engine_.forward(batch, weights, dropout.bits(position.batch));
    learning_rate_ = schedule_.learning_rate(position) * ordered_.rate_factor;
    engine_.update(learning_rate_);
    expect_losses(batch, position, std::move(losses));
  }
  const Stopwatch watch(state_.epoch_seconds.observe);
  tell_arrived_losses();
}

void Session::check_losses(std::span<const SampleId> sample_ids, std::span<const float> losses,
                           const Position& position) const {
  const auto broken = std::ranges::find_if(losses, [](float loss) { return !std::isfinite(loss); });
  if (broken == losses.end()) return;
  constexpr std::size_t Shown = 8;
  const auto count = std::ranges::count_if(losses, [](float loss) { return !std::isfinite(loss); });
  std::vector<SampleId> ids;
  for (std::size_t i = 0; i < losses.size() && ids.size() < Shown; ++i) {
    if (!std::isfinite(losses[i])) ids.push_back(sample_ids[i]);
  }
  const std::string where = position.epoch < 0
                                ? "the pass before the first epoch"
                                : fmt::format("epoch {}, batch {}", position.epoch, position.batch);
  throw InvalidArgument(
      fmt::format("train: in {} the loss of {} of {} samples is {} (samples {}{}); the last "
                  "checkpoint is kept; try a lower learning rate (lr)",
                  where, count, losses.size(), *broken, fmt::join(ids, ", "),
                  std::cmp_greater(count, ids.size()) ? ", ..." : ""));
}

template <class Use>
void Session::for_each_batch(const Split& split, std::span<const SampleId> ids,
                             std::string_view phase, Use&& use) {
  BatchReader reader(split, Transform(plain_transform(options_, dataset_)),
                     reading(evaluation_batch(reader_.shape())));
  reader.start(ids, 0, std::nullopt);
  std::int64_t samples = 0;
  while (const Batch* batch = reader.next()) {
    use(*batch);
    samples += static_cast<std::int64_t>(batch->ids.size());
    report(phase, samples, static_cast<std::int64_t>(ids.size()));
  }
}

template <class Use>
void Session::for_each_loss(const Split& split, std::span<const SampleId> ids,
                            std::string_view phase, Use&& use) {
  const Position position{state_.epoch, state_.batch, batches_, state_.step};
  std::vector<BatchLosses> batches;
  tell_prior();
  for_each_batch(split, ids, phase, [&](const Batch& batch) {
    batches.push_back(
        {{batch.ids.begin(), batch.ids.end()}, position, engine_.evaluation_losses(batch)});
  });
  for (BatchLosses& batch : batches) {
    const auto losses = batch.losses.values<float>();
    check_losses(batch.ids, losses, position);
    use(std::span<const SampleId>(batch.ids), losses);
  }
  count_forward(static_cast<std::int64_t>(ids.size()));
}

void Session::refresh() {
  if (!pruner_->refreshes() || state_.epoch + 1 >= options_.epochs) return;
  const Stopwatch watch(state_.epoch_seconds.refresh);
  for_each_loss(train_, pruner_->unrefreshed_ids(), "refreshing", [this](auto ids, auto losses) {
    scale_losses(losses, [&](auto scaled) { pruner_->observe_refreshed(ids, scaled); });
  });
}

Predictions Session::predict(const Split& split) {
  tell_prior();  // a session that was resumed after its last epoch has not selected anything
  std::vector<PendingCopy> batches;
  for_each_batch(split, all_ids(split), "evaluating",
                 [&](const Batch& batch) { batches.push_back(engine_.predict(batch)); });
  Predictions predictions;
  for (PendingCopy& batch : batches) {
    const auto both = batch.values<std::int64_t>();
    const auto append = [](std::vector<ClassId>& classes, std::span<const std::int64_t> found) {
      for (const std::int64_t prediction : found) {
        classes.push_back(static_cast<ClassId>(prediction));
      }
    };
    append(predictions.plain, both.first(both.size() / 2));
    append(predictions.prior_adjusted, both.subspan(both.size() / 2));
  }
  return predictions;
}

std::vector<double> Session::class_losses(const Split& split) {
  const auto groups = groups_of(split, options_.group_by);
  const auto class_count = static_cast<std::size_t>(pruner_->classes().class_count());
  std::vector<double> sums(class_count), sizes(class_count);
  for_each_loss(split, all_ids(split), "evaluating", [&](auto ids, auto losses) {
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const auto j = static_cast<std::size_t>(groups[static_cast<std::size_t>(ids[i])]);
      sums[j] += static_cast<double>(losses[i]);
      ++sizes[j];
    }
  });
  std::ranges::transform(sums, sizes, sums.begin(), std::divides{});  // 0 / 0 is NaN
  return sums;
}

Accuracy Session::evaluate(const Split& split) {
  const auto groups = groups_of(split, options_.group_by);
  const auto count_right = [&](const std::vector<ClassId>& predictions) {
    GroupAccuracy accuracy(group_names(dataset_, options_.group_by).size(),
                           options_.min_test_samples);
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      accuracy.add(static_cast<std::size_t>(groups[i]), predictions[i] == split.labels[i]);
    }
    return accuracy;
  };
  const Predictions predictions = predict(split);
  return {count_right(predictions.plain), count_right(predictions.prior_adjusted)};
}

}  // namespace rcap
