#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap bench select`: times selection and bookkeeping on synthetic data.
///
/// @param words  the arguments after `bench`
/// @throws InvalidArgument  the user's mistakes
void run_bench(std::span<const std::string> words);

}  // namespace rcap::cli
