#include "rcap/core/sharded_pruner.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/formatted.hpp"
#include "base/path_text.hpp"
#include "core/batch_checks.hpp"
#include "core/bytes.hpp"
#include "core/hash64.hpp"
#include "core/id_runs.hpp"
#include "core/order_over_shards.hpp"
#include "core/saturate.hpp"
#include "core/shard_state.hpp"
#include "core/together.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

std::string methods_with_shards() {
  std::string names;
  for (const MethodInfo& method : methods()) {
    if (method.shards) names += (names.empty() ? "" : ", ") + std::string(method.name);
  }
  return names;
}

/// @throws InvalidArgument  on every rank, unless all have the same method and options
void require_same_options(const Shard& shard, const Pruner& pruner) {
  require_same(shard, "ShardedPruner: the method", pruner.method());
  const std::vector<std::string> options = pruner.options();
  for (const std::string& option : options) {
    require_same(shard, "ShardedPruner: an option", option);
  }
}

/// A sample of a shard and its loss, in the order of samples.
std::uint64_t packed(std::uint32_t local_id, float loss) {
  return std::uint64_t{local_id} << 32 | std::bit_cast<std::uint32_t>(loss);
}

/// Sorts by the upper half, eleven bits at a time.
void sort_by_sample(std::vector<std::uint64_t>& samples) {
  constexpr int DigitBits = 11;
  constexpr std::size_t Digits = std::size_t{1} << DigitBits;
  if (std::ranges::is_sorted(samples)) return;
  std::vector<std::uint64_t> other(samples.size());
  for (int shift = 32; shift < 64; shift += DigitBits) {
    std::array<std::size_t, Digits + 1> next{};
    for (const std::uint64_t sample : samples) ++next[(sample >> shift) % Digits + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (const std::uint64_t sample : samples) other[next[(sample >> shift) % Digits]++] = sample;
    std::swap(samples, other);
  }
}

/// Lists only what is the same on all ranks.
class CommonFields : public StateFields {
 public:
  explicit CommonFields(StateFields& to) : to_(to) {}

  void number(std::string_view name, std::int64_t& value) override { to_.number(name, value); }
  void flag(std::string_view name, bool& value) override { to_.flag(name, value); }
  void losses(std::string_view name, std::vector<float>& values) override {
    to_.losses(name, values);
  }
  void weights(std::string_view name, std::vector<double>& values) override {
    to_.weights(name, values);
  }
  void sample_losses(std::string_view, std::vector<float>&) override {}
  void chances(std::string_view, std::vector<InverseChance>&, std::size_t) override {}
  void samples(std::string_view, SampleSet&) override {}

 private:
  StateFields& to_;
};

/// Calls `use(place among the selected, id)` for the samples whose chances there are: none before
/// the first selection.
template <class Use>
void for_each_chance(const SampleSet& selected, std::size_t count, const Use& use) {
  const std::vector<SampleId> ids = selected.ids();
  if (ids.size() != count) return;
  for (std::size_t place = 0; place < count; ++place)
    use(place, static_cast<std::size_t>(ids[place]));
}

/// Takes the rows of this shard.
class RowsWriter final : public CommonFields {
 public:
  RowsWriter(StateFields& common, const SampleSet& selected, std::vector<ShardRows>& rows)
      : CommonFields(common), selected_(selected), rows_(rows) {}

  void sample_losses(std::string_view name, std::vector<float>& values) override {
    put<float>(name, ShardRows::Type::Losses, values);
  }
  void samples(std::string_view name, SampleSet& values) override {
    put<std::uint64_t>(name, ShardRows::Type::Samples, values.words());
  }
  void chances(std::string_view name, std::vector<InverseChance>& values, std::size_t) override {
    std::vector<InverseChance> rows(static_cast<std::size_t>(selected_.sample_count()));
    for_each_chance(selected_, values.size(),
                    [&](std::size_t place, std::size_t id) { rows[id] = values[place]; });
    put<InverseChance>(name, ShardRows::Type::Chances, rows);
  }

 private:
  template <class T>
  void put(std::string_view name, ShardRows::Type type, std::span<const T> values) {
    rows_.push_back({std::string(name), type, {}});
    append<T>(rows_.back().bytes, values);
  }

  const SampleSet& selected_;
  std::vector<ShardRows>& rows_;
};

/// Fills in the rows of this shard, and can put everything back.
class RowsReader final : public CommonFields {
 public:
  RowsReader(StateFields& common, const SampleSet& selected, std::span<const ShardRows> rows)
      : CommonFields(common), selected_(selected), rows_(rows) {}

  void sample_losses(std::string_view name, std::vector<float>& values) override {
    auto read = take<float>(name, ShardRows::Type::Losses, values.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i] >= 0 && read[i] <= std::numeric_limits<float>::max()) continue;
      throw BadFile(
          formatted("set_shard_state: {}[{}] is {}; it must be finite and >= 0", name, i, read[i]));
    }
    replace(values, std::move(read));
  }
  void samples(std::string_view name, SampleSet& values) override {
    const auto read = take<std::uint64_t>(name, ShardRows::Type::Samples, values.words().size());
    SampleSet set(values.sample_count());
    std::ranges::copy(read, set.words().begin());
    if (const auto used = set.sample_count() % 64; used != 0 && (set.words().back() >> used) != 0) {
      throw BadFile(formatted("set_shard_state: {} holds a sample past the last one, {}", name,
                              set.sample_count() - 1));
    }
    replace(values, std::move(set));
  }
  void chances(std::string_view name, std::vector<InverseChance>& values, std::size_t) override {
    const auto read = take<InverseChance>(name, ShardRows::Type::Chances,
                                          static_cast<std::size_t>(selected_.sample_count()));
    const auto count = static_cast<std::size_t>(selected_.count());
    std::vector<InverseChance> chances(count == 0 ? values.size() : count);
    for_each_chance(selected_, chances.size(),
                    [&](std::size_t place, std::size_t id) { chances[place] = read[id]; });
    replace(values, std::move(chances));
  }

  void put_back() {
    for (; !undo_.empty(); undo_.pop_back()) undo_.back()();
  }

 private:
  template <class T>
  void replace(T& value, T with) {
    std::swap(value, with);
    undo_.emplace_back([&value, old = std::move(with)]() mutable { std::swap(value, old); });
  }

  template <class T>
  [[nodiscard]] std::vector<T> take(std::string_view name, ShardRows::Type type,
                                    std::size_t count) const {
    const auto found = std::ranges::find(rows_, name, &ShardRows::name);
    if (found == rows_.end()) {
      throw BadFile(
          formatted("set_shard_state: {} is missing; give all that shard_state gave", name));
    }
    if (found->type != type || found->bytes.size() != count * sizeof(T)) {
      throw BadFile(formatted(
          "set_shard_state: {} has {} bytes; this shard needs {}: the rows of its own samples",
          name, found->bytes.size(), count * sizeof(T)));
    }
    return values_of<T>(found->bytes);
  }

  const SampleSet& selected_;
  std::span<const ShardRows> rows_;
  std::vector<std::function<void()>> undo_;
};

}  // namespace

