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

using state_format::ChecksumBytes;
using state_format::FieldType;
using state_format::first_bad_loss;
using state_format::has_bits_past_end;
using state_format::Head;
using state_format::HeadBytes;
using state_format::MaxStringBytes;

class ByteCounter {
 public:
  void put(const void*, std::size_t bytes) noexcept { count_ += bytes; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  std::uint64_t count_ = 0;
};

/// The bytes under way, with what their head and their end say of them.
template <class Output>
class StateSink {
 public:
  explicit StateSink(Output& output) : output_(output) {}

  void put(const void* data, std::size_t bytes) {
    hash_.add(data, bytes);
    count_ += bytes;
    output_.write(data, bytes);
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t checksum() const noexcept { return hash_.value(); }

 private:
  Output& output_;
  Hash64 hash_;
  std::uint64_t count_ = 0;
};

/// Bytes in memory, as `StagedFile` takes them.
class MemoryOutput {
 public:
  void reserve(std::uint64_t bytes) { bytes_.reserve(static_cast<std::size_t>(bytes)); }
  void write(const void* data, std::size_t byte_count) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + byte_count);
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Turns an identity and fields into bytes. What `read_state_file` would refuse is not
/// written: a state that cannot be loaded again is no state.
template <class Sink>
class Encoder final : public StateFields {
 public:
  explicit Encoder(Sink& sink) : sink_(sink) {}

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
    if (const auto i = first_bad_loss(values); i < values.size()) {
      throw InternalError(formatted("write_state_file: {}[{}] is {}; it must be finite and >= 0",
                                    name, i, values[i]));
    }
    section(name, FieldType::Losses, values.size());
    sink_.put(values.data(), values.size() * sizeof(float));
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

  Sink& sink_;
};

using ListFields = std::function<void(StateFields&)>;

template <class Sink>
void encode(Sink& sink, const StateIdentity& identity, const ListFields& list_fields) {
  Encoder encoder(sink);
  encoder.identity(identity);
  list_fields(encoder);
}

std::uint64_t count_bytes(const StateIdentity& identity, const ListFields& list_fields) {
  ByteCounter counter;
  encode(counter, identity, list_fields);
  return HeadBytes + counter.count() + ChecksumBytes;
}

template <class Output>
void write_state(Output& output, std::uint64_t byte_count, const StateIdentity& identity,
                 const ListFields& list_fields) {
  const Head head{.file_bytes = byte_count};
  StateSink sink(output);
  sink.put(&head, sizeof head);
  encode(sink, identity, list_fields);
  const std::uint64_t checksum = sink.checksum();
  sink.put(&checksum, sizeof checksum);
  if (sink.count() != byte_count) {
    throw InternalError(
        formatted("write_state_file: the fields took {} bytes when counted and {} "
                  "when written; they must be listed alike every time",
                  byte_count, sink.count()));
  }
}

}  // namespace

void write_state_file(const std::filesystem::path& path, const StateIdentity& identity,
                      const std::function<void(StateFields&)>& list_fields) {
  const std::uint64_t byte_count = count_bytes(identity, list_fields);
  StagedFile file(path, "save_state");
  write_state(file, byte_count, identity, list_fields);
  file.publish();
}

std::vector<std::byte> encode_state(const StateIdentity& identity,
                                    const std::function<void(StateFields&)>& list_fields) {
  const std::uint64_t byte_count = count_bytes(identity, list_fields);
  MemoryOutput output;
  output.reserve(byte_count);
  write_state(output, byte_count, identity, list_fields);
  return output.take();
}

}  // namespace rcap
