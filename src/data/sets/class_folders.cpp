#include "data/sets/class_folders.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "data/images/decode_image.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MostClassesNamed = 5;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

[[noreturn]] void refuse_folder(const fs::path& path, const fs::filesystem_error& error) {
  refuse_file(path, "cannot be listed: {}", error.code().message());
}

/// The images of one class: paths below `folder`, in byte order.
PathList list_images(const fs::path& folder, const std::string& class_name) {
  std::vector<std::string> files;
  const fs::path class_folder = folder / class_name;
  const std::size_t prefix_bytes = class_folder.native().size() - class_name.size();
  try {
    for (fs::recursive_directory_iterator entry(class_folder), end; entry != end; ++entry) {
      if (is_hidden(entry->path())) {
        if (entry->is_directory()) entry.disable_recursion_pending();
      } else if (has_image_extension(entry->path()) && !entry->is_directory()) {
        files.push_back(entry->path().native().substr(prefix_bytes));
      }
    }
  } catch (const fs::filesystem_error& error) {
    refuse_folder(class_folder, error);
  }
  std::sort(files.begin(), files.end());
  return PathList(files);
}

[[noreturn]] void refuse_empty_class(const fs::path& folder, const std::string& class_name) {
  refuse_file(folder / class_name,
              "has no image; every class needs at least one; remove the folder or fill it");
}

ClassId index_of(const std::string& name, std::span<const std::string> class_names,
                 const fs::path& folder) {
  const auto place = std::lower_bound(class_names.begin(), class_names.end(), name);
  if (place == class_names.end() || *place != name) {
    refuse_file(folder / name,
                "class {} has no training images; every class needs images to learn from", name);
  }
  return static_cast<ClassId>(place - class_names.begin());
}

}  // namespace

std::vector<std::string> list_classes(const fs::path& folder) {
  std::vector<std::string> names;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (!is_hidden(entry.path()) && entry.is_directory()) {
        names.push_back(entry.path().filename().string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    refuse_folder(folder, error);
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) {
    refuse_file(folder, "has no folders; put the images into one folder per class");
  }
  return names;
}

FileList list_class_images(const fs::path& folder, std::span<const std::string> present,
                           std::span<const std::string> class_names, const Workers& workers) {
  std::vector<ClassId> indices;
  for (const std::string& name : present) indices.push_back(index_of(name, class_names, folder));
  std::vector<PathList> files(present.size());
  workers.for_each_chunk(static_cast<std::int64_t>(present.size()), [&](std::int64_t chunk, int) {
    const auto place = static_cast<std::size_t>(chunk);
    files[place] = list_images(folder, present[place]);
  });
  FileList list{folder, {}, {}, {}};
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (files[i].empty()) refuse_empty_class(folder, present[i]);
    list.files.append(files[i]);
    list.labels.insert(list.labels.end(), files[i].size(), indices[i]);
    files[i] = {};
  }
  return list;
}

void remark_absent_classes(std::span<const std::string> class_names,
                           std::span<const std::string> present, const fs::path& folder,
                           std::vector<std::string>& remarks) {
  std::vector<std::string> absent;
  std::set_difference(class_names.begin(), class_names.end(), present.begin(), present.end(),
                      std::back_inserter(absent));
  if (absent.empty()) return;
  remarks.push_back(fmt::format("{} of {} classes have no image in {}: {}", absent.size(),
                                class_names.size(), folder.string(),
                                first_few(absent, MostClassesNamed)));
}

}  // namespace rcap
