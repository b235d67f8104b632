#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap figure`: figures that need no study, from experiments of their own.
void run_figure(std::span<const std::string> words);

}  // namespace rcap::cli
