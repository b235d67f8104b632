#include "rcap/core/sharded_pruner.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "core/order_over_shards.hpp"
#include "core/ranks_in_turn.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/top_scores.hpp"
#include "rcap/core/training_order.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;

constexpr std::int64_t Epochs = 4;

/// What all ranks together have of each epoch, in the order of the epoch.
struct Run {
  std::vector<Selection> epochs;
  std::vector<double> clipped;
  std::vector<double> log_prior;
  std::vector<std::int64_t> selected, pending;
};

/// A data set whose first class lies at its beginning, so that some shards have none of it.
std::vector<int> labels_of(std::int64_t sample_count, int class_count) {
  const RandomStream random(55, Purpose::Synthetic, class_count);
  std::vector<int> labels;
  for (SampleId id = 0; id < sample_count; ++id) {
    const auto label = static_cast<int>(random.below(static_cast<std::uint64_t>(class_count), id));
    labels.push_back(id < 40 ? 0 : std::max(label, std::min(1, class_count - 1)));
  }
  return labels;
}

PrunerOptions options_with(const Variant& variant, int class_count) {
  const ClassIndex classes(std::vector<int>{class_count - 1});
  PrunerOptions options = options_of(variant, classes);
  options.common.pruning_rate = 0.8;
  return options;
}

/// Leaves out the loss of a sample now and then.
bool is_observed(SampleId id, std::int64_t epoch) { return (id + epoch) % 13 != 0; }

Run run_alone(const Variant& variant, const std::vector<int>& labels, int class_count) {
  const auto classes = std::make_shared<const ClassIndex>(labels, class_count);
  const PrunerOptions options = options_with(variant, class_count);
  const auto pruner = make_pruner(variant.method, classes, options);
  observe_initial_losses(*pruner);
  Run run;
  for (std::int64_t epoch = 0; epoch < Epochs; ++epoch) {
    const Selection& selection = pruner->select(epoch);
    run.epochs.push_back(in_training_order(selection, options.common.seed));
    run.clipped.push_back(pruner->clipped_part());
    for (const SampleId id : selection.ids) {
      const std::vector one{id};
      if (is_observed(id, epoch)) pruner->observe(one, losses_of(one, epoch));
    }
    run.selected.push_back(pruner->selected_count());
    run.pending.push_back(pruner->pending_count());
  }
  run.log_prior = pruner->log_prior();
  return run;
}

/// Where `ranks` blocks end: evenly, or so that some ranks have nothing.
std::vector<ShardRange> cuts_of(std::int64_t sample_count, int ranks, bool with_empty) {
  std::vector<ShardRange> cuts;
  for (int r = 0; r < ranks; ++r) cuts.push_back(shard_range(sample_count, ranks, r));
  if (!with_empty || ranks < 3) return cuts;
  cuts[0].sample_count += cuts[1].sample_count;
  cuts[1] = {cuts[0].sample_count, 0};
  return cuts;
}

Run run_on_ranks(const Variant& variant, const std::vector<int>& labels, int class_count, int ranks,
                 bool with_empty) {
  const auto sample_count = static_cast<std::int64_t>(labels.size());
  const auto cuts = cuts_of(sample_count, ranks, with_empty);
  Run run;
  run.epochs.resize(Epochs);
  std::vector<std::vector<Selection>> parts(Epochs, std::vector<Selection>(cuts.size()));
  RanksInTurn group(ranks);
  group.run([&](Exchange& exchange) {
    const auto rank = static_cast<std::size_t>(exchange.rank());
    const ShardRange& range = cuts[rank];
    const auto own = std::span(labels).subspan(static_cast<std::size_t>(range.first_id),
                                               static_cast<std::size_t>(range.sample_count));
    const auto classes =
        std::make_shared<const ClassIndex>(own, Shard(range, sample_count, exchange), class_count);
    ShardedPruner pruner(variant.method, classes, options_with(variant, class_count));
    if (pruner.pruner().needs_initial_losses()) {
      std::vector<SampleId> ids(own.size());
      std::iota(ids.begin(), ids.end(), range.first_id);
      pruner.observe(ids, losses_of(ids, -1));
    }
    for (std::int64_t epoch = 0; epoch < Epochs; ++epoch) {
      const Selection& part = pruner.select(epoch);
      parts[static_cast<std::size_t>(epoch)][rank] = part;
      for (const SampleId id : part.ids) {
        const std::vector one{id};
        if (is_observed(id, epoch)) pruner.observe(one, losses_of(one, epoch));
      }
      const std::int64_t pending = pruner.pending_count();
      if (rank > 0) continue;
      run.clipped.push_back(pruner.pruner().clipped_part());
      run.selected.push_back(pruner.selected_count());
      run.pending.push_back(pending);
    }
    if (rank == 0) run.log_prior = pruner.pruner().log_prior();
  });
  for (std::int64_t epoch = 0; epoch < Epochs; ++epoch) {
    const auto& of_ranks = parts[static_cast<std::size_t>(epoch)];
    Selection& all = run.epochs[static_cast<std::size_t>(epoch)];
    all.epoch = epoch;
    all.rate_factor = of_ranks.front().rate_factor;
    for (std::size_t place = 0;; ++place) {
      const Selection& part = of_ranks[place % cuts.size()];
      if (place / cuts.size() == part.ids.size()) break;
      all.ids.push_back(part.ids[place / cuts.size()]);
      if (!part.weights.empty()) all.weights.push_back(part.weights[place / cuts.size()]);
    }
  }
  return run;
}

