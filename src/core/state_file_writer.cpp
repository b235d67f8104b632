#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.hpp"
#include "base/staged_file.hpp"
#include "core/shard_state.hpp"
#include "core/state_format.hpp"
#include "core/together.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/state_file.hpp"

namespace rcap {
namespace {

using namespace state_format;

/// The bytes under way, with what their head and their end say of them.
class StateSink {
 public:
  /// @param write  none: the bytes are only counted
  explicit StateSink(WriteBytes write) : write_(std::move(write)) {}

  /// Counts bytes that are written elsewhere, or not yet.
  void count(std::uint64_t bytes) noexcept { count_ += bytes; }

  void put(const void* data, std::size_t bytes) {
    count_ += bytes;
    if (!write_) return;
    hash_.add(data, bytes);
    write_({static_cast<const std::byte*>(data), bytes});
  }
  [[nodiscard]] std::uint64_t counted() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t checksum() const noexcept { return hash_.value(); }

 private:
  WriteBytes write_;
  Hash64 hash_;
  std::uint64_t count_ = 0;
};

/// Turns an identity and fields into bytes. What `read_state_file` would refuse is not
/// written: a state that cannot be loaded again is no state.
class Encoder final : public StateFields {
 public:
  /// @param is_written  false where all is only counted, on every rank
  Encoder(const Shard& shard, StateSink& sink, bool is_written)
      : shard_(shard), sink_(sink), is_written_(is_written) {}

  void identity(const StateIdentity& identity) {
    if (identity.sample_count < 0 || identity.class_count < 0) {
      throw InternalError(formatted("write_state_file: {} samples in {} classes; both must be >= 0",
                                    identity.sample_count, identity.class_count));
    }
    string(identity.method);
    value(identity.sample_count);
    value(identity.class_count);
    value(identity.label_fingerprint);
    value(static_cast<std::uint32_t>(identity.options.size()));
    for (const std::string& option : identity.options) string(option);
  }

  void number(std::string_view name, std::int64_t& number) override {
    section(name, FieldType::Number, 1);
    value(number);
  }

  void flag(std::string_view name, bool& value) override {
    auto number = static_cast<std::int64_t>(value);
    this->number(name, number);
  }

  void losses(std::string_view name, std::vector<float>& values) override {
    numbers(name, FieldType::Losses, values);
  }

  void sample_losses(std::string_view name, std::vector<float>& values) override {
    check(name, values);
    section(name, FieldType::Losses, static_cast<std::uint64_t>(shard_.sum(std::ssize(values))));
    put_all(std::as_bytes(std::span(values)));
  }

  void weights(std::string_view name, std::vector<double>& values) override {
    numbers(name, FieldType::Weights, values);
  }

  void chances(std::string_view name, std::vector<InverseChance>& values,
               std::size_t count) override {
    if (shard_.is_whole() && values.size() != count) {
      throw InternalError(
          formatted("write_state_file: {} has {} values, not {}", name, values.size(), count));
    }
    section(name, FieldType::Chances, static_cast<std::uint64_t>(shard_.sum(std::ssize(values))));
    put_all(std::as_bytes(std::span(values)));
  }

  void samples(std::string_view name, SampleSet& values) override {
    if (has_bits_past_end(values)) {
      throw InternalError(formatted("write_state_file: {} holds a sample past the last one, {}",
                                    name, values.sample_count() - 1));
    }
    section(name, FieldType::Samples,
            static_cast<std::uint64_t>(shard_.sum(values.sample_count())));
    put_all(std::as_bytes(std::span<const std::uint64_t>(values.words())));
  }

