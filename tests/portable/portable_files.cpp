#include "portable/portable_files.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/make_pruner.hpp"

namespace rcap::portable {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, with a name that is not ASCII, which is removed in the end.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fs::path(u8"rcap é 猫")) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

std::unique_ptr<Pruner> make_ucb() {
  return make_pruner("ucb", std::make_shared<const ClassIndex>(std::vector<ClassId>(1000, 0)), {});
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const BadFile& error) {
    return error.what();
  }
  return "no complaint";
}

bool says(const std::string& message, const char* text) {
  return message.find(text) != std::string::npos;
}

}  // namespace

std::string check_files() {
  const Folder folder;
  const fs::path file = folder.path() / fs::path(u8"état.rcap");
  const fs::path leftover = folder.path() / fs::path(u8".état.rcap.2147483646-0.tmp");
  const auto pruner = make_ucb();
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {  // the second file replaces the first
    const Selection& selection = pruner->select(epoch);
    pruner->observe(selection.ids, std::vector<float>(selection.ids.size(), 0.5F));
    std::ofstream(leftover) << "of a process that was killed";
    pruner->save(file);
    const auto loaded = make_ucb();
    loaded->load(file);
    if (loaded->state() != pruner->state()) return "a state comes back otherwise";
  }
  const auto files = std::distance(fs::directory_iterator(folder.path()), {});
  if (files != 1) return std::to_string(files) + " files are left instead of one";
  const std::string no_folder =
      message_of([&] { pruner->save(folder.path() / "none" / "state.rcap"); });
  if (!says(no_folder, "there is no folder")) return "a missing folder: " + no_folder;
  const std::string no_file = message_of([&] { pruner->load(folder.path() / "none"); });
  if (!says(no_file, "cannot be opened")) return "a missing file: " + no_file;
  const std::string a_folder = message_of([&] { pruner->load(folder.path()); });
  if (!says(a_folder, "is a directory")) return "a folder to load: " + a_folder;
  const std::string onto_a_folder = message_of([&] { pruner->save(folder.path()); });
  if (!says(onto_a_folder, "is a directory")) return "a folder to replace: " + onto_a_folder;
  return {};
}

}  // namespace rcap::portable
