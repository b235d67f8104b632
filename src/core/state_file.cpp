#include "rcap/core/state_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <limits>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little,
              "state files are little-endian and are read and written without conversion");
static_assert(std::numeric_limits<float>::is_iec559 && sizeof(float) == 4);

// The layout is described in docs/state_format.md.
constexpr std::array<char, 8> Magic = {'R', 'C', 'A', 'P', 'S', 'T', 'A', 'T'};
constexpr std::uint32_t Version = 1;
constexpr std::uint64_t HeadBytes = 24;
constexpr std::uint64_t ChecksumBytes = 8;
/// Head, empty method, three numbers, no options, checksum.
constexpr std::uint64_t MinFileBytes = HeadBytes + 4 + 24 + 4 + ChecksumBytes;
constexpr std::size_t MaxStringBytes = 65535;
constexpr std::size_t BufferBytes = std::size_t{1} << 20;

enum class FieldType : std::uint32_t { Number = 1, Losses = 2, Samples = 3 };

struct Head {
  std::array<char, 8> magic = Magic;
  std::uint32_t version = Version;
  std::uint32_t reserved = 0;
  std::uint64_t file_bytes = 0;
};
static_assert(sizeof(Head) == HeadBytes);

// ---- shared by both ways

class FileHandle {
 public:
  explicit FileHandle(int descriptor) noexcept : descriptor_(descriptor) {}
  ~FileHandle() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

class Hash {
 public:
  Hash() noexcept { XXH3_64bits_reset(&state_); }
  void add(const void* data, std::size_t bytes) noexcept {
    if (bytes > 0) XXH3_64bits_update(&state_, data, bytes);
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

std::string reason(int error) { return std::generic_category().message(error); }

std::string_view kind_of(mode_t mode) {
  return S_ISDIR(mode) ? "is a directory" : "is not a regular file";
}

/// The first value that no loss may have, or the length.
std::size_t first_bad_loss(std::span<const float> values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) {
    return !(value >= 0.0F && value <= std::numeric_limits<float>::max());
  });
  return static_cast<std::size_t>(bad - values.begin());
}

bool has_bits_past_end(const SampleSet& set) {
  const auto used = set.sample_count() % 64;
  return used != 0 && (set.words().back() >> used) != 0;
}

// ---- writing

[[noreturn]] void fail_to_write(const fs::path& path, std::string_view what, int error) {
  const std::string_view advice = error == ENOSPC || error == EDQUOT    ? "free some space"
                                  : error == ENOENT || error == ENOTDIR ? "the folder must exist"
                                  : error == EACCES || error == EPERM || error == EROFS
                                      ? "choose a folder that can be written to"
                                      : "a file that stood there before is untouched";
  throw BadFile(formatted("save_state \"{}\": cannot {}: {}; {}", path.string(), what,
                          reason(error), advice));
}

/// A file under a temporary name that takes the place of `path` when it is complete,
/// or goes away.
class NewFile {
 public:
  explicit NewFile(const fs::path& path)
      : path_(path), name_(path.filename().string()), folder_(open_folder()), file_(create()) {}
  ~NewFile() {
    if (!committed_) ::unlinkat(folder_.get(), temporary_name_.c_str(), 0);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void put(const void* data, std::size_t bytes) {
    hash_.add(data, bytes);
    bytes_put_ += bytes;
    const auto* first = static_cast<const std::byte*>(data);
    if (buffer_.size() + bytes > BufferBytes) flush();
    if (bytes > BufferBytes) {
      write_all(first, bytes);
    } else {
      buffer_.insert(buffer_.end(), first, first + bytes);
    }
  }

  [[nodiscard]] std::uint64_t bytes_put() const noexcept { return bytes_put_; }
  /// The checksum of everything put so far.
  [[nodiscard]] std::uint64_t checksum() const noexcept { return hash_.value(); }

  void commit() {
    flush();
    if (::fsync(file_.get()) != 0) fail_to_write(path_, "sync the file", errno);
    if (::close(file_.release()) != 0) fail_to_write(path_, "close the file", errno);
    if (::renameat(folder_.get(), temporary_name_.c_str(), folder_.get(), name_.c_str()) != 0) {
      fail_to_write(path_, "give the file its name", errno);
    }
    committed_ = true;
    // EINVAL: a file system that does not sync folders.
    if (::fsync(folder_.get()) != 0 && errno != EINVAL) {
      throw BadFile(formatted(
          "save_state \"{}\": the file is complete, but its folder cannot be synced: {}; it may be "
          "lost if the machine stops now",
          path_.string(), reason(errno)));
    }
  }

 private:
  [[nodiscard]] int open_folder() const {
    const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
      fail_to_write(path_, formatted("open the folder \"{}\"", folder.string()), errno);
    }
    return descriptor;
  }

