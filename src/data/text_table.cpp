#include "data/text_table.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

#include "base/quoting.hpp"
#include "base/utf8.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view Blanks = " \t";

std::string read_text(const fs::path& path, std::uint64_t most_bytes) {
  const std::vector<std::uint8_t> bytes = read_file(path, most_bytes);
  if (bytes.empty()) refuse_file(path, "is empty");
  return {bytes.begin(), bytes.end()};
}

/// Takes a field in quotes from the front of `rest`, which starts after its first quote.
void take_quoted(const TextTable& table, std::string_view& rest, std::string& field) {
  for (;;) {
    const std::size_t quote = rest.find('"');
    if (quote == rest.npos) table.refuse("a quote is opened but not closed");
    field.append(rest.substr(0, quote));
    rest.remove_prefix(quote + 1);
    if (!rest.starts_with('"')) break;
    field.push_back('"');
    rest.remove_prefix(1);
  }
  if (!rest.empty() && rest.front() != ',') {
    table.refuse("{} follows a closing quote; a comma or the end is expected",
                 in_quotes(rest.substr(0, 1)));
  }
}

void take_plain(const TextTable& table, std::string_view& rest, std::string& field) {
  field = rest.substr(0, rest.find(','));
  if (field.find('"') != field.npos) {
    table.refuse("{} has a quote inside; quotes must enclose the whole field", in_quotes(field));
  }
  rest.remove_prefix(field.size());
}

}  // namespace

TextTable::TextTable(const fs::path& path, std::uint64_t most_bytes, std::size_t most_line_bytes)
    : path_(path), most_line_bytes_(most_line_bytes), text_(read_text(path, most_bytes)) {
  if (text_.starts_with(ByteOrderMark)) position_ = ByteOrderMark.size();
}

bool TextTable::next(std::string_view& line) {
  if (position_ >= text_.size()) return false;
  ++line_number_;
  const std::size_t end = std::min(text_.find('\n', position_), text_.size());
  line = std::string_view(text_).substr(position_, end - position_);
  position_ = end + 1;
  if (line.size() > most_line_bytes_) {
    refuse("has {} bytes; a line may have at most {}", line.size(), most_line_bytes_);
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (const std::size_t zero = line.find('\0'); zero != line.npos) {
    refuse("byte {} is zero, so this is not a text file", zero + 1);
  }
  if (!is_utf8(line)) refuse("{} is not UTF-8", in_quotes(line));
  return true;
}

void split_csv(const TextTable& table, std::string_view line, std::vector<std::string>& fields) {
  std::size_t count = 0;
  for (std::string_view rest = line;; rest.remove_prefix(1)) {
    if (count == fields.size()) fields.emplace_back();
    std::string& field = fields[count++];
    field.clear();
    if (rest.starts_with('"')) {
      rest.remove_prefix(1);
      take_quoted(table, rest, field);
    } else {
      take_plain(table, rest, field);
    }
    if (rest.empty()) break;
  }
  fields.resize(count);
}

bool next_record(TextTable& table, std::vector<std::string>& fields) {
  std::string_view line;
  if (!table.next(line)) return false;
  const auto has_open_quote = [](std::string_view text) {
    return std::ranges::count(text, '"') % 2 != 0;
  };
  if (!has_open_quote(line)) {
    split_csv(table, line, fields);
    return true;
  }
  const std::int64_t first_line = table.line_number();
  std::string record(line);
  do {
    if (!table.next(line)) table.refuse(first_line, "a quote is opened but not closed");
    record += '\n';
    record += line;
  } while (!has_open_quote(line));
  split_csv(table, record, fields);
  return true;
}

void split_blanks(std::string_view line, std::vector<std::string>& fields) {
  std::size_t count = 0;
  for (std::size_t begin = line.find_first_not_of(Blanks); begin != line.npos;
       begin = line.find_first_not_of(Blanks, begin)) {
    const std::size_t end = std::min(line.find_first_of(Blanks, begin), line.size());
    if (count == fields.size()) fields.emplace_back();
    fields[count++] = line.substr(begin, end - begin);
    begin = end;
  }
  fields.resize(count);
}

std::int64_t parse_number(const TextTable& table, std::string_view what, std::string_view field,
                          std::int64_t least, std::int64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool is_number = error == std::errc{} && end == field.data() + field.size();
  if (!is_number || std::cmp_less(value, least) || std::cmp_greater(value, most)) {
    table.refuse("{} is {}; it must be a whole number between {} and {}", what, in_quotes(field),
                 least, most);
  }
  return static_cast<std::int64_t>(value);
}

std::string_view fault_of_file_name(std::string_view name) noexcept {
  if (name.empty()) return "is empty";
  if (name.find('\0') != name.npos) return "contains a zero byte";
  if (name.front() == '/') return "is an absolute path";
  for (;;) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part == "..") return "leads out of its folder with \"..\"";
    if (part.empty() || part == ".") return "has an empty part in its path";
    if (slash == name.npos) return {};
    name.remove_prefix(slash + 1);
  }
}

void check_file_name(const TextTable& table, std::string_view name) {
  const std::string_view fault = fault_of_file_name(name);
  if (fault.empty()) return;
  table.refuse("the file name {} {}; names must be relative paths below the data set",
               in_quotes(name), fault);
}

void check_no_repeats(const TextTable& table, const PathList& files, std::int64_t first_line) {
  const auto repeated = find_repeated(files);
  if (!repeated) return;
  table.refuse(first_line + static_cast<std::int64_t>(repeated->second),
               "{} is in line {} already; each image must be named once",
               in_quotes(files[repeated->first]),
               first_line + static_cast<std::int64_t>(repeated->first));
}

}  // namespace rcap
