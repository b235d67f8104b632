#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/formatted.hpp"
#include "base/path_text.hpp"
#include "base/regular_file.hpp"
#include "core/set_bits.hpp"
#include "core/shard_state.hpp"
#include "core/state_format.hpp"
#include "core/together.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/state_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using namespace state_format;

constexpr std::size_t ReadBufferBytes = std::size_t{1} << 20;

/// Where the bytes of a state come from.
class StateSource {
 public:
  virtual ~StateSource() = default;
  /// What messages begin with.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// @param bytes  not past the end
  virtual void read_at(std::uint64_t offset, void* data, std::size_t bytes) const = 0;

  [[noreturn]] void refuse(std::string_view what) const {
    throw BadFile(formatted("{}: {}", name_, what));
  }

 protected:
  StateSource(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}

  std::string name_;
  std::uint64_t size_;
};

class FileSource final : public StateSource {
 public:
  explicit FileSource(const fs::path& path)
      : StateSource(formatted("load_state \"{}\"", path_text(path)), 0), file_(path, name()) {
    size_ = file_.size();
  }

  void read_at(std::uint64_t offset, void* data, std::size_t bytes) const override {
    if (file_.read(offset, {static_cast<std::byte*>(data), bytes})) return;
    refuse("the disk failed, or the file became shorter while it was read; load it again");
  }

 private:
  RegularFile file_;
};

class MemorySource final : public StateSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes)
      : StateSource("load_state", bytes.size()), bytes_(bytes) {}

  void read_at(std::uint64_t offset, void* data, std::size_t bytes) const override {
    if (bytes > 0) std::memcpy(data, bytes_.data() + offset, bytes);
  }

 private:
  std::span<const std::byte> bytes_;
};

/// A state whose head, length and checksum are right, read from the identity on.
class StateReader {
 public:
  explicit StateReader(const StateSource& source) : source_(source), file_bytes_(source.size()) {
    check_head();
    check_checksum();
    offset_ = HeadBytes;
  }

  [[nodiscard]] const StateSource& source() const noexcept { return source_; }
  /// Bytes up to the checksum.
  [[nodiscard]] std::uint64_t left() const noexcept {
    return file_bytes_ - ChecksumBytes - offset_;
  }

  void get(void* data, std::uint64_t bytes, std::string_view what) {
    if (bytes > left()) {
      source_.refuse(formatted("{} needs {} bytes, but {} are left; the file is damaged", what,
                               bytes, left()));
    }
    source_.read_at(offset_, data, static_cast<std::size_t>(bytes));
    offset_ += bytes;
  }

  void skip(std::uint64_t bytes, std::string_view what) {
    if (bytes > left()) get(nullptr, bytes, what);  // refuses
    offset_ += bytes;
  }

  template <class T>
  [[nodiscard]] T get_value(std::string_view what) {
    T value;
    get(&value, sizeof value, what);
    return value;
  }

  [[nodiscard]] std::string get_string(std::string_view what) {
    const auto bytes = get_value<std::uint32_t>(what);
    if (bytes > MaxStringBytes || bytes > left()) {
      source_.refuse(formatted(
          "{} claims {} bytes, but {} are left and at most {} are allowed; the file is damaged",
          what, bytes, left(), MaxStringBytes));
    }
    std::string text(bytes, '\0');
    get(text.data(), bytes, what);
    return text;
  }

  [[nodiscard]] StateIdentity get_identity() {
    StateIdentity identity;
    identity.method = get_string("the method");
    identity.sample_count = get_value<std::int64_t>("the sample count");
    identity.class_count = get_value<std::int64_t>("the class count");
    identity.label_fingerprint = get_value<std::uint64_t>("the label fingerprint");
    if (identity.sample_count < 0 || identity.class_count < 0) {
      source_.refuse(formatted("written for {} samples in {} classes; both must be >= 0",
                               identity.sample_count, identity.class_count));
    }
    const auto count = get_value<std::uint32_t>("the option count");
    if (count > left() / sizeof(std::uint32_t)) {
      source_.refuse(
          formatted("claims to hold {} options in {} bytes; the file is damaged", count, left()));
    }
    for (std::uint32_t i = 0; i < count; ++i) identity.options.push_back(get_string("an option"));
    return identity;
  }

