#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/quoting.hpp"
#include "data/sets/inaturalist.hpp"
#include "data/text_table.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

constexpr std::uint64_t MostListBytes = 1ULL << 30U;
constexpr std::uint64_t MostId = std::numeric_limits<std::int64_t>::max();
constexpr ClassId NoLabel = -1;

/// The names of the list's members: a section is an array of objects, of which two members matter.
struct Section {
  std::string_view name;
  std::string_view id;     ///< a number
  std::string_view other;  ///< a number in annotations, otherwise a string
};
constexpr std::array<Section, 3> Sections{{{"images", "id", "file_name"},
                                           {"categories", "id", "supercategory"},
                                           {"annotations", "image_id", "category_id"}}};
constexpr std::size_t Images = 0, Categories = 1, Annotations = 2, NoSection = Sections.size();

/// A list as it arrives, before ids are looked up.
struct RawList {
  std::vector<std::int64_t> image_ids;
  PathList files;
  std::vector<std::int64_t> category_ids;
  std::vector<std::string> supercategories;                        ///< by category
  std::vector<std::pair<std::int64_t, std::int64_t>> annotations;  ///< image, category
};

/// Receives the list from the parser event by event. The depth of an event decides what it is: 1 a
/// member of the list, 2 an element of a section, 3 a member of an element; anything deeper, or in
/// another member, is skipped.
class ListEvents {
 public:
  explicit ListEvents(const fs::path& path) : path_(path) {}

  RawList list;

  bool start_object(std::size_t) {
    if (depth_ != 0 && !(depth_ == 2 && in_section())) check_value("an object");
    if (depth_ == 2) item_ = {};
    ++depth_;
    return true;
  }

  bool key(std::string& name) {
    if (depth_ == 1) take_section(name);
    if (depth_ == 3 && in_section()) take_field(name);
    return true;
  }

  bool end_object() {
    --depth_;
    if (depth_ == 2 && in_section()) finish_item();
    return true;
  }

  bool start_array(std::size_t) {
    if (depth_ != 1) check_value("an array");
    ++depth_;
    return true;
  }

  bool end_array() {
    --depth_;
    return true;
  }

  bool string(std::string& text) {
    if (takes(Field::Text)) {
      item_.text = std::move(text);
    } else {
      check_value(in_quotes(text));
    }
    return true;
  }

  bool number_unsigned(std::uint64_t value) {
    if (value <= MostId && takes(Field::Id)) {
      item_.id = static_cast<std::int64_t>(value);
    } else if (value <= MostId && takes(Field::Number)) {
      item_.number = static_cast<std::int64_t>(value);
    } else {
      check_value(fmt::format("the number {}", value));
    }
    return true;
  }

  bool number_integer(std::int64_t value) {
    return check_value(fmt::format("the number {}", value));
  }
  bool number_float(double, const std::string& text) {
    return check_value(fmt::format("the number {}", text));
  }
  bool boolean(bool value) { return check_value(value ? "true" : "false"); }
  bool null() { return check_value("null"); }
  bool binary(json::binary_t&) { return check_value("binary data"); }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) {
    refuse_file(path_, "is not JSON at byte {}; fetch it again", position);
  }

  /// After the last event.
  void check_complete() const {
    for (std::size_t i = 0; i < Sections.size(); ++i) {
      if (!seen_[i]) refuse_file(path_, "has no member {}", Sections[i].name);
      if (counts_[i] == 0) refuse_file(path_, "{} is empty", Sections[i].name);
    }
  }

 private:
  enum class Field { Other, Id, Number, Text };

  struct Item {
    std::optional<std::int64_t> id;
    std::optional<std::int64_t> number;
    std::optional<std::string> text;
    bool has_id = false;
    bool has_other = false;
  };

  [[nodiscard]] bool in_section() const noexcept { return section_ != NoSection; }
  [[nodiscard]] bool takes(Field field) const noexcept {
    return depth_ == 3 && in_section() && field_ == field;
  }

  void take_section(const std::string& name) {
    section_ = 0;
    while (in_section() && Sections[section_].name != name) ++section_;
    if (in_section() && std::exchange(seen_[section_], true)) {
      refuse_file(path_, "has the member {} twice", name);
    }
  }

  void take_field(const std::string& name) {
    const Section& section = Sections[section_];
    field_ = Field::Other;
    bool* seen = nullptr;
    if (name == section.id) {
      field_ = Field::Id;
      seen = &item_.has_id;
    } else if (name == section.other) {
      field_ = section_ == Annotations ? Field::Number : Field::Text;
      seen = &item_.has_other;
    }
    if (seen != nullptr && std::exchange(*seen, true)) refuse_item("has {} twice", name);
  }

  /// Skips a value that does not matter.
  /// @throws BadFile  if a value of another type is required there
  bool check_value(std::string_view what) const {
    if (depth_ == 0) refuse_file(path_, "is {}; it must be an object", what);
    if (!in_section() || depth_ > 3) return true;
    const Section& section = Sections[section_];
    if (depth_ == 1) refuse_file(path_, "{} is {}; it must be an array", section.name, what);
    if (depth_ == 2) refuse_item("is {}; it must be an object", what);
    if (field_ == Field::Other) return true;
    refuse_item("has {} as {}; it must be {}", what,
                field_ == Field::Id ? section.id : section.other,
                field_ == Field::Text ? "a string" : "a whole number >= 0");
  }

  void finish_item() {
    const Section& section = Sections[section_];
    if (!item_.has_id) refuse_item("has no {}", section.id);
    if (!item_.has_other) refuse_item("has no {}", section.other);
    if (section_ == Images) {
      add_image();
    } else if (section_ == Categories) {
      add_category();
    } else {
      list.annotations.emplace_back(*item_.id, *item_.number);
    }
    ++counts_[section_];
  }

  void add_image() {
    if (const std::string_view fault = fault_of_file_name(*item_.text); !fault.empty()) {
      refuse_item("has the file_name {}, which {}; names must be relative paths below the data set",
                  in_quotes(*item_.text), fault);
    }
    list.image_ids.push_back(*item_.id);
    list.files.add(*item_.text);
  }

  void add_category() {
    if (item_.text->empty()) refuse_item("has an empty supercategory");
    list.category_ids.push_back(*item_.id);
    list.supercategories.push_back(std::move(*item_.text));
  }

  template <class... T>
  [[noreturn]] void refuse_item(fmt::format_string<T...> what, T&&... values) const {
    refuse_file(path_, "{}[{}] {}", Sections[section_].name, counts_[section_],
                fmt::format(what, std::forward<T>(values)...));
  }

  const fs::path& path_;
  int depth_ = 0;
  std::size_t section_ = NoSection;
  Field field_ = Field::Other;
  Item item_;
  std::array<bool, Sections.size()> seen_{};
  std::array<std::size_t, Sections.size()> counts_{};
};

