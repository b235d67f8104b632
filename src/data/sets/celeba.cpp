#include "data/sets/celeba.hpp"

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "data/sets/file_list.hpp"
#include "data/sets/official_counts.hpp"
#include "data/text_table.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ImageFolderName = "img_align_celeba";
constexpr std::string_view Publisher = "http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html";

constexpr std::array<std::int64_t, 4> TrainGroups{71629, 66874, 22880, 1387};
constexpr std::array<std::int64_t, 4> TestGroups{9767, 7535, 2480, 180};
constexpr OfficialCounts CelebaTrain{"training", 162770, TrainGroups};
constexpr OfficialCounts CelebaTest{"test", 19962, TestGroups};

/// A list as published, or else as copied.
fs::path find_list(const fs::path& folder, std::string_view name) {
  for (const char* ending : {".txt", ".csv"}) {
    fs::path place = folder / (std::string(name) + ending);
    if (is_there(place)) return place;
  }
  refuse_file(folder, "has neither {}.txt nor {}.csv; get it from {}", name, name, Publisher);
}

fs::path find_image_folder(const fs::path& folder) {
  // The copy with commas unpacks to a folder in a folder.
  const fs::path plain = folder / ImageFolderName;
  for (const fs::path& place : {plain / ImageFolderName, plain}) {
    if (is_folder(place)) return place;
  }
  refuse_file(folder, "has no folder {}; unpack {}.zip from {} there", ImageFolderName,
              ImageFolderName, Publisher);
}

using Places = std::unordered_map<std::string, std::size_t>;

Places places_of(const PathList& files) {
  Places places;
  places.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) places.emplace(files[i], i);
  return places;
}

[[noreturn]] void refuse_unmatched(const std::string& file, const fs::path& in,
                                   const fs::path& not_in) {
  refuse_file(in, "names {}, but {} does not; take both lists from one source", in_quotes(file),
              not_in.string());
}

/// Both lists as one: images in the order of the partition.
ImageRows join_lists(const fs::path& attributes_path, const fs::path& partition_path) {
  const CelebaAttributes attributes = read_celeba_attributes(attributes_path);
  CelebaPartition partition = read_celeba_partition(partition_path);
  ImageRows rows{std::move(partition.files), {}, {}, std::move(partition.splits)};
  Places places = places_of(attributes.files);
  for (std::size_t i = 0; i < rows.files.size(); ++i) {
    const std::string file = rows.files[i];
    const auto place = places.find(file);
    if (place == places.end()) refuse_unmatched(file, partition_path, attributes_path);
    const std::uint8_t blond = attributes.blond[place->second];
    rows.labels.push_back(blond);
    rows.groups.push_back(2 * blond + attributes.male[place->second]);
    places.erase(place);
  }
  for (std::size_t i = 0; !places.empty() && i < attributes.files.size(); ++i) {
    const std::string file = attributes.files[i];
    if (places.contains(file)) refuse_unmatched(file, attributes_path, partition_path);
  }
  return rows;
}

}  // namespace

Dataset open_celeba(const fs::path& folder, const ImageFileOptions& options) {
  const fs::path partition_path = find_list(folder, "list_eval_partition");
  const ImageRows rows = join_lists(find_list(folder, "list_attr_celeba"), partition_path);
  const fs::path images = find_image_folder(folder);
  Dataset dataset;
  dataset.name = "celeba";
  dataset.class_names = {"not blond", "blond"};
  dataset.group_names = {"not blond/female", "not blond/male", "blond/female", "blond/male"};
  open_listed_images({rows.take(ImageRows::Train, images), rows.take(ImageRows::Test, images),
                      partition_path.string(), partition_path.string(),
                      fmt::format("unpack {}.zip again", ImageFolderName)},
                     options, dataset);
  dataset.remarks.push_back(compare_counts(CelebaTrain, dataset.train, dataset.group_names));
  dataset.remarks.push_back(compare_counts(CelebaTest, dataset.test, dataset.group_names));
  return dataset;
}

}  // namespace rcap
