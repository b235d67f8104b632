// State files: the input as it is, and once more with head and checksum put right, so that what
// lies behind them is reached.
#include <cstring>
#include <vector>

#include "core/hash64.hpp"
#include "core/state_format.hpp"
#include "fuzz/fuzz_input.hpp"
#include "rcap/core/state_file.hpp"

using namespace rcap;

namespace {

/// Reads for the pruner that the file names, with the fields of the first inputs.
void read_all(const std::filesystem::path& path) {
  fuzz::read_or_refuse([&] {
    const StateIdentity identity = read_state_identity(path);
    std::int64_t epoch = 0;
    std::vector<float> losses(3);
    SampleSet samples(70);
    std::vector<double> weights(2);
    read_state_file(path, identity, [&](StateFields& fields) {
      fields.number("epoch", epoch);
      fields.losses("losses", losses);
      fields.samples("samples", samples);
      fields.weights("weights", weights);
    });
  });
}

std::vector<std::uint8_t> mended(fuzz::Input input) {
  using namespace state_format;
  std::vector<std::uint8_t> bytes(input.begin(), input.end());
  Head head;
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
  read_all(fuzz::as_file(input));
  if (size >= state_format::MinFileBytes) read_all(fuzz::as_file(mended(input)));
  return 0;
}
