#pragma once

#include <string>
#include <vector>

#include "data/sample_files.hpp"

namespace rcap {

/// A row of the devkit's table.
struct SynsetRow {
  int id = 0;
  std::string wnid;
};

/// meta.mat as MATLAB writes it: the table "synsets" with fields of several kinds.
struct MatSample {
  std::vector<SynsetRow> rows;
  std::string variable = "synsets";
  std::vector<std::string> fields{"ILSVRC2012_ID", "WNID", "words", "children"};
  bool packed = true;

  [[nodiscard]] Bytes bytes() const;
};

}  // namespace rcap