 private:
  void check_head() {
    Head head;
    source_.read_at(0, &head, static_cast<std::size_t>(std::min(file_bytes_, HeadBytes)));
    if (std::memcmp(&head, Magic.data(), std::min<std::size_t>(file_bytes_, Magic.size())) != 0) {
      source_.refuse("is not an rcap state file, which begins with RCAPSTAT");
    }
    if (file_bytes_ < MinFileBytes) {
      source_.refuse(
          formatted("truncated: {} bytes, no state file has fewer than {}; use an earlier state",
                    file_bytes_, MinFileBytes));
    }
    if (head.version != Version) {
      throw StateMismatch(
          formatted("{}: written in format version {}, this rcap reads version {}; "
                    "resume with the rcap that wrote it, or start a new run",
                    source_.name(), head.version, Version));
    }
    if (head.file_bytes != file_bytes_) {
      source_.refuse(formatted("{}: {} bytes, its head says {}; use an earlier state",
                               file_bytes_ < head.file_bytes ? "truncated" : "longer than it says",
                               file_bytes_, head.file_bytes));
    }
    if (head.reserved != 0) {
      source_.refuse(formatted("reserved word is {}; it must be 0", head.reserved));
    }
  }

  void check_checksum() {
    Hash64 hash;
    const std::uint64_t end = file_bytes_ - ChecksumBytes;
    std::vector<std::byte> buffer(
        static_cast<std::size_t>(std::min<std::uint64_t>(ReadBufferBytes, end)));
    for (std::uint64_t at = 0; at < end;) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), end - at));
      source_.read_at(at, buffer.data(), bytes);
      hash.add(buffer.data(), bytes);
      at += bytes;
    }
    std::uint64_t stored = 0;
    source_.read_at(end, &stored, sizeof stored);
    if (stored != hash.value()) {
      source_.refuse(
          formatted("altered: checksum {:016x}, its end says {:016x}; use an earlier state",
                    hash.value(), stored));
    }
  }

  const StateSource& source_;
  std::uint64_t file_bytes_;
  std::uint64_t offset_ = 0;
};

/// Fills the fields and can put everything back.
class FieldReader final : public StateFields {
 public:
  FieldReader(const Shard& shard, StateReader& input) : shard_(shard), input_(input) {}

  void number(std::string_view name, std::int64_t& value) override {
    const std::int64_t read = get_number(name);
    remember(value);
    value = read;
  }

  void flag(std::string_view name, bool& value) override {
    const std::int64_t read = get_number(name);
    if (read != 0 && read != 1) {
      input_.source().refuse(formatted("{} is {}; it must be 0 or 1", name, read));
    }
    remember(value);
    value = read == 1;
  }

  void losses(std::string_view name, std::vector<float>& values) override {
    get_numbers(name, FieldType::Losses, values);
  }

  void weights(std::string_view name, std::vector<double>& values) override {
    get_numbers(name, FieldType::Weights, values);
  }

  void sample_losses(std::string_view name, std::vector<float>& values) override {
    if (shard_.is_whole()) return losses(name, values);
    expect(name, FieldType::Losses, static_cast<std::uint64_t>(shard_.total()));
    remember(values);
    get_part(values.data(), values.size() * sizeof(float), shard_.first_id() * sizeof(float),
             shard_.total() * sizeof(float), name);
    check(name, values);
  }

  void chances(std::string_view name, std::vector<InverseChance>& values,
               std::size_t count) override {
    if (shard_.is_whole()) {
      expect(name, FieldType::Chances, count);
      remember(values);
      values.resize(count);
      return input_.get(values.data(), values.size() * sizeof(InverseChance), quoted(name));
    }
    const auto all = static_cast<std::int64_t>(expect(name, FieldType::Chances, std::nullopt));
    std::int64_t first = selected_before_;
    std::int64_t behind = first + selected_here_;
    if (selected_ == 0) {
      first = even_place(all, shard_.rank_count(), shard_.rank());
      behind = even_place(all, shard_.rank_count(), shard_.rank() + 1);
    } else if (selected_ != all) {
      input_.source().refuse(
          formatted("{} has {} values for {} selected samples; the file is damaged", quoted(name),
                    all, selected_));
    }
    remember(values);
    values.resize(static_cast<std::size_t>(behind - first));
    get_part(values.data(), values.size() * sizeof(InverseChance), first * sizeof(InverseChance),
             all * sizeof(InverseChance), name);
  }

