#include "study/folder_lock.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/file.h>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

constexpr std::chrono::milliseconds Pause{50};
constexpr int Tries = 100;

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "lock";
  // Without O_CLOEXEC, so that runs hold the lock too.
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT, 0666);
  if (file_ < 0) {
    throw BadFile(fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno)));
  }
  for (int i = 0; i < Tries; ++i) {
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
    std::this_thread::sleep_for(Pause);
  }
  ::close(file_);
  throw InvalidArgument(
      fmt::format("{}: another study is running in this folder; wait for it, or choose another "
                  "folder",
                  folder.string()));
}

FolderLock::~FolderLock() { ::close(file_); }

}  // namespace rcap
