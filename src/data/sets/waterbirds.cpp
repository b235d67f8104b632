#include "data/sets/waterbirds.hpp"

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "data/sets/official_counts.hpp"
#include "data/text_table.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view MetadataName = "metadata.csv";
constexpr std::string_view Archive = "waterbird_complete95_forest2water2";
constexpr std::string_view Header = "img_id,img_filename,y,split,place,place_filename";
constexpr std::size_t FieldCount = 6;
constexpr std::int64_t LargestImageId = 1'000'000'000;

constexpr std::array<std::int64_t, 4> TrainGroups{3498, 184, 56, 1057};
constexpr std::array<std::int64_t, 4> TestGroups{2255, 2255, 642, 642};
constexpr OfficialCounts WaterbirdsTrain{"training", 4795, TrainGroups};
constexpr OfficialCounts WaterbirdsTest{"test", 5794, TestGroups};

/// Remembers the line of each id.
void check_id(const TextTable& table, const std::string& field,
              std::unordered_map<std::int64_t, std::int64_t>& line_of) {
  const std::int64_t id = parse_number(table, "img_id", field, 1, LargestImageId);
  const auto [place, added] = line_of.emplace(id, table.line_number());
  if (added) return;
  table.refuse("img_id {} is in line {} already", id, place->second);
}

fs::path find_table_folder(const fs::path& folder) {
  for (const fs::path& place : {folder, folder / Archive}) {
    if (is_there(place / MetadataName)) return place;
  }
  refuse_file(folder, "has no {}, neither directly nor in {}; unpack {}.tar.gz there", MetadataName,
              Archive, Archive);
}

}  // namespace

ImageRows read_waterbirds_table(const fs::path& path) {
  TextTable text(path);
  std::string_view line;
  if (!text.next(line) || line != Header) {
    text.refuse("the header is {}; it must be \"{}\"", in_quotes(line), Header);
  }
  ImageRows rows;
  std::vector<std::string> fields;
  std::unordered_map<std::int64_t, std::int64_t> line_of;
  while (text.next(line)) {
    split_csv(text, line, fields);
    if (fields.size() != FieldCount) {
      text.refuse("has {} fields; {} are expected", fields.size(), FieldCount);
    }
    check_id(text, fields[0], line_of);
    check_file_name(text, fields[1]);
    rows.files.add(fields[1]);
    rows.labels.push_back(static_cast<ClassId>(parse_number(text, "y", fields[2], 0, 1)));
    rows.splits.push_back(
        static_cast<std::uint8_t>(parse_number(text, "split", fields[3], 0, ImageRows::Test)));
    rows.groups.push_back(2 * rows.labels.back() +
                          static_cast<std::int32_t>(parse_number(text, "place", fields[4], 0, 1)));
  }
  if (rows.files.empty()) text.refuse("is only the header; no image follows");
  check_no_repeats(text, rows.files, 2);
  return rows;
}

Dataset open_waterbirds(const fs::path& folder, const ImageFileOptions& options) {
  const fs::path place = find_table_folder(folder);
  const std::string table_path = (place / MetadataName).string();
  const ImageRows rows = read_waterbirds_table(table_path);
  Dataset dataset;
  dataset.name = "waterbirds";
  dataset.class_names = {"landbird", "waterbird"};
  dataset.group_names = {"landbird/land", "landbird/water", "waterbird/land", "waterbird/water"};
  open_listed_images({rows.take(ImageRows::Train, place), rows.take(ImageRows::Test, place),
                      table_path, table_path, fmt::format("unpack {}.tar.gz again", Archive)},
                     options, dataset);
  dataset.remarks.push_back(compare_counts(WaterbirdsTrain, dataset.train, dataset.group_names));
  dataset.remarks.push_back(compare_counts(WaterbirdsTest, dataset.test, dataset.group_names));
  return dataset;
}

}  // namespace rcap