ShardedPruner::ShardedPruner(std::string_view method,
                             const std::shared_ptr<const ClassIndex>& classes,
                             const PrunerOptions& options)
    : classes_(classes), seed_(options.common.seed) {
  together(shard(), [&] {
    if (!require_method(method).shards) {
      throw InvalidArgument(formatted("ShardedPruner: {} cannot select from shards; {} can", method,
                                      methods_with_shards()));
    }
    pruner_ = make_pruner(method, classes, options);
  });
  require_same_options(shard(), *pruner_);
}

std::int64_t ShardedPruner::pending_count() {
  exchange_losses();
  return shard().sum(pruner_->pending_count());
}

const Selection& ShardedPruner::select(std::int64_t epoch, Locality locality) {
  exchange_losses();
  require_same(shard(), "select: epoch and locality",
               formatted("{} {}", epoch, locality == Locality::Shard ? "shard" : "everywhere"));
  const Selection& selection = pruner_->select(epoch);
  if (part_.epoch == epoch && locality_ == locality) return part_;
  selected_count_ = shard().sum(pruner_->selected_count());
  part_ = locality == Locality::Shard ? part_that_stays(shard(), selection, seed_)
                                      : part_of_order(shard(), selection, seed_);
  locality_ = locality;
  return part_;
}

bool ShardedPruner::is_here(std::span<const SampleId> ids) const {
  return std::ranges::all_of(ids, [this](SampleId id) {
    return id >= shard().first_id() && id < shard().first_id() + shard().sample_count();
  });
}

void ShardedPruner::check_ids(const char* where, std::span<const SampleId> ids) const {
  if (all_exist(ids, shard().total())) return;
  const auto stray = std::ranges::find_if_not(
      ids, [this](SampleId id) { return id >= 0 && id < shard().total(); });
  throw InvalidArgument(
      formatted("{}: id {} does not exist; ids lie between 0 and {}; nothing was recorded", where,
                *stray, shard().total() - 1));
}

