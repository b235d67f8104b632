// Prunes a toy training run: three classes, one of them rare and hard.
//
//     cmake -S examples/cpp -B example-build && cmake --build example-build
//     example-build/select_epochs

#include <cstdio>
#include <memory>
#include <vector>

#include <rcap/core/make_pruner.hpp>
#include <rcap/core/training_order.hpp>

namespace {

/// Stands in for the forward pass of a network: class 2 is hard and gets easier slowly.
std::vector<float> losses_of(const std::vector<rcap::SampleId>& ids, const std::vector<int>& labels,
                             int epoch) {
  std::vector<float> losses;
  for (const rcap::SampleId id : ids) {
    const int label = labels[static_cast<std::size_t>(id)];
    losses.push_back((label == 2 ? 2.0F : 1.0F) / static_cast<float>(epoch + 2));
  }
  return losses;
}

}  // namespace

int main() {
  std::vector<int> labels(1000, 0);
  for (std::size_t i = 600; i < 950; ++i) labels[i] = 1;
  for (std::size_t i = 950; i < 1000; ++i) labels[i] = 2;

  rcap::PrunerOptions options;
  options.common.pruning_rate = 0.9;
  const auto classes = std::make_shared<const rcap::ClassIndex>(labels);
  const auto pruner = rcap::make_pruner("rcap", classes, options);

  for (int epoch = 0; epoch < 5; ++epoch) {
    const rcap::Selection selection =
        rcap::in_training_order(pruner->select(epoch), options.common.seed);
    const std::vector<rcap::SampleId>& ids = selection.ids;
    // Here a training loop would run over `ids`, batch by batch, and multiply each loss by its
    // weight (all are 1 if `selection.weights` is empty) before it takes the mean of the batch. The
    // pruner gets the losses without the weights.
    pruner->observe(ids, losses_of(ids, labels, epoch));

    const auto counts = classes->count_by_class(ids);
    std::printf("epoch %d trains on %zu of %zu: %lld + %lld + %lld per class\n", epoch, ids.size(),
                labels.size(), static_cast<long long>(counts[0]), static_cast<long long>(counts[1]),
                static_cast<long long>(counts[2]));
  }
}