std::vector<Variant> variants_with_shards() {
  std::vector<Variant> variants = all_variants();
  std::erase_if(variants,
                [](const Variant& variant) { return !require_method(variant.method).shards; });
  return variants;
}

class EveryShardedMethod : public testing::TestWithParam<Variant> {};

void expect_same_as_alone(const Variant& variant, std::int64_t sample_count, int class_count,
                          std::vector<int> rank_counts) {
  const std::vector<int> labels = labels_of(sample_count, class_count);
  const Run alone = run_alone(variant, labels, class_count);
  for (const int ranks : rank_counts) {
    SCOPED_TRACE(std::to_string(class_count) + " classes, " + std::to_string(ranks) + " ranks");
    const Run together = run_on_ranks(variant, labels, class_count, ranks, ranks % 2 == 1);
    for (std::size_t epoch = 0; epoch < Epochs; ++epoch) {
      ASSERT_EQ(together.epochs[epoch].ids, alone.epochs[epoch].ids) << "epoch " << epoch;
      ASSERT_EQ(together.epochs[epoch].weights, alone.epochs[epoch].weights) << "epoch " << epoch;
    }
    EXPECT_EQ(together.clipped, alone.clipped);
    EXPECT_EQ(together.log_prior, alone.log_prior);
    EXPECT_EQ(together.selected, alone.selected);
    EXPECT_EQ(together.pending, alone.pending);
  }
}

TEST_P(EveryShardedMethod, SelectsWhatOneProcessSelects) {
  expect_same_as_alone(GetParam(), 2000, 6, {1, 2, 3, 5, 8});
}

TEST_P(EveryShardedMethod, SelectsWhatOneProcessSelectsOfManyClassesAndOfOne) {
  expect_same_as_alone(GetParam(), 6000, 700, {3});
  expect_same_as_alone(GetParam(), 20000, 1, {2, 5});
}

/// Observes the initial losses of a rank's samples, and some epochs; ends in the middle of the
/// last.
void run_some(ShardedPruner& pruner, std::int64_t first, std::int64_t last) {
  const Shard& shard = pruner.shard();
  if (first == 0 && pruner.pruner().needs_initial_losses()) {
    std::vector<SampleId> ids(static_cast<std::size_t>(shard.sample_count()));
    std::iota(ids.begin(), ids.end(), shard.first_id());
    pruner.observe(ids, losses_of(ids, -1));
  }
  for (std::int64_t epoch = first; epoch < last; ++epoch) {
    for (const SampleId id : pruner.select(epoch).ids) {
      const std::vector one{id};
      const bool is_now = epoch + 1 < last || id % 3 == 0;
      if (is_now && is_observed(id, epoch)) pruner.observe(one, losses_of(one, epoch));
    }
  }
}

std::vector<std::byte> state_alone(const Variant& variant, const std::vector<int>& labels,
                                   int class_count, std::int64_t epochs) {
  const auto classes = std::make_shared<const ClassIndex>(labels, class_count);
  const auto pruner = make_pruner(variant.method, classes, options_with(variant, class_count));
  observe_initial_losses(*pruner);
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (const SampleId id : pruner->select(epoch).ids) {
      const std::vector one{id};
      const bool is_now = epoch + 1 < epochs || id % 3 == 0;
      if (is_now && is_observed(id, epoch)) pruner->observe(one, losses_of(one, epoch));
    }
  }
  return pruner->state();
}

