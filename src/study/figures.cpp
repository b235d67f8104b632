#include "study/figures.hpp"

#include <array>
#include <system_error>

#include <fmt/format.h>

#include "base/text_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

struct Figure {
  const char* name;
  std::optional<std::string> (*make)(const StudyResults&);
};

constexpr std::array Figures{
    Figure{"figure_beta.svg", beta_figure},
    Figure{"figure_class_fractions.svg", class_fraction_figure},
    Figure{"figure_class_counts.svg", class_count_figure},
    Figure{"figure_cost.svg", cost_figure},
    Figure{"figure_samples.svg", sample_cost_figure},
    Figure{"figure_curves.svg", curve_figure},
};

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) {
    throw BadFile(fmt::format("{}: cannot be removed: {}", path.string(), error.message()));
  }
}

}  // namespace

std::vector<fs::path> write_figures(const StudyResults& results, const fs::path& folder) {
  std::vector<fs::path> written;
  for (const Figure& figure : Figures) {
    const fs::path path = folder / figure.name;
    const std::optional<std::string> text = figure.make(results);
    if (!text) {
      // A figure of an earlier study would be taken for one of these runs.
      remove_file(path);
      continue;
    }
    write_text(path, *text);
    written.push_back(path);
  }
  return written;
}

}  // namespace rcap
