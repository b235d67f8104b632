#include "train/run_folder.hpp"

#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;

const TrainOptions Options = [] {
  TrainOptions options;
  options.epochs = 4;
  return options;
}();

EpochRecord record_of(std::int64_t epoch) {
  EpochRecord record;
  record.epoch = epoch;
  record.selected = 2;
  record.class_counts = {1, 1};
  record.train_loss = 0.5 + static_cast<double>(epoch);
  return record;
}

int lines_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

TEST(RunFolder, IsHeldByOneProcessAtATime) {
  const TemporaryFolder folder;
  const RunFolder first(folder / "run");
  EXPECT_THAT(message_of<InvalidArgument>([&] { RunFolder second(folder / "run"); }),
              HasSubstr("another process is training in this folder"));
}

TEST(RunFolder, IsFreeAgainAfterwards) {
  const TemporaryFolder folder;
  { const RunFolder first(folder / "run"); }
  EXPECT_NO_THROW(RunFolder(folder / "run"));
}

TEST(RunFolder, WaitsForOneWhoHoldsItForAnInstant) {
  const TemporaryFolder folder;
  auto first = std::make_unique<RunFolder>(folder / "run");
  std::jthread watcher([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    first.reset();
  });
  EXPECT_NO_THROW(RunFolder(folder / "run"));
}

TEST(RunFolder, GoesOnAfterTheEpochsOfTheCheckpoint) {
  const TemporaryFolder folder;
  {
    RunFolder run(folder / "run");
    EXPECT_FALSE(run.has_run());
    run.begin(Options);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) run.add(record_of(epoch));
  }
  // Killed while it wrote a line.
  std::ofstream(folder / "run" / "epochs.jsonl", std::ios::app) << "{\"epoch\":3,\"lr\":";
  RunFolder run(folder / "run");
  run.require_same_options(Options);
  run.go_on(2);
  ASSERT_EQ(run.records().size(), 2U);
  EXPECT_EQ(run.records()[1].train_loss, 1.5);
  run.add(record_of(2));
  EXPECT_EQ(lines_in(folder / "run" / "epochs.jsonl"), 3);
}

TEST(RunFolder, HasARunOnceThereIsSomethingToLose) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run");
  run.begin(Options);
  EXPECT_FALSE(run.has_run());  // stopped by a mistake in the options, say
  std::filesystem::create_directories(run.checkpoints() / "epoch-000000-batch-000000");
  EXPECT_TRUE(run.has_run());
}

TEST(RunFolder, LeavesNothingOfAKilledProcessWhenItIsDone) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run");
  run.begin(Options);
  const auto left =
      folder / "run" / ".options.toml.2147483600-0.tmp";  // no process has this number
  std::ofstream(left) << "epochs";
  run.write_summary({});
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST(RunFolder, NamesOptionsThatDiffer) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run");
  run.begin(Options);
  EXPECT_NO_THROW(run.require_same_options(Options));
  TrainOptions others = Options;
  others.train_samples = 10;
  others.epochs = 5;
  EXPECT_THAT(message_of<StateMismatch>([&] { run.require_same_options(others); }),
              HasSubstr("train-samples was not set, now 10; epochs was 4, now 5"));
}

TEST(RunFolder, RefusesFewerRecordsThanTheCheckpointKnows) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run");
  run.begin(Options);
  run.add(record_of(0));
  EXPECT_THAT(message_of<BadFile>([&] { run.go_on(2); }),
              HasSubstr("has 1 epochs, the checkpoint was written after 2"));
}

TEST(RunFolder, RefusesADamagedRecord) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run");
  run.begin(Options);
  std::ofstream(folder / "run" / "epochs.jsonl") << "{\"epoch\":\n";
  EXPECT_THAT(message_of<BadFile>([&] { run.go_on(1); }), HasSubstr("epochs.jsonl, line 1"));
}

TEST(RunFolder, SaysWhyAFolderCannotBeMade) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_THAT(message_of<BadFile>([&] { RunFolder run(folder / "file/run"); }),
              HasSubstr("the folder cannot be created"));
}

}  // namespace
}  // namespace rcap
