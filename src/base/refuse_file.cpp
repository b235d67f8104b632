#include "base/refuse_file.hpp"

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

void refuse_file(const std::filesystem::path& path, std::string_view what) {
  throw BadFile(formatted("{}: {}", path.string(), what));
}

}  // namespace rcap