/// Calls `work` on ranks that have these samples between them.
void on_ranks(const Variant& variant, const std::vector<int>& labels, int class_count, int ranks,
              const std::function<void(ShardedPruner&)>& work) {
  const auto sample_count = static_cast<std::int64_t>(labels.size());
  const auto cuts = cuts_of(sample_count, ranks, ranks % 2 == 1);
  RanksInTurn(ranks).run([&](Exchange& exchange) {
    const ShardRange& range = cuts[static_cast<std::size_t>(exchange.rank())];
    const auto own = std::span(labels).subspan(static_cast<std::size_t>(range.first_id),
                                               static_cast<std::size_t>(range.sample_count));
    const auto classes =
        std::make_shared<const ClassIndex>(own, Shard(range, sample_count, exchange), class_count);
    ShardedPruner pruner(variant.method, classes, options_with(variant, class_count));
    work(pruner);
  });
}

std::vector<std::byte> state_of(ShardedPruner& pruner) {
  std::vector<std::byte> state;
  pruner.write_state([&](std::span<const std::byte> bytes) {
    state.insert(state.end(), bytes.begin(), bytes.end());
  });
  return state;
}

TEST_P(EveryShardedMethod, GathersTheStateOfOneProcess) {
  const std::vector<int> labels = labels_of(1500, 6);
  for (const std::int64_t epochs : {0, 1, 3}) {
    const auto alone = state_alone(GetParam(), labels, 6, epochs);
    for (const int ranks : {2, 3, 8}) {
      on_ranks(GetParam(), labels, 6, ranks, [&](ShardedPruner& pruner) {
        run_some(pruner, 0, epochs);
        const auto state = state_of(pruner);
        EXPECT_TRUE(pruner.shard().rank() == 0 ? state == alone : state.empty())
            << epochs << " epochs, rank " << pruner.shard().rank() << " of " << ranks;
      });
    }
  }
}

TEST_P(EveryShardedMethod, GoesOnFromTheStateOfAnyNumberOfRanks) {
  const std::vector<int> labels = labels_of(1500, 6);
  for (const std::int64_t epochs : {0, 2}) {
    const auto begun = state_alone(GetParam(), labels, 6, epochs);
    for (const int ranks : {2, 3, 5}) {
      on_ranks(GetParam(), labels, 6, ranks, [&](ShardedPruner& pruner) {
        pruner.set_state(begun);
        const auto again = state_of(pruner);
        EXPECT_TRUE(pruner.shard().rank() == 0 ? again == begun : again.empty());
      });
    }
  }
}

/// The rows of all ranks as those of others.
ShardState cut_again(const std::vector<ShardState>& states, const ShardRange& range) {
  ShardState state{states.front().common, {}};
  for (std::size_t f = 0; f < states.front().fields.size(); ++f) {
    ShardRows rows = states.front().fields[f];
    for (std::size_t r = 1; r < states.size(); ++r) {
      const auto& more = states[r].fields[f].bytes;
      rows.bytes.insert(rows.bytes.end(), more.begin(), more.end());
    }
    const std::int64_t row_bytes = rows.type == ShardRows::Type::Losses    ? 4
                                   : rows.type == ShardRows::Type::Chances ? 2
                                                                           : 8;
    const std::int64_t ids = rows.type == ShardRows::Type::Samples ? 64 : 1;
    const std::int64_t end = range.first_id + range.sample_count;
    const auto first = rows.bytes.begin() + (range.first_id + ids - 1) / ids * row_bytes;
    rows.bytes = {first, rows.bytes.begin() + (end + ids - 1) / ids * row_bytes};
    state.fields.push_back(std::move(rows));
  }
  return state;
}

TEST_P(EveryShardedMethod, GoesOnFromTheRowsOfOtherShards) {
  const std::vector<int> labels = labels_of(1500, 6);
  for (const std::int64_t epochs : {0, 2}) {
    std::vector<ShardState> states(3);
    std::vector<std::byte> gathered;
    on_ranks(GetParam(), labels, 6, 3, [&](ShardedPruner& pruner) {
      run_some(pruner, 0, epochs);
      states[static_cast<std::size_t>(pruner.shard().rank())] = pruner.shard_state();
      if (const auto state = state_of(pruner); !state.empty()) gathered = state;
    });
    on_ranks(GetParam(), labels, 6, 2, [&](ShardedPruner& pruner) {
      pruner.set_shard_state(
          cut_again(states, {pruner.shard().first_id(), pruner.shard().sample_count()}));
      const auto again = state_of(pruner);
      EXPECT_TRUE(pruner.shard().rank() == 0 ? again == gathered : again.empty());
    });
  }
}