 private:
  /// Puts what all shards have, in their order.
  void put_all(std::span<const std::byte> here) {
    constexpr std::int64_t BlockBytes = 1 << 24;
    if (shard_.is_whole()) return sink_.put(here.data(), here.size());
    const std::vector<std::int64_t> begins = shard_.begins_of(std::ssize(here));
    if (!is_written_) return sink_.count(static_cast<std::uint64_t>(begins.back()));
    for (int rank = 0; rank < shard_.rank_count(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const std::int64_t bytes = begins[r + 1] - begins[r];
      for (std::int64_t first = 0; first < bytes; first += BlockBytes) {
        const auto count = static_cast<std::size_t>(std::min(BlockBytes, bytes - first));
        std::vector<RankBytes> parts(static_cast<std::size_t>(shard_.rank_count()));
        if (rank == shard_.rank()) {
          const auto block = here.subspan(static_cast<std::size_t>(first), count);
          parts.front().assign(block.begin(), block.end());
        }
        const std::vector<RankBytes> received = shard_.exchange().all_to_all(std::move(parts));
        if (shard_.rank() == 0) {
          sink_.put(received[r].data(), received[r].size());
        } else {
          sink_.count(count);
        }
      }
    }
  }

  template <class Real>
  static void check(std::string_view name, const std::vector<Real>& values) {
    if (const auto i = first_bad_number(values); i < values.size()) {
      throw InternalError(formatted("write_state_file: {}[{}] is {}; it must be finite and >= 0",
                                    name, i, values[i]));
    }
  }

  /// Numbers that are finite and >= 0.
  template <class Real>
  void numbers(std::string_view name, FieldType type, const std::vector<Real>& values) {
    check(name, values);
    section(name, type, values.size());
    sink_.put(values.data(), values.size() * sizeof(Real));
  }
  void section(std::string_view name, FieldType type, std::uint64_t count) {
    string(name);
    value(static_cast<std::uint32_t>(type));
    value(count);
  }
  template <class T>
  void value(const T& value) {
    sink_.put(&value, sizeof value);
  }
  void string(std::string_view text) {
    if (text.size() > MaxStringBytes) {
      throw InternalError(formatted("write_state_file: a name or option of {} bytes; at most {}",
                                    text.size(), MaxStringBytes));
    }
    value(static_cast<std::uint32_t>(text.size()));
    sink_.put(text.data(), text.size());
  }

  const Shard& shard_;
  StateSink& sink_;
  bool is_written_;
};

void encode(const Shard& shard, StateSink& sink, bool is_written, const StateIdentity& identity,
            const ListFields& list_fields) {
  Encoder encoder(shard, sink, is_written);
  encoder.identity(identity);
  list_fields(encoder);
}

std::uint64_t count_bytes(const Shard& shard, const StateIdentity& identity,
                          const ListFields& list_fields) {
  StateSink counter(nullptr);
  encode(shard, counter, false, identity, list_fields);
  return HeadBytes + counter.counted() + ChecksumBytes;
}

/// @param write  of no use on ranks other than 0
void write_state(const Shard& shard, const WriteBytes& write, std::uint64_t byte_count,
                 const StateIdentity& identity, const ListFields& list_fields) {
  const Head head{.file_bytes = byte_count};
  StateSink sink(shard.rank() == 0 ? write : nullptr);
  sink.put(&head, sizeof head);
  encode(shard, sink, true, identity, list_fields);
  const std::uint64_t checksum = sink.checksum();
  sink.put(&checksum, sizeof checksum);
  if (sink.counted() != byte_count) {
    throw InternalError(
        formatted("write_state_file: the fields took {} bytes when counted and {} "
                  "when written; they must be listed the same way every time",
                  byte_count, sink.counted()));
  }
}

}  // namespace

void write_state_file(const std::filesystem::path& path, const StateIdentity& identity,
                      const ListFields& list_fields) {
  StagedFile file(path, "save_state");
  stream_state([&](std::span<const std::byte> bytes) { file.write(bytes); }, identity, list_fields);
  file.publish();
}

void stream_state(const WriteBytes& write, const StateIdentity& identity,
                  const ListFields& list_fields) {
  stream_shards(Shard(0), write, identity, list_fields);
}

void stream_shards(const Shard& shard, const WriteBytes& write, const StateIdentity& identity,
                   const ListFields& list_fields) {
  write_state(shard, write, count_bytes(shard, identity, list_fields), identity, list_fields);
}

void write_shards_to_file(const Shard& shard, const std::filesystem::path& path,
                          const StateIdentity& identity, const ListFields& list_fields) {
  std::optional<StagedFile> file;
  together(shard, [&] {
    if (shard.rank() == 0) file.emplace(path, "save_state");
  });
  std::exception_ptr failure;  // the others go on to the end, so rank 0 must, too
  stream_shards(
      shard,
      [&](std::span<const std::byte> bytes) {
        if (failure) return;
        try {
          file->write(bytes);
        } catch (const BadFile&) {
          failure = std::current_exception();
        }
      },
      identity, list_fields);
  together(shard, [&] {
    if (failure) std::rethrow_exception(failure);
    if (file) file->publish();
  });
}

std::vector<std::byte> encode_state(const StateIdentity& identity, const ListFields& list_fields) {
  const Shard whole(0);
  const std::uint64_t byte_count = count_bytes(whole, identity, list_fields);
  std::vector<std::byte> state;
  state.reserve(static_cast<std::size_t>(byte_count));
  const auto append = [&](std::span<const std::byte> bytes) {
    state.insert(state.end(), bytes.begin(), bytes.end());
  };
  write_state(whole, append, byte_count, identity, list_fields);
  return state;
}

}  // namespace rcap
