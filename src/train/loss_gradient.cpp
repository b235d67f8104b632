#include "train/loss_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>
#include <torch/torch.h>

#include "rcap/core/error.hpp"
#include "rcap/core/random_stream.hpp"
#include "rcap/core/training_order.hpp"

namespace rcap {
namespace {

namespace F = torch::nn::functional;

constexpr ClassId ClassCount = 3;
constexpr SampleId ExamplesPerClass = 30;
constexpr SampleId ExampleCount = ClassCount * ExamplesPerClass;
constexpr std::size_t FollowedCount = 10;
constexpr std::int64_t Hidden = 16;
constexpr std::int64_t BatchSize = 10;
constexpr double LearningRate = 0.01;
// Classes on a circle, close enough together for some examples to lie on the wrong side.
constexpr double CircleRadius = 1.5;
constexpr double Spread = 0.8;

struct Examples {
  torch::Tensor points;
  torch::Tensor labels;
};

/// Close to normal: the sum of twelve uniform numbers. It uses no library function, so that it is
/// the same everywhere.
double normal(const RandomStream& stream, SampleId id) {
  double sum = -6;
  for (SampleId i = 0; i < 12; ++i) sum += stream.uniform(12 * id + i);
  return sum;
}

Examples make_examples(std::uint64_t seed) {
  Examples examples{torch::empty({ExampleCount, 2}, torch::kDouble),
                    torch::empty({ExampleCount}, torch::kLong)};
  auto points = examples.points.accessor<double, 2>();
  auto labels = examples.labels.accessor<std::int64_t, 1>();
  const RandomStream stream(seed, Purpose::Synthetic, 0);
  for (SampleId id = 0; id < ExampleCount; ++id) {
    labels[id] = id % ClassCount;
    const double angle = 2 * std::numbers::pi * static_cast<double>(labels[id]) / ClassCount;
    points[id][0] = CircleRadius * std::cos(angle) + Spread * normal(stream, 2 * id);
    points[id][1] = CircleRadius * std::sin(angle) + Spread * normal(stream, 2 * id + 1);
  }
  return examples;
}

torch::nn::Sequential make_network(std::uint64_t seed) {
  torch::manual_seed(RandomStream(seed, Purpose::InitialWeights, 0).bits(0));
  using torch::nn::Linear;
  using torch::nn::ReLU;
  torch::nn::Sequential network(Linear(2, Hidden), ReLU(), Linear(Hidden, Hidden), ReLU(),
                                Linear(Hidden, ClassCount));
  network->to(torch::kDouble);  // losses near 0 keep their digits
  return network;
}

std::vector<SampleId> all_ids() {
  std::vector<SampleId> ids(ExampleCount);
  std::iota(ids.begin(), ids.end(), SampleId{0});
  return ids;
}

std::vector<ExampleTrace> choose_examples(const Examples& examples, std::uint64_t seed) {
  const RandomStream stream(seed, Purpose::Selection, 0);
  std::vector<SampleId> ids = all_ids();
  std::ranges::sort(ids, {}, [&](SampleId id) { return stream.bits(id); });
  ids.resize(FollowedCount);
  std::ranges::sort(ids);
  std::vector<ExampleTrace> traces;
  for (const SampleId id : ids) {
    ExampleTrace trace;
    trace.example = id;
    trace.label =
        static_cast<ClassId>(examples.labels[static_cast<std::int64_t>(id)].item<std::int64_t>());
    traces.push_back(std::move(trace));
  }
  return traces;
}

void record(torch::nn::Sequential& network, const Examples& examples, ExampleTrace& trace) {
  const auto id = static_cast<std::int64_t>(trace.example);
  const torch::Tensor loss = F::cross_entropy(network->forward(examples.points.narrow(0, id, 1)),
                                              examples.labels.narrow(0, id, 1));
  double squares = 0;
  for (const torch::Tensor& gradient : torch::autograd::grad({loss}, network->parameters())) {
    squares += gradient.square().sum().item<double>();
  }
  trace.losses.push_back(loss.item<double>());
  trace.gradient_norms.push_back(std::sqrt(squares));
}

void train_epoch(torch::nn::Sequential& network, torch::optim::Adam& optimizer,
                 const Examples& examples, std::uint64_t seed, std::int64_t epoch) {
  const std::vector<SampleId> order = training_order(all_ids(), seed, epoch);
  const std::vector<std::int64_t> rows(order.begin(), order.end());
  for (const torch::Tensor& batch : torch::tensor(rows, torch::kLong).split(BatchSize)) {
    optimizer.zero_grad();
    F::cross_entropy(network->forward(examples.points.index_select(0, batch)),
                     examples.labels.index_select(0, batch))
        .backward();
    optimizer.step();
  }
}

}  // namespace

std::vector<ExampleTrace> trace_losses_and_gradients(const LossGradientOptions& options) {
  if (options.epochs < 1) {
    throw InvalidArgument(
        fmt::format("loss-vs-gradient: epochs is {}; it must be at least 1", options.epochs));
  }
  at::set_num_threads(1);
  const Examples examples = make_examples(options.seed);
  torch::nn::Sequential network = make_network(options.seed);
  torch::optim::Adam optimizer(network->parameters(), torch::optim::AdamOptions(LearningRate));
  std::vector<ExampleTrace> traces = choose_examples(examples, options.seed);
  for (std::int64_t epoch = 0; epoch <= options.epochs; ++epoch) {
    if (epoch > 0) train_epoch(network, optimizer, examples, options.seed, epoch - 1);
    for (ExampleTrace& trace : traces) record(network, examples, trace);
  }
  return traces;
}

}  // namespace rcap
