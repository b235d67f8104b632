#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "rcap/core/make_pruner.hpp"

namespace rcap::cli {

/// The options of the methods, for every command that selects.
struct MethodArguments {
  PrunerOptions pruner;
  // Shared by two methods, or with a default that depends on others.
  std::optional<double> beta, loss_weight, confidence, epsilon;
  std::optional<std::int64_t> period;
};

[[nodiscard]] std::vector<std::string> method_names();

/// The method of that name.
/// @throws InvalidArgument  there is none; names the nearest one
const MethodInfo& require_method(const std::string& name);

/// --pruning-rate, and a group of options for every method that has some.
void add_pruning_rate(CommandLine& line, MethodArguments& arguments);
void add_method_options(CommandLine& line, MethodArguments& arguments);

/// What the arguments say, the rest at its default.
[[nodiscard]] PrunerOptions resolve(const MethodArguments& arguments, double default_beta = 1.0);

}  // namespace rcap::cli
