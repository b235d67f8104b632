#include "rcap/core/pruner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/formatted.hpp"
#include "core/batch_checks.hpp"
#include "core/log_parts.hpp"
#include "core/member_blocks.hpp"
#include "core/saturate.hpp"
#include "core/token_weight.hpp"
#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

/// Calls `use` with the ids and their losses as methods keep them: in single precision, none below
/// zero.
/// @param as_they_are  the losses are so already if they are in single precision
template <class Real, class Use>
void hand_over(std::span<const SampleId> ids, std::span<const Real> losses, bool as_they_are,
               const Use& use) {
  if constexpr (std::is_same_v<Real, float>) {
    if (as_they_are) return use(ids, losses);
  }
  std::array<float, 1024> block;
  for (std::size_t first = 0; first < ids.size(); first += block.size()) {
    const std::size_t count = std::min(block.size(), ids.size() - first);
    std::ranges::transform(losses.subspan(first, count), block.begin(),
                           [](Real loss) { return saturate(std::max(Real{0}, loss)); });
    use(ids.subspan(first, count), std::span<const float>(block).first(count));
  }
}

void check_windows(WindowOptions windows, const ClassIndex& classes) {
  OptionFields fields;
  list_options(fields, windows, true);
  check(fields);
  if (windows.window && !classes.shard().is_whole()) {
    throw InvalidArgument(
        "window: the samples are in shards, which have no windows yet; leave it out, or give the "
        "labels of all samples to one process");
  }
  if (windows.window.value_or(0) <= classes.token_count()) return;
  throw InvalidArgument(formatted(
      "window is {}; the data set has {} {}, and none comes twice in a "
      "window; choose a smaller one",
      *windows.window, classes.token_count(), classes.has_lengths() ? "tokens" : "samples"));
}

void check_longest(const ClassIndex& classes, std::int64_t keep_tokens) {
  if (!classes.has_lengths()) return;
  const auto longest = std::ranges::max_element(classes.lengths());
  if (std::cmp_less_equal(*longest, keep_tokens)) return;
  throw InvalidArgument(formatted(
      "lengths: that of sample {} is {}, more than the {} tokens that are kept of {}; cut "
      "such samples, leave them out, or keep more",
      longest - classes.lengths().begin(), *longest, keep_tokens, classes.token_count()));
}

}  // namespace

void list_options(OptionFields& fields, CommonOptions& options) {
  fields.number("pruning_rate", options.pruning_rate, "R", "fraction removed, 0 <= R < 1",
                Range::proper_part());
  fields.count("seed", options.seed, "S", "seed of all random numbers");
  fields
      .count("threads", options.threads, "N",
             "number of threads; changes the time, never the result", Range::between(1, 4096))
      .shapes_no_result();
}

void list_options(OptionFields& fields, WindowOptions& options, bool rounds) {
  fields.count("window", options.window, "W",
               "samples of each selection, tokens if they have lengths, instead of a pruning rate",
               Range::at_least(1));
  if (!rounds) return;
  fields.flag("unseen_first", options.unseen_first,
              "in windows: no sample comes again before all others of its class have come");
  fields
      .count("max_repeats", options.max_repeats, "M",
             "in windows: how often a sample may come again in the run", Range::between(0, 1e9))
      .applies_if([&options] { return options.unseen_first; }, "is for windows with unseen_first");
}

Pruner::Pruner(std::string method, std::shared_ptr<const ClassIndex> classes,
               const CommonOptions& options)
    : method_(std::move(method)),
      classes_(std::move(classes)),
      options_(options),
      keep_tokens_(options.windows.window.value_or(rcap::keep_count(
          classes_->token_count(), classes_->filled_class_count(), options.pruning_rate))),
      workers_(options.threads),
      selected_(classes_->local_count()),
      trained_weights_(classes_->class_sizes().size()),
      pending_(SampleSet::all(classes_->local_count())),
      unrefreshed_(0),
      batch_means_(classes_->local_count()) {
  check_options(options);
  check_windows(options.windows, *classes_);
  check_longest(*classes_, keep_tokens_);
}

std::optional<Rounds> Pruner::make_rounds() const {
  if (!windows().window || !windows().unseen_first) return std::nullopt;
  return Rounds(classes_, windows().max_repeats);
}

