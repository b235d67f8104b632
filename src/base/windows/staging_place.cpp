#include "base/staging_place.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>

#include "base/formatted.hpp"
#include "base/path_text.hpp"
#include "base/windows/system.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

int errno_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
      return EACCES;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    default:
      return EIO;
  }
}

/// A name in a folder; names are UTF-8 here, as `StagingPlace` keeps them.
fs::path path_in(const fs::path& folder, const std::string& name) {
  return folder / fs::path(std::u8string(name.begin(), name.end()));
}

}  // namespace

// A folder cannot be opened as a file here, so every call names it.
int StagingPlace::open_folder() const {
  std::error_code error;
  const fs::file_status folder = fs::status(folder_path_, error);
  if (!fs::exists(folder)) {
    refuse(formatted("there is no folder \"{}\"", path_text(folder_path_)), ENOENT);
  }
  if (!fs::is_directory(folder)) {
    refuse(formatted("cannot open folder \"{}\"", path_text(folder_path_)), ENOTDIR);
  }
  return -1;
}

void StagingPlace::check_old_file() const {
  std::error_code error;
  const fs::file_status old = fs::status(path_in(folder_path_, name_), error);
  if (!fs::exists(old) || fs::is_regular_file(old)) return;
  refuse(formatted("{}; only regular files are replaced; choose another name",
                   fs::is_directory(old) ? "is a directory" : "is not a regular file"));
}

// The C library opens files so that nobody else can delete them: no lock is needed.
int StagingPlace::create(const std::string& name) const noexcept {
  return ::_wopen(path_in(folder_path_, name).c_str(),
                  _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}

void StagingPlace::remove(const std::string& name) const noexcept {
  ::_wunlink(path_in(folder_path_, name).c_str());
}

void StagingPlace::remove_leftovers(const TemporaryNames& names) const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_path_, ignored)) {
    const std::string name = path_text(entry.path().filename());
    if (names.include(name)) remove(name);  // not if it is being written
  }
}

bool StagingPlace::publish(const std::string& name) const noexcept {
  if (::MoveFileExW(path_in(folder_path_, name).c_str(), path_in(folder_path_, name_).c_str(),
                    MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0) {
    return true;
  }
  errno = errno_of(::GetLastError());
  return false;
}

bool StagingPlace::sync() const noexcept { return true; }  // MOVEFILE_WRITE_THROUGH did

bool StagingPlace::is_writable() const noexcept {
  constexpr int Write = 2;
  return ::_waccess(folder_path_.c_str(), Write) == 0;
}

}  // namespace rcap
