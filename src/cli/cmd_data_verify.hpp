#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap data verify [NAME]`, see `run_data`.
/// @param words  the arguments behind it
void run_data_verify(std::span<const std::string> words);

}  // namespace rcap::cli
