#include "cli/scratch_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

/// Addresses that each rank may use; files take room on the disk only where something is written.
constexpr std::size_t RankAddresses = std::size_t{1} << 36;
constexpr std::size_t PageBytes = 4096;

/// The blocks of one rank's file.
class RankFile {
 public:
  RankFile(const std::filesystem::path& folder, std::byte* begin) : begin_(begin) {
    std::string name = (folder / "rcap-scratch-XXXXXX").string();
    file_ = ::mkostemp(name.data(), O_CLOEXEC);
    const bool is_open = file_ >= 0 && ::unlink(name.c_str()) == 0 &&
                         ::ftruncate(file_, static_cast<off_t>(RankAddresses)) == 0;
    if (!is_open || ::mmap(begin, RankAddresses, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_, 0) == MAP_FAILED) {
      throw BadFile(fmt::format("--scratch {}: no file can be made there: {}", folder.string(),
                                std::strerror(errno)));
    }
    free_[0] = RankAddresses;
  }
  ~RankFile() {
    ::munmap(begin_, RankAddresses);
    ::close(file_);
  }
  RankFile(const RankFile&) = delete;
  RankFile& operator=(const RankFile&) = delete;

  /// @return nullptr if there is no room
  void* allocate(std::size_t bytes) {
    const std::size_t whole = (bytes + PageBytes - 1) / PageBytes * PageBytes;
    const auto hole =
        std::ranges::find_if(free_, [whole](const auto& of) { return of.second >= whole; });
    if (hole == free_.end()) return nullptr;
    const auto [first, length] = *hole;
    free_.erase(hole);
    if (length > whole) free_[first + whole] = length - whole;
    used_[first] = whole;
    bytes_ += static_cast<std::int64_t>(whole);
    return begin_ + first;
  }

  void release(void* block) {
    const auto found =
        used_.find(static_cast<std::size_t>(static_cast<std::byte*>(block) - begin_));
    auto [first, length] = *found;
    used_.erase(found);
    bytes_ -= static_cast<std::int64_t>(length);
    (void)::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                      static_cast<off_t>(length));
    const auto next = free_.upper_bound(first);
    if (next != free_.end() && next->first == first + length) {
      length += next->second;
      free_.erase(next);
    }
    const auto after = free_.upper_bound(first);
    if (after != free_.begin() && std::prev(after)->first + std::prev(after)->second == first) {
      std::prev(after)->second += length;
    } else {
      free_[first] = length;
    }
  }

  void park() noexcept {
    for (const auto& [first, length] : used_) ::madvise(begin_ + first, length, MADV_DONTNEED);
  }

  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* begin_;
  int file_ = -1;
  std::map<std::size_t, std::size_t> free_;  ///< first byte and length
  std::map<std::size_t, std::size_t> used_;
  std::int64_t bytes_ = 0;
};

/// All ranks' files, one after another in the addresses.
struct Files {
  std::mutex mutex;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  std::vector<std::unique_ptr<RankFile>> of_ranks;
  std::int64_t peak_bytes = 0;
};

Files& files() {
  static Files* const all = new Files;  // lives as long as operator delete may be called
  return *all;
}

thread_local int rank_of_thread = -1;

#if !defined(RCAP_SANITIZED)

/// Smaller blocks are left where they are: there are few bytes in all of them.
constexpr std::size_t LeastBytes = std::size_t{1} << 20;

[[nodiscard]] bool lies_in_files(const void* block) {
  const auto* const byte = static_cast<const std::byte*>(block);
  return byte >= files().begin && byte < files().end;
}

void* allocate(std::size_t bytes) {
  if (rank_of_thread >= 0 && bytes >= LeastBytes) {
    const int rank = std::exchange(rank_of_thread, -1);  // the maps' own memory is not in a file
    void* block = nullptr;
    {
      const std::scoped_lock lock(files().mutex);
      block = files().of_ranks[static_cast<std::size_t>(rank)]->allocate(bytes);
      std::int64_t all = 0;
      for (const auto& file : files().of_ranks) all += file->bytes();
      files().peak_bytes = std::max(files().peak_bytes, all);
    }
    rank_of_thread = rank;
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  void* const block = std::malloc(std::max<std::size_t>(bytes, 1));
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void* block) noexcept {
  if (block == nullptr || !lies_in_files(block)) return std::free(block);
  const std::scoped_lock lock(files().mutex);
  const auto rank =
      static_cast<std::size_t>(static_cast<std::byte*>(block) - files().begin) / RankAddresses;
  files().of_ranks[rank]->release(block);
}

#endif

}  // namespace

ScratchMemory::ScratchMemory(const std::filesystem::path& folder, int rank_count) {
#if defined(RCAP_SANITIZED)
  throw BadFile("--scratch " + folder.string() + ": not available in a build with sanitizers");
#endif
  Files& all = files();
  const std::size_t bytes = static_cast<std::size_t>(rank_count) * RankAddresses;
  void* const addresses =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED) {
    throw BadFile(fmt::format("--scratch: no addresses for {} ranks; use fewer", rank_count));
  }
  auto* const begin = static_cast<std::byte*>(addresses);
  std::vector<std::unique_ptr<RankFile>> of_ranks;
  for (int rank = 0; rank < rank_count; ++rank) {
    of_ranks.push_back(
        std::make_unique<RankFile>(folder, begin + static_cast<std::size_t>(rank) * RankAddresses));
  }
  all.of_ranks = std::move(of_ranks);
  all.peak_bytes = 0;
  all.begin = begin;
  all.end = begin + bytes;
}

ScratchMemory::~ScratchMemory() {
  Files& all = files();
  all.begin = nullptr;
  all.end = nullptr;
  all.of_ranks.clear();
}

void ScratchMemory::use(int rank) noexcept { rank_of_thread = rank; }

void ScratchMemory::park(int rank) noexcept {
  const std::scoped_lock lock(files().mutex);
  files().of_ranks[static_cast<std::size_t>(rank)]->park();
}

std::int64_t ScratchMemory::peak_bytes() const noexcept { return files().peak_bytes; }

}  // namespace rcap::cli

#if !defined(RCAP_SANITIZED)

// In place of those of the standard library; the other forms call these.
void* operator new(std::size_t bytes) { return rcap::cli::allocate(bytes); }
void operator delete(void* block) noexcept { rcap::cli::release(block); }
void operator delete(void* block, std::size_t) noexcept { rcap::cli::release(block); }

#endif
