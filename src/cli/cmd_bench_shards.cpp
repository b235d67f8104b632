#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "cli/bench_shards.hpp"
#include "cli/machine.hpp"
#include "cli/scratch_memory.hpp"
#include "core/ranks_in_turn.hpp"
#include "rcap/core/random_stream.hpp"
#include "rcap/core/sharded_pruner.hpp"

namespace rcap::cli {
namespace {

/// Labels and losses are made this many at a time.
constexpr std::int64_t SamplesAtATime = 1 << 16;

/// Random numbers of the data: separate streams from the losses, which use the epochs from 0 on.
enum DataStream : std::int64_t { Labels = -1, ClassMeans = -2 };

/// All ranks, in turn.
class ShardsBench {
 public:
  explicit ShardsBench(const BenchShardsArguments& arguments)
      : arguments_(arguments), ranks_(arguments.shards) {
    if (!arguments.scratch.empty()) scratch_.emplace(arguments.scratch, arguments.shards);
    const RandomStream stream(seed(), Purpose::Synthetic, ClassMeans);
    for (ClassId j = 0; j < arguments.class_count; ++j) {
      class_means_.push_back(0.1 + 1.9 * stream.uniform(j));
    }
    ranks_.on_wait = [this](int rank) {
      if (scratch_) scratch_->park(rank);
    };
  }

  void run() {
    reset_peak_memory();
    begin_ = std::chrono::steady_clock::now();
    ranks_.run([this](Exchange& exchange) {
      if (scratch_) ScratchMemory::use(exchange.rank());
      run_rank(exchange);
    });
    peak_memory_ = peak_memory_bytes();
  }

  void print() const {
    nlohmann::ordered_json json;
    json["n"] = arguments_.sample_count;
    json["classes"] = arguments_.class_count;
    json["shards"] = arguments_.shards;
    json["pruning_rate"] = arguments_.common.pruning_rate;
    json["options"] = describe_options(arguments_.rcap);
    json["order"] = !arguments_.no_order;
    json["threads"] = arguments_.common.threads;
    json["setup_seconds"] = seconds_between(0, 1);
    for (std::size_t epoch = 0; epoch < digests_.size(); ++epoch) {
      json["select_seconds"].push_back(seconds_between(1 + 2 * epoch, 2 + 2 * epoch));
      json["observe_seconds"].push_back(seconds_between(2 + 2 * epoch, 3 + 2 * epoch));
      json["bytes_exchanged"].push_back(bytes_[3 + 2 * epoch] - bytes_[1 + 2 * epoch]);
      json["selected"].push_back(selected_[epoch]);
      json["digest"].push_back(fmt::format("{:016x}", digests_[epoch]));
    }
    json["peak_memory_bytes"] = peak_memory_;
    json["scratch_bytes"] = scratch_ ? scratch_->peak_bytes() : 0;
    json["cpu"] = cpu_model();
    json["compiler"] = compiler_version();
    json["version"] = version();
    json["revision"] = revision();
    if (arguments_.json) {
      fmt::print("{}\n", json.dump());
      return;
    }
    fmt::print("{} samples in {} shards, {} classes, pruning rate {}{}; one shard at a time\n\n",
               arguments_.sample_count, arguments_.shards, arguments_.class_count,
               arguments_.common.pruning_rate, arguments_.no_order ? "" : ", with the order");
    fmt::print("{:<6} {:>10} {:>10} {:>12} {:>12} {:>16}  {}\n", "epoch", "select s", "observe s",
               "selected", "exchanged B", "B per selected", "digest");
    for (std::size_t epoch = 0; epoch < digests_.size(); ++epoch) {
      const auto bytes = static_cast<double>(bytes_[3 + 2 * epoch] - bytes_[1 + 2 * epoch]);
      fmt::print("{:<6} {:>10.2f} {:>10.2f} {:>12} {:>12.0f} {:>16.2f}  {:016x}\n", epoch,
                 seconds_between(1 + 2 * epoch, 2 + 2 * epoch),
                 seconds_between(2 + 2 * epoch, 3 + 2 * epoch), selected_[epoch], bytes,
                 bytes / static_cast<double>(selected_[epoch]), digests_[epoch]);
    }
    fmt::print("\npeak memory {:.2f} GiB, scratch files {:.2f} GiB, labels made in {:.1f} s\n",
               in_gib(peak_memory_), in_gib(scratch_ ? scratch_->peak_bytes() : 0),
               seconds_between(0, 1));
  }

 private:
  static double in_gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }
  [[nodiscard]] std::uint64_t seed() const { return arguments_.common.seed; }
  [[nodiscard]] double seconds_between(std::size_t from, std::size_t to) const {
    const auto of = [this](std::size_t mark) { return mark == 0 ? begin_ : marks_[mark - 1]; };
    return std::chrono::duration<double>(of(to) - of(from)).count();
  }

