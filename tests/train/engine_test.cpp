#include "train/engine.hpp"

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "train/late_device.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;

constexpr ImageShape Shape{8, 8, 1};

/// A batch that holds its numbers.
struct OwnedBatch {
  std::vector<SampleId> ids;
  std::vector<float> images;
  std::vector<std::int64_t> labels;

  explicit OwnedBatch(int count) : images(static_cast<std::size_t>(count) * 64) {
    const RandomStream random(3, Purpose::Synthetic, 0);
    for (std::size_t i = 0; i < images.size(); ++i) {
      images[i] = static_cast<float>(random.uniform(static_cast<SampleId>(i)) - 0.5);
    }
    for (int i = 0; i < count; ++i) {
      ids.push_back(i);
      labels.push_back(i % 3);
    }
  }
  [[nodiscard]] Batch view() const { return {ids, images, labels}; }
};

std::vector<float> values_of(PendingCopy losses) {
  const auto values = losses.values<float>();
  return {values.begin(), values.end()};
}

/// The losses of a batch, without learning from them.
std::vector<float> losses_of(Engine& engine, const OwnedBatch& batch) {
  return values_of(engine.forward(batch.view(), {}, 0));
}

std::vector<torch::Tensor> copies(const NamedTensors& state) {
  std::vector<torch::Tensor> tensors;
  for (const auto& [name, tensor] : state) tensors.push_back(tensor.detach().clone());
  return tensors;
}

bool same(const std::vector<torch::Tensor>& a, const NamedTensors& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!torch::equal(a[i], b[i].second.detach())) return false;
  }
  return true;
}

struct BothPredictions {
  std::vector<std::int64_t> plain, prior_adjusted;
};

BothPredictions predictions_of(Engine& engine, const OwnedBatch& batch) {
  PendingCopy copy = engine.predict(batch.view());
  const auto both = copy.values<std::int64_t>();
  EXPECT_EQ(both.size(), 2 * batch.ids.size());
  const auto half = both.begin() + static_cast<std::ptrdiff_t>(both.size() / 2);
  return {{both.begin(), half}, {half, both.end()}};
}

TEST(Engine, LearnsABatchByHeart) {
  const OwnedBatch batch(12);
  TrainOptions options;
  Engine engine(options, Shape, 3);
  const float first = losses_of(engine, batch)[0];
  for (int i = 0; i < 60; ++i) {
    engine.forward(batch.view(), {}, 0);
    engine.update(0.05);
  }
  EXPECT_LT(losses_of(engine, batch)[0], first / 4);
  // Without a prior, both predictions are the same.
  EXPECT_EQ(predictions_of(engine, batch).plain, batch.labels);
  EXPECT_EQ(predictions_of(engine, batch).prior_adjusted, batch.labels);
}

/// A network without batch norm and dropout: its outputs are the same in training and evaluation.
TrainOptions plain_network(double logit_adjustment) {
  TrainOptions options;
  options.model = "mlp";
  options.logit_adjustment = logit_adjustment;
  return options;
}

const std::vector<double> SomePrior{std::log(0.9), std::log(0.09), std::log(0.01)};

TEST(Engine, TrainsTheOutputsPlusThePrior) {
  const OwnedBatch batch(12);
  for (const double tau : {0.0, 0.5, 1.0}) {
    Engine engine(plain_network(tau), Shape, 3);
    engine.use_prior(SomePrior);
    const auto losses = losses_of(engine, batch);
    const auto logits = engine.logits();
    const auto evaluated = values_of(engine.evaluation_losses(batch.view()));
    for (std::size_t i = 0; i < losses.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < 3; ++j) sum += std::exp(logits[3 * i + j] + tau * SomePrior[j]);
      const auto label = static_cast<std::size_t>(batch.labels[i]);
      const double expected = std::log(sum) - logits[3 * i + label] - tau * SomePrior[label];
      EXPECT_NEAR(losses[i], expected, 1e-5) << tau;
      EXPECT_NEAR(evaluated[i], expected, 1e-5) << tau;
    }
  }
}

TEST(Engine, PredictsWithAndWithoutTheRestOfThePrior) {
  // Training with tau has taken out tau of the prior; 1 - tau is left. At 2 it took out too much.
  const OwnedBatch batch(60);
  for (const double tau : {0.0, 0.5, 1.0, 2.0}) {
    Engine engine(plain_network(tau), Shape, 3);
    engine.use_prior(SomePrior);
    (void)losses_of(engine, batch);
    const auto logits = engine.logits();
    const auto highest = [&](double factor) {
      std::vector<std::int64_t> classes;
      for (std::size_t i = 0; i < 60; ++i) {
        std::vector<double> outputs;
        for (std::size_t j = 0; j < 3; ++j)
          outputs.push_back(logits[3 * i + j] - factor * SomePrior[j]);
        classes.push_back(std::ranges::max_element(outputs) - outputs.begin());
      }
      return classes;
    };
    const BothPredictions found = predictions_of(engine, batch);
    EXPECT_EQ(found.plain, highest(0));
    EXPECT_EQ(found.prior_adjusted, highest(1 - tau)) << tau;
    EXPECT_EQ(found.plain == found.prior_adjusted, tau == 1) << tau;
  }
}

