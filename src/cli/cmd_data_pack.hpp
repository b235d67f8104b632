#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap data pack`: decodes and resizes the images of a data set into one file.
///
/// @param words  the arguments after "pack"
/// @throws InvalidArgument, BadFile  as `pack_images`
/// @throws Stopped                   Ctrl-C; what was done is safe
void run_data_pack(std::span<const std::string> words);

}  // namespace rcap::cli
