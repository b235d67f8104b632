#include "cli/method_options.hpp"

namespace rcap::cli {
namespace {

void add_rcap_options(CommandLine& line, MethodArguments& arguments) {
  RcapOptions& options = arguments.pruner.rcap;
  line.group("Method rcap");
  line.number("--beta", arguments.beta, "B",
              "temperature of the draw inside a class, 1e-3 .. 1e3 [1]");
  line.choice(
      "--class-share", options.class_share,
      {{"paper", ClassShare::Paper}, {"mass", ClassShare::Mass}, {"group", ClassShare::Group}},
      "split over the classes: the printed formula, the authors' code, classes equal");
  line.choice("--initial-loss", options.initial_loss,
              {{"forward", InitialLoss::Forward}, {"log-c", InitialLoss::LogC}},
              "losses before training: observed, or ln(classes) for all");
  line.choice("--clip", options.clip,
              {{"class-max", LossClip::ClassMax}, {"log-c", LossClip::LogC}},
              "losses are cut at the class's largest initial one, or at ln(classes)");
  line.number("--min-per-class", options.min_per_class, "K",
              "kept of each class while the budget allows");
}

void add_dynamic_options(CommandLine& line, MethodArguments& arguments) {
  PrunerOptions& pruner = arguments.pruner;
  line.group("Method infobatch");
  line.number("--prune-probability", pruner.infobatch.prune_probability, "P",
              "part of the samples below the mean loss that is left out");
  line.number("--annealing", pruner.infobatch.annealing, "D", "part of the run that prunes");
  line.group("Methods ucb and epsilon-greedy");
  line.number("--loss-weight", arguments.loss_weight, "A",
              "weight of the newest loss in the running mean [0.8]");
  line.number("--confidence", arguments.confidence, "K", "weight of the variance in ucb [1]");
  line.number("--epsilon", arguments.epsilon, "E", "random part of epsilon-greedy [0.1]");
  line.number("--period", arguments.period, "T", "epochs between selections [10]");
}

void add_static_options(CommandLine& line, PrunerOptions& pruner) {
  line.group("Other methods");
  line.flag("--stratified", pruner.rs2_stratified, "rs2-replace: every class keeps its part");
  line.number("--hard-cutoff", pruner.ccs.hard_cutoff, "H",
              "ccs: part with the lowest scores dropped first");
  line.number("--strata", pruner.ccs.strata, "N", "ccs: bins of the score");
  line.choice("--quota", pruner.metriq.quota,
              {{"density", MetriqQuota::Density}, {"size", MetriqQuota::Size}},
              "metriq: class error times class size, or class error alone");
}

}  // namespace

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) names.emplace_back(method.name);
  return names;
}

const MethodInfo& require_method(const std::string& name) {
  if (const MethodInfo* method = find_method(name)) return *method;
  const std::vector<std::string> names = method_names();
  throw InvalidArgument(fmt::format("--method \"{}\" is none of {}{}", name, fmt::join(names, ", "),
                                    did_you_mean(name, names)));
}

void add_pruning_rate(CommandLine& line, MethodArguments& arguments) {
  line.number("--pruning-rate", arguments.pruner.common.pruning_rate, "R",
              "fraction removed, 0 <= R < 1");
}

void add_method_options(CommandLine& line, MethodArguments& arguments) {
  add_rcap_options(line, arguments);
  add_dynamic_options(line, arguments);
  add_static_options(line, arguments.pruner);
}

PrunerOptions resolve(const MethodArguments& arguments, double default_beta) {
  PrunerOptions pruner = arguments.pruner;
  pruner.rcap.beta = arguments.beta.value_or(default_beta);
  for (BanditOptions* bandit : {&pruner.ucb, &pruner.epsilon_greedy}) {
    bandit->learning_rate = arguments.loss_weight.value_or(bandit->learning_rate);
    bandit->confidence = arguments.confidence.value_or(bandit->confidence);
    bandit->epsilon = arguments.epsilon.value_or(bandit->epsilon);
    bandit->period = arguments.period.value_or(bandit->period);
  }
  return pruner;
}

}  // namespace rcap::cli