  void samples(std::string_view name, SampleSet& values) override {
    const bool is_whole = shard_.is_whole();
    expect(name, FieldType::Samples,
           static_cast<std::uint64_t>(is_whole ? values.sample_count() : shard_.total()));
    remember(values);
    if (is_whole) {
      input_.get(values.words().data(), values.words().size_bytes(), quoted(name));
    } else {
      get_part_of(name, values);
    }
    if (has_bits_past_end(values)) {
      input_.source().refuse(
          formatted("{} holds a sample past the last one, {}", name, values.sample_count() - 1));
    }
  }

  void finish() const {
    if (input_.left() > 0) {
      input_.source().refuse(formatted("{} bytes after the last of {} fields; the file is damaged",
                                       input_.left(), field_count_));
    }
  }

  /// Last field first, so that one listed twice gets its first value back.
  void put_back() {
    for (; !undo_.empty(); undo_.pop_back()) undo_.back()();
  }

 private:
  static std::string quoted(std::string_view name) { return formatted("field \"{}\"", name); }

  template <class T>
  void remember(T& value) {
    undo_.emplace_back([&value, old = value]() mutable { std::swap(value, old); });
  }

  /// Reads this shard's bytes of a field.
  /// @param before, all  how many bytes come before, and how many all shards have
  void get_part(void* data, std::uint64_t bytes, std::uint64_t before, std::uint64_t all,
                std::string_view name) {
    input_.skip(before, quoted(name));
    input_.get(data, bytes, quoted(name));
    input_.skip(all - before - bytes, quoted(name));
  }

  /// Reads this shard's part of a set. Of the selection, it also counts what lies before the part
  /// and in all: that tells where the shard's part of other fields lies.
  void get_part_of(std::string_view name, SampleSet& values) {
    constexpr std::uint64_t WordBytes = sizeof(std::uint64_t);
    const auto words_before = static_cast<std::uint64_t>((shard_.first_id() + 63) / 64);
    const auto all_words = static_cast<std::uint64_t>((shard_.total() + 63) / 64);
    const std::uint64_t words_here = values.words().size();
    if (name != "selected") {
      return get_part(values.words().data(), words_here * WordBytes, words_before * WordBytes,
                      all_words * WordBytes, name);
    }
    selected_before_ = count_members(words_before, name);
    input_.get(values.words().data(), words_here * WordBytes, quoted(name));
    selected_here_ = values.count();
    selected_ = selected_before_ + selected_here_ +
                count_members(all_words - words_before - words_here, name);
  }

  /// Reads words of a set; how many samples they hold.
  std::int64_t count_members(std::uint64_t word_count, std::string_view name) {
    std::int64_t members = 0;
    std::vector<std::uint64_t> words;
    for (; word_count > 0; word_count -= words.size()) {
      words.resize(std::min<std::uint64_t>(word_count, ReadBufferBytes / sizeof(std::uint64_t)));
      input_.get(words.data(), words.size() * sizeof(std::uint64_t), quoted(name));
      members += count_bits(words);
    }
    return members;
  }

  template <class Real>
  void check(std::string_view name, const std::vector<Real>& values) const {
    if (const auto i = first_bad_number(values); i < values.size()) {
      input_.source().refuse(
          formatted("{}[{}] is {}; it must be finite and >= 0", name, i, values[i]));
    }
  }

  /// Numbers that are finite and >= 0.
  template <class Real>
  void get_numbers(std::string_view name, FieldType type, std::vector<Real>& values) {
    expect(name, type, values.size());
    remember(values);
    input_.get(values.data(), values.size() * sizeof(Real), quoted(name));
    check(name, values);
  }

  std::int64_t get_number(std::string_view name) {
    expect(name, FieldType::Number, 1);
    return input_.get_value<std::int64_t>(quoted(name));
  }

  /// @param count  of values; any if there is none
  /// @return how many there are
  std::uint64_t expect(std::string_view name, FieldType type, std::optional<std::uint64_t> count) {
    ++field_count_;
    if (input_.left() == 0) {
      input_.source().refuse(
          formatted("ends before field {}, \"{}\"; the file is damaged", field_count_, name));
    }
    const std::string read_name = input_.get_string("a field name");
    const auto read_type = input_.get_value<std::uint32_t>("a field type");
    const auto read_count = input_.get_value<std::uint64_t>("a field length");
    if (read_name != name || read_type != static_cast<std::uint32_t>(type) ||
        read_count != count.value_or(read_count)) {
      input_.source().refuse(
          formatted("field {} is {:?} of type {} and length {}; it must be {:?} of type {} and "
                    "length {}",
                    field_count_, read_name, read_type, read_count, name,
                    static_cast<std::uint32_t>(type), count.value_or(read_count)));
    }
    return read_count;
  }

