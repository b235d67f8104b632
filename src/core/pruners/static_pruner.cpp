#include "rcap/core/pruners/static_pruner.hpp"

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {

StaticPruner::StaticPruner(std::string method, std::shared_ptr<const ClassIndex> classes,
                           const CommonOptions& common, SampleSet chosen)
    : Pruner(std::move(method), std::move(classes), common), chosen_(std::move(chosen)) {
  if (chosen_.sample_count() != this->classes().sample_count()) {
    throw InvalidArgument(formatted("{}: the selection is for {} samples, the data set has {}",
                                    this->method(), chosen_.sample_count(),
                                    this->classes().sample_count()));
  }
}

void StaticPruner::make_selection(std::int64_t, SampleSet& selected, const Workers&) {
  selected = chosen_;
}

std::vector<double> StaticPruner::class_weights(const Selection& selection,
                                                const Workers& workers) {
  if (class_weights_.empty()) class_weights_ = Pruner::class_weights(selection, workers);
  return class_weights_;
}

std::vector<std::string> StaticPruner::describe_options() const {
  std::uint64_t digest = 0;
  for (const std::uint64_t word : chosen_.words())
    digest = mix64(digest + RandomStream::Gamma) ^ word;
  return {formatted("chosen_samples={:016x}", mix64(digest))};
}

}  // namespace rcap
