// Files of weights as they are: .pth in both containers, and safetensors beside them. A changed
// byte of a zip record ends at its checksum; fuzz_pickle goes on from there, and the old
// container has none.
#include "fuzz/fuzz_input.hpp"
#include "io/weight_file.hpp"

using namespace rcap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::as_file({data, size});
  fuzz::read_or_refuse([&] {
    const WeightFile file(path);
    for (const TensorView& tensor : file.tensors()) fuzz::touch(tensor.data);
  });
  return 0;
}