  const Shard& shard_;
  StateReader& input_;
  std::vector<std::function<void()>> undo_;  ///< puts a field back
  std::int64_t field_count_ = 0;
  // Of shards, in "selected":
  std::int64_t selected_before_ = 0;  ///< in the shards before
  std::int64_t selected_here_ = 0;
  std::int64_t selected_ = 0;  ///< in all
};

std::string in_one_line(const std::vector<std::string>& options) {
  std::string line;
  for (const std::string& option : options) line += (line.empty() ? "" : " ") + option;
  return line;
}

/// The elements of `options` that `others` lacks, in one line.
std::string only_in(std::vector<std::string> options, const std::vector<std::string>& others) {
  std::erase_if(options, [&](const std::string& option) {
    return std::ranges::find(others, option) != others.end();
  });
  return options.empty() ? "no such option" : in_one_line(options);
}

std::string describe_difference(const std::vector<std::string>& file,
                                const std::vector<std::string>& ours) {
  if (std::is_permutation(file.begin(), file.end(), ours.begin(), ours.end())) {
    return formatted("written with the options in the order {}, this run has {}", in_one_line(file),
                     in_one_line(ours));
  }
  return formatted("written with {}, this run has {}", only_in(file, ours), only_in(ours, file));
}

void require_same(const StateSource& source, const StateIdentity& file, const StateIdentity& ours) {
  const auto differ = [&source](const std::string& what, std::string_view advice) {
    throw StateMismatch(
        formatted("{}: {}; resume with the {} the run began with, or start a new run",
                  source.name(), what, advice));
  };
  if (file.method != ours.method) {
    differ(formatted("written by method {:?}, this run has {:?}", file.method, ours.method),
           "method");
  }
  if (file.sample_count != ours.sample_count || file.class_count != ours.class_count) {
    differ(formatted("written for {} samples in {} classes, this data set has {} in {}",
                     file.sample_count, file.class_count, ours.sample_count, ours.class_count),
           "data set");
  }
  if (file.label_fingerprint != ours.label_fingerprint) {
    differ(formatted("the labels differ: written for {} samples in {} classes with fingerprint "
                     "{:016x}, this data set has {:016x}",
                     file.sample_count, file.class_count, file.label_fingerprint,
                     ours.label_fingerprint),
           "data set");
  }
  if (file.options != ours.options) {
    differ(describe_difference(file.options, ours.options), "options");
  }
}

/// @param open  makes the source
void read_state(const Shard& shard, const std::function<std::unique_ptr<StateSource>()>& open,
                const StateIdentity& identity, const ListFields& list_fields) {
  std::unique_ptr<StateSource> source;
  std::optional<StateReader> input;
  std::optional<FieldReader> fields;
  try {
    together(shard, [&] {
      source = open();
      input.emplace(*source);
      require_same(*source, input->get_identity(), identity);
      fields.emplace(shard, *input);
      list_fields(*fields);
      fields->finish();
    });
  } catch (...) {
    if (fields) fields->put_back();
    throw;
  }
}

}  // namespace

std::int64_t even_place(std::int64_t count, int rank_count, int rank) {
  return count / rank_count * rank + count % rank_count * rank / rank_count;
}

void read_state_file(const fs::path& path, const StateIdentity& identity,
                     const ListFields& list_fields) {
  read_shard_from_file(Shard(0), path, identity, list_fields);
}

void read_shard_from_file(const Shard& shard, const fs::path& path, const StateIdentity& identity,
                          const ListFields& list_fields) {
  read_state(
      shard, [&] { return std::make_unique<FileSource>(path); }, identity, list_fields);
}

void decode_state(std::span<const std::byte> bytes, const StateIdentity& identity,
                  const ListFields& list_fields) {
  decode_shard(Shard(0), bytes, identity, list_fields);
}

void decode_shard(const Shard& shard, std::span<const std::byte> bytes,
                  const StateIdentity& identity, const ListFields& list_fields) {
  read_state(
      shard, [&] { return std::make_unique<MemorySource>(bytes); }, identity, list_fields);
}

StateIdentity read_state_identity(const fs::path& path) {
  const FileSource source(path);
  return StateReader(source).get_identity();
}

}  // namespace rcap
