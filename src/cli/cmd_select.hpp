#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap select`: labels and losses from .npy files in, the ids of an epoch out.
///
/// Without a state file the pruner is new; with one it goes on from there. Files are
/// written at the very end, ids first and the state last, each atomically: on an error
/// nothing has changed, and after a crash the same command again completes it.
///
/// @param words  the arguments after the command
/// @throws InvalidArgument, BadFile, StateMismatch  the user's mistakes
void run_select(std::span<const std::string> words);

}  // namespace rcap::cli
