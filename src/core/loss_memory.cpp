#include "rcap/core/loss_memory.hpp"

#include <algorithm>

#include "core/chunks.hpp"
#include "core/keys.hpp"
#include "core/set_bits.hpp"

namespace rcap {
namespace {

/// Pieces for sums per class: enough to keep threads busy, few enough that a row of sums
/// for each of them is small beside the data.
Chunks chunks_for_sums(const ClassIndex& classes) {
  const std::int64_t pieces =
      std::clamp<std::int64_t>(classes.sample_count() / 16 / classes.class_count(), 1, 32);
  const std::int64_t words = (classes.sample_count() + 63) / 64;
  return {words, (words + pieces - 1) / pieces};
}

/// Adds `term(id, class)` of every member to the sum of its class. Each piece of the
/// data has a row of sums of its own, and the rows are added in order: the result does
/// not depend on the threads.
template <class Term>
std::vector<double> sum_by_class(const ClassIndex& classes, const SampleSet& samples,
                                 const Workers& workers, const Term& term) {
  const Chunks chunks = chunks_for_sums(classes);
  const auto class_count = static_cast<std::size_t>(classes.class_count());
  std::vector<double> rows(static_cast<std::size_t>(chunks.size()) * class_count);
  classes.visit([&](auto labels) {
    workers.for_each_chunk(chunks.size(), [&](std::int64_t chunk, int) {
      double* sums = rows.data() + static_cast<std::size_t>(chunk) * class_count;
      auto word = static_cast<std::size_t>(chunks.begin(chunk));
      const auto end = static_cast<std::size_t>(chunks.end(chunk));
      while (word < end) {
        const std::size_t count = std::min(SetBits::MostWords, end - word);
        for (const std::uint16_t place : SetBits(samples.words().subspan(word, count))) {
          const std::size_t id = 64 * word + place;
          const auto label = static_cast<std::size_t>(labels[id]);
          sums[label] += term(static_cast<SampleId>(id), label);
        }
        word += count;
      }
    });
  });
  for (std::size_t row = class_count; row < rows.size(); row += class_count) {
    for (std::size_t j = 0; j < class_count; ++j) rows[j] += rows[row + j];
  }
  rows.resize(class_count);
  return rows;
}

}  // namespace

LossMemory::LossMemory(std::shared_ptr<const ClassIndex> classes)
    : classes_(std::move(classes)),
      losses_(static_cast<std::size_t>(classes_->sample_count())),
      class_limits_(static_cast<std::size_t>(classes_->class_count())) {}

void LossMemory::fill(float loss) {
  std::ranges::fill(losses_, loss);
  fix_limits(loss);
}

void LossMemory::fix_limits(float limit) {
  std::ranges::fill(class_limits_, limit);
  limits_fixed_ = true;
}

void LossMemory::record_initial(std::span<const SampleId> ids, std::span<const float> losses) {
  classes_->visit([&](auto labels) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto id = static_cast<std::size_t>(ids[i]);
      float& limit = class_limits_[labels[id]];
      if (!limits_fixed_) limit = std::max(limit, losses[i]);
      losses_[id] = std::min(losses[i], limit);
    }
  });
}

void LossMemory::prefetch(std::span<const SampleId> ids) const {
  for (const SampleId id : ids) __builtin_prefetch(&losses_[static_cast<std::size_t>(id)], 1, 2);
}

void LossMemory::record(std::span<const SampleId> ids, std::span<const float> losses) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    losses_[static_cast<std::size_t>(ids[i])] = losses[i];
  }
}

std::vector<double> LossMemory::clip(const SampleSet& samples, const Workers& workers) {
  return sum_by_class(*classes_, samples, workers, [this](SampleId id, std::size_t label) {
    float& loss = losses_[static_cast<std::size_t>(id)];
    loss = std::min(loss, class_limits_[label]);
    return static_cast<double>(loss);
  });
}

std::vector<double> LossMemory::class_sums(const SampleSet& samples, const Workers& workers) const {
  return sum_by_class(*classes_, samples, workers, [this](SampleId id, std::size_t label) {
    return static_cast<double>(
        std::min(losses_[static_cast<std::size_t>(id)], class_limits_[label]));
  });
}

std::vector<double> LossMemory::class_masses(const SampleSet& samples, double beta,
                                             const Workers& workers) const {
  // Shifted by the largest loss of the class, so that no exponential overflows and the
  // whole of a class never vanishes.
  std::vector<float> largest(class_limits_.size());
  classes_->visit([&](auto labels) {
    for (std::size_t id = 0; id < losses_.size(); ++id) {
      float& most = largest[labels[id]];
      most = std::max(most, std::min(losses_[id], class_limits_[labels[id]]));
    }
  });
  const auto term = [&](SampleId id, std::size_t label) {
    const float loss = std::min(losses_[static_cast<std::size_t>(id)], class_limits_[label]);
    return exact_exp((static_cast<double>(loss) - static_cast<double>(largest[label])) / beta);
  };
  const auto everything = SampleSet::all(classes_->sample_count());
  std::vector<double> masses = sum_by_class(*classes_, samples, workers, term);
  const std::vector<double> totals = sum_by_class(*classes_, everything, workers, term);
  for (std::size_t j = 0; j < masses.size(); ++j) {
    masses[j] = totals[j] == 0 ? 0 : masses[j] / totals[j];
  }
  return masses;
}

}  // namespace rcap
