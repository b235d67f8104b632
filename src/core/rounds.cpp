#include "rcap/core/rounds.hpp"

#include <algorithm>
#include <utility>

namespace rcap {

Rounds::Rounds(std::shared_ptr<const ClassIndex> classes, std::optional<std::int64_t> max_repeats)
    : classes_(std::move(classes)),
      max_repeats_(max_repeats),
      seen_(classes_->sample_count()),
      rounds_(classes_->class_sizes().size()) {}

std::vector<std::int64_t> Rounds::unseen_tokens() const {
  std::vector<std::int64_t> tokens = classes_->tokens_by_class(seen_.ids());
  std::ranges::transform(classes_->class_tokens(), tokens, tokens.begin(), std::minus<>());
  return tokens;
}

std::vector<std::int64_t> Rounds::available() const {
  const auto all = classes_->class_tokens();
  std::vector<std::int64_t> tokens(all.begin(), all.end());
  if (!max_repeats_) return tokens;
  const std::vector<std::int64_t> unseen = unseen_tokens();
  const auto last_round = static_cast<double>(*max_repeats_);
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    if (rounds_[j] == last_round) tokens[j] = unseen[j];
    if (rounds_[j] > last_round) tokens[j] = 0;
  }
  return tokens;
}

Rounds::Turn Rounds::begin(std::span<const std::int64_t> budgets) const {
  const std::int64_t sample_count = classes_->sample_count();
  Turn turn{SampleSet(sample_count), SampleSet(sample_count), unseen_tokens(),
            std::vector<std::int64_t>(budgets.size())};
  std::vector<std::uint8_t> round_ends(budgets.size());
  for (std::size_t j = 0; j < budgets.size(); ++j) {
    const std::int64_t unseen = turn.candidate_tokens[j];
    round_ends[j] = budgets[j] >= unseen;
    if (round_ends[j] == 0) continue;
    turn.certain_tokens[j] = unseen;
    turn.candidate_tokens[j] = classes_->class_tokens()[j] - unseen;
  }
  classes_->visit([&](auto labels) {
    for (SampleId id = 0; id < sample_count; ++id) {
      const bool ends = round_ends[labels[static_cast<std::size_t>(id)]] != 0;
      if (seen_.contains(id) == ends) {
        turn.candidates.insert(id);
      } else if (ends) {
        turn.certain.insert(id);
      }
    }
  });
  return turn;
}

void Rounds::end(const Turn& turn, const SampleSet& drawn) {
  for (std::size_t j = 0; j < rounds_.size(); ++j) {
    if (turn.certain_tokens[j] > 0) ++rounds_[j];
  }
  seen_.subtract(turn.candidates);  // where a round ended, they were seen in it
  seen_.unite(drawn);
  std::vector<std::uint8_t> is_complete(rounds_.size());
  const std::vector<std::int64_t> unseen = unseen_tokens();
  for (std::size_t j = 0; j < rounds_.size(); ++j) {
    is_complete[j] = unseen[j] == 0 && classes_->class_tokens()[j] > 0;
    rounds_[j] += is_complete[j];
  }
  if (std::ranges::count(is_complete, 1) == 0) return;
  classes_->visit([&](auto labels) {
    for (SampleId id = 0; id < classes_->sample_count(); ++id) {
      if (is_complete[labels[static_cast<std::size_t>(id)]] != 0) seen_.erase_present(id);
    }
  });
}

void Rounds::list_state(StateFields& fields) {
  fields.samples("seen_in_round", seen_);
  fields.weights("rounds", rounds_);
}

}  // namespace rcap
