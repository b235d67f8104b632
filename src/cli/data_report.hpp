#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "data/sets/catalogue.hpp"

namespace rcap::cli {

/// What `rcap data verify` found out about one data set.
struct DataReport {
  std::string name;
  std::filesystem::path folder;
  FileState state = FileState::Good;      ///< the worst that was found; some missing: damaged
  const CatalogueEntry* entry = nullptr;  ///< null for an image folder
  std::vector<FileCheck> files;           ///< those with a published size
  bool has_images = false;                ///< as separate files
  std::int64_t image_count = 0;           ///< of these
  bool decoded = false;                   ///< whether each of them was decoded
  std::vector<std::string> bad_images;
  std::vector<std::string> remarks;  ///< of the data set that was opened
  std::string problem;               ///< why it cannot be opened; empty if it can
};

[[nodiscard]] std::int64_t count_in_state(const DataReport& report, FileState state);

/// @param quiet  print only problems
void print_report(const DataReport& report, bool quiet);

[[nodiscard]] nlohmann::ordered_json to_json(const OfficialArchive& archive);
[[nodiscard]] nlohmann::ordered_json to_json(const DataReport& report);

}  // namespace rcap::cli