TEST_P(EveryShardedMethod, LeavesSamplesWhereTheyAreWhereAskedTo) {
  const std::vector<int> labels = labels_of(2000, 6);
  const auto alone = run_alone(GetParam(), labels, 6);
  const auto& expected = alone.epochs.front();
  std::vector<std::pair<SampleId, float>> found;
  std::vector<std::size_t> counts;
  std::int64_t moved = 0;
  std::int64_t surplus = 0;
  on_ranks(GetParam(), labels, 6, 3, [&](ShardedPruner& pruner) {
    run_some(pruner, 0, 0);
    const Selection& part = pruner.select(0, Locality::Shard);
    EXPECT_EQ(part.ids, training_order(part.ids, options_with(GetParam(), 6).common.seed, 0));
    counts.push_back(part.ids.size());
    surplus += std::max<std::int64_t>(pruner.pruner().selected_count() - std::ssize(part.ids), 0);
    for (std::size_t i = 0; i < part.ids.size(); ++i) {
      found.emplace_back(part.ids[i], part.weights.empty() ? 1.0F : part.weights[i]);
      moved += pruner.shard().owner_of(part.ids[i]) != pruner.shard().rank() ? 1 : 0;
    }
  });
  std::vector<std::pair<SampleId, float>> wanted;
  for (std::size_t i = 0; i < expected.ids.size(); ++i) {
    wanted.emplace_back(expected.ids[i], expected.weights.empty() ? 1.0F : expected.weights[i]);
  }
  std::ranges::sort(found);
  std::ranges::sort(wanted);
  EXPECT_EQ(found, wanted);
  EXPECT_LE(std::ranges::max(counts) - std::ranges::min(counts), 1U);
  EXPECT_EQ(moved, surplus);
}

INSTANTIATE_TEST_SUITE_P(Variants, EveryShardedMethod, testing::ValuesIn(variants_with_shards()),
                         [](const auto& of) { return of.param.name; });

Variant variant_named(const std::string& name) {
  const auto variants = variants_with_shards();
  return *std::ranges::find(variants, name, &Variant::name);
}

TEST(PartOfOrder, IsThatOfOneProcessOnMoreRanksThanAByteCounts) {
  constexpr int RankCount = 260;
  constexpr std::int64_t SampleCount = RankCount * Shard::Grain;
  Selection whole;
  whole.epoch = 3;
  for (SampleId id = 0; id < SampleCount; id += 3) whole.ids.push_back(id);
  const std::vector<SampleId> order = training_order(whole.ids, 9, 3);
  RanksInTurn(RankCount).run([&](Exchange& exchange) {
    const Shard shard(shard_range(SampleCount, RankCount, exchange.rank()), SampleCount, exchange);
    Selection selection;
    selection.epoch = 3;
    for (const SampleId id : whole.ids) {
      if (shard.owner_of(id) == exchange.rank()) selection.ids.push_back(id - shard.first_id());
    }
    std::vector<SampleId> expected;
    for (auto p = static_cast<std::size_t>(exchange.rank()); p < order.size(); p += RankCount) {
      expected.push_back(order[p]);
    }
    EXPECT_EQ(part_of_order(shard, selection, 9).ids, expected);
  });
}

TEST(ShardedPruner, ExchangesLittle) {
  constexpr std::int64_t SampleCount = 300'000;
  constexpr int ClassCount = 1000;
  const std::vector<int> labels = labels_of(SampleCount, ClassCount);
  PrunerOptions options;
  options.common.pruning_rate = 0.9;
  RanksInTurn group(4);
  std::int64_t before = 0;
  group.run([&](Exchange& exchange) {
    const ShardRange range = shard_range(SampleCount, 4, exchange.rank());
    const auto own = std::span(labels).subspan(static_cast<std::size_t>(range.first_id),
                                               static_cast<std::size_t>(range.sample_count));
    ShardedPruner pruner(
        "rcap",
        std::make_shared<const ClassIndex>(own, Shard(range, SampleCount, exchange), ClassCount),
        options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      (void)pruner.pending_count();  // all ranks are here
      if (exchange.rank() == 0) before = group.bytes_exchanged();
      const Selection& part = pruner.select(epoch);
      pruner.observe(part.ids, losses_of(part.ids, epoch));
      (void)pruner.pending_count();
      const std::int64_t exchanged = group.bytes_exchanged() - before;
      EXPECT_LE(exchanged, 16 * pruner.selected_count() + 4'000'000) << "epoch " << epoch;
      EXPECT_GT(exchanged, 11 * pruner.selected_count());
    }
  });
}

