#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "memory_file.hpp"
#include "rcap/core/error.hpp"

/// What all fuzz targets share. A target is a `LLVMFuzzerTestOneInput` that hands its input to
/// a reader: a refusal is fine, every other exception and every crash is a fault.
namespace rcap::fuzz {

using Input = std::span<const std::uint8_t>;

/// The input as a file. The next call replaces it.
inline std::filesystem::path as_file(Input input) {
  static MemoryFile file;
  file.put(input);
  return file.path();
}

inline std::string_view as_text(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// Calls a reader; the three ways to refuse a file are fine.
template <class Read>
void read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const BadFile&) {
  } catch (const InvalidArgument&) {
  } catch (const StateMismatch&) {
  }
}

/// Reads every byte, so that a sanitizer sees those that are not there.
template <class Byte>
void touch(std::span<const Byte> bytes) {
  static_assert(sizeof(Byte) == 1);
  unsigned sum = 0;
  for (const Byte byte : bytes) sum += static_cast<unsigned>(byte);
  [[maybe_unused]] volatile unsigned keep = sum;
}

}  // namespace rcap::fuzz
