#include "train/session.hpp"

#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/expect_throw.hpp"
#include "file_bytes.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/make_pruner.hpp"
#include "temporary_folder.hpp"
#include "train/late_device.hpp"
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

/// Remembers the losses that a progress bar would show.
struct ShownLosses final : TrainListener {
  void on_progress(const Progress& progress) override {
    if (progress.phase == "training") losses.push_back(progress.loss);
  }
  std::vector<double> losses;
};

struct SmallSession {
  explicit SmallSession(const TrainOptions& run_options,
                        std::shared_ptr<DeviceQueue> device = nullptr)
      : options(run_options),
        dataset(open_training_data(options)),
        session(options, dataset, dataset.train,
                make_pruner(
                    options.method,
                    std::make_shared<const ClassIndex>(dataset.train.labels, dataset.class_count()),
                    pruner_options_of(options)),
                "training", listener, std::move(device)) {
    at::set_num_threads(1);  // networks this small would spend their time on handing over work
  }

  TrainOptions options;
  Dataset dataset;
  ShownLosses listener;
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

/// 160 samples in batches of 16, of which rcap keeps half: five batches an epoch.
TrainOptions pruned_run() {
  TrainOptions options = small_run();
  options.method = "rcap";
  options.pruner.common.pruning_rate = 0.5;
  options.pruner.rcap.class_share = ClassShare::Robust;  // goes by held-out samples
  options.pruner.rcap.initial_loss = InitialLoss::Forward;
  options.batch_size = 16;
  options.flip = true;
  options.epochs = 3;
  return options;
}

bool go_on(const Batch&) { return true; }

/// All that a run leaves: its records as JSON, the predictions of its network, and two checkpoints,
/// one in the middle of the second epoch.
std::vector<std::string> traces_of(const TrainOptions& options,
                                   std::shared_ptr<DeviceQueue> device) {
  SmallSession small(options, std::move(device));
  Session& session = small.session;
  const TemporaryFolder folder;
  std::vector<std::string> traces;
  const auto save = [&] {
    session.state().epoch_seconds = session.state().run_seconds = {};
    Checkpoints(folder.path(), options).save(session.state(), session.engine(), session.pruner());
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(folder.path()));
    }
    for (const auto& file : files)
      traces.push_back(file.string() + read_bytes(folder.path() / file));
  };
  if (session.pruner().needs_initial_losses()) session.initial_pass();
  while (!session.done()) {
    const bool stops = session.state().epoch == 1 && session.state().batch == 0;
    const auto record = session.train_epoch([&](const Batch&) { return !stops; });
    if (!record) save();
    if (record) traces.push_back(nlohmann::ordered_json(*record).dump());
  }
  save();
  const auto predictions = session.predict(small.dataset.test);
  traces.emplace_back(predictions.plain.begin(), predictions.plain.end());
  traces.emplace_back(predictions.prior_adjusted.begin(), predictions.prior_adjusted.end());
  return traces;
}

TEST(Session, EndsTheSameHoweverLateADeviceIs) {
  for (const char* method : {"rcap", "infobatch"}) {
    TrainOptions options = pruned_run();
    options.method = method;
    options.logit_adjustment = 0.5;
    const auto expected = traces_of(options, nullptr);
    for (unsigned seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(seed);
      const LateDevice::Delays by_chance{.most_to_device = 20, .most_to_host = 60, .seed = seed};
      EXPECT_EQ(traces_of(options, std::make_shared<LateDevice>(by_chance)), expected);
    }
    const LateDevice::Delays never{LateDevice::Never, LateDevice::Never};
    EXPECT_EQ(traces_of(options, std::make_shared<LateDevice>(never)), expected);
  }
}

TEST(Session, GoesOnWithTheSamePriorAfterACheckpoint) {
  TrainOptions options = pruned_run();
  options.logit_adjustment = 1.5;
  options.imbalance = 10;
  SmallSession whole(options);
  whole.session.initial_pass();
  while (!whole.session.done()) (void)whole.session.train_epoch(go_on);
  for (const int batches : {2, 100}) {  // in the middle of the second epoch, and at its end
    SCOPED_TRACE(batches);
    const TemporaryFolder folder;
    Checkpoints checkpoints(folder.path(), options);
    SmallSession first(options);
    first.session.initial_pass();
    (void)first.session.train_epoch(go_on);
    (void)first.session.train_epoch(
        [&, left = batches](const Batch&) mutable { return --left > 0; });
    checkpoints.save(first.session.state(), first.session.engine(), first.session.pruner());
    SmallSession resumed(options);
    Session& session = resumed.session;
    session.state() = checkpoints.load(session.engine(), session.pruner());
    while (!session.done()) (void)session.train_epoch(go_on);
    EXPECT_EQ(session.pruner().log_prior(), whole.session.pruner().log_prior());
    const auto expected = whole.session.engine().state();
    for (std::size_t i = 0; const auto& [name, tensor] : session.engine().state()) {
      EXPECT_TRUE(torch::equal(tensor, expected[i++].second)) << name;
    }
  }
}