template <class Real>
void ShardedPruner::remember(const char* where, Observed& observed, std::span<const SampleId> ids,
                             std::span<const Real> losses) {
  check_sizes(where, ids.size(), losses.size());
  check_ids(where, ids);
  if (pruner_->learns()) (void)check_losses(where, ids, losses);
  observed.ids.insert(observed.ids.end(), ids.begin(), ids.end());
  std::ranges::transform(losses, std::back_inserter(observed.losses),
                         [](Real loss) { return saturate(std::max(Real{0}, loss)); });
}

void ShardedPruner::observe(std::span<const SampleId> ids, std::span<const float> losses) {
  const bool may_record = pruner_->epoch() < 0 && pruner_->takes_initial_losses();
  if (!may_record || !is_here(ids)) return remember("observe", in_time_, ids, losses);
  // A rank's pass over its own samples, which can be many.
  std::vector<SampleId> own(ids.begin(), ids.end());
  for (SampleId& id : own) id -= shard().first_id();
  pruner_->observe(own, losses);
}

void ShardedPruner::observe(std::span<const SampleId> ids, std::span<const double> losses) {
  remember("observe", in_time_, ids, losses);
}

void ShardedPruner::observe_late(std::span<const SampleId> ids, std::span<const float> losses) {
  remember("observe_late", late_, ids, losses);
}

void ShardedPruner::observe_late(std::span<const SampleId> ids, std::span<const double> losses) {
  remember("observe_late", late_, ids, losses);
}

void ShardedPruner::pass_over(std::span<const SampleId> ids) {
  check_ids("pass_over", ids);
  passed_over_.ids.insert(passed_over_.ids.end(), ids.begin(), ids.end());
}

void ShardedPruner::observe_batch(std::span<const SampleId> ids, double mean_loss) {
  observe(ids, std::vector<double>(ids.size(), mean_loss));
  observes_batches_ = true;
}

void ShardedPruner::average_batches(double decay) {
  require_same(shard(), "average_batches: decay", formatted("{}", decay));
  pruner_->average_batches(decay);
}

void ShardedPruner::observe_classes(std::span<const double> errors) {
  std::string text;
  for (const double error : errors) text += formatted("{} ", error);
  require_same(shard(), "observe_classes: errors", text);
  pruner_->observe_classes(errors);
}

ShardedPruner::Observed ShardedPruner::bring_to_owners(Observed& observed) {
  const auto ranks = static_cast<std::size_t>(shard().rank_count());
  const bool have_losses = !observed.losses.empty();
  std::vector<std::vector<std::uint64_t>> of_owners(ranks);
  for (std::size_t i = 0; i < observed.ids.size(); ++i) {
    const auto owner = static_cast<std::size_t>(shard().owner_of(observed.ids[i]));
    of_owners[owner].push_back(
        packed(static_cast<std::uint32_t>(observed.ids[i] - shard().begins()[owner]),
               have_losses ? observed.losses[i] : 0));
  }
  observed = {};
  std::vector<RankBytes> parts(ranks);
  for (std::size_t owner = 0; owner < ranks; ++owner) {
    sort_by_sample(of_owners[owner]);
    IdRun run;
    std::vector<float> losses;
    for (const std::uint64_t sample : of_owners[owner]) {
      run.add(static_cast<SampleId>(sample >> 32));
      if (have_losses) losses.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(sample)));
    }
    of_owners[owner] = {};
    run.append_to(parts[owner]);
    append<float>(parts[owner], losses);
  }
  Observed here;
  for (const RankBytes& received : shard().exchange().all_to_all(std::move(parts))) {
    std::span<const std::byte> bytes = received;
    read_ids(bytes, 0, here.ids);
    const std::vector<float> values = values_of<float>(bytes);
    here.losses.insert(here.losses.end(), values.begin(), values.end());
  }
  return here;
}

void ShardedPruner::exchange_losses() {
  enum : std::size_t { InTime, Late, PassedOver, Batches, Kinds };
  std::array<std::int64_t, Kinds> counts{std::ssize(in_time_.ids), std::ssize(late_.ids),
                                         std::ssize(passed_over_.ids), observes_batches_ ? 1 : 0};
  shard().add_up(counts);
  observes_batches_ = false;
  const auto brought = [&](std::size_t kind, Observed& observed) {
    if (shard().is_whole()) return std::exchange(observed, {});
    return counts[kind] > 0 ? bring_to_owners(observed) : Observed();
  };
  if (counts[Batches] > 0 && pruner_->learns() && !pruner_->averages_batches()) {
    pruner_->average_batches();
  }
  if (counts[Late] > 0) record_late(brought(Late, late_));
  if (counts[InTime] + counts[PassedOver] > 0) {
    const Observed in_time = brought(InTime, in_time_);
    record_in_time(in_time, brought(PassedOver, passed_over_));
  }
  pruner_->agree();
}