  /// Refuses what a rename must not replace, then makes the temporary file.
  [[nodiscard]] int create() {
    struct stat old {};
    if (name_.empty() || name_ == "." || name_ == "..") {
      throw BadFile(
          formatted("save_state \"{}\": names no file; give a file name", path_.string()));
    }
    if (::fstatat(folder_.get(), name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(old.st_mode) && !S_ISLNK(old.st_mode)) {
      throw BadFile(formatted("save_state \"{}\": {}; a state replaces regular files only",
                              path_.string(), kind_of(old.st_mode)));
    }
    for (int attempt = 0;; ++attempt) {
      temporary_name_ = formatted(".rcap-state-{}-{}.tmp", ::getpid(), attempt);
      const int descriptor = ::openat(folder_.get(), temporary_name_.c_str(),
                                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor >= 0) return descriptor;
      if (errno != EEXIST || attempt == 9999) fail_to_write(path_, "make a file", errno);
    }
  }

  void flush() {
    write_all(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

  void write_all(const std::byte* data, std::size_t bytes) {
    while (bytes > 0) {
      const ssize_t written = ::write(file_.get(), data, bytes);
      if (written < 0) {
        if (errno == EINTR) continue;
        fail_to_write(path_, "write the file", errno);
      }
      data += written;
      bytes -= static_cast<std::size_t>(written);
    }
  }

  fs::path path_;
  std::string name_;
  FileHandle folder_;
  std::string temporary_name_;
  FileHandle file_;
  std::vector<std::byte> buffer_;
  Hash hash_;
  std::uint64_t bytes_put_ = 0;
  bool committed_ = false;
};

class ByteCounter {
 public:
  void put(const void*, std::size_t bytes) noexcept { count_ += bytes; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  std::uint64_t count_ = 0;
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

// ---- reading

[[noreturn]] void refuse(const fs::path& path, std::string_view what) {
  throw BadFile(formatted("load_state \"{}\": {}", path.string(), what));
}

/// A state file whose head, length and checksum are right, read from the identity on.
class StateReader {
 public:
  explicit StateReader(const fs::path& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_.get() < 0) refuse(path_, formatted("cannot open the file: {}", reason(errno)));
    check_kind();
    check_head();
    check_checksum();
    offset_ = HeadBytes;
  }

  [[nodiscard]] const fs::path& path() const noexcept { return path_; }
  /// Bytes up to the checksum.
  [[nodiscard]] std::uint64_t left() const noexcept {
    return file_bytes_ - ChecksumBytes - offset_;
  }

  void get(void* data, std::uint64_t bytes, std::string_view what) {
    if (bytes > left()) {
      refuse(path_, formatted("{} needs {} bytes where {} are left; the file is damaged", what,
                              bytes, left()));
    }
    read_at(offset_, data, static_cast<std::size_t>(bytes));
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
      refuse(path_, formatted("{} is said to have {} bytes where {} are left and at most {} may "
                              "be; the file is damaged",
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
      refuse(path_, formatted("written for {} samples in {} classes; both must be >= 0",
                              identity.sample_count, identity.class_count));
    }
    const auto count = get_value<std::uint32_t>("the option count");
    if (count > left() / sizeof(std::uint32_t)) {
      refuse(path_, formatted("is said to hold {} options in {} bytes; the file is damaged", count,
                              left()));
    }
    for (std::uint32_t i = 0; i < count; ++i) identity.options.push_back(get_string("an option"));
    return identity;
  }

 private:
  void check_kind() {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) {
      refuse(path_, formatted("cannot look at the file: {}", reason(errno)));
    }
    if (!S_ISREG(status.st_mode)) {
      refuse(path_, formatted("{}; give a state file", kind_of(status.st_mode)));
    }
    file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  }

  void check_head() {
    Head head;
    read_at(0, &head, static_cast<std::size_t>(std::min(file_bytes_, HeadBytes)));
    if (std::memcmp(&head, Magic.data(), std::min<std::size_t>(file_bytes_, Magic.size())) != 0) {
      refuse(path_, "is not a state file of rcap; such a file begins with RCAPSTAT");
    }
    if (file_bytes_ < MinFileBytes) {
      refuse(path_, formatted("truncated: {} bytes, no state file has fewer than {}; use an "
                              "earlier state",
                              file_bytes_, MinFileBytes));
    }
    if (head.version != Version) {
      throw StateMismatch(
          formatted("load_state \"{}\": written in format version {}, this rcap reads version {}; "
                    "resume with the rcap that wrote it, or start a new run",
                    path_.string(), head.version, Version));
    }
    if (head.file_bytes != file_bytes_) {
      refuse(path_, formatted("{}: {} bytes, its head says {}; use an earlier state",
                              file_bytes_ < head.file_bytes ? "truncated" : "longer than it says",
                              file_bytes_, head.file_bytes));
    }
    if (head.reserved != 0) {
      refuse(path_, formatted("reserved word is {}; it must be 0", head.reserved));
    }
  }

  void check_checksum() {
    Hash hash;
    std::vector<std::byte> buffer(BufferBytes);
    const std::uint64_t end = file_bytes_ - ChecksumBytes;
    for (std::uint64_t at = 0; at < end;) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(BufferBytes, end - at));
      read_at(at, buffer.data(), bytes);
      hash.add(buffer.data(), bytes);
      at += bytes;
    }
    std::uint64_t stored = 0;
    read_at(end, &stored, sizeof stored);
    if (stored != hash.value()) {
      refuse(path_, formatted("altered: checksum {:016x}, its end says {:016x}; use an earlier "
                              "state",
                              hash.value(), stored));
    }
  }

  void read_at(std::uint64_t offset, void* data, std::size_t bytes) const {
    auto* first = static_cast<std::byte*>(data);
    while (bytes > 0) {
      const ssize_t got = ::pread(file_.get(), first, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(path_, formatted("cannot read the file: {}", reason(errno)));
      if (got == 0) refuse(path_, "became shorter while it was read; load it again");
      first += got;
      offset += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
  }

  fs::path path_;
  FileHandle file_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t offset_ = 0;
};

/// Fills the fields and can put everything back.
class FieldReader final : public StateFields {
 public:
  explicit FieldReader(StateReader& input) : input_(input) {}

  void number(std::string_view name, std::int64_t& value) override {
    expect(name, FieldType::Number, 1);
    const auto read = input_.get_value<std::int64_t>(quoted(name));
    old_numbers_.emplace_back(&value, value);
    value = read;
  }

  void losses(std::string_view name, std::vector<float>& values) override {
    expect(name, FieldType::Losses, values.size());
    old_losses_.emplace_back(&values, values);
    input_.get(values.data(), values.size() * sizeof(float), quoted(name));
    if (const auto i = first_bad_loss(values); i < values.size()) {
      refuse(input_.path(),
             formatted("{}[{}] is {}; it must be finite and >= 0", name, i, values[i]));
    }
  }

  void samples(std::string_view name, SampleSet& values) override {
    expect(name, FieldType::Samples, static_cast<std::uint64_t>(values.sample_count()));
    old_sets_.emplace_back(&values, values);
    input_.get(values.words().data(), values.words().size_bytes(), quoted(name));
    if (has_bits_past_end(values)) {
      refuse(input_.path(),
             formatted("{} holds a sample past the last one, {}", name, values.sample_count() - 1));
    }
  }

  void finish() const {
    if (input_.left() > 0) {
      refuse(input_.path(), formatted("{} bytes after the last of {} fields; the file is damaged",
                                      input_.left(), field_count_));
    }
  }

  /// Last field first, so that one listed twice gets its first value back.
  void put_back() {
    for (; !old_numbers_.empty(); old_numbers_.pop_back()) {
      *old_numbers_.back().first = old_numbers_.back().second;
    }
    for (; !old_losses_.empty(); old_losses_.pop_back()) {
      old_losses_.back().first->swap(old_losses_.back().second);
    }
    for (; !old_sets_.empty(); old_sets_.pop_back()) {
      std::swap(*old_sets_.back().first, old_sets_.back().second);
    }
  }

 private:
  static std::string quoted(std::string_view name) { return formatted("field \"{}\"", name); }

  void expect(std::string_view name, FieldType type, std::uint64_t count) {
    ++field_count_;
    if (input_.left() == 0) {
      refuse(input_.path(),
             formatted("ends before field {}, \"{}\"; the file is damaged", field_count_, name));
    }
    const std::string read_name = input_.get_string("a field name");
    const auto read_type = input_.get_value<std::uint32_t>("a field type");
    const auto read_count = input_.get_value<std::uint64_t>("a field length");
    if (read_name != name || read_type != static_cast<std::uint32_t>(type) || read_count != count) {
      refuse(input_.path(),
             formatted("field {} is {:?} of type {} and length {}; it must be {:?} of type {} and "
                       "length {}",
                       field_count_, read_name, read_type, read_count, name,
                       static_cast<std::uint32_t>(type), count));
    }
  }

  StateReader& input_;
  std::vector<std::pair<std::int64_t*, std::int64_t>> old_numbers_;
  std::vector<std::pair<std::vector<float>*, std::vector<float>>> old_losses_;
  std::vector<std::pair<SampleSet*, SampleSet>> old_sets_;
  std::int64_t field_count_ = 0;
};

std::string in_one_line(const std::vector<std::string>& options) {
  std::string line;
  for (const std::string& option : options) line += (line.empty() ? "" : " ") + option;
  return line;
}

/// The elements of `options` that `others` lacks, in one line.
std::string only_in(const std::vector<std::string>& options,
                    const std::vector<std::string>& others) {
  std::vector<std::string> lacking;
  std::copy_if(options.begin(), options.end(), std::back_inserter(lacking),
               [&](const auto& option) {
                 return std::find(others.begin(), others.end(), option) == others.end();
               });
  return lacking.empty() ? "no such option" : in_one_line(lacking);
}

std::string describe_difference(const std::vector<std::string>& file,
                                const std::vector<std::string>& ours) {
  if (std::is_permutation(file.begin(), file.end(), ours.begin(), ours.end())) {
    return formatted("written with the options in the order {}, this run has {}", in_one_line(file),
                     in_one_line(ours));
  }
  return formatted("written with {}, this run has {}", only_in(file, ours), only_in(ours, file));
}

void require_same(const fs::path& path, const StateIdentity& file, const StateIdentity& ours) {
  const auto differ = [&path](const std::string& what, std::string_view advice) {
    throw StateMismatch(
        formatted("load_state \"{}\": {}; resume with the {} the run began with, "
                  "or start a new run",
                  path.string(), what, advice));
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

}  // namespace

void write_state_file(const fs::path& path, const StateIdentity& identity,
                      const std::function<void(StateFields&)>& list_fields) {
  const auto encode = [&](auto& sink) {
    Encoder encoder(sink);
    encoder.identity(identity);
    list_fields(encoder);
  };
  ByteCounter counter;
  encode(counter);
  const Head head{.file_bytes = HeadBytes + counter.count() + ChecksumBytes};

  NewFile file(path);
  file.put(&head, sizeof head);
  encode(file);
  const std::uint64_t checksum = file.checksum();
  file.put(&checksum, sizeof checksum);
  if (file.bytes_put() != head.file_bytes) {
    throw InternalError(
        formatted("write_state_file: the fields took {} bytes when counted and {} "
                  "when written; they must be listed alike every time",
                  head.file_bytes, file.bytes_put()));
  }
  file.commit();
}

void read_state_file(const fs::path& path, const StateIdentity& identity,
                     const std::function<void(StateFields&)>& list_fields) {
  StateReader input(path);
  require_same(path, input.get_identity(), identity);
  FieldReader fields(input);
  try {
    list_fields(fields);
    fields.finish();
  } catch (...) {
    fields.put_back();
    throw;
  }
}

StateIdentity read_state_identity(const fs::path& path) { return StateReader(path).get_identity(); }

}  // namespace rcap
