#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/quoting.hpp"
#include "base/staged_file.hpp"
#include "base/utf8.hpp"
#include "io/safetensors.hpp"
#include "io/safetensors_format.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace safetensors;

template <class... T>
[[noreturn]] void refuse_argument(fmt::format_string<T...> what, T&&... values) {
  throw InvalidArgument("write_safetensors: " + fmt::format(what, std::forward<T>(values)...));
}

void check_tensor(const TensorView& tensor) {
  if (tensor.name == MetadataKey) {
    refuse_argument("a tensor is named __metadata__; the format reserves that name");
  }
  const auto bytes = byte_count(tensor.shape, tensor.type);
  if (!bytes) {
    refuse_argument(
        "tensor {} has the shape [{}]; lengths must be >= 0 and their product countable",
        in_quotes(tensor.name), fmt::join(tensor.shape, ", "));
  }
  if (*bytes != tensor.data.size()) {
    refuse_argument("tensor {} has {} bytes of data, but {} of shape [{}] needs {}",
                    in_quotes(tensor.name), tensor.data.size(), row_of(tensor.type).name,
                    fmt::join(tensor.shape, ", "), *bytes);
  }
  if (const auto bad = first_bad_truth_value(tensor); bad < tensor.data.size()) {
    refuse_argument("tensor {} is BOOL, but its byte {} is {}; truth values are 0 and 1",
                    in_quotes(tensor.name), bad, std::to_integer<int>(tensor.data[bad]));
  }
}

void check_tensors(std::span<const TensorView> tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorView& tensor : tensors) {
    check_tensor(tensor);
    names.push_back(tensor.name);
  }
  if (const auto repeated = first_repeated(std::move(names))) {
    refuse_argument("tensor {} appears twice; names must differ", in_quotes(*repeated));
  }
}

/// Widest elements first: without holes, this order is enough to keep every element at a multiple
/// of its own size.
std::vector<const TensorView*> order_of_data(std::span<const TensorView> tensors) {
  std::vector<const TensorView*> order;
  order.reserve(tensors.size());
  for (const TensorView& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const TensorView* a, const TensorView* b) {
    return bytes_of(a->type) > bytes_of(b->type);
  });
  return order;
}

std::string json_string(std::string_view text) {
  if (!is_utf8(text)) {
    refuse_argument("{} is not UTF-8; names and metadata must be", in_quotes(text));
  }
  return json(text).dump();
}

std::string json_entry(const TensorView& tensor, std::uint64_t begin) {
  return fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                     json_string(tensor.name), row_of(tensor.type).name,
                     fmt::join(tensor.shape, ","), begin, begin + tensor.data.size());
}

std::string json_metadata(const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> pairs;
  for (const auto& [key, text] : metadata) {
    pairs.push_back(fmt::format("{}:{}", json_string(key), json_string(text)));
  }
  return fmt::format("\"{}\":{{{}}}", MetadataKey, fmt::join(pairs, ","));
}

std::string make_header(std::span<const TensorView* const> order,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> parts;
  if (!metadata.empty()) parts.push_back(json_metadata(metadata));
  std::uint64_t begin = 0;
  for (const TensorView* tensor : order) {
    parts.push_back(json_entry(*tensor, begin));
    begin += tensor->data.size();
  }
  std::string header = fmt::format("{{{}}}", fmt::join(parts, ","));
  const std::size_t padding = (DataAlignment - header.size() % DataAlignment) % DataAlignment;
  header.append(padding, ' ');
  if (header.size() > LargestHeader) {
    refuse_argument("names, shapes and metadata make a header of {} bytes; the format allows {}",
                    header.size(), LargestHeader);
  }
  return header;
}

}  // namespace

void write_safetensors(const fs::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  check_tensors(tensors);
  const auto order = order_of_data(tensors);
  const std::string header = make_header(order, metadata);
  const std::array<std::uint64_t, 1> header_length = {header.size()};

  StagedFile file(path, "write_safetensors");
  file.write(std::as_bytes(std::span(header_length)));
  file.write(std::as_bytes(std::span(header)));
  for (const TensorView* tensor : order) file.write(tensor->data);
  file.publish();
}

}  // namespace rcap
