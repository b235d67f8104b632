// The JSON lists of iNaturalist.
#include "data/sets/inaturalist.hpp"
#include "fuzz/fuzz_input.hpp"

using namespace rcap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::as_file({data, size});
  fuzz::read_or_refuse([&] { (void)read_inaturalist_list(path); });
  return 0;
}
