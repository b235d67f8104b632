#include "base/file_mapping.hpp"

#include <memory>

#include "base/formatted.hpp"
#include "base/regular_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

// Windows does not rename a file over one that is mapped, so this is a copy.
FileMapping::FileMapping(const std::filesystem::path& path, std::string_view where) {
  const RegularFile file(path, where);
  const auto size = static_cast<std::size_t>(file.size());
  auto copy = std::make_unique<std::byte[]>(size);
  if (!file.read(0, {copy.get(), size})) {
    throw BadFile(formatted("{}: the disk failed, or the file became shorter", where));
  }
  bytes_ = {copy.release(), size};
}

FileMapping::~FileMapping() { delete[] bytes_.data(); }

}  // namespace rcap
