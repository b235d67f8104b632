// Makes the folder of a study that was never run, for tests and benchmarks of what is made from it:
//   make_study DIR METHODS SEEDS EPOCHS CLASSES [BETAS]
// A data set of its own with long-tailed classes, "full" and METHODS pruned methods at the rates
// 0.7 and 0.9; the results follow from the numbers of method, seed and class.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "rcap/core/random_stream.hpp"
#include "study/study_folder.hpp"
#include "train/run_folder.hpp"

namespace {

using namespace rcap;

struct Sizes {
  int methods, seeds, epochs, classes, betas;
};

constexpr const char* Names[] = {
    "rcap", "rs2",    "infobatch", "ucb",       "epsilon-greedy", "ccs",        "metriq",
    "tdds", "random", "balanced",  "rcap mass", "rcap group",     "rs2-replace"};
constexpr double Rates[] = {0.7, 0.9};
constexpr int LargestClass = 5000;

std::string method_name(int method) {
  return static_cast<std::size_t>(method) < std::size(Names) ? Names[method]
                                                             : fmt::format("method {}", method);
}

/// One run of the study.
struct Run {
  int method = -1;  ///< -1: full
  double rate = 0;
  double beta = 1;
  std::uint64_t seed = 0;

  [[nodiscard]] std::string method_title() const {
    return method < 0 ? "full" : method_name(method);
  }
  [[nodiscard]] std::string name() const {
    return fmt::format("{}-rate-{}-beta-{}-seed-{}", method_title(), rate, beta, seed);
  }
  /// The same number for the same run and place, between -1 and 1.
  [[nodiscard]] double noise(int place) const {
    const auto key = static_cast<SampleId>(1000 * (method + 1) + place);
    const auto epoch = static_cast<std::int64_t>(100 * rate + 7 * beta);
    return 2 * RandomStream{seed, Purpose::Selection, epoch}.uniform(key) - 1;
  }
};

std::int64_t class_size(int j, const Sizes& sizes) {
  const double place = sizes.classes > 1 ? static_cast<double>(j) / (sizes.classes - 1) : 0;
  return static_cast<std::int64_t>(LargestClass / std::pow(100, place));
}

/// Small classes are hard, more so at high rates and for late methods.
double class_accuracy(const Run& run, int j, const Sizes& sizes) {
  const double place = static_cast<double>(j) / std::max(1, sizes.classes - 1);
  const double loss = run.rate * (0.05 + 0.35 * place) * (0.6 + 0.06 * std::max(run.method, 0)) +
                      0.15 * place + 0.04 * std::abs(std::log(run.beta));
  return std::clamp(0.95 - loss + 0.02 * run.noise(j), 0.0, 1.0);
}

Evaluation evaluation_of(const Run& run, double learnt, const Sizes& sizes) {
  Evaluation evaluation;
  double sum = 0;
  for (int j = 0; j < sizes.classes; ++j) {
    evaluation.group_accuracy.push_back(learnt * class_accuracy(run, j, sizes));
    sum += evaluation.group_accuracy.back();
  }
  evaluation.worst_group_accuracy = std::ranges::min(evaluation.group_accuracy);
  evaluation.average_group_accuracy = sum / sizes.classes;
  evaluation.accuracy = evaluation.average_group_accuracy;
  Accuracies adjusted = evaluation;
  // A third of what the classes lack is due to how little was trained of them.
  for (double& accuracy : adjusted.group_accuracy) accuracy += (learnt - accuracy) / 3;
  adjusted.worst_group_accuracy = std::ranges::min(adjusted.group_accuracy);
  adjusted.average_group_accuracy += (learnt - adjusted.average_group_accuracy) / 3;
  adjusted.accuracy = adjusted.average_group_accuracy;
  evaluation.prior_adjusted = adjusted;
  return evaluation;
}

EpochRecord epoch_of(const Run& run, int epoch, const Sizes& sizes) {
  EpochRecord record;
  record.epoch = epoch;
  record.lr = 0.05;
  record.train_loss = 2.3 * std::exp(-3.0 * (epoch + 1) / sizes.epochs) + 0.01 * run.noise(epoch);
  for (int j = 0; j < sizes.classes; ++j) {
    const auto size = static_cast<double>(class_size(j, sizes));
    const double flat = run.method < 0 ? 0 : 0.5 * epoch / sizes.epochs;
    const double kept = (1 - run.rate) * size + flat * run.rate * std::min(size, 300.0) *
                                                    (1 + 0.2 * run.noise(100 * epoch + j));
    record.class_counts.push_back(static_cast<std::int64_t>(std::min(size, kept)));
    record.selected += record.class_counts.back();
    record.class_losses.push_back(record.train_loss);
  }
  const double learnt = 1 - 0.7 * std::exp(-6.0 * (epoch + 1) / sizes.epochs);
  record.evaluation = evaluation_of(run, epoch + 1 == sizes.epochs ? 1 : learnt, sizes);
  record.seconds.train = 1e-4 * static_cast<double>(record.selected) + 0.01 * (1 + run.noise(1));
  record.seconds.select = run.method < 0 ? 0 : 0.01;
  record.seconds.evaluate = 0.2;
  return record;
}

TrainOptions options_of(const Run& run, const Sizes& sizes) {
  TrainOptions options;
  options.dataset = "made-up";
  options.pruner.common.pruning_rate = run.rate;
  options.pruner.rcap.beta = run.beta;
  options.seed = static_cast<std::uint64_t>(run.seed);
  options.epochs = sizes.epochs;
  return options;
}

void write_run(const StudyFolder& folder, const Run& run, const Sizes& sizes) {
  RunFolder files(folder.run(run.name()));
  files.begin(options_of(run, sizes));
  Summary summary;
  for (int epoch = 0; epoch < sizes.epochs; ++epoch) {
    const EpochRecord record = epoch_of(run, epoch, sizes);
    files.add(record);
    summary.evaluation = *record.evaluation;
    summary.seconds += record.seconds;
    summary.samples_seen += record.selected;
    summary.keep_count = record.selected;
  }
  summary.dataset = "made-up";
  summary.model = "small-cnn";
  summary.group_by = "class";
  summary.method = run.method < 0 ? "full" : run.method_title();
  summary.follows_rate = run.method >= 0;
  summary.pruning_rate = run.rate;
  if (run.method_title().starts_with("rcap")) summary.beta = run.beta;
  summary.seed = run.seed;
  summary.epochs = sizes.epochs;
  summary.seconds.setup = 0.3;
  if (run.method_title() == "ccs") summary.seconds.scoring = 40;
  summary.cost = {.trained = summary.samples_seen, .forward = 0};
  if (run.method_title() == "ccs") summary.cost->trained += 70000;
  if (run.method_title() == "rcap") summary.cost->forward = 6000;
  for (int j = 0; j < sizes.classes; ++j) {
    summary.group_names.push_back(fmt::format("class {}", j));
    summary.group_sizes.push_back(1000);
    summary.train_class_sizes.push_back(class_size(j, sizes));
    summary.n_train += class_size(j, sizes);
  }
  files.write_summary(summary);
}

std::vector<Run> runs_of(const Sizes& sizes) {
  std::vector<Run> runs;
  for (int method = -1; method < sizes.methods; ++method) {
    for (const double rate : Rates) {
      if (method < 0 && rate != Rates[0]) continue;
      for (int beta = 0; beta < (method == 0 ? sizes.betas : 1); ++beta) {
        for (int seed = 0; seed < sizes.seeds; ++seed) {
          runs.push_back({method, method < 0 ? 0 : rate, std::pow(2, beta - sizes.betas / 2),
                          static_cast<std::uint64_t>(27 * seed)});
          if (method != 0) runs.back().beta = 1;
        }
      }
    }
  }
  return runs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fputs("Usage: make_study DIR METHODS SEEDS EPOCHS CLASSES [BETAS]\n", stderr);
    return 2;
  }
  const StudyFolder folder(argv[1]);
  const Sizes sizes{std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5]),
                    argc > 6 ? std::atoi(argv[6]) : 1};
  StudyPlan plan{"Made-up study: „</script><script>alert(1)</script>“ <!-- & größer \"quoted\"",
                 "rcap",
                 {"made-up <b>data</b> & more"},
                 {"full"},
                 {}};
  for (int method = 0; method < sizes.methods; ++method)
    plan.methods.push_back(method_name(method));
  for (const Run& run : runs_of(sizes)) {
    write_run(folder, run, sizes);
    plan.runs.push_back({run.name(), plan.datasets[0], run.method_title(), {}, "", false});
  }
  plan.runs.push_back({"never-begun", plan.datasets[0], "rcap", {}, "", false});
  write_plan(folder.plan(), plan);
}
