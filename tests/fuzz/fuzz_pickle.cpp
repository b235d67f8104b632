// The pickle of a .pth file: the input, in an archive that is sound and has two storages.
#include "fuzz/fuzz_input.hpp"
#include "io/pth/pth.hpp"
#include "io/pth/pth_samples.hpp"

using namespace rcap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string pickle(fuzz::as_text({data, size}));
  const std::string archive =
      pth_samples::archive(pickle, {{"0", std::string(24, '\1')}, {"1", std::string("\1\0\1", 3)}});
  const auto path =
      fuzz::as_file({reinterpret_cast<const std::uint8_t*>(archive.data()), archive.size()});
  fuzz::read_or_refuse([&] {
    const PthFile file(path);
    for (const TensorView& tensor : file.tensors()) fuzz::touch(tensor.data);
  });
  return 0;
}
