// Writes the figures of a made-up study, with names that XML must escape: draw_figures DIR.
// figures_test.py reads them with a real XML parser.

#include <cstdlib>

#include "study/figures.hpp"
#include "study/study_samples.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  const std::filesystem::path folder = argv[1];
  int number = 0;
  for (const char* dataset : {"plain", "a<b> & \"c\" 'd' \xc3\xa9"}) {
    for (const char* method : {"full", "rcap", "rs2", "balanced", "x<y&z"}) {
      for (const double beta : {0.5, 1.0, 2.0}) {
        for (const std::uint64_t seed : {0U, 27U}) {
          const double worst = 0.3 + 0.05 * beta + 0.001 * static_cast<double>(seed);
          rcap::write_run(
              folder / "runs" / std::to_string(number++),
              {.method = method, .beta = beta, .seed = seed, .worst = worst, .dataset = dataset});
        }
      }
    }
  }
  rcap::write_figures(rcap::read_results(folder), folder);
}