RawList read_raw_list(const fs::path& path) {
  const std::vector<std::uint8_t> bytes = read_file(path, MostListBytes);
  if (bytes.empty()) refuse_file(path, "is empty");
  // The parser takes a zero byte as the end of the text and would ignore the rest.
  const auto zero = std::find(bytes.begin(), bytes.end(), std::uint8_t{0});
  if (zero != bytes.end()) {
    refuse_file(path, "byte {} is zero, so this is not JSON", zero - bytes.begin() + 1);
  }
  ListEvents events(path);
  json::sax_parse(bytes.begin(), bytes.end(), &events);
  events.check_complete();
  return std::move(events.list);
}

/// The position of an id in its section.
class IdIndex {
 public:
  IdIndex(const fs::path& path, const Section& section, const std::vector<std::int64_t>& ids) {
    places_.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) places_.emplace_back(ids[i], i);
    std::sort(places_.begin(), places_.end());
    for (std::size_t i = 1; i < places_.size(); ++i) {
      if (places_[i].first != places_[i - 1].first) continue;
      refuse_file(path, "{}[{}] has the same id {} as {}[{}]", section.name, places_[i].second,
                  places_[i].first, section.name, places_[i - 1].second);
    }
  }

  [[nodiscard]] std::optional<std::size_t> find(std::int64_t id) const {
    const auto place =
        std::lower_bound(places_.begin(), places_.end(), std::pair(id, std::size_t{0}));
    if (place == places_.end() || place->first != id) return std::nullopt;
    return place->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::size_t>> places_;
};

/// The class of every image.
std::vector<ClassId> find_labels(const fs::path& path, const RawList& raw,
                                 const std::vector<ClassId>& class_of_category) {
  const IdIndex images(path, Sections[Images], raw.image_ids);
  const IdIndex categories(path, Sections[Categories], raw.category_ids);
  std::vector<ClassId> labels(raw.image_ids.size(), NoLabel);
  for (std::size_t i = 0; i < raw.annotations.size(); ++i) {
    const auto [image_id, category_id] = raw.annotations[i];
    const auto image = images.find(image_id);
    if (!image)
      refuse_file(path, "annotations[{}] names image {}, which does not exist", i, image_id);
    const auto category = categories.find(category_id);
    if (!category) {
      refuse_file(path, "annotations[{}] names category {}, which does not exist", i, category_id);
    }
    if (labels[*image] != NoLabel) {
      refuse_file(path, "annotations[{}] is a second one for image {}; each image has one", i,
                  image_id);
    }
    labels[*image] = class_of_category[*category];
  }
  const auto bare = std::find(labels.begin(), labels.end(), NoLabel);
  if (bare != labels.end()) {
    const auto place = static_cast<std::size_t>(bare - labels.begin());
    refuse_file(path, "images[{}], id {}, has no annotation", place, raw.image_ids[place]);
  }
  return labels;
}

}  // namespace

InaturalistList read_inaturalist_list(const fs::path& path) {
  RawList raw = read_raw_list(path);
  InaturalistList list;
  list.supercategories = raw.supercategories;
  std::sort(list.supercategories.begin(), list.supercategories.end());
  list.supercategories.erase(std::unique(list.supercategories.begin(), list.supercategories.end()),
                             list.supercategories.end());
  std::vector<ClassId> class_of_category;
  for (const std::string& name : raw.supercategories) {
    const auto place =
        std::lower_bound(list.supercategories.begin(), list.supercategories.end(), name);
    class_of_category.push_back(static_cast<ClassId>(place - list.supercategories.begin()));
  }
  list.labels = find_labels(path, raw, class_of_category);
  if (const auto repeated = find_repeated(raw.files)) {
    refuse_file(path, "images[{}] has the file_name {}, and so has images[{}]", repeated->second,
                in_quotes(raw.files[repeated->first]), repeated->first);
  }
  list.files = std::move(raw.files);
  return list;
}

}  // namespace rcap
