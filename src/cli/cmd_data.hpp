#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap data list`: the data sets, and which of them are on this machine.
/// `rcap data verify [NAME]`: holds their files against the published sizes and checksums;
/// images in your own folders are decoded once.
///
/// @param words  the arguments after the command
/// @throws InvalidArgument  the user's mistakes
/// @throws BadFile          after the report: a file is damaged, or one of several is missing,
///                          or the data set that was named is not there
void run_data(std::span<const std::string> words);

}  // namespace rcap::cli