/// What every rank is told if ranks claim these ranges of 200 samples.
std::vector<std::string> told_about(const std::vector<ShardRange>& ranges,
                                    const std::vector<std::int64_t>& totals) {
  std::vector<std::string> told;
  RanksInTurn(static_cast<int>(ranges.size())).run([&](Exchange& exchange) {
    const auto rank = static_cast<std::size_t>(exchange.rank());
    told.push_back(
        message_of<InvalidArgument>([&] { Shard(ranges[rank], totals[rank], exchange); }));
  });
  return told;
}

TEST(Shard, RefusesRangesThatAreNotTheWholeOnEveryRank) {
  using testing::AllOf;
  using testing::Each;
  using testing::SizeIs;
  EXPECT_THAT(told_about({{0, 128}, {64, 136}}, {200, 200}),
              AllOf(SizeIs(2), Each(HasSubstr("without overlap"))));
  EXPECT_THAT(told_about({{0, 64}, {128, 72}}, {200, 200}),
              AllOf(SizeIs(2), Each(HasSubstr("rank 1 begin at 128, those of the ranks before it "
                                              "end at 64; blocks must follow each other without a "
                                              "gap"))));
  EXPECT_THAT(told_about({{0, 64}, {64, 64}}, {200, 200}), Each(HasSubstr("samples 0 to 127")));
  EXPECT_THAT(told_about({{0, 100}, {100, 100}}, {200, 200}), Each(HasSubstr("multiples of 64")));
  EXPECT_THAT(told_about({{0, 64}, {64, 136}}, {200, 201}),
              Each(HasSubstr("rank 1 says that the data set has 201 samples, rank 0 200")));
}

TEST(Shard, CutsEvenlyAtMultiplesOfItsGrain) {
  EXPECT_EQ(shard_range(1000, 3, 0), (ShardRange{0, 320}));
  EXPECT_EQ(shard_range(1000, 3, 1), (ShardRange{320, 320}));
  EXPECT_EQ(shard_range(1000, 3, 2), (ShardRange{640, 360}));
  EXPECT_EQ(shard_range(100, 3, 0), (ShardRange{0, 0}));
  EXPECT_EQ(shard_range(100, 3, 2), (ShardRange{64, 36}));
  EXPECT_THROW((void)shard_range(100, 3, 3), InvalidArgument);
}

TEST(ShardedPruner, RefusesALabelThatOthersDoNotKnowOnEveryRank) {
  std::vector<std::string> told;
  RanksInTurn(2).run([&](Exchange& exchange) {
    const ShardRange range = shard_range(128, 2, exchange.rank());
    std::vector<int> labels(64, 1);
    if (exchange.rank() == 1) labels[5] = 3;
    told.push_back(message_of<InvalidArgument>(
        [&] { ClassIndex(std::span<const int>(labels), Shard(range, 128, exchange), 3); }));
  });
  EXPECT_THAT(told, testing::AllOf(testing::SizeIs(2),
                                   testing::Each(HasSubstr("the label of sample 69 is 3"))));
}

TEST(ShardedPruner, KnowsTheClassesOfAllRanks) {
  RanksInTurn(2).run([](Exchange& exchange) {
    const ShardRange range = shard_range(128, 2, exchange.rank());
    const std::vector<int> labels(64, exchange.rank() == 0 ? 1 : 4);
    const ClassIndex classes(std::span<const int>(labels), Shard(range, 128, exchange));
    EXPECT_THAT(classes.class_sizes(), testing::ElementsAre(0, 64, 0, 0, 64));
    std::vector<int> all(64, 1);
    all.insert(all.end(), 64, 4);
    EXPECT_EQ(classes.fingerprint(), ClassIndex(all).fingerprint());
  });
}

TEST(ShardedPruner, RecordsNothingAnywhereIfOneRankIsRefused) {
  const std::vector<int> labels = labels_of(640, 2);
  on_ranks(variant_named("rcap"), labels, 2, 2, [](ShardedPruner& pruner) {
    const auto ids = pruner.select(0).ids;
    pruner.observe(ids, losses_of(ids, 0));
    if (pruner.shard().rank() == 1) {
      pruner.observe(std::span(ids).first(1), std::vector<float>{0.5F});
    }
    EXPECT_THAT(message_of<InvalidArgument>([&] { pruner.exchange_losses(); }),
                HasSubstr("observed before in this epoch"));
    EXPECT_EQ(pruner.pending_count(), pruner.selected_count());
    pruner.observe(ids, losses_of(ids, 0));
    EXPECT_EQ(pruner.pending_count(), 0);
  });
}

