#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// The body of every `main`: runs the program on its words and turns exceptions into one
/// line on standard error and an exit code: 0, 2 for the user's mistakes, 1 for ours.
[[nodiscard]] int run_main(int argc, char** argv, void (*program)(std::span<const std::string>));

}  // namespace rcap::cli
