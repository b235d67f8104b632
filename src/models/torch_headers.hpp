#pragma once

/// All of LibTorch that rcap uses, compiled once (cmake/RcapTorch.cmake).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>
