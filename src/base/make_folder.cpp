#include "base/make_folder.hpp"

#include <system_error>

#include "rcap/core/error.hpp"

namespace rcap {

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw BadFile(path.string() + ": the folder cannot be created: " + error.message() +
                  "; choose another");
  }
}

}  // namespace rcap
