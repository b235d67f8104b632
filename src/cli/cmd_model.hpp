#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap model`: lists the networks, looks into weight files, runs a network once.
void run_model(std::span<const std::string> words);

}  // namespace rcap::cli
