// Tables and lists of data sets in text. The first byte chooses which.
#include "data/sets/celeba.hpp"
#include "data/sets/imagenet.hpp"
#include "data/sets/waterbirds.hpp"
#include "fuzz/fuzz_input.hpp"

using namespace rcap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto path = fuzz::as_file({data + 1, size - 1});
  fuzz::read_or_refuse([&] {
    switch (data[0] % 4) {
      case 0:
        (void)read_waterbirds_table(path);
        break;
      case 1:
        (void)read_celeba_attributes(path);
        break;
      case 2:
        (void)read_celeba_partition(path);
        break;
      default:
        (void)read_imagenet_ground_truth(path);
    }
  });
  return 0;
}
