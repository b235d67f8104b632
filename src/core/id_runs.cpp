#include "core/id_runs.hpp"

#include <array>
#include <cstring>

#include "core/bytes.hpp"

namespace rcap {
namespace {

constexpr std::uint64_t More = 0x80;  // another byte follows

}  // namespace

void IdRun::add(SampleId id) {
  auto distance = static_cast<std::uint64_t>(id - last_);
  last_ = id;
  ++count_;
  for (; distance >= More; distance >>= 7) {
    distances_.push_back(static_cast<std::byte>(distance | More));
  }
  distances_.push_back(static_cast<std::byte>(distance));
}

void IdRun::append_to(RankBytes& bytes) const {
  append<std::uint64_t>(bytes, std::array{std::uint64_t{count_}});
  bytes.insert(bytes.end(), distances_.begin(), distances_.end());
}

void read_ids(std::span<const std::byte>& bytes, SampleId first_id, std::vector<SampleId>& ids) {
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data(), sizeof count);
  const std::byte* next = bytes.data() + sizeof count;
  ids.reserve(ids.size() + count);
  SampleId id = first_id - 1;
  for (; count > 0; --count) {
    std::uint64_t distance = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(*next++);
      distance |= (byte & (More - 1)) << shift;
      if (byte < More) break;
    }
    id += static_cast<SampleId>(distance);
    ids.push_back(id);
  }
  bytes = bytes.subspan(static_cast<std::size_t>(next - bytes.data()));
}

}  // namespace rcap
