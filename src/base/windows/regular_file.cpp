#include "base/regular_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>

#include "base/formatted.hpp"
#include "base/windows/system.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

HANDLE system_handle(int descriptor) noexcept {
  return reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor));
}

/// Its size and when it was written.
bool examine(int descriptor, std::uint64_t& size, timespec& written) noexcept {
  LARGE_INTEGER length{};
  FILETIME time{};
  const HANDLE file = system_handle(descriptor);
  if (::GetFileSizeEx(file, &length) == 0 || ::GetFileTime(file, nullptr, nullptr, &time) == 0) {
    return false;
  }
  size = static_cast<std::uint64_t>(length.QuadPart);
  written.tv_sec = static_cast<std::time_t>(time.dwHighDateTime);
  written.tv_nsec = static_cast<long>(time.dwLowDateTime);
  return true;
}

}  // namespace

RegularFile::RegularFile(const fs::path& path, std::string_view where)
    : file_(::_wopen(path.c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT)) {
  const int error = errno;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw BadFile(formatted("{}: is a directory", where));
  }
  if (file_.get() < 0) {
    throw BadFile(formatted("{}: cannot be opened: {}", where, describe_error(error)));
  }
  if (::GetFileType(system_handle(file_.get())) != FILE_TYPE_DISK) {
    throw BadFile(formatted("{}: is not a regular file", where));
  }
  if (!examine(file_.get(), size_, written_)) {
    throw BadFile(formatted("{}: cannot be examined", where));
  }
}

bool RegularFile::read(std::uint64_t offset, std::span<std::byte> bytes) const noexcept {
  constexpr std::size_t LargestRead = std::size_t{1} << 30;
  while (!bytes.empty()) {
    OVERLAPPED place{};
    place.Offset = static_cast<DWORD>(offset);
    place.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD size = 0;
    const auto wanted = static_cast<DWORD>(std::min(bytes.size(), LargestRead));
    if (::ReadFile(system_handle(file_.get()), bytes.data(), wanted, &size, &place) == 0 ||
        size == 0) {
      return false;
    }
    bytes = bytes.subspan(size);
    offset += size;
  }
  return true;
}

bool RegularFile::is_unchanged() const noexcept {
  std::uint64_t size = 0;
  timespec written{};
  return examine(file_.get(), size, written) && size == size_ &&
         written.tv_sec == written_.tv_sec && written.tv_nsec == written_.tv_nsec;
}

}  // namespace rcap
