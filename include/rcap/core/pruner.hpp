#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rcap/core/batch_means.hpp"
#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/options.hpp"
#include "rcap/core/random_stream.hpp"
#include "rcap/core/rounds.hpp"
#include "rcap/core/sample_set.hpp"
#include "rcap/core/state_file.hpp"

RCAP_API_BEGIN
namespace rcap {

/// What one epoch trains on.
struct Selection {
  std::int64_t epoch = -1;
  /// Distinct, ascending. `training_order` gives the order in which to visit them.
  std::vector<SampleId> ids;
  /// The factor of each sample's loss, in the order of `ids`; empty if all are 1.
  std::vector<float> weights;
  /// Samples that are not trained on in this epoch, but whose losses the method wants to know
  /// before the next one: make a forward pass over them and `observe_refreshed` the losses.
  /// Ascending; empty unless the method `refreshes`.
  std::vector<SampleId> refresh_ids = {};
  /// What the method multiplies the learning rate of this epoch by.
  double rate_factor = 1;
};

/// Windows instead of epochs, for one pass over large data: each selection is a window of so many
/// samples, renewed within the pass. `epoch` then counts windows.
struct WindowOptions {
  /// Samples of each selection, tokens if they have lengths, instead of a pruning rate; empty:
  /// there are no windows.
  std::optional<std::int64_t> window = {};
  /// No sample of a class comes again before all others of it have come (`Rounds`); for methods
  /// that split the budget over classes.
  bool unseen_first = true;
  /// How often a sample may come again, with `unseen_first`; empty: as often as the run lasts.
  std::optional<std::int64_t> max_repeats = {};
};

/// @param rounds  whether to list all of them, not `window` alone
void list_options(OptionFields& fields, WindowOptions& options, bool rounds);

/// Options that every method has.
struct CommonOptions {
  double pruning_rate = 0.9;  ///< the fraction removed, 0 <= pruning_rate < 1
  std::uint64_t seed = 0;
  int threads = 1;  ///< changes the time, never the result
  WindowOptions windows = {};
};

void list_options(OptionFields& fields, CommonOptions& options);

/// Decides before each epoch which samples to train on.
///
///     auto classes = std::make_shared<const ClassIndex>(std::span<const int>(labels));
///     auto pruner = make_pruner("rcap", classes, options);
///     if (pruner->needs_initial_losses()) pruner->observe(all_ids, initial_losses);
///     for (int epoch = 0; epoch < epochs; ++epoch) {
///       const Selection& selection = pruner->select(epoch);
///       ...                                   // train, batch by batch
///       pruner->observe(batch_ids, batch_losses);
///     }
///
/// A selection is a pure function of (state, seed, epoch). One thread at a time may
/// call a pruner; different pruners are independent.
///
/// Of a data set that is cut into shards it has one shard's samples, and its ids count from the
/// shard's first; `ShardedPruner` makes such pruners and speaks for them.
class Pruner {
 public:
  virtual ~Pruner() = default;
  Pruner(const Pruner&) = delete;
  Pruner& operator=(const Pruner&) = delete;

  [[nodiscard]] std::string_view method() const noexcept { return method_; }
  [[nodiscard]] const ClassIndex& classes() const noexcept { return *classes_; }
  /// "name=value" of each option that shapes selections.
  [[nodiscard]] std::vector<std::string> options() const;
  /// How many samples a pruned epoch trains on. If samples have lengths, about how many: what is
  /// known in advance is `keep_tokens`.
  [[nodiscard]] std::int64_t keep_count() const noexcept;
  /// How many tokens a pruned epoch, or a window, trains on, within one sample for each class;
  /// without lengths every sample counts as one token.
  [[nodiscard]] std::int64_t keep_tokens() const noexcept { return keep_tokens_; }
  /// The epoch last selected; -1 before the first.
  [[nodiscard]] std::int64_t epoch() const noexcept { return epoch_; }
  /// How many samples the current selection has; 0 before the first.
  [[nodiscard]] std::int64_t selected_count() const noexcept { return selected_.count(); }
  /// How many samples of the current selection (before the first: of the initial
  /// pass) have not been observed yet.
  [[nodiscard]] std::int64_t pending_count() const noexcept { return pending_.count(); }
  /// The ids of these samples, ascending.
  [[nodiscard]] std::vector<SampleId> pending_ids() const { return pending_.ids(); }

  /// Fraction of the losses observed in the previous selection that the method's clip cut when the
  /// current one was made: near 1 the clip hides what tells samples apart. 0 for methods without a
  /// clip, before the second selection and after a state was loaded.
  [[nodiscard]] double clipped_part() const noexcept { return clipped_part_; }

