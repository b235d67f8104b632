#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rcap::cli {

/// What doctor and bench say about the machine and the build.

[[nodiscard]] std::string compiler_version();  ///< "GCC 12.2.0"
[[nodiscard]] std::string cpp_standard();      ///< "C++20"
[[nodiscard]] std::string libc_version();      ///< "glibc 2.36"

[[nodiscard]] std::string cpu_model();

struct CpuFeature {
  std::string name;
  bool present;
};

/// The instruction sets that make selection and training faster.
[[nodiscard]] std::vector<CpuFeature> cpu_features();

/// How many threads this process may run at once; at least 1.
[[nodiscard]] int available_threads();

struct Memory {
  std::int64_t total_bytes;
  std::int64_t available_bytes;
};
[[nodiscard]] Memory machine_memory();

/// The largest resident size of this process since the start or the last reset.
[[nodiscard]] std::int64_t peak_memory_bytes();
/// Lowers the peak to what is resident now.
/// @return false if the kernel does not allow it
bool reset_peak_memory();

}  // namespace rcap::cli
