#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap report DIR`: the page that shows a study.
/// @param words  the arguments behind `report`
void run_report(std::span<const std::string> words);

}  // namespace rcap::cli