  /// Whether every sample's loss must be observed once before the first `select`.
  [[nodiscard]] virtual bool needs_initial_losses() const noexcept { return false; }
  /// Whether losses may be observed before the first `select`: those of all samples, or none.
  [[nodiscard]] virtual bool takes_initial_losses() const noexcept {
    return needs_initial_losses();
  }

  /// Whether its selections follow the losses it observes. If not, any number is accepted as a loss
  /// and nothing is recorded.
  [[nodiscard]] virtual bool learns() const noexcept { return true; }

  /// Whether samples can have weights other than 1.
  [[nodiscard]] virtual bool weighs() const noexcept { return false; }

  /// Whether the pruning rate says how much is kept, in every epoch or over the whole run. If not,
  /// the method's own rule does, and `keep_count` has no meaning.
  [[nodiscard]] virtual bool follows_rate() const noexcept { return true; }

  /// Whether it wants a forward pass over the samples that it leaves out (`refresh_ids`).
  [[nodiscard]] virtual bool refreshes() const noexcept { return false; }

  /// How many batches a run of `epochs` will make, for a learning rate schedule of exactly
  /// that length; empty if the method cannot tell in advance, as none can where samples have
  /// lengths.
  /// @param epochs      0 to 2^31 - 1
  /// @param batch_size  at least 1
  /// @throws InvalidArgument  on other values
  [[nodiscard]] std::optional<std::int64_t> planned_batches(std::int64_t epochs,
                                                            std::int64_t batch_size) const;

  /// The samples of `epoch`, which must come after the last one selected. Selecting the last
  /// epoch again gives the same selection, whatever was observed in between: that is
  /// how a resumed run finds the rest of its epoch.
  ///
  /// Samples that were selected but never observed keep the loss they had. The result
  /// belongs to the pruner and is valid until the next `select` or `load`: an epoch's ids
  /// take megabytes, and the next epoch reuses their memory.
  ///
  /// @throws InvalidArgument  an epoch that is negative or past, or missing initial
  ///                          losses (names the first sample without one)
  const Selection& select(std::int64_t epoch);

  /// Records per-sample losses (not the mean of a batch, and before any weight), in
  /// any order and any number of calls. Every sample of the current selection counts
  /// once an epoch, so the order of calls does not matter.
  ///
  /// Losses are stored in single precision; larger values count as its largest number. Values from
  /// -1e-6 to 0 count as 0, as they come from rounding in the loss function.
  ///
  /// @param ids     of the current selection, each at most once an epoch
  /// @param losses  one per id, finite and >= 0; any numbers if the method does not learn
  /// @throws InvalidArgument  names the sample and the value; nothing is recorded
  ///
  /// O(ids), no allocation.
  void observe(std::span<const SampleId> ids, std::span<const float> losses);
  void observe(std::span<const SampleId> ids, std::span<const double> losses);

  /// Records losses of an earlier selection that come after the next `select`, as those of the last
  /// batches do when a loader asks for the next epoch ahead of time. They change what the method
  /// remembers, never which samples of the current selection are pending.
  ///
  /// If a sample was also observed, or passed over, in the current selection, its late loss is
  /// ignored. If it is still pending there, it has the late loss until it is observed; a method
  /// that averages losses counts both. So the order of late calls does not matter, as long as a
  /// sample comes once for each selection it was in, the earlier first.
  ///
  /// RCAP cuts a late loss at the clip in force when it comes.
  ///
  /// @param ids     of any samples, each at most once in a call
  /// @param losses  as those of `observe`
  /// @throws InvalidArgument  names the sample and the value, or says that nothing was selected
  ///                          yet; nothing is recorded
  ///
  /// O(ids log ids).
  void observe_late(std::span<const SampleId> ids, std::span<const float> losses);
  void observe_late(std::span<const SampleId> ids, std::span<const double> losses);

  /// Counts samples of the current selection as observed although their losses are not known, as
  /// when a gradient scaler skips a batch that overflowed. They keep the loss they had.
  ///
  /// @param ids  of the current selection, not observed in this epoch
  /// @throws InvalidArgument  names the sample, or says that nothing was selected yet; none is
  ///                          passed over
  void pass_over(std::span<const SampleId> ids);

  /// Records losses of samples that the current selection left out, from a forward pass after its
  /// training (`Selection::refresh_ids`). Those that are never refreshed keep the loss they had.
  ///
  /// @param ids     of `refresh_ids`, each at most once an epoch
  /// @param losses  as those of `observe`
  /// @throws InvalidArgument  names the sample and the value; nothing is recorded
  void observe_refreshed(std::span<const SampleId> ids, std::span<const float> losses);
  void observe_refreshed(std::span<const SampleId> ids, std::span<const double> losses);
  /// The samples of `refresh_ids` that have not been refreshed yet, ascending.
  [[nodiscard]] std::vector<SampleId> unrefreshed_ids() const { return unrefreshed_.ids(); }

