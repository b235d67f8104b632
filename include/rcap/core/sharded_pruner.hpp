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

#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/make_pruner.hpp"
#include "rcap/core/pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Which rank trains on which of the selected samples.
enum class Locality {
  /// Position p of the epoch's order goes to rank p mod R: batches are those of any number of
  /// ranks.
  Everywhere,
  /// A sample goes to the rank that has it, except for what evens out the counts. For data on local
  /// disks.
  Shard,
};

/// One field of a state that has numbers for samples: the rows that belong to a shard. All shards'
/// rows, one after another, are the field.
struct ShardRows {
  enum class Type {
    Losses,   ///< a float for each sample
    Chances,  ///< for each sample 16 bits (`InverseChance`); 0 where it is not selected
    Samples,  ///< a 64-bit word for 64 samples: bit i % 64 of word i / 64 is sample i
  };
  std::string name;
  Type type;
  std::vector<std::byte> bytes;
};

/// One shard's part of a state, for checkpoints that cut arrays by rows.
struct ShardState {
  std::vector<std::byte> common;  ///< everything else, the same on all ranks
  std::vector<ShardRows> fields;
};

/// One rank's part of a pruner whose data set is cut into shards (`Shard`): labels and losses are
/// here of the rank's own samples alone. What all ranks select together, the order, the weights and
/// the state are those of one process with all samples, bit for bit.
///
///     Shard shard(shard_range(sample_count, exchange.size(), exchange.rank()), sample_count,
///     exchange); auto classes = std::make_shared<const ClassIndex>(labels_of(shard), shard);
///     ShardedPruner pruner("rcap", classes, options);
///     for (int epoch = 0; epoch < epochs; ++epoch) {
///       const Selection& part = pruner.select(epoch);
///       ...                                   // train on part.ids, batch by batch
///       pruner.observe(batch_ids, batch_losses);
///     }
///
/// Functions marked *all ranks* exchange: all ranks call them, in the same order. Their errors come
/// on every rank. Ids are those of the whole data set.
class ShardedPruner {
 public:
  /// All ranks.
  /// @throws InvalidArgument  as `make_pruner`; a method that cannot do this (names those that
  /// can);
  ///                          another method or option on another rank (names it)
  ShardedPruner(std::string_view method, const std::shared_ptr<const ClassIndex>& classes,
                const PrunerOptions& options);

  [[nodiscard]] const Shard& shard() const noexcept { return classes_->shard(); }
  [[nodiscard]] const ClassIndex& classes() const noexcept { return *classes_; }
  /// What is the same everywhere: method, options, epoch, keep_count, clipped_part, log_prior, what
  /// the method needs and promises. Its sets and counts of samples are those of the shard.
  [[nodiscard]] const Pruner& pruner() const noexcept { return *pruner_; }
  /// How many samples the current selection has on all ranks.
  [[nodiscard]] std::int64_t selected_count() const noexcept { return selected_count_; }
  /// All ranks: `Pruner::pending_count` of all samples, after `exchange_losses`.
  [[nodiscard]] std::int64_t pending_count();

  /// All ranks: this rank's part of the samples of `epoch`, in the order of training. Ids are those
  /// of the whole data set; weights are empty if all weights on all ranks are 1.
  /// Valid until the next `select` or `load`; otherwise as `Pruner::select`.
  const Selection& select(std::int64_t epoch, Locality locality = Locality::Everywhere);

  /// Remembers losses until `exchange_losses`; otherwise as `Pruner::observe`.
  /// @param ids  any of the current selection: usually of this rank's part
  /// @throws InvalidArgument  an id that does not exist, or a value that is no loss; nothing is
  ///                          remembered. What only the sample's owner knows (it was observed
  ///                          before, or is not selected) `exchange_losses` throws.
  void observe(std::span<const SampleId> ids, std::span<const float> losses);
  void observe(std::span<const SampleId> ids, std::span<const double> losses);
  /// As `Pruner::observe_late`, like `observe`.
  void observe_late(std::span<const SampleId> ids, std::span<const float> losses);
  void observe_late(std::span<const SampleId> ids, std::span<const double> losses);
  /// As `Pruner::pass_over`, like `observe`.
  void pass_over(std::span<const SampleId> ids);
  /// As `Pruner::observe_batch`, like `observe`.
  void observe_batch(std::span<const SampleId> ids, double mean_loss);
  /// All ranks: as `Pruner::average_batches`.
  void average_batches(double decay = BatchMeans::UsualDecay);
  /// All ranks: brings all losses that were observed to the ranks that have the samples. `select`
  /// and whatever reads the state does so first.
  /// @throws InvalidArgument  as `Pruner::observe`; nothing of this exchange is recorded anywhere
  void exchange_losses();
  /// All ranks, with the same errors: as `Pruner::observe_classes`.
  void observe_classes(std::span<const double> errors);

  /// All ranks: writes the state of all shards, the file that one process would write
  /// (`Pruner::save`). Rank 0 writes.
  void save(const std::filesystem::path& path);
  /// All ranks: passes the same bytes to `write`, on rank 0.
  void write_state(const WriteBytes& write);
  /// All ranks: every rank reads its part of such a file, whoever wrote it: one process, or any
  /// number of ranks. On any error all ranks stay as they were.
  /// @throws BadFile        as `Pruner::load`, on every rank
  /// @throws StateMismatch  the same
  void load(const std::filesystem::path& path);
  /// All ranks: the same from the bytes of a whole state, which every rank has.
  void set_state(std::span<const std::byte> bytes);

  /// All ranks: this shard's part of the state.
  [[nodiscard]] ShardState shard_state();
  /// All ranks: continues from a state that ranks saved by `shard_state`, on any number of ranks.
  /// @param state  this shard's rows of every field
  /// @throws BadFile        as `Pruner::load`, on every rank; all stay as they were
  /// @throws StateMismatch  the same
  void set_shard_state(const ShardState& state);

 private:
  /// What was observed, on its way to the ranks that have the samples.
  struct Observed {
    std::vector<SampleId> ids;
    std::vector<float> losses;
  };

  [[nodiscard]] bool is_here(std::span<const SampleId> ids) const;
  void check_ids(const char* where, std::span<const SampleId> ids) const;
  template <class Real>
  void remember(const char* where, Observed& observed, std::span<const SampleId> ids,
                std::span<const Real> losses);
  /// Takes what was observed; what comes has ids that count from the shard's first.
  [[nodiscard]] Observed bring_to_owners(Observed& observed);
  void forget_part();
  void replace_state(const std::function<void()>& read);
  void record_late(const Observed& late);
  void record_in_time(const Observed& in_time, const Observed& passed_over);

  std::shared_ptr<const ClassIndex> classes_;
  std::uint64_t seed_;
  std::unique_ptr<Pruner> pruner_;
  std::int64_t selected_count_ = 0;
  Selection part_;  ///< of this rank; its epoch is -1 if it is not known
  Locality locality_ = Locality::Everywhere;
  Observed in_time_, late_, passed_over_;
  bool observes_batches_ = false;  ///< since the last exchange
};

}  // namespace rcap
RCAP_API_END