  void run_rank(Exchange& exchange) {
    const Shard shard(shard_range(arguments_.sample_count, arguments_.shards, exchange.rank()),
                      arguments_.sample_count, exchange);
    const auto classes = make_classes(shard);
    PrunerOptions options;
    options.common = arguments_.common;
    options.rcap = arguments_.rcap;
    meet(exchange, 1);
    if (arguments_.no_order) {
      const auto pruner = make_pruner("rcap", classes, options);
      run_epochs(exchange, *pruner, shard.first_id(),
                 [&](std::int64_t epoch) -> const Selection& { return pruner->select(epoch); });
    } else {
      ShardedPruner pruner("rcap", classes, options);
      run_epochs(exchange, pruner, 0,
                 [&](std::int64_t epoch) -> const Selection& { return pruner.select(epoch); });
    }
  }

  /// @param first_id  what is added to the ids of selections
  template <class AnyPruner, class Select>
  void run_epochs(Exchange& exchange, AnyPruner& pruner, SampleId first_id, const Select& select) {
    for (std::int64_t epoch = 0; epoch <= arguments_.repeat; ++epoch) {
      const Selection& selection = select(epoch);
      add_to_digest(epoch, selection, first_id);
      meet(exchange, static_cast<std::size_t>(2 + 2 * epoch));
      observe(pruner, selection, first_id);
      if constexpr (requires { pruner.exchange_losses(); }) pruner.exchange_losses();
      meet(exchange, static_cast<std::size_t>(3 + 2 * epoch));
    }
  }

  [[nodiscard]] std::shared_ptr<const ClassIndex> make_classes(const Shard& shard) const {
    const RandomStream stream(seed(), Purpose::Synthetic, Labels);
    std::vector<std::uint32_t> labels(static_cast<std::size_t>(shard.sample_count()));
    const auto class_count = static_cast<std::uint64_t>(arguments_.class_count);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<std::uint32_t>(
          stream.below(class_count, shard.first_id() + static_cast<SampleId>(i)));
    }
    return std::make_shared<const ClassIndex>(std::span<const std::uint32_t>(labels), shard,
                                              arguments_.class_count);
  }

  /// Losses like those of a network in mid-training, a function of (seed, epoch, sample).
  [[nodiscard]] float loss_of(const RandomStream& losses, const RandomStream& labels,
                              SampleId id) const {
    const auto label = labels.below(class_means_.size(), id);
    const double loss = -class_means_[label] * std::log(losses.uniform(id));
    return std::min(static_cast<float>(loss), 10.0F);
  }

  template <class AnyPruner>
  void observe(AnyPruner& pruner, const Selection& selection, SampleId first_id) const {
    const RandomStream losses(seed(), Purpose::Synthetic, selection.epoch);
    const RandomStream labels(seed(), Purpose::Synthetic, Labels);
    std::vector<float> chunk;
    std::span<const SampleId> ids = selection.ids;
    while (!ids.empty()) {
      const auto some = ids.first(std::min(static_cast<std::size_t>(SamplesAtATime), ids.size()));
      chunk.clear();
      for (const SampleId id : some) chunk.push_back(loss_of(losses, labels, first_id + id));
      pruner.observe(some, chunk);
      ids = ids.subspan(some.size());
    }
  }

  /// Adds this rank's part: the order in which ranks come does not matter.
  void add_to_digest(std::int64_t epoch, const Selection& selection, SampleId first_id) {
    const auto e = static_cast<std::size_t>(epoch);
    digests_.resize(std::max(digests_.size(), e + 1));
    selected_.resize(digests_.size());
    for (std::size_t i = 0; i < selection.ids.size(); ++i) {
      const float weight = selection.weights.empty() ? 1.0F : selection.weights[i];
      const auto id = static_cast<std::uint64_t>(first_id + selection.ids[i]);
      digests_[e] += mix64(mix64(id + 1) + std::bit_cast<std::uint32_t>(weight));
    }
    selected_[e] += std::ssize(selection.ids);
  }

  /// Waits for all ranks, and notes when they have come to this mark.
  void meet(Exchange& exchange, std::size_t mark) {
    std::array<std::int64_t, 1> nothing{};
    exchange.all_reduce(nothing, Exchange::Combine::Sum);
    if (marks_.size() >= mark) return;
    marks_.push_back(std::chrono::steady_clock::now());
    bytes_.resize(mark + 1);
    bytes_[mark] = ranks_.bytes_exchanged();
  }

  const BenchShardsArguments& arguments_;
  std::optional<ScratchMemory> scratch_;
  RanksInTurn ranks_;
  std::vector<double> class_means_;
  // Written by one rank at a time:
  std::chrono::steady_clock::time_point begin_;
  std::vector<std::chrono::steady_clock::time_point> marks_;
  std::vector<std::int64_t> bytes_;  ///< exchanged until each mark
  std::vector<std::int64_t> selected_;
  std::vector<std::uint64_t> digests_;
  std::int64_t peak_memory_ = 0;
};

}  // namespace

void run_bench_shards(const BenchShardsArguments& arguments) {
  ShardsBench bench(arguments);
  bench.run();
  bench.print();
}

}  // namespace rcap::cli
