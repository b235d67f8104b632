#include "train/session.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "rcap/core/make_pruner.hpp"
#include "train/training_data.hpp"

namespace rcap {
namespace {

/// A small run on generated images, a fifth of which is held out.
TrainOptions small_run() {
  TrainOptions options;
  options.dataset = "synthetic";
  options.train_samples = 200;
  options.hold_out = 0.2;
  options.method = "full";
  options.epochs = 1;
  return options;
}

struct SmallSession {
  explicit SmallSession(const TrainOptions& run_options)
      : options(run_options),
        dataset(open_training_data(options)),
        session(options, dataset, dataset.train,
                make_pruner(
                    options.method,
                    std::make_shared<const ClassIndex>(dataset.train.labels, dataset.class_count()),
                    pruner_options_of(options)),
                "training", listener) {}

  TrainOptions options;
  Dataset dataset;
  TrainListener listener;
  Session session;
};

/// The samples of one class.
Split one_class(const Split& split, ClassId label) {
  std::vector<SampleId> positions;
  for (SampleId id = 0; id < split.size(); ++id) {
    if (split.labels[static_cast<std::size_t>(id)] == label) positions.push_back(id);
  }
  return subset(split, positions);
}

TEST(ClassLosses, AreMeansOverTheSamplesOfEachClass) {
  SmallSession small(small_run());
  const std::vector<double> losses = small.session.class_losses(small.dataset.held_out);
  ASSERT_EQ(losses.size(), 10U);
  for (ClassId j = 0; j < 10; ++j) {
    // Alone a class has the same mean, and the others have none.
    const auto alone = small.session.class_losses(one_class(small.dataset.held_out, j));
    for (std::size_t k = 0; k < alone.size(); ++k) {
      if (std::cmp_equal(k, j)) {
        EXPECT_NEAR(alone[k], losses[k], 1e-5);
      } else {
        EXPECT_TRUE(std::isnan(alone[k]));
      }
    }
  }
  // Ten classes that an untrained network cannot tell apart.
  for (const double loss : losses) EXPECT_NEAR(loss, std::log(10.0), 1.0);
}

TEST(ClassLosses, LeaveTheTrainingAsItIs) {
  SmallSession watched(small_run());
  SmallSession alone(small_run());
  const auto before = watched.session.class_losses(watched.dataset.held_out);
  EXPECT_EQ(watched.session.class_losses(watched.dataset.held_out), before);
  const auto go_on = [](const Batch&) { return true; };
  const auto watched_epoch = watched.session.train_epoch(go_on);
  const auto alone_epoch = alone.session.train_epoch(go_on);
  EXPECT_EQ(watched_epoch->train_loss, alone_epoch->train_loss);
  const auto after = watched.session.class_losses(watched.dataset.held_out);
  EXPECT_EQ(after, alone.session.class_losses(alone.dataset.held_out));
  EXPECT_NE(after, before);
  const auto expected = alone.session.engine().state();
  for (std::size_t i = 0; const auto& [name, tensor] : watched.session.engine().state()) {
    EXPECT_TRUE(torch::equal(tensor, expected[i++].second)) << name;
  }
}

TEST(Session, CountsWhatGoesForwardAlone) {
  TrainOptions options = small_run();
  options.method = "rcap";
  SmallSession small(options);
  small.session.initial_pass();
  EXPECT_EQ(small.session.state().forward_samples, 160);  // 200 without a fifth
  (void)small.session.class_losses(small.dataset.held_out);
  EXPECT_EQ(small.session.state().forward_samples, 200);
  // An evaluation is no cost of the method.
  (void)small.session.evaluate(small.dataset.test);
  EXPECT_EQ(small.session.state().forward_samples, 200);
}

TEST(ClassLosses, SeeNoAugmentation) {
  SmallSession plain(small_run());
  TrainOptions augmented = small_run();
  augmented.flip = true;
  augmented.crop_padding = 4;
  SmallSession random(augmented);
  EXPECT_EQ(random.session.class_losses(random.dataset.held_out),
            plain.session.class_losses(plain.dataset.held_out));
}

TEST(Session, TellsThePrunerTheErrorsOfHeldOutSamples) {
  TrainOptions options = small_run();
  options.method = "rcap";
  options.pruner.rcap.class_share = ClassShare::Robust;
  options.epochs = 2;
  SmallSession small(options);
  const auto& pruner = dynamic_cast<const RcapPruner&>(small.session.pruner());
  const auto go_on = [](const Batch&) { return true; };
  small.session.initial_pass();
  (void)small.session.train_epoch(go_on);
  EXPECT_EQ(small.session.state().forward_samples,
            160);  // an untrained network has nothing to tell
  const std::vector<double> held_out = small.session.class_losses(small.dataset.held_out);
  const std::vector<std::int64_t> counts = small.session.train_epoch(go_on)->class_counts;
  const std::vector<double> errors = pruner.class_errors();
  for (std::size_t j = 0; j < errors.size(); ++j) {
    EXPECT_NEAR(errors[j], static_cast<double>(counts[j]) * held_out[j], 1e-5 * errors[j]) << j;
  }
  EXPECT_EQ(small.session.state().forward_samples, 240);  // twice 40: once by us
}

TEST(Session, TellsNothingOfSamplesThatAccuraciesAreOf) {
  TrainOptions options = small_run();
  options.method = "rcap";
  options.pruner.rcap.class_share = ClassShare::Robust;
  options.evaluate = Evaluate::HeldOut;
  options.epochs = 2;
  SmallSession small(options);
  small.session.initial_pass();
  const std::int64_t before = *small.session.state().forward_samples;
  for (int epoch = 0; epoch < 2; ++epoch) {
    (void)small.session.train_epoch([](const Batch&) { return true; });
  }
  EXPECT_EQ(small.session.state().forward_samples, before);
}

}  // namespace
}  // namespace rcap