/// Losses that keys tell apart badly, or not at all.
std::vector<std::vector<float>> strange_losses(std::size_t count) {
  std::vector<std::vector<float>> kinds(4, std::vector<float>(count, 1.0F));
  for (std::size_t i = 0; i < count; ++i) {
    kinds[1][i] = 1e-42F * static_cast<float>(i % 7);
    kinds[2][i] = i % 3 == 0 ? 3e38F : 1e30F * static_cast<float>(i % 5);
    kinds[3][i] = i % 2 == 0 ? 0.0F : 1e18F;
  }
  return kinds;
}

TEST(DrawOverShards, EqualsThatOfOneProcessForAnyLosses) {
  constexpr std::int64_t SampleCount = 40'000;
  const std::vector<int> labels = labels_of(SampleCount, 2);
  const ClassIndex whole(labels);
  const RandomStream stream(8, Purpose::Selection, 1);
  const std::vector<std::int64_t> counts{whole.class_sizes()[0] / 2, whole.class_sizes()[1] / 50};
  for (const auto& losses : strange_losses(labels.size())) {
    DrawScratch scratch_alone;
    const auto alone = draw_weighted(whole, {losses, 0.5}, counts, stream, 1, &scratch_alone).ids();
    std::vector<SampleId> together;
    RanksInTurn(3).run([&](Exchange& exchange) {
      const ShardRange range = shard_range(SampleCount, 3, exchange.rank());
      const auto first = static_cast<std::size_t>(range.first_id);
      const auto count = static_cast<std::size_t>(range.sample_count);
      const auto own = std::span<const int>(labels).subspan(first, count);
      const ClassIndex classes(own, Shard(range, SampleCount, exchange), 2);
      DrawScratch scratch;
      const SampleSet drawn = draw_weighted(classes, {std::span(losses).subspan(first, count), 0.5},
                                            counts, stream.from_id(range.first_id), 2, &scratch);
      EXPECT_EQ(scratch.thresholds, scratch_alone.thresholds);
      for (const SampleId id : drawn.ids()) together.push_back(range.first_id + id);
    });
    std::ranges::sort(together);
    EXPECT_EQ(together, alone);
  }
}

TEST(TopScoresOverShards, BreakTiesByIdsOfTheWholeDataSet) {
  std::vector<float> scores(320);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = i % 4 == 0 ? 2.0F : 1.0F;
  // All 80 twos, and the first 100 of 240 ones: up to sample 133.
  std::vector<SampleId> together;
  RanksInTurn(3).run([&](Exchange& exchange) {
    const ShardRange range = shard_range(320, 3, exchange.rank());
    const auto own = std::span<const float>(scores).subspan(
        static_cast<std::size_t>(range.first_id), static_cast<std::size_t>(range.sample_count));
    for (const SampleId id : top_scores(Shard(range, 320, exchange), own, 180).ids()) {
      together.push_back(range.first_id + id);
    }
  });
  std::ranges::sort(together);
  EXPECT_EQ(together, top_scores(scores, 180).ids());
}

TEST(RanksInTurn, TellsRanksThatAreOutOfStep) {
  const auto run = [](const std::function<void(Exchange&)>& work) {
    return message_of<Error>([&] { RanksInTurn(3).run(work); });
  };
  EXPECT_THAT(run([](Exchange& exchange) {
                std::vector<std::int64_t> one(1);
                if (exchange.rank() < 2) exchange.all_reduce(one, Exchange::Combine::Sum);
                if (exchange.rank() == 2) (void)exchange.all_gather({});
              }),
              HasSubstr("rank 2 calls all_gather, others all_reduce sum"));
  EXPECT_THAT(run([](Exchange& exchange) {
                if (exchange.rank() > 0) (void)exchange.all_gather({});
              }),
              HasSubstr("another rank has ended"));
  EXPECT_THAT(run([](Exchange& exchange) {
                if (exchange.rank() == 1) throw InvalidArgument("no");
                (void)exchange.all_gather({});
              }),
              HasSubstr("no"));
}

}  // namespace
}  // namespace rcap
