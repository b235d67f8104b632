// To be preloaded: the system fails a call of the program, or kills it there.
//
//     RCAP_FAULT=ENOSPC:17        the 17th call fails, if it is one that can fail so
//     RCAP_FAULT=EAGAIN:3+        every call from the third on
//     RCAP_FAULT=KILL:5           the process is killed before the fifth
//     RCAP_FAULT=TRACE:0+         nothing fails, every call is reported
//     RCAP_FAULT_CALLS=write,fsync   only these are counted; else all below
//     RCAP_FAULT_REPORT=FILE      gets a line for each fault: the call and its number
//
// Counted over all threads of the process, from 1. What the system tells of itself (/proc, /sys,
// /dev) is left alone: LibTorch asks before our code begins, and computes otherwise on another
// processor.

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/syscall.h>

namespace {

struct Fault {
  const char* name;
  int error;          ///< Killed and Traced are none
  const char* calls;  ///< that can fail so, each with a blank on both sides
};

constexpr int Killed = 0;
constexpr int Traced = -1;

constexpr Fault Faults[] = {
    {"ENOSPC", ENOSPC, " open write pwrite fsync rename mkdir ftruncate "},
    {"EIO", EIO,
     " open read pread write pwrite fsync rename unlink mkdir ftruncate fstat opendir "},
    {"EINTR", EINTR, " open read pread write pwrite fsync flock "},
    {"EMFILE", EMFILE, " open opendir "},
    {"EAGAIN", EAGAIN, " pthread_create mmap flock "},
    {"ENOMEM", ENOMEM, " mmap open "},
    {"EACCES", EACCES, " open rename unlink mkdir opendir "},
    {"KILL", Killed, nullptr},
    {"TRACE", Traced, nullptr},
};

struct Plan {
  const Fault* fault = nullptr;
  long first = 0;
  bool and_all_after = false;
  const char* calls = nullptr;

