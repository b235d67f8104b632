#pragma once

#include "cli/command_line.hpp"

namespace rcap::cli {

/// Collects the options of all methods that the command line does not collect yet, those of the
/// same methods under one heading.
void collect_method_options(CommandLine& line);

}  // namespace rcap::cli
