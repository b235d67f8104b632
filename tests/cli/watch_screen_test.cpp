#include "cli/watch_screen.hpp"

#include <cmath>
#include <regex>

#include <gmock/gmock.h>

#include "cli/text_canvas.hpp"
#include "cli/text_plot.hpp"

namespace rcap::cli {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using Lines = std::vector<std::string>;

EpochRecord epoch_of(std::int64_t number, double seconds = 2) {
  EpochRecord record;
  record.epoch = number;
  record.lr = 0.1;
  record.train_loss = 2.0 - 0.25 * static_cast<double>(number);
  record.selected = 20;
  record.class_counts = {10, 5, 5};
  record.class_losses = {0.5, 1.25, NAN};
  record.evaluation = Evaluation{{.accuracy = 0.7,
                                  .worst_group_accuracy = 0.25,
                                  .average_group_accuracy = 0.625,
                                  .adjusted_average_accuracy = {},
                                  .group_accuracy = {1, 0.625, 0.25}},
                                 std::nullopt};
  record.seconds.train = seconds;
  return record;
}

/// A run of 10 epochs, of which so many are done, 2 seconds each.
RunProgress run_of(std::size_t done) {
  RunProgress run;
  run.folder = "runs/a";
  run.options = {{"method", "rcap"},   {"pruning_rate", "0.9"}, {"dataset", "toy"},
                 {"model", "mlp"},     {"seed", "3"},           {"epochs", "10"},
                 {"group_by", "class"}};
  for (std::size_t i = 0; i < done; ++i)
    run.epochs.push_back(epoch_of(static_cast<std::int64_t>(i)));
  return run;
}

RunProgress finished_run() {
  RunProgress run = run_of(10);
  run.state = RunState::Finished;
  run.summary.emplace();
  run.summary->group_by = "class";
  run.summary->group_names = {"cat", "dog", "owl"};
  run.summary->evaluation = *run.epochs.back().evaluation;
  run.summary->seconds.train = 83;
  return run;
}

Lines draw(const RunProgress& run, ScreenSize size = {}) {
  return draw_run(run, size, false, "hint");
}

/// Lines without the codes for colours.
Lines without_codes(Lines lines) {
  for (std::string& line : lines) line = std::regex_replace(line, std::regex("\x1b\\[[0-9]*m"), "");
  return lines;
}

TEST(TextPlot, JoinsPointsByDots) {
  // One cell has two dots across and four down: the diagonal takes the lower two of the left
  // column and the upper two of the right one.
  TextCanvas canvas(1, 1);
  const Curve curve{.points = {{0, 0}, {1, 1}}, .ink = Ink::Plain};
  draw_curves(canvas, {.row = 0, .column = 0, .rows = 1, .columns = 1}, {0, 1}, {0, 1},
              std::span(&curve, 1));
  EXPECT_THAT(canvas.lines(false), ElementsAre("⡜"));
}

TEST(TextPlot, LeavesOutPointsThatAreNotFinite) {
  TextCanvas canvas(2, 1);
  const Curve curve{.points = {{0, 0}, {1, NAN}, {2, 0}}, .ink = Ink::Plain};
  draw_curves(canvas, {.row = 0, .column = 0, .rows = 1, .columns = 2}, {0, 2}, {0, 1},
              std::span(&curve, 1));
  EXPECT_THAT(canvas.lines(false), ElementsAre("⣀⣀"));
}

TEST(TextPlot, DrawsBarsToAnEighthOfACell) {
  TextCanvas canvas(3, 4);
  draw_bar(canvas, 0, 0, 3, 0.5, Ink::Plain);     // 12 eighths
  draw_bar(canvas, 1, 0, 3, 0.0001, Ink::Plain);  // something is there
  draw_bar(canvas, 2, 0, 3, 0, Ink::Plain);
  draw_bar(canvas, 3, 0, 3, 1, Ink::Plain);
  EXPECT_THAT(canvas.lines(false), ElementsAre("█▌", "▏", "", "███"));
}

TEST(TextCanvas, CutsOffWhatLiesOutside) {
  TextCanvas canvas(3, 1);
  canvas.write(0, 1, "abc");
  canvas.write(7, 0, "x");
  canvas.write_before(0, 1, "yz");
  EXPECT_THAT(canvas.lines(false), ElementsAre("zab"));
}

TEST(TextCanvas, LetsNoTextSteerTheTerminal) {
  TextCanvas canvas(8, 1);
  canvas.write(0, 0, "a\x1b[2J\xff\xc3\xa9");
  EXPECT_THAT(canvas.lines(true), ElementsAre("a?[2J?é"));
}

TEST(TextCanvas, ShortensByCharacters) {
  EXPECT_EQ(shortened("Füße", 4), "Füße");
  EXPECT_EQ(shortened("Füße", 3), "Fü…");
  EXPECT_EQ(shortened("Füße", 0), "");
  EXPECT_EQ(end_of("Füße", 4), "Füße");
  EXPECT_EQ(end_of("Füße", 3), "…ße");
  EXPECT_EQ(end_of("Füße", 0), "");
}

TEST(SecondsLeft, FollowTheEpochsSoFar) {
  RunProgress run = run_of(3);  // 7 are left, 2 seconds each
  EXPECT_EQ(seconds_left(run), 14);
  run.quiet_seconds = 1.5;  // of the next one
  EXPECT_EQ(seconds_left(run), 12.5);
  run.quiet_seconds = 100;  // it hangs
  EXPECT_EQ(seconds_left(run), 0);
}

TEST(SecondsLeft, ForgetALongBeginning) {
  RunProgress run = run_of(6);
  run.epochs[0].seconds.train = 1000;  // not one of the last five
  EXPECT_EQ(seconds_left(run), 8);
}

TEST(SecondsLeft, CountAnEvaluationThatComesSeldom) {
  RunProgress run = run_of(8);
  run.options.push_back({"evaluate_every", "8"});
  run.epochs[0].seconds.train = 10;  // 24 seconds in 8 epochs, 2 epochs are left
  EXPECT_EQ(seconds_left(run), 6);
}

TEST(SecondsLeft, AreNotKnownWithoutAnEpochOrARun) {
  EXPECT_EQ(seconds_left(run_of(0)), std::nullopt);
  EXPECT_EQ(seconds_left(finished_run()), std::nullopt);
}

TEST(DrawRun, SaysHowFarItIs) {
  RunProgress run = run_of(5);
  run.quiet_seconds = 1;
  const Lines lines = draw(run, {.columns = 50, .rows = 24});
  EXPECT_EQ(lines[0], "runs/a  rcap, pruning rate 0.9  toy, mlp, seed 3");
  EXPECT_EQ(lines[1], "5 of 10 epochs ━━━━╌╌╌╌ 0:11 gone, about 0:09 left");
  EXPECT_EQ(lines.back(), "hint");
}

TEST(DrawRun, ShowsTheEndOfALongName) {
  RunProgress run = run_of(5);
  run.folder = "a-folder-with-a-long-name/" + std::string(40, 'x') + "-seed-0";
  // 80 columns, 42 for what is trained, the rest for the folder.
  EXPECT_EQ(draw(run)[0],
            "…" + std::string(30, 'x') + "-seed-0  rcap, pruning rate 0.9  toy, mlp, seed 3");
}

TEST(DrawRun, SaysThatNoEpochIsDoneYet) {
  RunProgress run = run_of(0);
  run.quiet_seconds = 63;
  EXPECT_EQ(draw(run)[1], "running for 1:03, no epoch is done yet");
}

TEST(DrawRun, SaysThatARunHasStoppedAndHowToGoOn) {
  RunProgress run = run_of(4);
  run.state = RunState::Stopped;
  EXPECT_EQ(draw(run)[1], "stopped without a result after 4 of 10 epochs");
  EXPECT_EQ(draw(run).back(), "resume with: rcap train --out runs/a --resume");
}

TEST(DrawRun, TellsAScoringRunFromOthers) {
  RunProgress run = run_of(0);
  run.options = {{"make_scores", "ccs,tdds"}, {"dataset", "toy"}, {"model", "mlp"}, {"seed", "3"}};
  EXPECT_EQ(draw(run)[0], "runs/a  scores for ccs,tdds  toy, mlp, seed 3");
  EXPECT_EQ(draw(run)[1], "running for 0:00; a scoring run shows nothing before it ends");
  run.state = RunState::Finished;
  EXPECT_EQ(draw(run)[1], "finished: the scores are written");
  EXPECT_EQ(draw(run).back(), "use them with: rcap train --scores runs/a/scores.safetensors");
}

TEST(DrawRun, TellsTheResult) {
  const Lines lines = draw(finished_run());
  EXPECT_EQ(lines[1], "finished: 10 epochs in 1:23");
  EXPECT_EQ(lines.back(), "accuracy 70.0 %, average class 62.5 %, worst class 25.0 % (owl)");
}

TEST(DrawRun, TellsPriorAdjustedAccuraciesWhereThereIsRoom) {
  RunProgress run = finished_run();
  for (EpochRecord& record : run.epochs) {
    record.evaluation->prior_adjusted = *record.evaluation;
    record.evaluation->prior_adjusted->worst_group_accuracy = 0.5;
  }
  run.summary->evaluation = *run.epochs.back().evaluation;
  const char* const beside =
      "accuracy  average 62.5 %  worst 25.0 %  prior-adjusted 62.5 %, 50.0 %";
  EXPECT_THAT(draw(run, {.columns = 160, .rows = 24})[3], HasSubstr(beside));
  EXPECT_THAT(draw(run)[3], Not(HasSubstr("prior")));
  EXPECT_EQ(
      draw(run, {.columns = 160, .rows = 24}).back(),
      "accuracy 70.0 %, average class 62.5 %, worst class 25.0 % (owl); prior-adjusted 70.0 %, "
      "average 62.5 %, worst 50.0 %");
}

TEST(DrawRun, DrawsFourPanelsOn80Times24) {
  const Lines lines = draw(run_of(5));
  EXPECT_THAT(lines, SizeIs(24));
  EXPECT_THAT(lines[3], StartsWith("train loss  1  "));  // of epoch 4
  EXPECT_THAT(lines[3], HasSubstr("accuracy  average 62.5 %  worst 25.0 %"));
  EXPECT_THAT(lines[4], StartsWith("      2│"));
  EXPECT_THAT(lines[4], HasSubstr("100 %│"));
  EXPECT_THAT(lines, Contains(StartsWith("      1│")));
  EXPECT_THAT(lines, Contains(StartsWith("class shares in epoch 4")));
  EXPECT_THAT(lines, Contains(HasSubstr("learning rate  0.1")));
  EXPECT_THAT(lines, Contains(StartsWith("        epoch 0                       9")));
}

TEST(DrawRun, DrawsAverageAndWorstAccuracyWhereTheyAre) {
  // 8 rows of 4 dots: 62.5 % is dot 19 from below, in row 3 from above; 25 % is dot 8, in row 5.
  const Lines lines = draw(run_of(5));
  std::vector<std::size_t> drawn;
  for (std::size_t row = 0; row < 8; ++row) {
    if (!lines[4 + row].ends_with("│")) drawn.push_back(row);
  }
  EXPECT_THAT(drawn, ElementsAre(3, 5));
}

TEST(DrawRun, ShowsTheShareAndTheLossOfEachClass) {
  // 39 columns: the number, a blank, 21 for the bar, 8 for the share, 8 for the loss.
  const Lines lines = draw(run_of(5));
  const std::string full = "█████████████████████", half = "██████████▌";
  EXPECT_THAT(lines, Contains(StartsWith("0 " + full + "  50.0 %   0.500")));
  EXPECT_THAT(lines, Contains(StartsWith("1 " + half + "            25.0 %   1.250")));
  EXPECT_THAT(lines, Contains(StartsWith("2 " + half + "            25.0 %         ")));
}

TEST(DrawRun, CallsClassesByTheNamesThatTheResultHas) {
  EXPECT_THAT(draw(finished_run()), Contains(StartsWith("owl ██")));
}

TEST(DrawRun, ShowsTheLargestAndTheSmallestOfManyClasses) {
  RunProgress run = run_of(1);
  auto& counts = run.epochs[0].class_counts;
  counts.resize(100);
  for (std::size_t j = 0; j < 100; ++j) counts[j] = static_cast<std::int64_t>(j) + 1;
  run.epochs[0].class_losses.assign(100, 1.0);
  const Lines lines = draw(run);  // 13 rows: a title, 6 classes, a remark, 5 classes
  const auto begin = std::ranges::find_if(
      lines, [](const std::string& line) { return line.starts_with("class shares"); });
  Lines names;
  for (auto line = begin + 1; line + 1 != lines.end(); ++line) {
    names.push_back(line->substr(0, line->find(line->starts_with("…") ? "  " : " ")));
  }
  EXPECT_THAT(
      names, ElementsAre("99", "98", "97", "96", "95", "94", "… 89 more", "4", "3", "2", "1", "0"));
}

TEST(DrawRun, SaysThatNothingWasEvaluatedYet) {
  RunProgress run = run_of(1);
  run.epochs[0].evaluation.reset();
  EXPECT_THAT(draw(run), Contains(HasSubstr("accuracy  not evaluated yet")));
}

TEST(DrawRun, UsesColoursOnlyIfAsked) {
  const Lines plain = draw(run_of(5));
  const Lines coloured = draw_run(run_of(5), {}, true, "hint");
  EXPECT_THAT(plain, Each(Not(HasSubstr("\x1b"))));
  EXPECT_THAT(coloured, Contains(HasSubstr("\x1b[36m")));
  EXPECT_EQ(without_codes(coloured), plain);
}

TEST(DrawRun, FitsEveryScreen) {
  RunProgress broken = run_of(3);
  broken.folder = "a\x1b\xff";
  for (EpochRecord& record : broken.epochs) record.train_loss = NAN;
  broken.epochs.back().selected = 0;
  RunProgress classless = run_of(3);
  classless.epochs.back().class_counts.clear();
  RunProgress wide = run_of(2);
  for (EpochRecord& record : wide.epochs) record.class_counts.assign(3000, 1);
  RunProgress bare;  // nothing was written yet
  for (const RunProgress& run :
       {run_of(5), finished_run(), run_of(0), broken, classless, wide, bare}) {
    for (int rows = 1; rows < 60; rows += 3) {
      for (int columns = 1; columns < 170; columns += 7) {
        SCOPED_TRACE(testing::Message() << columns << " x " << rows);
        const Lines lines = draw(run, {.columns = columns, .rows = rows});
        ASSERT_THAT(lines, SizeIs(static_cast<std::size_t>(rows)));
        for (const std::string& line : lines) {
          ASSERT_LE(characters_of(line).size(), static_cast<std::size_t>(columns));
          ASSERT_THAT(line, Not(HasSubstr("\x1b")));
        }
      }
    }
  }
}

}  // namespace
}  // namespace rcap::cli