std::int64_t Pruner::budget_of(std::int64_t epoch, std::span<const std::int64_t> available) const {
  const std::int64_t all = std::accumulate(available.begin(), available.end(), std::int64_t{0});
  if (all > 0) return std::min(all, keep_tokens_);
  throw InvalidArgument(formatted(
      "select: nothing is left for window {}: every sample has come once and {} more times "
      "(max_repeats); end the run here, or allow more repeats",
      epoch, windows().max_repeats.value_or(0)));
}

std::int64_t Pruner::keep_count() const noexcept {
  if (!classes_->has_lengths()) return keep_tokens_;
  const double mean_length =
      static_cast<double>(classes_->token_count()) / static_cast<double>(classes_->sample_count());
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(keep_tokens_) / mean_length + 0.5));
}

std::optional<std::int64_t> Pruner::planned_batches(std::int64_t epochs,
                                                    std::int64_t batch_size) const {
  if (epochs < 0 || epochs > MostEpochs) {
    throw InvalidArgument(formatted("planned_batches: epochs is {}; it must lie between 0 and {}",
                                    epochs, MostEpochs));
  }
  if (batch_size < 1) {
    throw InvalidArgument(
        formatted("planned_batches: batch_size is {}; it must be at least 1", batch_size));
  }
  return plan_batches(epochs, batch_size);
}

std::optional<std::int64_t> Pruner::plan_batches(std::int64_t epochs,
                                                 std::int64_t batch_size) const {
  if (classes_->has_lengths()) return std::nullopt;
  // While samples are left that never came, every window is full; then it depends on the shares.
  const bool may_end = windows().window && windows().unseen_first && windows().max_repeats;
  if (may_end && epochs > classes_->sample_count() / keep_tokens_) return std::nullopt;
  return epochs * batches_of(keep_count(), batch_size);
}

const Selection& Pruner::select(std::int64_t epoch) {
  if (epoch < 0) {
    throw InvalidArgument(formatted("select: epoch is {}; epochs count from 0", epoch));
  }
  if (epoch < epoch_) {
    throw InvalidArgument(
        formatted("select: epoch {} comes before epoch {}, which is under way; epochs only go up "
                  "(to start again, load an earlier state or make a new pruner)",
                  epoch, epoch_));
  }
  if (epoch_ < 0) check_initial_losses();
  const bool is_new = epoch != epoch_;
  if (is_new) {
    make_selection(epoch, selected_, workers_);
    pending_ = selected_;
    if (refreshes()) unrefreshed_ = left_out();
    epoch_ = epoch;
  }
  if (selection_.epoch != epoch) {
    selected_.list_ids(selection_.ids, workers_);
    weigh(selection_.ids, workers_, selection_.weights);
    if (refreshes()) left_out().list_ids(selection_.refresh_ids, workers_);
    selection_.rate_factor = rate_factor(epoch);
    selection_.epoch = epoch;
  }
  if (is_new) {
    std::ranges::transform(trained_weights_, class_weights(selection_, workers_),
                           trained_weights_.begin(), std::plus<>());
  }
  return selection_;
}

void Pruner::check_initial_losses() const {
  if (!takes_initial_losses()) return;
  const std::int64_t missing = shard().sum(pending_count());
  if (missing == 0) return;
  if (!needs_initial_losses() && missing == classes_->sample_count()) return;
  const SampleId first_here =
      pending_count() > 0 ? shard().first_id() + pending_ids().front() : classes_->sample_count();
  throw InvalidArgument(formatted(
      "select: {} of {} samples have no initial loss, the first is sample {}; observe the loss "
      "of every sample once before the first epoch",
      missing, classes_->sample_count(), shard().lowest(first_here)));
}

SampleSet Pruner::left_out() const {
  SampleSet others = SampleSet::all(classes_->local_count());
  others.subtract(selected_);
  return others;
}

std::vector<double> Pruner::class_weights(const Selection& selection, const Workers& workers) {
  const TokenWeight tokens(*classes_);
  if (shard().any(!selection.weights.empty())) {
    const float* weights = selection.weights.data();
    return sum_ids_by_class<double>(*classes_, selection.ids, workers, [&](std::size_t i) {
      return tokens(selection.ids[i]) * static_cast<double>(weights[i]);
    });
  }
  const std::vector<std::int64_t> counts = sum_ids_by_class<std::int64_t>(
      *classes_, selection.ids, workers,
      [&](std::size_t i) { return std::int64_t{classes_->length_of(selection.ids[i])}; });
  return {counts.begin(), counts.end()};
}

