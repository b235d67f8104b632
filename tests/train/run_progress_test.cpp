#include "train/run_progress.hpp"

#include <fstream>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"
#include "train/run_folder.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const TrainOptions FourEpochs = [] {
  TrainOptions options;
  options.epochs = 4;
  return options;
}();

EpochRecord record_of_epoch(std::int64_t epoch) {
  EpochRecord record;
  record.epoch = epoch;
  record.selected = 2;
  record.class_counts = {1, 1};
  return record;
}

TEST(RunProgress, TellsOfARunUnderWay) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run");
  run.begin(FourEpochs);
  run.add(record_of_epoch(0));
  const RunProgress progress = read_progress(folder / "run");
  EXPECT_EQ(progress.state, RunState::Running);
  EXPECT_THAT(progress.epochs, SizeIs(1));
  EXPECT_EQ(progress.planned_epochs(), 4u);
  EXPECT_EQ(progress.word("method"), FourEpochs.method);
  EXPECT_EQ(progress.word("no_such_option"), "");
  EXPECT_FALSE(progress.summary.has_value());
}

TEST(RunProgress, LeavesOutALineThatIsBeingWritten) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run");
  run.begin(FourEpochs);
  run.add(record_of_epoch(0));
  std::ofstream(folder / "run" / "epochs.jsonl", std::ios::app) << "{\"epoch\":1,\"lr\":";
  EXPECT_THAT(read_progress(folder / "run").epochs, SizeIs(1));
}

TEST(RunProgress, NamesALineThatIsDamaged) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run");
  run.begin(FourEpochs);
  run.add(record_of_epoch(0));
  std::ofstream(folder / "run" / "epochs.jsonl", std::ios::app) << "{\"epoch\":1\n";
  EXPECT_THAT(message_of<BadFile>([&] { (void)read_progress(folder / "run"); }),
              HasSubstr("epochs.jsonl, line 2: "));
}

TEST(RunProgress, HasStoppedWhenNobodyHoldsTheFolderAndThereIsNoResult) {
  const TemporaryFolder folder;
  {
    RunFolder run(folder / "run");
    run.begin(FourEpochs);
  }
  EXPECT_EQ(read_progress(folder / "run").state, RunState::Stopped);
}

TEST(RunProgress, HasFinishedWhenThereIsASummaryAlsoWhileTheFolderIsHeld) {
  const TemporaryFolder folder;
  RunFolder run(folder / "run");
  run.begin(FourEpochs);
  Summary summary;
  summary.method = "rcap";
  run.write_summary(summary);
  const RunProgress progress = read_progress(folder / "run");
  EXPECT_EQ(progress.state, RunState::Finished);
  EXPECT_EQ(progress.summary->method, "rcap");
}

TEST(RunProgress, OfAScoringRunHasFinishedWhenThereAreScores) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "run");
  std::ofstream(folder / "run" / "options.toml") << "make-scores = \"ccs\"\n";
  EXPECT_EQ(read_progress(folder / "run").state, RunState::Stopped);
  std::ofstream(folder / "run" / "scores.safetensors") << "scores";
  EXPECT_EQ(read_progress(folder / "run").state, RunState::Finished);
}

TEST(RunProgress, LooksAtALockAndLetsGo) {
  const TemporaryFolder folder;
  { const RunFolder run(folder / "run"); }
  EXPECT_FALSE(is_held(folder / "run"));
  const RunFolder again(folder / "run");  // is not refused
  EXPECT_TRUE(is_held(folder / "run"));
  EXPECT_FALSE(is_held(folder / "nothing"));
}

}  // namespace
}  // namespace rcap