TEST(Engine, WeightsScaleTheLossAndTheBatchSizeStaysTheDivisor) {
  // Weights of 2 on all samples are a step of twice the learning rate: without momentum
  // and decay an update is lr * gradient.
  const OwnedBatch batch(6);
  TrainOptions options;
  options.momentum = 0;
  options.weight_decay = 0;
  Engine weighted(options, Shape, 3);
  Engine faster(options, Shape, 3);
  const std::vector<float> twos(6, 2.0F);
  weighted.forward(batch.view(), twos, 0);
  weighted.update(0.1);
  faster.forward(batch.view(), {}, 0);
  faster.update(0.2);
  const auto expected = faster.state();
  const auto state = weighted.state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!state[i].second.is_floating_point()) continue;
    EXPECT_TRUE(torch::allclose(state[i].second, expected[i].second, 1e-5, 1e-6)) << state[i].first;
  }
}

/// A batch that holds the samples of another one twice.
OwnedBatch doubled(const OwnedBatch& batch) {
  OwnedBatch twice = batch;
  twice.images.insert(twice.images.end(), batch.images.begin(), batch.images.end());
  twice.labels.insert(twice.labels.end(), batch.labels.begin(), batch.labels.end());
  for (const SampleId id : batch.ids) twice.ids.push_back(id + 100);
  return twice;
}

TEST(Engine, PartsOfABatchAddUpToTheWhole) {
  // Both halves hold the same samples, so batch norm sees the same statistics in each as in
  // the whole. Weights differ between the halves: each must meet its own samples.
  const OwnedBatch batch = doubled(OwnedBatch(6));
  std::vector<float> weights(12, 1.0F);
  weights[2] = 3.0F;
  weights[7] = 0.0F;
  TrainOptions options;
  options.batch_size = 12;
  Engine whole(options, Shape, 3);
  options.grad_accumulation = 2;
  Engine parts(options, Shape, 3);
  for (Engine* engine : {&whole, &parts}) {
    engine->forward(batch.view(), weights, 0);
    engine->update(0.1);
  }
  const auto expected = whole.state();
  const auto state = parts.state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    // Running statistics see two parts instead of one batch.
    if (state[i].first.find("running") != std::string::npos) continue;
    if (!state[i].second.is_floating_point()) continue;
    EXPECT_TRUE(torch::allclose(state[i].second, expected[i].second, 1e-4, 1e-6)) << state[i].first;
  }
}

TEST(Engine, OutputsOfPartsComeInTheOrderOfTheBatch) {
  const OwnedBatch batch = doubled(OwnedBatch(4));
  TrainOptions options;
  options.batch_size = 8;
  Engine whole(options, Shape, 3);
  options.grad_accumulation = 4;
  Engine parts(options, Shape, 3);
  const auto losses = losses_of(parts, batch);
  ASSERT_EQ(losses.size(), 8U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(losses[i], losses[i + 4], 1e-6);
  EXPECT_GT(std::abs(losses[0] - losses[1]), 1e-4F);
  EXPECT_EQ(parts.logits().size(), 24U);
  const auto probabilities = parts.probabilities();
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(-std::log(probabilities[3 * i + static_cast<std::size_t>(batch.labels[i])]),
                losses[i], 1e-5);
  }
}

TEST(Engine, TheInitialPassLeavesNoTrace) {
  const OwnedBatch batch(6);
  Engine engine(TrainOptions{}, Shape, 3);
  const auto before = copies(engine.state());
  engine.begin_initial_pass();
  const auto losses = values_of(engine.initial_losses(batch.view()));
  engine.end_initial_pass();
  EXPECT_EQ(losses.size(), 6U);
  for (const float loss : losses) EXPECT_NEAR(loss, std::log(3.0), 1.0);
  EXPECT_TRUE(same(before, engine.state()));
}

TEST(Engine, TheInitialPassSeesEachBatchAsIfItWereTheFirst) {
  // Batch norm remembers the batches before, but goes by the statistics of each alone.
  const OwnedBatch one(6);
  OwnedBatch other(6);
  for (float& number : other.images) number = 3 * number + 1;
  Engine engine(TrainOptions{}, Shape, 3);
  engine.begin_initial_pass();
  const auto first = values_of(engine.initial_losses(one.view()));
  EXPECT_NE(values_of(engine.initial_losses(other.view())), first);
  EXPECT_EQ(values_of(engine.initial_losses(one.view())), first);
  engine.end_initial_pass();
}

TEST(Engine, TheInitialPassUsesTheStatisticsOfTheBatch) {
  // As the forward pass of training does, which is the same before any update.
  const OwnedBatch batch(6);
  Engine engine(TrainOptions{}, Shape, 3);
  engine.begin_initial_pass();
  const auto first = values_of(engine.initial_losses(batch.view()));
  engine.end_initial_pass();
  const auto training = losses_of(engine, batch);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(first[i], training[i], 1e-5);
}

