// Packed images: the input as it is, and once more with its sizes and checksums put right, so
// that what lies behind them is reached.
#include <cstring>
#include <vector>

#include "data/packs/packed_format.hpp"
#include "data/packs/packed_images.hpp"
#include "fuzz/fuzz_input.hpp"

using namespace rcap;

namespace {

void read_all(const std::filesystem::path& path) {
  fuzz::read_or_refuse([&] {
    const PackedDataset packed = open_packed(path);
    Image buffer;
    for (const Split* split : {&packed.dataset.train, &packed.dataset.test}) {
      for (std::int64_t id = 0; id < split->size(); ++id) {
        (void)split->images->name_of(id);
        fuzz::read_or_refuse([&] {
          const ImageView view = split->images->read(id, buffer);
          fuzz::touch(std::span(view.pixels, view.bytes()));
        });
      }
    }
  });
}

std::vector<std::uint8_t> mended(fuzz::Input input) {
  using packed_format::Head;
  std::vector<std::uint8_t> bytes(input.begin(), input.end());
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  head.magic = packed_format::Magic;
  head.version = packed_format::Version;
  head.reserved = 0;
  head.file_bytes = bytes.size();
  if (head.index_offset < bytes.size()) {
    const std::size_t offset = head.index_offset;
    head.tables_checksum = packed_format::checksum_of(bytes.data() + offset, bytes.size() - offset);
  }
  head.head_checksum = packed_format::checksum_of(head);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  read_all(fuzz::as_file(input));
  if (size >= sizeof(packed_format::Head)) read_all(fuzz::as_file(mended(input)));
  return 0;
}