std::vector<double> Pruner::log_prior() const {
  const bool has_trained =
      std::ranges::any_of(trained_weights_, [](double weight) { return weight > 0; });
  if (has_trained) return log_parts(trained_weights_);
  const auto sizes = classes_->class_tokens();
  return log_parts(std::vector<double>(sizes.begin(), sizes.end()));
}

void Pruner::mark_observed(const char* where, std::span<const SampleId> ids) {
  constexpr std::size_t BlockIds = 256;
  constexpr std::size_t NearBytes = 1 << 18;  // what a core's own cache holds beside the rest
  std::uint64_t* pending = pending_.words().data();
  const bool pending_is_far = pending_.words().size_bytes() > NearBytes;
  for (std::size_t first = 0; first < ids.size(); first += BlockIds) {
    const std::size_t last = std::min(first + BlockIds, ids.size());
    const auto block = ids.subspan(first, last - first);
    const bool all_known = all_exist(block, classes_->local_count());
    // Far memory is fetched for many samples at a time.
    if (all_known && pending_is_far) {
      for (const SampleId id : block) __builtin_prefetch(pending + id / 64, 1, 2);
    }
    if (all_known) prefetch(block);
    for (std::size_t i = first; i < last; ++i) {
      if (!all_known && !exists(ids[i])) refuse(where, ids, i);
      const auto id = static_cast<std::uint64_t>(ids[i]);
      const std::uint64_t bit = std::uint64_t{1} << (id % 64);
      if ((pending[id / 64] & bit) == 0) [[unlikely]] {
        refuse(where, ids, i);
      }
      pending[id / 64] ^= bit;
    }
  }
}

void Pruner::check_that_ids_exist(const char* where, std::span<const SampleId> ids) const {
  if (all_exist(ids, classes_->local_count())) return;
  const auto stray = std::ranges::find_if_not(ids, [this](SampleId id) { return exists(id); });
  throw InvalidArgument(
      formatted("{}: id {} does not exist; ids lie between 0 and {}; nothing was recorded", where,
                *stray, classes_->local_count() - 1));
}

void Pruner::refuse(const char* where, std::span<const SampleId> ids, std::size_t at) {
  for (std::size_t i = 0; i < at; ++i) pending_.insert(ids[i]);
  check_that_ids_exist(where, ids.subspan(at, 1));
  const SampleId id = ids[at];
  const SampleId name = shard().first_id() + id;
  std::string reason;
  const bool is_one_call = shard().is_whole();  // or what several ranks observed
  if (is_one_call && std::ranges::count(ids.first(at), id) > 0) {
    reason = formatted("id {} appears twice in one call; give each sample once", name);
  } else if (epoch_ < 0 || selected_.contains(id)) {
    reason = formatted("sample {} was observed before in this epoch; each counts once", name);
  } else {
    reason = formatted(
        "sample {} is not in the selection of epoch {}; ids are positions in the whole data set",
        name, epoch_);
  }
  throw InvalidArgument(formatted("{}: {}; nothing was recorded", where, reason));
}

template <class Real>
void Pruner::observe_any(std::span<const SampleId> ids, std::span<const Real> losses) {
  check_sizes("observe", ids.size(), losses.size());
  if (epoch_ < 0 && !takes_initial_losses()) {
    throw InvalidArgument(
        formatted("observe: nothing is selected yet; {} takes no initial losses, call select first",
                  method_));
  }
  if (!learns()) return mark_observed("observe", ids);
  const bool some_are_below_zero = check_losses("observe", ids, losses);
  mark_observed("observe", ids);
  hand_over(ids, losses, !some_are_below_zero,
            [this](auto some_ids, auto their_losses) { record_marked(some_ids, their_losses); });
}

void Pruner::record_marked(std::span<const SampleId> ids, std::span<const float> losses) {
  record(ids, batch_means_.remembered(ids, losses));
}

