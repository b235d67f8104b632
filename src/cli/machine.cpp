#include "cli/machine.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sched.h>

namespace rcap::cli {
namespace {

/// The text after the colon in the first line of a /proc file that begins with `key`.
std::string proc_value(const char* file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

/// A value such as "1234 kB" in bytes; 0 if there is none.
std::int64_t proc_bytes(const char* file, std::string_view key) {
  const std::string value = proc_value(file, key);
  std::int64_t kibibytes = 0;
  std::from_chars(value.data(), value.data() + value.size(), kibibytes);
  return kibibytes * 1024;
}

}  // namespace

std::string compiler_version() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string cpp_standard() { return fmt::format("C++{}", (__cplusplus / 100) % 100); }

std::string libc_version() { return fmt::format("glibc {}", gnu_get_libc_version()); }

std::string cpu_model() {
  const std::string model = proc_value("/proc/cpuinfo", "model name");
  return model.empty() ? "unknown" : model;
}

std::vector<CpuFeature> cpu_features() {
  std::string flags = proc_value("/proc/cpuinfo", "flags");
  if (flags.empty()) flags = proc_value("/proc/cpuinfo", "Features");
  std::istringstream words(flags);
  const std::vector<std::string> present{std::istream_iterator<std::string>(words), {}};
  const auto has = [&](std::string_view name) {
    return std::find(present.begin(), present.end(), name) != present.end();
  };
  return {{"avx2", has("avx2")},
          {"avx512f", has("avx512f")},
          {"fma", has("fma")},
          {"bf16", has("avx512_bf16") || has("amx_bf16") || has("bf16")}};
}

int available_threads() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  return std::max(1, CPU_COUNT(&cpus));
}

Memory machine_memory() {
  return {proc_bytes("/proc/meminfo", "MemTotal:"), proc_bytes("/proc/meminfo", "MemAvailable:")};
}

std::int64_t peak_memory_bytes() { return proc_bytes("/proc/self/status", "VmHWM:"); }

bool reset_peak_memory() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return clear.good();
}

}  // namespace rcap::cli
