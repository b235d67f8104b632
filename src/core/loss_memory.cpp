#include "rcap/core/loss_memory.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/keys.hpp"
#include "core/member_blocks.hpp"
#include "core/prefetch.hpp"
#include "core/token_weight.hpp"

namespace rcap {

LossMemory::LossMemory(std::shared_ptr<const ClassIndex> classes)
    : classes_(std::move(classes)),
      losses_(static_cast<std::size_t>(classes_->local_count())),
      class_limits_(static_cast<std::size_t>(classes_->class_count())) {}

void LossMemory::fill(float loss) {
  if (!limits_fixed_) std::ranges::fill(class_limits_, std::numeric_limits<float>::max());
  std::ranges::fill(losses_, std::min(loss, class_limits_.front()));  // one limit for all classes
}

void LossMemory::fix_limits(float limit) {
  std::ranges::fill(class_limits_, limit);
  limits_fixed_ = true;
}

void LossMemory::start_from(const SampleSet& seen, const Workers& workers) {
  const std::vector<ClassLoss> found = sum_by_class<ClassLoss>(
      *classes_, seen, workers,
      [this, tokens = TokenWeight(*classes_)](SampleId id, std::size_t, std::size_t) {
        const auto loss = static_cast<double>(losses_[static_cast<std::size_t>(id)]);
        return ClassLoss{tokens(id) * loss, tokens(id)};
      });
  ClassLoss all;
  for (const ClassLoss& loss : found) all += loss;
  std::vector<float> means(found.size());
  for (std::size_t j = 0; j < means.size(); ++j) {
    const ClassLoss& of = found[j].weight > 0 ? found[j] : all;
    means[j] = static_cast<float>(of.sum / of.weight);
  }
  if (!limits_fixed_) class_limits_ = means;
  classes_->visit([&](auto labels) {
    for (std::size_t id = 0; id < losses_.size(); ++id) {
      float& limit = class_limits_[labels[id]];
      if (!seen.contains(static_cast<SampleId>(id)))
        losses_[id] = std::min(means[labels[id]], limit);
      if (!limits_fixed_) limit = std::max(limit, losses_[id]);
    }
  });
  share_limits();
}

void LossMemory::share_limits() { classes_->shard().raise(class_limits_); }

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

void LossMemory::prefetch(std::span<const SampleId> ids) const { prefetch_numbers(losses_, ids); }

void LossMemory::record(std::span<const SampleId> ids, std::span<const float> losses) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    losses_[static_cast<std::size_t>(ids[i])] = losses[i];
  }
}

void LossMemory::record_clipped(std::span<const SampleId> ids, std::span<const float> losses) {
  classes_->visit([&](auto labels) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto id = static_cast<std::size_t>(ids[i]);
      losses_[id] = std::min(losses[i], class_limits_[labels[id]]);
    }
  });
}

template <class Sum, class Term>
std::vector<Sum> LossMemory::clip_and_sum(const SampleSet& samples, const Workers& workers,
                                          const Term& term) {
  std::atomic<std::int64_t> cut_count = 0;
  const TokenWeight tokens(*classes_);
  std::vector<Sum> found = sum_blocks_by_class<Sum>(
      *classes_, samples, workers, [&](const MemberBlock& block, auto labels, Sum* sums) {
        std::int64_t cut_in_block = 0;
        std::size_t place = block.first;
        for (const std::uint16_t offset : block.places) {
          const std::size_t id = block.first_id + offset;
          const auto label = static_cast<std::size_t>(labels[id]);
          cut_in_block += cut(id, label);
          const double loss = tokens(static_cast<SampleId>(id)) * static_cast<double>(losses_[id]);
          sums[label] += term(static_cast<SampleId>(id), loss, place++);
        }
        cut_count += cut_in_block;
      });
  cut_count_ = cut_count;
  return found;
}

std::vector<double> LossMemory::clip(const SampleSet& samples, const Workers& workers) {
  return clip_and_sum<double>(samples, workers,
                              [](SampleId, double loss, std::size_t) { return loss; });
}

std::vector<double> LossMemory::class_sums(const SampleSet& samples, const Workers& workers) const {
  return sum_by_class(
      *classes_, samples, workers,
      [this, tokens = TokenWeight(*classes_)](SampleId id, std::size_t label, std::size_t) {
        return tokens(id) * static_cast<double>(clipped(id, label));
      });
}

std::vector<ClassLoss> LossMemory::class_losses(const SampleSet& samples,
                                                std::span<const InverseChance> weights,
                                                const Workers& workers) const {
  return sum_by_class<ClassLoss>(
      *classes_, samples, workers,
      [this, weights, tokens = TokenWeight(*classes_)](SampleId id, std::size_t label,
                                                       std::size_t place) {
        const double weight = tokens(id) * static_cast<double>(weights[place].value());
        return ClassLoss{weight * static_cast<double>(clipped(id, label)), weight};
      });
}

std::vector<ClassLoss> LossMemory::clip(const SampleSet& samples,
                                        std::span<const InverseChance> weights,
                                        const Workers& workers) {
  return clip_and_sum<ClassLoss>(
      samples, workers,
      [weights, tokens = TokenWeight(*classes_)](SampleId id, double loss, std::size_t place) {
        const auto weight = static_cast<double>(weights[place].value());
        return ClassLoss{weight * loss, tokens(id) * weight};
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
  classes_->shard().raise(largest);
  const TokenWeight tokens(*classes_);
  const auto term = [&](SampleId id, std::size_t label, std::size_t) {
    return tokens(id) * exact_exp((static_cast<double>(clipped(id, label)) -
                                   static_cast<double>(largest[label])) /
                                  beta);
  };
  const auto everything = SampleSet::all(classes_->local_count());
  std::vector<double> masses = sum_by_class(*classes_, samples, workers, term);
  const std::vector<double> totals = sum_by_class(*classes_, everything, workers, term);
  for (std::size_t j = 0; j < masses.size(); ++j) {
    masses[j] = totals[j] == 0 ? 0 : masses[j] / totals[j];
  }
  return masses;
}

}  // namespace rcap
