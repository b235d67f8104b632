#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap doctor`: what this machine and this build have for rcap.
///
/// @param words  the arguments after the command
/// @throws InvalidArgument  the user's mistakes
void run_doctor(std::span<const std::string> words);

}  // namespace rcap::cli
