// Tables and lists of data sets in text. The first byte chooses which.
#include "fuzz/fuzz_input.hpp"
#include "rcap/data/celeba.hpp"
#include "rcap/data/imagenet.hpp"
#include "rcap/data/waterbirds.hpp"

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