template <class Real>
void Pruner::observe_any_late(std::span<const SampleId> ids, std::span<const Real> losses) {
  check_sizes("observe_late", ids.size(), losses.size());
  if (epoch_ < 0) {
    throw InvalidArgument(
        "observe_late: nothing is selected yet, so no loss can be late; observe takes losses from "
        "before the first epoch");
  }
  check_that_ids_exist("observe_late", ids);
  std::vector<SampleId> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    throw InvalidArgument(
        formatted("observe_late: id {} appears twice in one call; give each sample once; nothing "
                  "was recorded",
                  *twice));
  }
  if (!learns()) return;
  const bool some_are_below_zero = check_losses("observe_late", ids, losses);
  // What the current selection tells of a sample is newer.
  std::vector<SampleId> late_ids;
  std::vector<Real> late_losses;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (selected_.contains(ids[i]) && !pending_.contains(ids[i])) continue;
    late_ids.push_back(ids[i]);
    late_losses.push_back(losses[i]);
  }
  hand_over<Real>(late_ids, late_losses, !some_are_below_zero,
                  [this](auto some_ids, auto their_losses) {
                    record_late(some_ids, batch_means_.remembered(some_ids, their_losses));
                  });
}

template <class Real>
void Pruner::observe_any_refreshed(std::span<const SampleId> ids, std::span<const Real> losses) {
  check_sizes("observe_refreshed", ids.size(), losses.size());
  if (!refreshes()) {
    throw InvalidArgument(
        formatted("observe_refreshed: {} with these options asks for no forward pass over samples "
                  "that it leaves out",
                  method_));
  }
  if (epoch_ < 0) {
    throw InvalidArgument(
        "observe_refreshed: nothing is selected yet, so nothing was left out; call select first");
  }
  const bool some_are_below_zero = check_losses("observe_refreshed", ids, losses);
  mark_refreshed(ids);
  hand_over(ids, losses, !some_are_below_zero, [this](auto some_ids, auto their_losses) {
    record_late(some_ids, batch_means_.remembered(some_ids, their_losses));
  });
}

void Pruner::mark_refreshed(std::span<const SampleId> ids) {
  check_that_ids_exist("observe_refreshed", ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (unrefreshed_.erase_present(ids[i])) continue;
    for (const SampleId id : ids.first(i)) unrefreshed_.insert(id);
    throw InvalidArgument(formatted(
        "observe_refreshed: sample {} is not one to refresh in epoch {}, or was refreshed "
        "before; give each of refresh_ids once; nothing was recorded",
        ids[i], epoch_));
  }
}

void Pruner::average_batches(double decay) { batch_means_.turn_on(decay); }

void Pruner::observe_batch(std::span<const SampleId> ids, double mean_loss) {
  const bool begins = learns() && !batch_means_.is_on();
  if (begins) average_batches();
  try {
    observe(ids, std::vector<double>(ids.size(), mean_loss));
  } catch (...) {
    if (begins) batch_means_ = BatchMeans(classes_->local_count());
    throw;
  }
}

void Pruner::observe(std::span<const SampleId> ids, std::span<const float> losses) {
  observe_any(ids, losses);
}

void Pruner::observe(std::span<const SampleId> ids, std::span<const double> losses) {
  observe_any(ids, losses);
}

void Pruner::observe_late(std::span<const SampleId> ids, std::span<const float> losses) {
  observe_any_late(ids, losses);
}

void Pruner::observe_late(std::span<const SampleId> ids, std::span<const double> losses) {
  observe_any_late(ids, losses);
}

void Pruner::observe_refreshed(std::span<const SampleId> ids, std::span<const float> losses) {
  observe_any_refreshed(ids, losses);
}

void Pruner::observe_refreshed(std::span<const SampleId> ids, std::span<const double> losses) {
  observe_any_refreshed(ids, losses);
}

void Pruner::pass_over(std::span<const SampleId> ids) {
  if (epoch_ < 0) {
    throw InvalidArgument(
        "pass_over: nothing is selected yet; only samples of a selection can be passed over");
  }
  mark_observed("pass_over", ids);
}

void Pruner::note_clipped(std::int64_t count) {
  const std::int64_t observed = shard().sum(selected_.count() - pending_.count());
  count = shard().sum(count);
  clipped_part_ = observed == 0 ? 0 : static_cast<double>(count) / static_cast<double>(observed);
}

