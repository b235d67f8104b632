#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.hpp"
#include "base/staged_file.hpp"
#include "core/state_format.hpp"
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

  void put(const void* data, std::size_t bytes) {
    count_ += bytes;
    if (!write_) return;
    hash_.add(data, bytes);
    write_({static_cast<const std::byte*>(data), bytes});
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
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
  explicit Encoder(StateSink& sink) : sink_(sink) {}

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

  void weights(std::string_view name, std::vector<double>& values) override {
    numbers(name, FieldType::Weights, values);
  }

  using StateFields::chances;
  void chances(std::string_view name, std::vector<InverseChance>& values,
               std::size_t count) override {
    if (values.size() != count) {
      throw InternalError(
          formatted("write_state_file: {} has {} values, not {}", name, values.size(), count));
    }
    section(name, FieldType::Chances, values.size());
    sink_.put(values.data(), values.size() * sizeof(InverseChance));
  }

  void samples(std::string_view name, SampleSet& values) override {
    if (has_bits_past_end(values)) {
      throw InternalError(formatted("write_state_file: {} holds a sample past the last one, {}",
                                    name, values.sample_count() - 1));
    }
    section(name, FieldType::Samples, static_cast<std::uint64_t>(values.sample_count()));
    sink_.put(values.words().data(), values.words().size_bytes());
  }

 private:
  /// Numbers that are finite and >= 0.
  template <class Real>
  void numbers(std::string_view name, FieldType type, const std::vector<Real>& values) {
    if (const auto i = first_bad_number(values); i < values.size()) {
      throw InternalError(formatted("write_state_file: {}[{}] is {}; it must be finite and >= 0",
                                    name, i, values[i]));
    }
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

  StateSink& sink_;
};

void encode(StateSink& sink, const StateIdentity& identity, const ListFields& list_fields) {
  Encoder encoder(sink);
  encoder.identity(identity);
  list_fields(encoder);
}

std::uint64_t count_bytes(const StateIdentity& identity, const ListFields& list_fields) {
  StateSink counter(nullptr);
  encode(counter, identity, list_fields);
  return HeadBytes + counter.count() + ChecksumBytes;
}

void write_state(const WriteBytes& write, std::uint64_t byte_count, const StateIdentity& identity,
                 const ListFields& list_fields) {
  const Head head{.file_bytes = byte_count};
  StateSink sink(write);
  sink.put(&head, sizeof head);
  encode(sink, identity, list_fields);
  const std::uint64_t checksum = sink.checksum();
  sink.put(&checksum, sizeof checksum);
  if (sink.count() != byte_count) {
    throw InternalError(
        formatted("write_state_file: the fields took {} bytes when counted and {} "
                  "when written; they must be listed the same way every time",
                  byte_count, sink.count()));
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
  write_state(write, count_bytes(identity, list_fields), identity, list_fields);
}

std::vector<std::byte> encode_state(const StateIdentity& identity, const ListFields& list_fields) {
  const std::uint64_t byte_count = count_bytes(identity, list_fields);
  std::vector<std::byte> state;
  state.reserve(static_cast<std::size_t>(byte_count));
  const auto append = [&](std::span<const std::byte> bytes) {
    state.insert(state.end(), bytes.begin(), bytes.end());
  };
  write_state(append, byte_count, identity, list_fields);
  return state;
}

}  // namespace rcap
