#include "rcap/core/filter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_mapping.hpp"
#include "base/formatted.hpp"
#include "base/path_text.hpp"
#include "base/staged_file.hpp"
#include "core/batch_checks.hpp"
#include "core/filter_format.hpp"
#include "core/set_bits.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/pruner.hpp"

namespace rcap {
namespace {

using namespace filter_format;

constexpr std::size_t WordsPerBlock = BlockSamples / 64;

Head head_of(std::span<const std::byte> bytes) noexcept {
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept {
  Hash64 hash;
  hash.add(bytes.data(), bytes.size() - ChecksumBytes);
  return hash.value();
}

/// The numbers that begin at `offset`, which is moved behind them.
template <class Number>
std::span<const Number> take(std::span<const std::byte> bytes, std::size_t& offset,
                             std::size_t count) noexcept {
  const auto* const first = reinterpret_cast<const Number*>(bytes.data() + offset);
  offset += count * sizeof(Number);
  return {first, count};
}

[[noreturn]] void refuse(const std::string& where, std::string_view what) {
  throw BadFile(formatted("{}: {}", where, what));
}

/// Checks what tells the size of everything else.
void check_head(std::span<const std::byte> bytes, const std::string& where) {
  const auto first = bytes.first(std::min(bytes.size(), Magic.size()));
  if (!std::ranges::equal(first, std::as_bytes(std::span(Magic)).first(first.size()))) {
    refuse(where, "is not a filter of rcap, which begins with RCAPFILT");
  }
  if (bytes.size() < MinFileBytes) {
    refuse(where, formatted("has {} bytes, a filter has at least {}; it is cut off", bytes.size(),
                            MinFileBytes));
  }
  const Head head = head_of(bytes);
  if (head.version != Version) {
    throw StateMismatch(
        formatted("{}: has version {} of the format, this rcap reads {}; write it "
                  "again with this rcap",
                  where, head.version, Version));
  }
  if (head.file_bytes != bytes.size()) {
    refuse(where, formatted("has {} bytes, its head says {}; it is cut off or damaged",
                            bytes.size(), head.file_bytes));
  }
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + bytes.size() - ChecksumBytes, sizeof checksum);
  if (checksum != checksum_of(bytes)) refuse(where, "its checksum is wrong; it is damaged");
  // No count that fits into the bytes lets the size of the parts overflow.
  const auto most = static_cast<std::int64_t>(8 * bytes.size());
  const bool possible = head.has_weights <= 1 && head.reserved[0] == 0 && head.reserved[1] == 0 &&
                        head.epoch >= 0 && head.sample_count >= 0 && head.sample_count <= most &&
                        head.kept_count >= 0 && head.kept_count <= head.sample_count;
  if (!possible || Parts(head).file_bytes() != bytes.size()) {
    refuse(where, formatted("its head is wrong: epoch {}, {} of {} samples in {} bytes; write it "
                            "again",
                            head.epoch, head.kept_count, head.sample_count, bytes.size()));
  }
}

void insert_all(std::span<std::uint64_t> words, std::span<const SampleId> ids) {
  for (const SampleId id : ids) {
    std::uint64_t& word = words[static_cast<std::size_t>(id) >> 6];
    const std::uint64_t bit = std::uint64_t{1} << (id & 63);
    if ((word & bit) != 0) {
      throw InvalidArgument(formatted("Filter: sample {} comes twice; give each once", id));
    }
    word |= bit;
  }
}

/// How many bits are set before each block of words.
void count_before(std::span<const std::uint64_t> words, std::span<std::uint64_t> before) {
  std::uint64_t count = 0;
  for (std::size_t block = 0; block < before.size(); ++block) {
    before[block] = count;
    const std::size_t first = block * WordsPerBlock;
    count += static_cast<std::uint64_t>(
        count_bits(words.subspan(first, std::min(WordsPerBlock, words.size() - first))));
  }
}

bool is_weight(float weight) noexcept {
  return weight >= 0 && weight <= std::numeric_limits<float>::max();
}

void check_parts(std::int64_t epoch, std::int64_t sample_count, std::span<const SampleId> ids,
                 std::span<const float> weights) {
  if (epoch < 0 || sample_count < 0) {
    throw InvalidArgument(
        formatted("Filter: epoch {} of {} samples; neither may be negative", epoch, sample_count));
  }
  if (!weights.empty() && weights.size() != ids.size()) {
    throw InvalidArgument(formatted("Filter: {} weights for {} ids; give one for each, or none",
                                    weights.size(), ids.size()));
  }
  if (!all_exist(ids, sample_count)) {
    const auto bad = std::ranges::find_if(
        ids, [sample_count](SampleId id) { return id < 0 || id >= sample_count; });
    throw InvalidArgument(formatted("Filter: sample {} does not exist; ids lie between 0 and {}",
                                    *bad, sample_count - 1));
  }
  if (const auto bad = std::ranges::find_if_not(weights, is_weight); bad != weights.end()) {
    throw InvalidArgument(
        formatted("Filter: the weight of sample {} is {}; weights must be finite and >= 0",
                  ids[static_cast<std::size_t>(bad - weights.begin())], *bad));
  }
}

}  // namespace

Filter::Filter(const Selection& selection, std::int64_t sample_count)
    : Filter(selection.epoch, sample_count, selection.ids, selection.weights) {}

Filter::Filter(std::int64_t epoch, std::int64_t sample_count, std::span<const SampleId> ids,
               std::span<const float> weights) {
  check_parts(epoch, sample_count, ids, weights);
  Head head{.has_weights = weights.empty() ? 0U : 1U,
            .epoch = epoch,
            .sample_count = sample_count,
            .kept_count = std::ssize(ids)};
  const Parts parts(head);
  head.file_bytes = parts.file_bytes();
  auto numbers = std::make_shared<std::vector<std::uint64_t>>(head.file_bytes / 8);
  const std::span<std::uint64_t> all(*numbers);
  std::memcpy(all.data(), &head, sizeof head);
  const auto words = all.subspan(HeadBytes / 8, parts.words);
  insert_all(words, ids);
  count_before(words, all.subspan(HeadBytes / 8 + parts.words, parts.blocks));
  bytes_ = std::as_bytes(all);
  find_parts();
  auto* const by_id = reinterpret_cast<float*>(all.data() + all.size() - 1 - parts.weights);
  for (std::size_t i = 0; i < weights.size(); ++i) by_id[rank(ids[i])] = weights[i];
  all.back() = checksum_of(bytes_);
  owner_ = std::move(numbers);
}

Filter::Filter(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
               const std::string& where)
    : owner_(std::move(owner)), bytes_(bytes) {
  check_head(bytes_, where);
  find_parts();
  const bool ends_early = sample_count_ % 64 == 0 || words_.back() >> (sample_count_ % 64) == 0;
  if (!ends_early || count_bits(words_) != kept_count_) {
    refuse(where, formatted("its bits are not {} of {} samples; it is damaged", kept_count_,
                            sample_count_));
  }
  std::vector<std::uint64_t> before(before_.size());
  count_before(words_, before);
  if (!std::ranges::equal(before, before_) || !std::ranges::all_of(weights_, is_weight)) {
    refuse(where, "its weights are wrong; it is damaged");
  }
}

void Filter::find_parts() {
  const Head head = head_of(bytes_);
  const Parts parts(head);
  epoch_ = head.epoch;
  sample_count_ = head.sample_count;
  kept_count_ = head.kept_count;
  std::size_t offset = HeadBytes;
  words_ = take<std::uint64_t>(bytes_, offset, parts.words);
  before_ = take<std::uint64_t>(bytes_, offset, parts.blocks);
  weights_ = take<float>(bytes_, offset,
                         head.has_weights == 0 ? 0 : static_cast<std::size_t>(kept_count_));
}

Filter Filter::load(const std::filesystem::path& path) {
  const std::string where = formatted("Filter \"{}\"", path_text(path));
  const auto file = std::make_shared<const FileMapping>(path, where);
  return {file, file->bytes(), where};
}

Filter Filter::from_bytes(std::span<const std::byte> bytes) {
  auto copy = std::make_shared<std::vector<std::uint64_t>>((bytes.size() + 7) / 8);
  if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
  const auto copied = std::as_bytes(std::span(*copy)).first(bytes.size());
  return {std::move(copy), copied, "Filter"};
}

void Filter::save(const std::filesystem::path& path) const {
  StagedFile file(path, "save_filter");
  file.write(bytes_);
  file.publish();
}

void Filter::require_known(const char* where, std::span<const SampleId> ids) const {
  if (all_exist(ids, sample_count_)) return;
  const auto unknown =
      std::ranges::find_if(ids, [this](SampleId id) { return id < 0 || id >= sample_count_; });
  throw InvalidArgument(
      formatted("{}: sample {} is not in the filter, which knows {} samples, counted from 0; give "
                "the pruner the labels of all samples, and each sample its position among them",
                where, *unknown, sample_count_));
}

bool Filter::contains(SampleId id) const {
  require_known("contains", {&id, 1});
  return holds(id);
}

void Filter::keep(std::span<const SampleId> ids, std::span<std::uint8_t> mask) const {
  require_known("keep", ids);
  for (std::size_t i = 0; i < ids.size(); ++i) mask[i] = holds(ids[i]) ? 1 : 0;
}

void Filter::weigh(std::span<const SampleId> ids, std::span<float> weights) const {
  require_known("weigh", ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    weights[i] = !holds(ids[i]) ? 0 : weighs() ? weights_[rank(ids[i])] : 1;
  }
}

std::size_t Filter::rank(SampleId id) const noexcept {
  const auto word = static_cast<std::size_t>(id) >> 6;
  const std::size_t block = word / WordsPerBlock;
  std::uint64_t count = before_[block];
  for (std::size_t w = block * WordsPerBlock; w < word; ++w) {
    count += static_cast<std::uint64_t>(std::popcount(words_[w]));
  }
  const std::uint64_t below = words_[word] & ((std::uint64_t{1} << (id & 63)) - 1);
  return static_cast<std::size_t>(count) + static_cast<std::size_t>(std::popcount(below));
}

std::vector<SampleId> Filter::ids() const {
  SampleSet kept(sample_count_);
  std::ranges::copy(words_, kept.words().begin());
  return kept.ids();
}

}  // namespace rcap
