// Filters: the input as it is, and once more with length and checksum put right, so that what lies
// behind them is reached.
#include <cstring>
#include <numeric>
#include <vector>

#include "core/filter_format.hpp"
#include "fuzz/fuzz_input.hpp"
#include "rcap/core/filter.hpp"

using namespace rcap;

namespace {

void ask(std::span<const std::byte> bytes) {
  fuzz::read_or_refuse([&] {
    const Filter filter = Filter::from_bytes(bytes);
    std::vector<SampleId> ids(static_cast<std::size_t>(filter.sample_count()));
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<float> weights(ids.size());
    filter.weigh(ids, weights);
    (void)filter.ids();
  });
}

std::vector<std::uint8_t> mended(fuzz::Input input) {
  using namespace filter_format;
  std::vector<std::uint8_t> bytes(input.begin(), input.end());
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  head.magic = Magic;
  head.version = Version;
  head.file_bytes = bytes.size();
  std::memcpy(bytes.data(), &head, sizeof head);
  Hash64 hash;
  hash.add(bytes.data(), bytes.size() - ChecksumBytes);
  const std::uint64_t checksum = hash.value();
  std::memcpy(bytes.data() + bytes.size() - ChecksumBytes, &checksum, ChecksumBytes);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  ask(std::as_bytes(input));
  if (size < filter_format::MinFileBytes) return 0;
  const std::vector<std::uint8_t> sealed = mended(input);
  ask(std::as_bytes(std::span(sealed)));
  return 0;
}
