// Tables of numbers and categories, in text or as NumPy arrays.
#include "data/tables/table.hpp"
#include "fuzz/fuzz_input.hpp"

using namespace rcap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::as_file({data, size});
  fuzz::read_or_refuse([&] {
    const Dataset dataset = open_table(path, {});
    for (const Split* split : {&dataset.train, &dataset.test}) {
      const auto columns = static_cast<std::size_t>(dataset.channels);
      for (SampleId id = 0; id < split->size(); ++id) {
        fuzz::touch(std::as_bytes(std::span(split->images->row(id), columns)));
      }
    }
  });
  return 0;
}