  /// For a loss function that has only the mean of a batch: counts it as the loss of every sample
  /// of the batch and remembers, for each sample, the moving average of the batches it was in. In
  /// large shuffled batches the averages of hard samples stand out after some epochs. The method
  /// then follows the averages as it would follow losses.
  ///
  /// From the first call on, `observe` and `observe_late` expect means of batches, too, one for
  /// each sample.
  ///
  /// @param ids   of a batch, as for `observe`
  /// @throws InvalidArgument  as `observe` does, or losses of single samples were observed before
  void observe_batch(std::span<const SampleId> ids, double mean_loss);
  /// Turns this on before the first batch, with another weight of the past in the moving average.
  /// A sample's first batch counts in full.
  ///
  /// @param decay  0 <= decay < 1
  /// @throws InvalidArgument  `decay` is out of range, or losses were observed before
  void average_batches(double decay = BatchMeans::UsualDecay);
  /// Whether it is turned on.
  [[nodiscard]] bool averages_batches() const noexcept { return batch_means_.is_on(); }

  /// Whether its selections follow the class errors given to `observe_classes`.
  [[nodiscard]] virtual bool judges_classes() const noexcept { return false; }

  /// Records the error of every class on data that is not trained on, such as the mean loss of its
  /// held-out samples. A method that judges classes by their losses uses these instead of its own
  /// estimate until others are given. Training losses are too low for memorised samples.
  ///
  /// @param errors  one per class, finite and >= 0
  /// @throws InvalidArgument  names the class and the value, or the methods that judge classes;
  ///                          nothing is changed
  void observe_classes(std::span<const double> errors);

  /// The prior of what was trained: ln of each class's part of the weights of all selections so
  /// far, a sample without a weight counting 1. Its use is logit adjustment (Menon et al.,
  /// "Long-tail learning via logit adjustment", ICLR 2021): a network that was trained on classes
  /// of these parts favours the large ones, and its logits minus this prior do not.
  ///
  /// An epoch counts once, when it is first selected, whether or not its samples are observed. A
  /// class that was never selected counts as half a sample (as half of what the class with the
  /// least has, if that is less than a sample): its value is the lowest, but finite. Before the
  /// first selection, the parts are those of the data set.
  ///
  /// @return one number per class, the same on every machine and for any number of threads
  ///
  /// O(classes).
  [[nodiscard]] std::vector<double> log_prior() const;

  /// Writes all state, atomically (`write_state_file`).
  void save(const std::filesystem::path& path) const;
  /// Loads a saved state and continues as if never stopped, also in mid-epoch.
  /// On any error the pruner stays as it was.
  /// @throws BadFile        see `read_state_file`
  /// @throws StateMismatch  see `read_state_file`
  void load(const std::filesystem::path& path);

  /// The bytes that `save` would write, to keep inside another checkpoint.
  [[nodiscard]] std::vector<std::byte> state() const;
  /// Passes the same bytes to `write` piece by piece, without a copy of the state.
  void write_state(const WriteBytes& write) const;
  /// As `load`, from the bytes that `state` returned or `save` wrote.
  void set_state(std::span<const std::byte> bytes);

 protected:
  Pruner(std::string method, std::shared_ptr<const ClassIndex> classes,
         const CommonOptions& options);

  /// Makes `selected` the selection of `epoch`; on entry it holds the last one.
  virtual void make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) = 0;
  /// Records losses that `observe` has checked. During the initial pass `epoch()` is -1.
  virtual void record(std::span<const SampleId>, std::span<const float>) {}
  /// Records losses of `observe_late`, whose samples need not be selected now.
  virtual void record_late(std::span<const SampleId> ids, std::span<const float> losses) {
    record(ids, losses);
  }
  /// Prefetches the memory that `record` will need for these samples.
  virtual void prefetch(std::span<const SampleId>) const {}
  /// Records class errors that `observe_classes` has checked, if the method judges classes.
  virtual void record_classes(std::span<const double>) {}
  /// Fills in one weight per id, or none if all are 1.
  /// Called after `make_selection`, and after a state was loaded.
  virtual void weigh(std::span<const SampleId>, const Workers&, std::vector<float>& weights) {
    weights.clear();
  }
  /// What to multiply the learning rate of `epoch` by, a function of the epoch alone.
  [[nodiscard]] virtual double rate_factor(std::int64_t) const { return 1; }
  /// The sum of the weights of each class of a new selection, after `weigh`. Walks over its
  /// samples; a method that knows the sums without a walk overrides it.
  [[nodiscard]] virtual std::vector<double> class_weights(const Selection& selection,
                                                          const Workers& workers);
  /// The result of `planned_batches`, which has checked the arguments.
  [[nodiscard]] virtual std::optional<std::int64_t> plan_batches(std::int64_t epochs,
                                                                 std::int64_t batch_size) const;
  /// Names the fields of the method's own state.
  virtual void list_state(StateFields&) {}
  /// "name=value" of each option that shapes selections, except pruning_rate and seed.
  [[nodiscard]] virtual std::vector<std::string> describe_options() const { return {}; }
  /// Of a shard: makes what `record` learnt of all samples the same for all shards. All ranks call
  /// it after they have recorded losses, before they select or save.
  virtual void agree() {}

