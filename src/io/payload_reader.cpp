#include "io/payload_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <zlib.h>

#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t PieceBytes = 1 << 16;
constexpr int GzipOnly = MAX_WBITS + 16;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

OpenFile open_file(const fs::path& path) {
  OpenFile file(std::fopen(path.c_str(), "rb"));
  if (!file) refuse_file(path, "cannot be opened: {}", std::generic_category().message(errno));
  return file;
}

}  // namespace

class PayloadReader::State {
 public:
  explicit State(const fs::path& path)
      : path_(path), file_bytes_(size_of_file(path)), file_(open_file(path)) {
    fill();
    compressed_ = starts_a_member();
    if (compressed_ && inflateInit2(&stream_, GzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~State() {
    if (compressed_) inflateEnd(&stream_);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::size_t read(std::span<std::uint8_t> out) {
    return compressed_ ? read_compressed(out) : read_plain(out);
  }

  [[nodiscard]] bool compressed() const noexcept { return compressed_; }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  [[nodiscard]] std::uint64_t consumed_bytes() const noexcept {
    return read_bytes_ - (end_ - begin_);
  }

 private:
  /// Moves the unread rest of the piece to its front and fills the space behind it.
  void fill() {
    std::copy(piece_.begin() + static_cast<std::ptrdiff_t>(begin_),
              piece_.begin() + static_cast<std::ptrdiff_t>(end_), piece_.begin());
    end_ -= begin_;
    begin_ = 0;
    const std::size_t count = std::fread(piece_.data() + end_, 1, PieceBytes - end_, file_.get());
    if (count == 0 && std::ferror(file_.get()) != 0) {
      refuse_file(path_, "cannot be read: {}", std::generic_category().message(errno));
    }
    end_ += count;
    read_bytes_ += count;
  }

  [[nodiscard]] bool starts_a_member() {
    if (end_ - begin_ < 2) fill();
    return end_ - begin_ >= 2 && piece_[begin_] == 0x1f && piece_[begin_ + 1] == 0x8b;
  }

  std::size_t read_plain(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size()) {
      if (begin_ == end_) fill();
      if (begin_ == end_) break;
      const std::size_t count = std::min(out.size() - done, end_ - begin_);
      std::copy_n(piece_.begin() + static_cast<std::ptrdiff_t>(begin_), count,
                  out.begin() + static_cast<std::ptrdiff_t>(done));
      begin_ += count;
      done += count;
    }
    return done;
  }

  std::size_t read_compressed(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size() && !ended_) {
      if (begin_ == end_) fill();
      if (begin_ == end_) {
        refuse_file(
            path_,
            "the gzip stream ends early, after {} bytes; the file is truncated; fetch it again",
            file_bytes_);
      }
      done += inflate_piece(out.subspan(done));
    }
    return done;
  }

  std::size_t inflate_piece(std::span<std::uint8_t> out) {
    stream_.next_in = piece_.data() + begin_;
    stream_.avail_in = static_cast<uInt>(end_ - begin_);
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1U << 30));
    const uInt asked = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    begin_ = end_ - stream_.avail_in;
    if (result == Z_STREAM_END) {
      end_member();
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      refuse_file(path_, "the gzip stream is damaged before byte {}: {}; fetch it again",
                  consumed_bytes(), stream_.msg == nullptr ? "no reason given" : stream_.msg);
    }
    return asked - stream_.avail_out;
  }

  /// A gzip file may consist of several streams, one after another, and nothing else.
  void end_member() {
    if (starts_a_member()) {
      inflateReset(&stream_);
      return;
    }
    ended_ = true;
    if (begin_ < end_) {
      refuse_file(path_, "{} bytes follow the gzip stream; fetch the file again",
                  file_bytes_ - consumed_bytes());
    }
  }

  fs::path path_;
  std::uint64_t file_bytes_;
  OpenFile file_;
  std::array<std::uint8_t, PieceBytes> piece_;
  std::size_t begin_ = 0, end_ = 0;  ///< the part of `piece_` not read yet
  std::uint64_t read_bytes_ = 0;
  bool compressed_ = false;
  bool ended_ = false;
  z_stream stream_{};
};

PayloadReader::PayloadReader(const fs::path& path) : state_(std::make_unique<State>(path)) {}
PayloadReader::~PayloadReader() = default;

std::size_t PayloadReader::read(std::span<std::uint8_t> out) { return state_->read(out); }
bool PayloadReader::compressed() const noexcept { return state_->compressed(); }
std::uint64_t PayloadReader::file_bytes() const noexcept { return state_->file_bytes(); }
std::uint64_t PayloadReader::consumed_bytes() const noexcept { return state_->consumed_bytes(); }

std::vector<std::uint8_t> read_file(const fs::path& path, std::uint64_t most_bytes) {
  const std::uint64_t file_bytes = size_of_file(path);
  if (file_bytes > most_bytes) {
    refuse_file(path, "holds {} bytes; at most {} are read", file_bytes, most_bytes);
  }
  const OpenFile file = open_file(path);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file_bytes));
  const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), file.get());
  if (count != bytes.size()) {
    refuse_file(path, "only {} of {} bytes could be read", count, bytes.size());
  }
  return bytes;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::uint64_t size_of_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) refuse_file(path, "there is no such file");
  if (error) refuse_file(path, "cannot be opened: {}", error.message());
  if (!fs::is_regular_file(status)) refuse_file(path, "is not a regular file");
  const std::uint64_t bytes = fs::file_size(path, error);
  if (error) refuse_file(path, "cannot be opened: {}", error.message());
  return bytes;
}

}  // namespace rcap
