#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/quoting.hpp"
#include "data/sets/celeba.hpp"
#include "data/text_table.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view CopyBegins = "image_id,";
constexpr std::string_view CopyPartitionHeader = "image_id,partition";
constexpr std::uint8_t LastSplit = 2;

/// What the lines before the first image say.
struct AttributeHeader {
  bool is_copy = false;                ///< with commas
  std::optional<std::int64_t> images;  ///< that follow; the copy does not say
  std::vector<std::string> names;      ///< of the attributes
};

void split_line(const TextTable& text, bool is_copy, std::string_view line,
                std::vector<std::string>& fields) {
  if (is_copy) {
    split_csv(text, line, fields);
  } else {
    split_blanks(line, fields);
  }
}

AttributeHeader read_header(TextTable& text) {
  AttributeHeader header;
  std::string_view line;
  if (!text.next(line)) text.refuse("the file has no line");
  header.is_copy = line.starts_with(CopyBegins);
  if (!header.is_copy) {
    std::vector<std::string> fields;
    split_blanks(line, fields);
    if (fields.size() != 1) {
      text.refuse(
          "is {}; the list begins with the number of images, or, with commas, with \"image_id,\"",
          in_quotes(line));
    }
    header.images = parse_number(text, "the number of images", fields[0], 1,
                                 std::numeric_limits<std::int32_t>::max());
    if (!text.next(line)) text.refuse("is the last; the names of the attributes must follow");
  }
  split_line(text, header.is_copy, line, header.names);
  if (header.is_copy) header.names.erase(header.names.begin());
  return header;
}

/// The place of an attribute, after the name of the file.
std::size_t find_column(const TextTable& text, const AttributeHeader& header,
                        std::string_view name) {
  const auto place = std::find(header.names.begin(), header.names.end(), name);
  if (place == header.names.end()) {
    text.refuse("{} is not one of the {} attributes", name, header.names.size());
  }
  if (std::find(place + 1, header.names.end(), name) != header.names.end()) {
    text.refuse("the attribute {} appears twice", name);
  }
  return static_cast<std::size_t>(place - header.names.begin()) + 1;
}

void check_values(const TextTable& text, const AttributeHeader& header,
                  const std::vector<std::string>& fields) {
  if (fields.size() != header.names.size() + 1) {
    text.refuse("has {} fields; {} are expected: a file name and {} attributes", fields.size(),
                header.names.size() + 1, header.names.size());
  }
  for (std::size_t i = 1; i < fields.size(); ++i) {
    if (fields[i] == "1" || fields[i] == "-1") continue;
    text.refuse("{} is {}; attributes are -1 or 1", header.names[i - 1], in_quotes(fields[i]));
  }
}

}  // namespace

CelebaAttributes read_celeba_attributes(const fs::path& path) {
  TextTable text(path);
  const AttributeHeader header = read_header(text);
  const std::size_t blond = find_column(text, header, "Blond_Hair");
  const std::size_t male = find_column(text, header, "Male");
  const std::int64_t first_line = text.line_number() + 1;
  CelebaAttributes attributes;
  std::vector<std::string> fields;
  for (std::string_view line; text.next(line);) {
    split_line(text, header.is_copy, line, fields);
    check_values(text, header, fields);
    check_file_name(text, fields[0]);
    attributes.files.add(fields[0]);
    attributes.blond.push_back(fields[blond] == "1" ? 1 : 0);
    attributes.male.push_back(fields[male] == "1" ? 1 : 0);
  }
  const auto found = static_cast<std::int64_t>(attributes.files.size());
  if (found == 0) text.refuse("is the last; no image follows");
  if (header.images && *header.images != found) {
    text.refuse(1, "says {} images; {} follow", *header.images, found);
  }
  check_no_repeats(text, attributes.files, first_line);
  return attributes;
}

CelebaPartition read_celeba_partition(const fs::path& path) {
  TextTable text(path);
  std::string_view line;
  bool there_is_more = text.next(line);
  const bool is_copy = line.starts_with(CopyBegins);
  if (is_copy) {
    if (line != CopyPartitionHeader) {
      text.refuse("the header is {}; it must be \"{}\"", in_quotes(line), CopyPartitionHeader);
    }
    there_is_more = text.next(line);
  }
  const std::int64_t first_line = text.line_number();
  CelebaPartition partition;
  std::vector<std::string> fields;
  for (; there_is_more; there_is_more = text.next(line)) {
    split_line(text, is_copy, line, fields);
    if (fields.size() != 2) {
      text.refuse("has {} fields; 2 are expected: a file name and 0, 1 or 2", fields.size());
    }
    check_file_name(text, fields[0]);
    partition.files.add(fields[0]);
    partition.splits.push_back(
        static_cast<std::uint8_t>(parse_number(text, "the split", fields[1], 0, LastSplit)));
  }
  if (partition.files.empty()) text.refuse("no image is named");
  check_no_repeats(text, partition.files, first_line);
  return partition;
}

}  // namespace rcap