TEST(Engine, ChannelsLastChangesTheLayoutOnly) {
  const OwnedBatch batch(6);
  TrainOptions options;
  Engine last(options, Shape, 3);
  options.channels_last = false;
  Engine first(options, Shape, 3);
  const auto a = losses_of(last, batch);
  const auto b = losses_of(first, batch);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

/// Levels of a batch of four 4 x 4 images in colour.
std::vector<std::uint8_t> some_levels() {
  std::vector<std::uint8_t> levels(4 * 4 * 4 * 3);
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<std::uint8_t>(37 * i);
  return levels;
}

TEST(Engine, ScalesLevelsToTheNumbersThatTransformsMake) {
  constexpr ImageShape Colour{4, 4, 3};
  const Normalization normalization{{0.1F, 0.2F, 0.3F}, {0.5F, 0.6F, 0.7F}};
  const auto levels = some_levels();
  std::vector<float> numbers(levels.size());
  Transform::Scratch scratch;
  Transform({.normalization = normalization})
      .apply({levels.data(), 16, 4, 3}, std::nullopt, scratch, numbers.data());
  const std::vector<SampleId> ids{0, 1, 2, 3};
  const std::vector<std::int64_t> labels{2, 0, 1, 2};
  for (const bool channels_last : {true, false}) {
    for (const std::int64_t parts : {1, 2}) {
      TrainOptions options;
      options.channels_last = channels_last;
      options.batch_size = 4;
      options.grad_accumulation = parts;
      Engine engine(options, Colour, 3, normalization);
      const auto expected = values_of(engine.forward({ids, numbers, labels}, {}, 0));
      EXPECT_EQ(values_of(engine.forward({ids, {}, labels, levels}, {}, 0)), expected);
    }
  }
}

TEST(Engine, LeavesABatchToTheDeviceUntilTheNextIsGiven) {
  // The device copies nothing unless it is waited for, and notices where a batch changes before.
  const auto device =
      std::make_shared<LateDevice>(LateDevice::Delays{LateDevice::Never, LateDevice::Never});
  Engine engine(TrainOptions{}, Shape, 3, {}, device);
  OwnedBatch first(6);
  const OwnedBatch second(6);
  (void)engine.forward(first.view(), {}, 0);
  EXPECT_EQ(device->waits_for_inputs, 0);
  (void)engine.forward(second.view(), {}, 0);
  EXPECT_GT(device->waits_for_inputs, 0);
  std::ranges::fill(first.images, 0.0F);
  (void)engine.predict(second.view());
}

TEST(Engine, SeedsGiveWeights) {
  TrainOptions options;
  Engine one(options, Shape, 3);
  Engine again(options, Shape, 3);
  EXPECT_TRUE(same(copies(one.state()), again.state()));
  options.seed = 1;
  Engine other(options, Shape, 3);
  EXPECT_FALSE(same(copies(one.state()), other.state()));
}

TEST(Engine, RefusesDevicesThatAreNotThere) {
  TrainOptions options;
  options.device = "gpu";
  EXPECT_THAT(message_of<InvalidArgument>([&] { Engine engine(options, Shape, 3); }),
              HasSubstr("is not one of cpu, cuda, cuda:N"));
  if (torch::cuda::is_available()) GTEST_SKIP() << "this machine has a CUDA device";
  options.device = "cuda";
  EXPECT_THAT(message_of<InvalidArgument>([&] { Engine engine(options, Shape, 3); }),
              HasSubstr("finds no CUDA device"));
}

/// Five steps of a step rule on one small network, ours and LibTorch's own.
template <class Reference, class ReferenceOptions>
void expect_steps_like(const TrainOptions& options, const ReferenceOptions& reference_options) {
  const auto make = [] {
    torch::manual_seed(5);
    return torch::nn::Linear(4, 3);
  };
  auto ours = make();
  auto theirs = make();
  Optimizer optimizer(options, ours->parameters());
  Reference reference(theirs->parameters(), reference_options);
  for (int step = 0; step < 5; ++step) {
    const auto x = torch::ones({2, 4}) * (step + 1);
    ours(x).square().sum().backward();
    optimizer.step(0.01);
    reference.zero_grad();
    theirs(x).square().sum().backward();
    reference.step();
  }
  EXPECT_TRUE(torch::allclose(ours->weight, theirs->weight, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(ours->bias, theirs->bias, 1e-5, 1e-6));
}

TEST(Optimizer, StepsLikeLibTorchsSgd) {
  TrainOptions options;
  options.momentum = 0.9;
  options.weight_decay = 0.1;
  auto reference = torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(0.1);
  expect_steps_like<torch::optim::SGD>(options, reference);
  options.nesterov = true;
  expect_steps_like<torch::optim::SGD>(options, reference.nesterov(true));
}

TEST(Optimizer, StepsLikeLibTorchsAdamW) {
  TrainOptions options;
  options.optimizer = OptimizerKind::AdamW;
  options.weight_decay = 0.05;
  expect_steps_like<torch::optim::AdamW>(options,
                                         torch::optim::AdamWOptions(0.01).weight_decay(0.05));
}

}  // namespace
}  // namespace rcap
