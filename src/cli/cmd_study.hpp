#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// rcap study PLAN.toml: makes all runs of a plan, then tables, figures and the report.
void run_study_command(std::span<const std::string> words);

}  // namespace rcap::cli
