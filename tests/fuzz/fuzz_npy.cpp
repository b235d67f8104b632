// NumPy arrays.
#include "cli/npy.hpp"
#include "fuzz/fuzz_input.hpp"

using namespace rcap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::as_file({data, size});
  fuzz::read_or_refuse([&] { (void)cli::read_integers(path, "labels"); });
  fuzz::read_or_refuse([&] { (void)cli::read_reals(path, "losses"); });
  fuzz::read_or_refuse([&] { (void)cli::read_ids(path); });
  return 0;
}
