// IDX files, plain and as gzip: images and labels.
#include "data/sets/idx_reader.hpp"
#include "fuzz/fuzz_input.hpp"

using namespace rcap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::as_file({data, size});
  fuzz::read_or_refuse([&] { (void)read_idx_images(path); });
  fuzz::read_or_refuse([&] { (void)read_idx_labels(path); });
  return 0;
}
