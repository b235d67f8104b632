// Safetensors files.
#include "fuzz/fuzz_input.hpp"
#include "io/safetensors.hpp"

using namespace rcap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::as_file({data, size});
  fuzz::read_or_refuse([&] {
    const SafetensorsFile file(path);
    for (const TensorView& tensor : file.tensors()) fuzz::touch(tensor.data);
  });
  return 0;
}
