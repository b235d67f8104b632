#pragma once

#include <cstdint>
#include <filesystem>

#include "rcap/core/class_index.hpp"
#include "rcap/core/pruner.hpp"
#include "rcap/core/pruners/rcap_pruner.hpp"

namespace rcap::cli {

struct BenchShardsArguments {
  std::int64_t sample_count = 0;
  ClassId class_count = 0;
  int shards = 1;
  std::filesystem::path
      scratch;  ///< a folder for what shards that wait have in memory; empty: none
  CommonOptions common;
  RcapOptions rcap;
  std::int64_t repeat = 0;
  bool no_order = false;
  bool json = false;
};

/// `rcap bench select --shards`: many ranks' selections in one process, one rank at a time, by the
/// code that many processes run.
void run_bench_shards(const BenchShardsArguments& arguments);

}  // namespace rcap::cli
