#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// Runs one command line of `rcap`, results on standard output.
///
/// @param words  the arguments after the program's name
/// @throws InvalidArgument, BadFile, StateMismatch  the user's mistakes
/// @throws InternalError and others                 ours
void run_program(std::span<const std::string> words);

}  // namespace rcap::cli
