#include "rcap/core/pruners/static_pruner.hpp"

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {

StaticPruner::StaticPruner(std::string method, std::shared_ptr<const ClassIndex> classes,
                           const CommonOptions& common, SampleSet chosen)
    : Pruner(std::move(method), std::move(classes), common), chosen_(std::move(chosen)) {
  if (chosen_.sample_count() != this->classes().sample_count()) {
    throw InvalidArgument(fmt::format("{}: chosen from {} samples, the data set has {}",
                                      this->method(), chosen_.sample_count(),
                                      this->classes().sample_count()));
  }
}

void StaticPruner::make_selection(std::int64_t, SampleSet& selected) { selected = chosen_; }

}  // namespace rcap
