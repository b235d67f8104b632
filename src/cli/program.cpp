#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/nearest_name.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/external_command.hpp"
#include "cli/run_main.hpp"
#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

struct Command {
  const char* name;
  const char* summary;
  void (*run)(std::span<const std::string>);
};

constexpr std::array Commands{
    Command{"advise", "say from the labels whether pruning will help, and how to set it up",
            run_advise},
    Command{"select", "select the samples of one epoch from arrays on disk", run_select},
    Command{"study", "compare methods: run a plan of many trainings, make tables and figures",
            run_study_command},
    Command{"report", "make one HTML file that shows a study: tables, plots, every run",
            run_report},
    Command{"watch", "draw a training that is under way: curves, class shares, time left",
            run_watch},
    Command{"bench", "time selection or image reading: rcap bench select, rcap bench data",
            run_bench},
    Command{"doctor", "show versions, processor, memory and data sets", run_doctor},
    Command{"data", "list the data sets, verify their files, pack images into one file", run_data},
};

/// What commands that are separate programs do; shown if the program exists.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> ExternalSummaries{{
    {"figure", "draw figures that need no study: loss against gradient norm"},
    {"model", "list the networks, inspect weight files, run a network once"},
    {"train", "train a network on a part of the data each epoch"},
}};

std::string summary_of_external(const std::string& name) {
  for (const auto& [command, summary] : ExternalSummaries) {
    if (command == name) return std::string(summary);
  }
  return fmt::format("see rcap {} --help", name);
}

const Command* find_command(const std::string& name) {
  for (const Command& command : Commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : Commands) names.emplace_back(command.name);
  for (const std::string& name : external_commands()) names.push_back(name);
  return names;
}

void print_help() {
  fmt::print(
      "rcap makes training cheaper: each epoch runs on a small, well-chosen part of the data,\n"
      "and every class keeps its share of it.\n\n"
      "Usage: rcap COMMAND [OPTIONS]\n\n"
      "Commands:\n");
  for (const Command& command : Commands) fmt::print("  {:<8} {}\n", command.name, command.summary);
  for (const std::string& name : external_commands()) {
    fmt::print("  {:<8} {}\n", name, summary_of_external(name));
  }
  fmt::print(
      "\nrcap COMMAND --help shows the options of a command, rcap --version the version.\n\n"
      "Examples: train on a tenth of long-tailed Fashion-MNIST; select a tenth for another "
      "program\n"
      "  rcap train --method rcap --pruning-rate 0.9 --out runs/rcap\n"
      "  rcap select --labels labels.npy --losses losses.npy --pruning-rate 0.9 --out ids.npy\n");
}

void run_command(const std::string& name, std::span<const std::string> words) {
  if (const Command* command = find_command(name)) return command->run(words);
  if (const auto executable = find_external_command(name)) run_external_command(*executable, words);
  const std::vector<std::string> names = command_names();
  throw InvalidArgument(fmt::format("there is no {} {}{}; the commands are {}; see rcap --help",
                                    name.starts_with('-') ? "option" : "command", name,
                                    did_you_mean(name, names), fmt::join(names, ", ")));
}

/// Runs one command line of `rcap`; results go to standard output.
void run_program(std::span<const std::string> words) {
  if (words.empty()) {
    throw InvalidArgument(fmt::format("a command is missing; the commands are {}; see rcap --help",
                                      fmt::join(command_names(), ", ")));
  }
  const std::string& first = words.front();
  if (first == "--version") return fmt::print("rcap {}\n", version_and_revision());
  if (first == "--help" || first == "-h") return print_help();
  if (first != "help") return run_command(first, words.subspan(1));
  if (words.size() == 1) return print_help();
  run_command(words[1], std::vector<std::string>{"--help"});
}

}  // namespace
}  // namespace rcap::cli

int main(int argc, char** argv) { return rcap::cli::run_main(argc, argv, rcap::cli::run_program); }
