#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap bench data`: how many images a second come ready for a network.
///
/// @param words  the arguments after "data"
/// @throws InvalidArgument, BadFile  the user's mistakes
void run_bench_data(std::span<const std::string> words);

}  // namespace rcap::cli