void Pruner::observe_classes(std::span<const double> errors) {
  if (!judges_classes()) {
    throw InvalidArgument(
        formatted("observe_classes: {} does not use class errors here; rcap with class_share "
                  "robust does, and so do class shares that follow losses",
                  method_));
  }
  if (std::cmp_not_equal(errors.size(), classes_->class_count())) {
    throw InvalidArgument(formatted("observe_classes: {} errors for {} classes; give one per class",
                                    errors.size(), classes_->class_count()));
  }
  for (std::size_t j = 0; j < errors.size(); ++j) {
    if (errors[j] >= 0 && std::isfinite(errors[j])) continue;
    throw InvalidArgument(
        formatted("observe_classes: the error of class {} is {}; errors must be finite and >= 0; "
                  "nothing was recorded",
                  j, errors[j]));
  }
  record_classes(errors);
}

std::vector<std::string> Pruner::options() const {
  std::vector<std::string> options = rcap::describe_options(options_);
  if (windows().window) {
    WindowOptions windows = options_.windows;
    OptionFields fields;
    list_options(fields, windows, true);
    std::ranges::move(describe(fields), std::back_inserter(options));
    std::erase_if(options, [](const std::string& option) {  // which has no effect
      return option.starts_with("pruning_rate=");
    });
  }
  if (classes_->has_lengths()) {
    options.push_back(formatted("lengths={:016x}", classes_->length_fingerprint()));
  }
  std::ranges::move(describe_options(), std::back_inserter(options));
  return options;
}

StateIdentity Pruner::identity() const {
  return {method_, classes_->sample_count(), classes_->class_count(), classes_->fingerprint(),
          options()};
}

void Pruner::list_all_state(StateFields& fields) {
  fields.number("epoch", epoch_);
  fields.samples("selected", selected_);
  fields.samples("pending", pending_);
  fields.weights("trained_weights", trained_weights_);
  if (refreshes()) {
    if (unrefreshed_.sample_count() == 0) unrefreshed_ = SampleSet(classes_->local_count());
    fields.samples("unrefreshed", unrefreshed_);
  }
  batch_means_.list_state(fields);
  list_state(fields);
}

void Pruner::save(const std::filesystem::path& path) const {
  // Listing hands out references for both ways; a writer only reads them.
  auto& self = const_cast<Pruner&>(*this);
  write_state_file(path, identity(), [&self](StateFields& fields) { self.list_all_state(fields); });
}

std::vector<std::byte> Pruner::state() const {
  auto& self = const_cast<Pruner&>(*this);
  return encode_state(identity(), [&self](StateFields& fields) { self.list_all_state(fields); });
}

void Pruner::write_state(const WriteBytes& write) const {
  auto& self = const_cast<Pruner&>(*this);
  stream_state(write, identity(), [&self](StateFields& fields) { self.list_all_state(fields); });
}

void Pruner::read_all_state(StateFields& fields, const std::string& where) {
  list_all_state(fields);
  SampleSet stray = pending_;
  if (epoch_ >= 0) stray.subtract(selected_);
  if (epoch_ < -1 || (epoch_ >= 0 && stray.count() > 0)) {
    throw BadFile(
        formatted("{}: epoch or pending samples contradict the selection; the state was "
                  "not written by rcap",
                  where));
  }
  const double trained = std::accumulate(trained_weights_.begin(), trained_weights_.end(), 0.0);
  if (!std::isfinite(trained) || (epoch_ < 0 && trained > 0)) {
    throw BadFile(
        formatted("{}: the trained weights add up to {} after {} epochs; the state was not written "
                  "by rcap",
                  where, trained, epoch_ + 1));
  }
}

void Pruner::replace_state(const std::function<void()>& read) {
  const BatchMeans before = batch_means_;
  try {
    read();
  } catch (...) {
    batch_means_ = before;
    throw;
  }
  selection_ = {};
  clipped_part_ = 0;
}

void Pruner::load(const std::filesystem::path& path) {
  const std::string where = formatted("load_state \"{}\"", path.string());
  replace_state([&] {
    read_state_file(path, identity(), [&](StateFields& fields) { read_all_state(fields, where); });
  });
}

void Pruner::set_state(std::span<const std::byte> bytes) {
  replace_state([&] {
    decode_state(bytes, identity(),
                 [&](StateFields& fields) { read_all_state(fields, "load_state"); });
  });
}

}  // namespace rcap