  Plan() {
    calls = std::getenv("RCAP_FAULT_CALLS");
    const char* text = std::getenv("RCAP_FAULT");
    const char* colon = text == nullptr ? nullptr : std::strchr(text, ':');
    if (colon == nullptr) return;
    for (const Fault& known : Faults) {
      const std::size_t length = std::strlen(known.name);
      if (std::strncmp(text, known.name, length) == 0 && text + length == colon) fault = &known;
    }
    first = std::atol(colon + 1);
    and_all_after = text[std::strlen(text) - 1] == '+';
  }
};

std::atomic<long> counted{0};

const Plan& plan() {
  static const Plan only;
  return only;
}

/// Past the functions below: a report is not a call of the program.
void report(const char* what, long number) {
  const char* path = std::getenv("RCAP_FAULT_REPORT");
  if (path == nullptr) return;
  char line[100];
  const int length = std::snprintf(line, sizeof line, "%s %ld\n", what, number);
  const long file =
      ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  (void)::syscall(SYS_write, file, line, length);
  (void)::syscall(SYS_close, file);
}

bool lists(const char* calls, const char* call, char separator) {
  const std::size_t length = std::strlen(call);
  for (const char* at = calls; (at = std::strstr(at, call)) != nullptr; at += length) {
    const bool begins = at == calls || at[-1] == separator;
    if (begins && (at[length] == separator || at[length] == '\0')) return true;
  }
  return false;
}

bool is_of_system(const char* path) {
  for (const char* start : {"/proc/", "/sys/", "/dev/"}) {
    if (std::strncmp(path, start, std::strlen(start)) == 0) return true;
  }
  return false;
}

bool is_of_system(int file) {
  char link[64];
  char path[512];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return is_of_system(path);
}

/// Whether this call is to fail; errno is set then.
bool fails(const char* call) {
  if (plan().calls != nullptr && !lists(plan().calls, call, ',')) return false;
  const long number = ++counted;
  const Fault* fault = plan().fault;
  if (fault == nullptr || number < plan().first) return false;
  if (number > plan().first && !plan().and_all_after) return false;
  if (fault->error > 0 && !lists(fault->calls, call, ' ')) return false;
  report(call, number);
  if (fault->error == Traced) return false;
  if (fault->error == Killed) ::kill(::getpid(), SIGKILL);
  errno = fault->error;
  return true;
}

template <class Place>
bool fails(const char* call, Place place) {
  return !is_of_system(place) && fails(call);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

mode_t mode_of(int flags, va_list arguments) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

#define RCAP_NEXT(name) static const auto call = next<decltype(name)>(#name)

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  RCAP_NEXT(open);
  return fails("open", path) ? -1 : call(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  RCAP_NEXT(open64);
  return fails("open", path) ? -1 : call(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  RCAP_NEXT(openat);
  return fails("open", path) ? -1 : call(folder, path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  RCAP_NEXT(fopen);
  return fails("open", path) ? nullptr : call(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  RCAP_NEXT(fopen64);
  return fails("open", path) ? nullptr : call(path, mode);
}

DIR* opendir(const char* path) {
  RCAP_NEXT(opendir);
  return fails("opendir", path) ? nullptr : call(path);
}

DIR* fdopendir(int folder) {
  RCAP_NEXT(fdopendir);
  return fails("opendir", folder) ? nullptr : call(folder);
}

ssize_t read(int file, void* bytes, size_t count) {
  RCAP_NEXT(read);
  return fails("read", file) ? -1 : call(file, bytes, count);
}

ssize_t pread(int file, void* bytes, size_t count, off_t offset) {
  RCAP_NEXT(pread);
  return fails("pread", file) ? -1 : call(file, bytes, count, offset);
}

ssize_t pread64(int file, void* bytes, size_t count, off64_t offset) {
  RCAP_NEXT(pread64);
  return fails("pread", file) ? -1 : call(file, bytes, count, offset);
}

ssize_t write(int file, const void* bytes, size_t count) {
  RCAP_NEXT(write);
  return fails("write", file) ? -1 : call(file, bytes, count);
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  RCAP_NEXT(pwrite);
  return fails("pwrite", file) ? -1 : call(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
  RCAP_NEXT(pwrite64);
  return fails("pwrite", file) ? -1 : call(file, bytes, count, offset);
}

int fsync(int file) {
  RCAP_NEXT(fsync);
  return fails("fsync", file) ? -1 : call(file);
}

int fdatasync(int file) {
  RCAP_NEXT(fdatasync);
  return fails("fsync", file) ? -1 : call(file);
}

int rename(const char* from, const char* to) {
  RCAP_NEXT(rename);
  return fails("rename") ? -1 : call(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  RCAP_NEXT(renameat);
  return fails("rename") ? -1 : call(from_folder, from, to_folder, to);
}

int unlink(const char* path) {
  RCAP_NEXT(unlink);
  return fails("unlink") ? -1 : call(path);
}

int unlinkat(int folder, const char* path, int flags) {
  RCAP_NEXT(unlinkat);
  return fails("unlink") ? -1 : call(folder, path, flags);
}

int remove(const char* path) {
  RCAP_NEXT(remove);
  return fails("unlink") ? -1 : call(path);
}

int mkdir(const char* path, mode_t mode) {
  RCAP_NEXT(mkdir);
  return fails("mkdir") ? -1 : call(path, mode);
}

int ftruncate(int file, off_t size) {
  RCAP_NEXT(ftruncate);
  return fails("ftruncate", file) ? -1 : call(file, size);
}

int ftruncate64(int file, off64_t size) {
  RCAP_NEXT(ftruncate64);
  return fails("ftruncate", file) ? -1 : call(file, size);
}

int fstat(int file, struct stat* status) {
  RCAP_NEXT(fstat);
  return fails("fstat", file) ? -1 : call(file, status);
}

int fstat64(int file, struct stat64* status) {
  RCAP_NEXT(fstat64);
  return fails("fstat", file) ? -1 : call(file, status);
}

int flock(int file, int operation) {
  RCAP_NEXT(flock);
  return fails("flock", file) ? -1 : call(file, operation);
}

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  RCAP_NEXT(mmap);
  // Memory without a file is the allocator's, and a lack of it another story.
  return file >= 0 && fails("mmap", file) ? MAP_FAILED
                                          : call(address, length, protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                   void* argument) {
  RCAP_NEXT(pthread_create);
  // This one returns its error.
  return fails("pthread_create") ? errno : call(thread, attributes, work, argument);
}
}
