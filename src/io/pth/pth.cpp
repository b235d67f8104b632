#include "io/pth/pth.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/file_mapping.hpp"
#include "base/quoting.hpp"
#include "base/utf8.hpp"
#include "io/pth/pth_bytes.hpp"
#include "io/pth/pth_container.hpp"
#include "io/safetensors_format.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;
using pickle::Kind;
using pth::Container;
using pth::refuse;

/// Memory for tensors that cannot be used in place.
using Copies = std::vector<std::unique_ptr<std::byte[]>>;

/// In order of preference.
constexpr std::array Wrappers = {"model_ema"sv, "teacher"sv, "state_dict"sv, "model"sv};
constexpr std::size_t MostWrappers = 4;
constexpr std::size_t MostKeysShown = 8;

constexpr std::uint64_t MostCopiesPerByte = 4;
constexpr std::uint64_t AlwaysCopied = std::uint64_t{16} << 20;

bool holds_tensors(const pickle::Dictionary& dictionary) {
  return std::any_of(dictionary.begin(), dictionary.end(), [](const auto& item) {
    return item.first.kind == Kind::Text && item.second.kind == Kind::Tensor;
  });
}

/// Every dictionary that could be meant, the preferred one first.
class WeightsSearch {
 public:
  struct Candidate {
    std::size_t dictionary;
    std::string wrapper;
  };

  explicit WeightsSearch(const pickle::Objects& objects)
      : objects_(objects), visited_(objects.dictionaries.size()) {}

  std::vector<Candidate> candidates;

  /// What is wrapped comes before what is beside the wrapper, such as an accuracy.
  void visit(std::size_t index, const std::string& wrapper, std::size_t depth) {
    if (visited_[index] || depth > MostWrappers) return;
    visited_[index] = true;
    const std::size_t before = candidates.size();
    for (const std::string_view key : Wrappers) {
      if (const auto inner = find_dictionary(objects_.dictionaries[index], key)) {
        visit(*inner, fmt::format("{}{}{}", wrapper, wrapper.empty() ? "" : ".", key), depth + 1);
      }
    }
    if (candidates.size() == before && holds_tensors(objects_.dictionaries[index])) {
      candidates.push_back({index, wrapper});
    }
  }

 private:
  /// Of equal keys Python keeps the last.
  static std::optional<std::size_t> find_dictionary(const pickle::Dictionary& dictionary,
                                                    std::string_view key) {
    const auto found = std::find_if(dictionary.rbegin(), dictionary.rend(),
                                    [&](const auto& item) { return item.first.is_text(key); });
    if (found == dictionary.rend() || found->second.kind != Kind::Dictionary) return std::nullopt;
    return found->second.index();
  }

  const pickle::Objects& objects_;
  std::vector<bool> visited_;
};

std::string list_keys(const pickle::Dictionary& dictionary) {
  std::string keys;
  std::size_t count = 0;
  for (const auto& [key, value] : dictionary) {
    if (key.kind != Kind::Text) continue;
    if (count++ == MostKeysShown) return keys + ", ...";
    keys += fmt::format("{}{}", keys.empty() ? "" : ", ", in_quotes(key.text));
  }
  return keys.empty() ? "none" : keys;
}

/// A tensor in terms of its storage.
struct Layout {
  std::uint64_t offset = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

std::vector<std::int64_t> numbers_of(const pickle::Sequence& values) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(values.size());
  for (const pickle::Value& value : values) numbers.push_back(value.number);
  return numbers;
}

/// Whether the elements are side by side, in the order of the indices.
bool is_contiguous(const Layout& layout) {
  std::int64_t expected = 1;
  for (std::size_t i = layout.sizes.size(); i-- > 0;) {
    if (layout.sizes[i] != 1 && layout.strides[i] != expected) return false;
    expected *= layout.sizes[i];
  }
  return true;
}

/// How many elements the storage must have for a tensor that is not empty; empty if they cannot be
/// counted.
std::optional<std::uint64_t> extent_of(const Layout& layout) {
  std::uint64_t last = layout.offset;
  for (std::size_t i = 0; i < layout.sizes.size(); ++i) {
    std::uint64_t step = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(layout.sizes[i] - 1),
                               static_cast<std::uint64_t>(layout.strides[i]), &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return std::nullopt;
    }
  }
  if (last == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  return last + 1;
}

/// Copies the elements in the order of the indices: the last dimension in a loop, the others
/// by counting up.
template <std::size_t Width>
void gather(const std::byte* storage, const Layout& layout, std::byte* out) {
  const std::size_t outer = layout.sizes.size() - 1;
  const std::int64_t length = layout.sizes[outer], step = layout.strides[outer];
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t row = static_cast<std::int64_t>(layout.offset);
  for (;;) {
    const std::byte* from = storage + static_cast<std::size_t>(row) * Width;
    for (std::int64_t i = 0; i < length; ++i, out += Width) {
      std::memcpy(out, from + static_cast<std::size_t>(i * step) * Width, Width);
    }
    std::size_t dimension = outer;
    for (; dimension > 0; --dimension) {
      const std::size_t d = dimension - 1;
      row += layout.strides[d];
      if (++index[d] < layout.sizes[d]) break;
      row -= layout.strides[d] * layout.sizes[d];
      index[d] = 0;
    }
    if (dimension == 0) return;
  }
}

void gather(const std::byte* storage, const Layout& layout, std::size_t width, std::byte* out) {
  switch (width) {
    case 1:
      return gather<1>(storage, layout, out);
    case 2:
      return gather<2>(storage, layout, out);
    case 4:
      return gather<4>(storage, layout, out);
    default:
      return gather<8>(storage, layout, out);
  }
}