TEST(Session, ObservesTheLossesThatItTrainsOn) {
  // Nothing is learnt, so a loss is CE(f + tau ln pi): far above that of f for the rarest class.
  TrainOptions options = small_run();
  options.imbalance = 50;
  options.lr = 1e-12;
  const auto losses_with = [&](double tau) {
    options.logit_adjustment = tau;
    SmallSession small(options);
    return small.session.train_epoch(go_on)->class_losses;
  };
  const std::vector<double> plain = losses_with(0);
  const std::vector<double> adjusted = losses_with(1);
  EXPECT_LT(adjusted.front(), plain.front() - 0.5);
  EXPECT_GT(adjusted.back(), plain.back() + 0.5);
}

TEST(Session, GainsOnTheWorstClassWhereThePriorIsTakenOut) {
  // Class 0 is ten times class 9: a network that has seen so little of it hardly ever answers 9,
  // and with the prior taken out it does. The worst class rises from 0 % to about 30 %.
  TrainOptions options = small_run();
  options.train_samples = 2500;
  options.imbalance = 10;
  options.batch_size = 16;
  options.epochs = 8;
  SmallSession small(options);
  while (!small.session.done()) (void)small.session.train_epoch(go_on);
  const Predictions predictions = small.session.predict(small.dataset.test);
  EXPECT_GT(std::ranges::count(predictions.prior_adjusted, 9),
            std::ranges::count(predictions.plain, 9));
  const Accuracy accuracy = small.session.evaluate(small.dataset.test);
  EXPECT_GT(accuracy.prior_adjusted.worst(), accuracy.plain.worst() + 0.1);
  EXPECT_GT(accuracy.prior_adjusted.average(), accuracy.plain.average());
}

TEST(Session, WaitsForADeviceOnlyAtTheEndOfAnEpoch) {
  // Batches have arrived when the next is given; losses never come unasked.
  const auto device = std::make_shared<LateDevice>(
      LateDevice::Delays{.most_to_device = 1, .most_to_host = LateDevice::Never});
  TrainOptions options = pruned_run();
  options.pruner.rcap.class_share = ClassShare::Paper;
  SmallSession small(options, device);
  small.session.initial_pass();
  EXPECT_EQ(device->waits_for_results, 1);
  for (int epoch = 0; epoch < 3; ++epoch) {
    (void)small.session.train_epoch([&](const Batch&) {
      EXPECT_EQ(device->waits_for_results, 1 + epoch);
      return true;
    });
    EXPECT_EQ(device->waits_for_results, 2 + epoch);
  }
  EXPECT_EQ(device->waits_for_inputs, 0);
}

TEST(Session, KeepsTwoBatchesInMemoryOfADevice) {
  const auto device = std::make_shared<LateDevice>(LateDevice::Delays{});
  TrainOptions options = small_run();
  options.epochs = 2;
  SmallSession small(options, device);
  for (int epoch = 0; epoch < 2; ++epoch) {
    (void)small.session.train_epoch(go_on);
    EXPECT_EQ(device->allocations, 4);  // images and labels of two batches, made once
  }
}

TEST(Session, NamesALateLossThatIsNotFiniteByItsBatch) {
  TrainOptions options = pruned_run();
  options.lr = 1e30;
  const auto message_on = [&](std::shared_ptr<DeviceQueue> device) {
    SmallSession small(options, std::move(device));
    small.session.initial_pass();
    return message_of<InvalidArgument>([&] { (void)small.session.train_epoch(go_on); });
  };
  const std::string at_once = message_on(nullptr);
  EXPECT_THAT(at_once, testing::HasSubstr("train: in epoch 0, batch 1 the loss of"));
  EXPECT_EQ(message_on(std::make_shared<LateDevice>(LateDevice::Delays{0, LateDevice::Never})),
            at_once);
}

TEST(Session, SavesNothingOfALateLossThatIsNotFinite) {
  // Whoever asks for the state in the middle of an epoch hears of it first.
  TrainOptions options = pruned_run();
  options.lr = 1e30;
  SmallSession small(options,
                     std::make_shared<LateDevice>(LateDevice::Delays{0, LateDevice::Never}));
  small.session.initial_pass();
  EXPECT_FALSE(
      small.session.train_epoch([batches = 0](const Batch&) mutable { return ++batches < 3; }));
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)small.session.pruner(); }),
              testing::HasSubstr("epoch 0, batch 1"));
}

TEST(Session, ShowsTheMeanLossOfWhatHasArrived) {
  // Without learning losses stay near log 10, whatever part of them is there. 60 calls are a few
  // batches; of those that have not arrived nothing may be counted.
  TrainOptions options = small_run();
  options.batch_size = 8;
  options.lr = 1e-12;
  SmallSession small(options, std::make_shared<LateDevice>(LateDevice::Delays{0, 60}));
  const auto record = small.session.train_epoch(go_on);
  const std::vector<double>& shown = small.listener.losses;
  ASSERT_EQ(shown.size(), 20U);
  EXPECT_EQ(shown.front(), 0);  // nothing is there yet
  int with_a_loss = 0;
  for (const double loss : shown) {
    if (loss == 0) continue;
    EXPECT_NEAR(loss, record->train_loss, 0.4);
    ++with_a_loss;
  }
  EXPECT_GT(with_a_loss, 10);
}

}  // namespace
}  // namespace rcap
