#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/safetensors.hpp"

/// What a pickle can build here. Objects refer to each other by number, so a dictionary that
/// contains itself does no harm, and nothing is walked or freed by recursion.
namespace rcap::pickle {

enum class Kind : std::uint8_t {
  None,
  Truth,
  Integer,
  LongInteger,  ///< of more than 64 bits
  Real,         ///< its value is not needed
  Text,
  Tuple,
  List,
  Dictionary,
  Function,     ///< one of `Function`
  StorageType,  ///< a `TensorType`
  Storage,
  Tensor
};

/// The names that a pickle may call.
enum class Function : std::uint8_t { MakeDictionary, RebuildTensor, RebuildParameter };

struct Value {
  Kind kind = Kind::None;
  /// An integer, a truth value, an enumerator, or the number of an object.
  std::int64_t number = 0;
  /// Text, or the bytes of a long integer; points into the pickle.
  std::string_view text;

  [[nodiscard]] std::size_t index() const noexcept { return static_cast<std::size_t>(number); }
  [[nodiscard]] bool is_text(std::string_view wanted) const noexcept {
    return kind == Kind::Text && text == wanted;
  }
};

using Sequence = std::vector<Value>;
using Dictionary = std::vector<std::pair<Value, Value>>;  ///< in the order of insertion

/// Memory that tensors view; the pickle knows its name and size, the container has its bytes.
struct Storage {
  std::string_view key;
  TensorType type = TensorType::F32;
  std::uint64_t element_count = 0;
};

/// A view of a storage, in elements. Not yet checked against it.
struct Tensor {
  std::size_t storage = 0;
  std::uint64_t offset = 0;
  std::size_t sizes = 0;    ///< a sequence of integers
  std::size_t strides = 0;  ///< likewise
};

/// All objects of a pickle.
struct Objects {
  std::vector<Sequence> sequences;  ///< tuples and lists
  std::vector<Dictionary> dictionaries;
  std::vector<Storage> storages;
  std::unordered_map<std::string_view, std::size_t> storage_of_key;
  std::vector<Tensor> tensors;
};

}  // namespace rcap::pickle
