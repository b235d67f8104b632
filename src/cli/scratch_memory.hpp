#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace rcap::cli {

/// Memory in files, for a process that plays many ranks one after another: what a rank allocates in
/// large blocks lies in a file that is mapped, and while others are at work the rank's pages need
/// not stay in memory. Files have no name any more once they are open, so nothing is left of them,
/// however the process ends.
///
/// The program's operator new takes large blocks from the file of the calling thread's rank. One
/// object at a time.
class ScratchMemory {
 public:
  /// @param folder  must exist
  /// @throws BadFile  if files cannot be made there, or are not available in this build
  ScratchMemory(const std::filesystem::path& folder, int rank_count);
  /// Everything in it must be deleted before.
  ~ScratchMemory();
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;

  /// From now on large blocks of this thread lie in the file of this rank; -1: in main memory.
  static void use(int rank) noexcept;
  /// Takes the rank's pages out of memory; they come back when they are read.
  void park(int rank) noexcept;
  /// The most that lay in all files together.
  [[nodiscard]] std::int64_t peak_bytes() const noexcept;
};

}  // namespace rcap::cli
