#include "base/file_mapping.hpp"

#include <cerrno>
#include <sys/mman.h>

#include "base/formatted.hpp"
#include "base/regular_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

FileMapping::FileMapping(const std::filesystem::path& path, std::string_view where) {
  const RegularFile file(path, where);
  const auto size = static_cast<std::size_t>(file.size());
  if (size == 0) return;  // mmap refuses a length of 0
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (start == MAP_FAILED) {
    throw BadFile(formatted("{}: cannot be mapped into memory: {}", where, describe_error(errno)));
  }
  bytes_ = {static_cast<const std::byte*>(start), size};
}

FileMapping::~FileMapping() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace rcap
