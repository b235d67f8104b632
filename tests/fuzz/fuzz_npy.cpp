// NumPy arrays.
#include "fuzz/fuzz_input.hpp"
#include "io/npy.hpp"

using namespace rcap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::as_file({data, size});
  fuzz::read_or_refuse([&] { (void)read_integers(path, "labels"); });
  fuzz::read_or_refuse([&] { (void)read_reals(path, "losses"); });
  fuzz::read_or_refuse([&] { (void)read_ids(path); });
  fuzz::read_or_refuse([&] { (void)read_number_table(path, "table"); });
  return 0;
}