class TensorMaker {
 public:
  TensorMaker(const fs::path& path, const Container& container, std::size_t file_bytes,
              Copies& copies)
      : path_(path),
        container_(container),
        copies_(copies),
        most_copied_(file_bytes * MostCopiesPerByte + AlwaysCopied) {}

  TensorView make(std::string_view name, const pickle::Tensor& tensor) {
    if (!is_utf8(name)) refuse_tensor(name, "has a name that is not UTF-8");
    const pickle::Objects& objects = container_.objects;
    const Layout layout{tensor.offset, numbers_of(objects.sequences[tensor.sizes]),
                        numbers_of(objects.sequences[tensor.strides])};
    const pickle::Storage& storage = objects.storages[tensor.storage];
    TensorView view{std::string(name), storage.type, layout.sizes, {}};
    const auto bytes = safetensors::byte_count(layout.sizes, storage.type);
    if (!bytes) refuse_tensor(name, "has a shape with more elements than can be counted");
    if (*bytes == 0) return view;
    const auto extent = extent_of(layout);
    if (!extent || *extent > storage.element_count) {
      refuse_tensor(name, "needs {} elements of storage {}, which has {}",
                    extent ? fmt::format("{}", *extent) : "uncountable", in_quotes(storage.key),
                    storage.element_count);
    }
    view.data = find_data(name, layout, storage.type, container_.storages[tensor.storage], *bytes);
    check_truth_values(view);
    return view;
  }

 private:
  template <class... T>
  [[noreturn]] void refuse_tensor(std::string_view name, fmt::format_string<T...> what,
                                  T&&... values) const {
    refuse(path_, "tensor {} {}", in_quotes(name), fmt::format(what, std::forward<T>(values)...));
  }

  [[nodiscard]] std::span<const std::byte> find_data(std::string_view name, const Layout& layout,
                                                     TensorType type,
                                                     std::span<const std::byte> storage,
                                                     std::uint64_t bytes) {
    const std::size_t width = bytes_of(type);
    const bool contiguous = is_contiguous(layout);
    const std::byte* const first = storage.data() + layout.offset * width;
    const auto count = static_cast<std::size_t>(bytes);
    if (contiguous && reinterpret_cast<std::uintptr_t>(first) % width == 0) return {first, count};

    std::byte* const copy = make_room(name, count);
    if (contiguous) {
      std::memcpy(copy, first, count);
    } else {
      gather(storage.data(), layout, width, copy);
    }
    return {copy, count};
  }

  [[nodiscard]] std::byte* make_room(std::string_view name, std::size_t bytes) {
    if (bytes > most_copied_ - copied_) {
      refuse_tensor(name,
                    "is not contiguous and takes {} bytes to copy; copies for this file may take "
                    "{} in all, and {} are used already: save tensor.contiguous() or fewer views",
                    bytes, most_copied_, copied_);
    }
    copied_ += bytes;
    copies_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    return copies_.back().get();
  }

  void check_truth_values(const TensorView& view) const {
    const std::size_t bad = safetensors::first_bad_truth_value(view);
    if (bad == view.data.size()) return;
    refuse_tensor(view.name, "holds truth values, but element {} is {}; they are 0 and 1", bad,
                  std::to_integer<int>(view.data[bad]));
  }

  const fs::path& path_;
  const Container& container_;
  Copies& copies_;
  std::uint64_t most_copied_;
  std::uint64_t copied_ = 0;
};

/// Every dictionary of a file that could be meant, as described at `PthFile`; at least one.
std::vector<WeightsSearch::Candidate> find_weights(const fs::path& path,
                                                   const Container& container) {
  const pickle::Objects& objects = container.objects;
  if (container.root.kind != Kind::Dictionary) {
    refuse(path, "does not hold a dictionary; save model.state_dict()");
  }
  const std::size_t root = container.root.index();
  WeightsSearch search(objects);
  search.visit(root, "", 0);
  if (search.candidates.empty()) {
    refuse(path,
           "holds no dictionary of tensors, neither at the top level nor under {}; its keys are "
           "{}; save model.state_dict()",
           fmt::join(Wrappers, ", "), list_keys(objects.dictionaries[root]));
  }
  return std::move(search.candidates);
}

std::vector<TensorView> make_tensors(const fs::path& path, const Container& container,
                                     const pickle::Dictionary& dictionary, std::size_t file_bytes,
                                     Copies& copies) {
  TensorMaker maker(path, container, file_bytes, copies);
  std::vector<TensorView> tensors;
  std::vector<std::string_view> names;
  for (const auto& [key, value] : dictionary) {
    if (key.kind != Kind::Text || value.kind != Kind::Tensor) continue;
    tensors.push_back(maker.make(key.text, container.objects.tensors[value.index()]));
    names.push_back(key.text);
  }
  if (const auto repeated = safetensors::first_repeated(std::move(names))) {
    refuse(path, "tensor {} appears twice", in_quotes(*repeated));
  }
  return tensors;
}

}  // namespace

PthFile::PthFile(const fs::path& path)
    : file_(std::make_unique<FileMapping>(path, pth::where(path))) {
  const Container container = pth::read_container(path, file_->bytes());
  auto candidates = find_weights(path, container);
  wrapper_ = std::move(candidates[0].wrapper);
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    passed_over_.push_back(std::move(candidates[i].wrapper));
  }
  tensors_ = make_tensors(path, container, container.objects.dictionaries[candidates[0].dictionary],
                          file_->bytes().size(), copies_);
}

PthFile::~PthFile() = default;

}  // namespace rcap
