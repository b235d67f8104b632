#pragma once

#include <span>
#include <string>

namespace rcap::cli {

/// `rcap train`: trains a network on a part of the data each epoch.
void run_train(std::span<const std::string> words);

}  // namespace rcap::cli
