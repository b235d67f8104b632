#include "data/sets/inaturalist.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
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

constexpr std::string_view AnnotationArchive = "train_val2017.zip";
constexpr std::string_view Pictures = "train_val_images.tar.gz";

/// Actinopterygii, Amphibia, Animalia, Arachnida, Aves, Chromista, Fungi, Insecta, Mammalia,
/// Mollusca, Plantae, Protozoa, Reptilia.
constexpr std::array<std::int64_t, 13> TrainClasses{1982,   15318, 5228, 4873,   214295, 398,  5826,
                                                    100479, 29333, 7536, 158407, 308,    35201};
constexpr std::array<std::int64_t, 13> TestClasses{637,   2385, 1362, 1086,  21226, 144, 1780,
                                                   18076, 3490, 1841, 38206, 73,    5680};
constexpr OfficialCounts InaturalistTrain{"training", 579184, TrainClasses};
constexpr OfficialCounts InaturalistTest{"test", 95986, TestClasses};

fs::path find_list(const fs::path& folder, std::string_view name) {
  for (const fs::path& place : {folder / name, folder / "train_val2017" / name}) {
    if (is_there(place)) return place;
  }
  refuse_file(folder, "has no {}; unpack {} there", name, AnnotationArchive);
}

/// The list's images, with class indices as in `class_names`.
FileList take_images(InaturalistList list, const fs::path& list_path, const fs::path& folder,
                     const std::vector<std::string>& class_names) {
  std::vector<std::optional<ClassId>> index_of;
  for (const std::string& name : list.supercategories) {
    const auto place = std::lower_bound(class_names.begin(), class_names.end(), name);
    const bool known = place != class_names.end() && *place == name;
    index_of.push_back(known ? std::optional(static_cast<ClassId>(place - class_names.begin()))
                             : std::nullopt);
  }
  for (std::size_t i = 0; i < list.labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(list.labels[i]);
    if (!index_of[label]) {
      refuse_file(list_path, "{} has the supercategory {}, which the training list does not have",
                  in_quotes(list.files[i]), in_quotes(list.supercategories[label]));
    }
    list.labels[i] = *index_of[label];
  }
  return {folder, std::move(list.files), std::move(list.labels), {}};
}

void check_no_overlap(const PathList& train, const PathList& test, const fs::path& train_path,
                      const fs::path& test_path) {
  PathList both = train;
  both.append(test);
  if (const auto repeated = find_repeated(both)) {
    refuse_file(test_path,
                "names {}, as {} does; no image may be used for both training and testing",
                in_quotes(both[repeated->first]), train_path.string());
  }
}

}  // namespace

Dataset open_inaturalist(const fs::path& folder, const ImageFileOptions& options) {
  const fs::path train_path = find_list(folder, "train2017.json");
  const fs::path test_path = find_list(folder, "val2017.json");
  InaturalistList train = read_inaturalist_list(train_path);
  InaturalistList test = read_inaturalist_list(test_path);
  check_no_overlap(train.files, test.files, train_path, test_path);
  Dataset dataset;
  dataset.name = "inaturalist";
  dataset.class_names = train.supercategories;
  open_listed_images({take_images(std::move(train), train_path, folder, dataset.class_names),
                      take_images(std::move(test), test_path, folder, dataset.class_names),
                      train_path.string(), test_path.string(), fmt::format("unpack {}", Pictures)},
                     options, dataset);
  dataset.remarks.push_back(compare_counts(InaturalistTrain, dataset.train, dataset.class_names));
  dataset.remarks.push_back(compare_counts(InaturalistTest, dataset.test, dataset.class_names));
  return dataset;
}

}  // namespace rcap
