#include "study/child_process.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/prctl.h>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

constexpr int CannotStart = 127;

sigset_t child_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

/// What happens between fork and exec; must not allocate or lock.
[[noreturn]] void become(const char* program, char* const* arguments, const char* folder, int log,
                         pid_t parent, const sigset_t& signals) {
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the request to be killed with it took effect.
  if (::getppid() != parent) ::_exit(CannotStart);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (::chdir(folder) == 0) ::execv(program, arguments);
  const char* reason = std::strerror(errno);
  (void)!::write(STDERR_FILENO, reason, std::strlen(reason));
  (void)!::write(STDERR_FILENO, "\n", 1);
  ::_exit(CannotStart);
}

}  // namespace

ChildWatch::ChildWatch() {
  const sigset_t set = child_signal();
  ::sigprocmask(SIG_BLOCK, &set, &before_);
}

ChildWatch::~ChildWatch() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

pid_t ChildWatch::start(const std::filesystem::path& program, const std::vector<std::string>& words,
                        const std::filesystem::path& folder,
                        const std::filesystem::path& log) const {
  std::vector<std::string> storage{program.string()};
  storage.insert(storage.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : storage) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int log_file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log_file < 0) {
    throw BadFile(fmt::format("{}: cannot be written: {}", log.string(), std::strerror(errno)));
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    become(program.c_str(), arguments.data(), folder.c_str(), log_file, parent, before_);
  }
  const int error = errno;
  ::close(log_file);
  if (child < 0) {
    throw BadFile(fmt::format("{}: cannot be started: {}", program.string(), std::strerror(error)));
  }
  return child;
}

std::optional<ChildEnd> ChildWatch::wait_for_child(std::chrono::milliseconds longest) const {
  const sigset_t set = child_signal();
  int status = 0;
  pid_t ended = ::waitpid(-1, &status, WNOHANG);
  if (ended <= 0) {
    const timespec time{longest.count() / 1000, (longest.count() % 1000) * 1'000'000};
    (void)::sigtimedwait(&set, nullptr, &time);
    ended = ::waitpid(-1, &status, WNOHANG);
  }
  if (ended <= 0) return std::nullopt;
  ChildEnd end{ended};
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  return end;
}

}  // namespace rcap