  [[nodiscard]] const std::shared_ptr<const ClassIndex>& shared_classes() const noexcept {
    return classes_;
  }
  [[nodiscard]] const Shard& shard() const noexcept { return classes_->shard(); }
  [[nodiscard]] const WindowOptions& windows() const noexcept { return options_.windows; }
  /// Whose turn it is; empty unless there are windows that take unseen samples first.
  [[nodiscard]] std::optional<Rounds> make_rounds() const;
  /// The tokens to take in `epoch` if classes can give so much.
  /// @throws InvalidArgument  they have nothing left
  [[nodiscard]] std::int64_t budget_of(std::int64_t epoch,
                                       std::span<const std::int64_t> available) const;
  /// The random numbers of an epoch, for ids that count from the shard's first.
  [[nodiscard]] RandomStream stream(Purpose purpose, std::int64_t epoch) const noexcept {
    return RandomStream(options_.seed, purpose, epoch).from_id(shard().first_id());
  }
  /// For a method that clips, to call in `make_selection`: how many of the losses observed in the
  /// last selection it has cut.
  void note_clipped(std::int64_t count);
  [[nodiscard]] const SampleSet& selected() const noexcept { return selected_; }
  /// Whether `weigh` was called for these samples: not since a state was loaded, until `select`.
  [[nodiscard]] bool are_weighed() const noexcept { return selection_.epoch == epoch_; }
  [[nodiscard]] const SampleSet& pending() const noexcept { return pending_; }

 private:
  friend class ShardedPruner;

  template <class Real>
  void observe_any(std::span<const SampleId> ids, std::span<const Real> losses);
  template <class Real>
  void observe_any_late(std::span<const SampleId> ids, std::span<const Real> losses);
  template <class Real>
  void observe_any_refreshed(std::span<const SampleId> ids, std::span<const Real> losses);
  /// Takes samples out of `pending_`: all of them, or none if one is refused.
  /// @param where  what a message begins with
  void mark_observed(const char* where, std::span<const SampleId> ids);
  /// Records losses whose samples are marked.
  void record_marked(std::span<const SampleId> ids, std::span<const float> losses);
  /// Undoes the marks of the ids before `at` and says what is wrong with that one.
  [[noreturn]] void refuse(const char* where, std::span<const SampleId> ids, std::size_t at);
  void check_that_ids_exist(const char* where, std::span<const SampleId> ids) const;
  /// Takes samples out of `unrefreshed_`: all of them, or none if one is refused.
  void mark_refreshed(std::span<const SampleId> ids);
  /// Throws unless all or, where it can do without, no initial losses are known.
  void check_initial_losses() const;
  [[nodiscard]] bool exists(SampleId id) const noexcept {
    return id >= 0 && id < classes_->local_count();
  }
  [[nodiscard]] StateIdentity identity() const;
  void list_all_state(StateFields& fields);
  /// Calls `read`, which fills the state; if it throws, all is as it was.
  void replace_state(const std::function<void()>& read);
  [[nodiscard]] SampleSet left_out() const;
  /// @param where  what a message begins with
  void read_all_state(StateFields& fields, const std::string& where);

  std::string method_;
  std::shared_ptr<const ClassIndex> classes_;
  CommonOptions options_;
  std::int64_t keep_tokens_;
  Workers workers_;
  std::int64_t epoch_ = -1;
  SampleSet selected_;
  Selection selection_;                  ///< `selected_` as a list, if its epoch is `epoch_`
  std::vector<double> trained_weights_;  ///< of each class, summed over all selections
  double clipped_part_ = 0;
  SampleSet pending_;      ///< of `selected_` (before the first epoch: of all), not observed yet
  SampleSet unrefreshed_;  ///< left out and not refreshed yet; of no samples before that matters
  BatchMeans batch_means_;
};

}  // namespace rcap
RCAP_API_END