void ShardedPruner::record_late(const Observed& late) {
  together(shard(), [&] {
    if (pruner_->epoch() < 0) pruner_->observe_late(late.ids, late.losses);  // refuses
    auto ids = late.ids;
    std::ranges::sort(ids);
    if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end()) {
      throw InvalidArgument(
          formatted("observe_late: id {} appears twice before an exchange; give each sample once; "
                    "nothing was "
                    "recorded",
                    shard().first_id() + *twice));
    }
  });
  pruner_->observe_late(late.ids, late.losses);
}

void ShardedPruner::record_in_time(const Observed& in_time, const Observed& passed_over) {
  // Samples are marked on all ranks before anything is recorded on one.
  std::size_t marked = 0;
  const auto mark = [&](const char* where, const Observed& observed) {
    pruner_->mark_observed(where, observed.ids);
    ++marked;
  };
  try {
    together(shard(), [&] {
      if (pruner_->epoch() < 0 && !pruner_->takes_initial_losses()) {
        throw InvalidArgument(
            formatted("observe: nothing is selected yet; {} takes no initial losses, call select "
                      "first",
                      pruner_->method()));
      }
      mark("observe", in_time);
      mark("pass_over", passed_over);
    });
  } catch (...) {
    if (marked > 0) {
      for (const SampleId id : in_time.ids) pruner_->pending_.insert(id);
    }
    if (marked > 1) {
      for (const SampleId id : passed_over.ids) pruner_->pending_.insert(id);
    }
    throw;
  }
  if (pruner_->learns()) pruner_->record_marked(in_time.ids, in_time.losses);
}

void ShardedPruner::save(const std::filesystem::path& path) {
  exchange_losses();
  write_shards_to_file(shard(), path, pruner_->identity(),
                       [this](StateFields& fields) { pruner_->list_all_state(fields); });
}

void ShardedPruner::write_state(const WriteBytes& write) {
  exchange_losses();
  stream_shards(shard(), write, pruner_->identity(),
                [this](StateFields& fields) { pruner_->list_all_state(fields); });
}

void ShardedPruner::forget_part() {
  in_time_ = {};
  late_ = {};
  passed_over_ = {};
  observes_batches_ = false;
  part_ = {};
  selected_count_ = shard().sum(pruner_->selected_count());
}

void ShardedPruner::replace_state(const std::function<void()>& read) {
  pruner_->replace_state(read);
  forget_part();
}

void ShardedPruner::load(const std::filesystem::path& path) {
  const std::string where = formatted("load_state \"{}\"", path_text(path));
  replace_state([&] {
    read_shard_from_file(shard(), path, pruner_->identity(),
                         [&](StateFields& fields) { pruner_->read_all_state(fields, where); });
  });
}

void ShardedPruner::set_state(std::span<const std::byte> bytes) {
  replace_state([&] {
    decode_shard(shard(), bytes, pruner_->identity(),
                 [&](StateFields& fields) { pruner_->read_all_state(fields, "load_state"); });
  });
}

ShardState ShardedPruner::shard_state() {
  exchange_losses();
  ShardState state;
  state.common = encode_state(pruner_->identity(), [&](StateFields& fields) {
    state.fields.clear();  // fields are listed twice
    RowsWriter rows(fields, pruner_->selected_, state.fields);
    pruner_->list_all_state(rows);
  });
  return state;
}

void ShardedPruner::set_shard_state(const ShardState& state) {
  Hash64 hash;
  hash.add(state.common.data(), state.common.size());
  require_same(shard(), "set_shard_state: the checksum of common", formatted("{}", hash.value()));
  std::optional<RowsReader> rows;
  replace_state([&] {
    try {
      decode_state(state.common, pruner_->identity(), [&](StateFields& fields) {
        together(shard(), [&] {
          rows.emplace(fields, pruner_->selected_, state.fields);
          pruner_->read_all_state(*rows, "set_shard_state");
        });
      });
    } catch (...) {
      if (rows) rows->put_back();
      throw;
    }
  });
}

}  // namespace rcap
