#include "rcap/core/pruners/uniform_pruners.hpp"

#include <algorithm>

#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {

void list_options(OptionFields& fields, Rs2Options& options) {
  if (!options.replacement) return;
  fields.flag("stratified", options.stratified, "keep every class in proportion to its size");
}

Rs2Pruner::Rs2Pruner(std::shared_ptr<const ClassIndex> classes, const CommonOptions& common,
                     const Rs2Options& options)
    : Pruner(options.replacement ? "rs2-replace" : "rs2", std::move(classes), common),
      options_(options) {
  if (options.stratified && !options.replacement) {
    throw InvalidArgument("rs2: stratified works with replacement only; use rs2-replace");
  }
  if (!options.stratified) return;
  const auto sizes = this->classes().class_tokens();
  counts_ = split_budget(sizes, std::vector<double>(sizes.begin(), sizes.end()), keep_tokens());
}

void Rs2Pruner::make_selection(std::int64_t epoch, SampleSet& selected, const Workers& workers) {
  if (!options_.replacement) {
    selected = block_of_permutation(epoch, workers);
  } else if (options_.stratified) {
    selected = draw_per_class(classes(), counts_, stream(Purpose::Selection, epoch), workers);
  } else {
    selected = draw_tokens(classes(), keep_tokens(), stream(Purpose::Selection, epoch), workers);
  }
}

std::vector<double> Rs2Pruner::class_weights(const Selection& selection, const Workers& workers) {
  if (!options_.stratified || classes().has_lengths()) {
    return Pruner::class_weights(selection, workers);
  }
  return {counts_.begin(), counts_.end()};
}

SampleSet Rs2Pruner::block_of_permutation(std::int64_t epoch, const Workers& workers) const {
  const std::int64_t size = classes().token_count();
  const std::int64_t blocks = (size + keep_tokens() - 1) / keep_tokens();
  const RandomStream permutation = stream(Purpose::Permutation, epoch / blocks);
  // The first m tokens of the permutation are the draw of m tokens from its stream.
  const auto first_places = [&](std::int64_t tokens) {
    return draw_tokens(classes(), tokens, permutation, workers);
  };
  const std::int64_t begin = epoch % blocks * keep_tokens();
  const std::int64_t end = begin + keep_tokens();
  SampleSet block = first_places(std::min(end, size));
  if (begin > 0) block.subtract(first_places(begin));
  if (end > size) block.unite(first_places(end - size));
  return block;
}

}  // namespace rcap
