// The instructions of a pickle that make storages and tensors: the part of the machine that knows
// PyTorch.
#include <algorithm>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "io/pth/pickle_machine.hpp"

namespace rcap::pickle {
namespace {

constexpr std::size_t MostDimensions = 16;

}  // namespace

/// A pickle refers to a storage by a tuple: the word "storage", its type, its key, the device it
/// was on, its number of elements and, in files of the old format, which part of another storage it
/// is, which only PyTorch before 0.4 used.
void Machine::push_storage() {
  const Value id = pop();
  const Sequence none;
  const Sequence& parts = id.kind == Kind::Tuple ? objects_.sequences[id.index()] : none;
  if ((parts.size() != 5 && parts.size() != 6) || !parts[0].is_text("storage") ||
      parts[1].kind != Kind::StorageType || parts[2].kind != Kind::Text) {
    refuse("refers to something outside the pickle that is not a storage of a known type");
  }
  if (parts.size() == 6 && parts[5].kind != Kind::None) {
    refuse(
        "refers to a part of another storage, as PyTorch before 0.4 did; load it in a newer "
        "PyTorch and save it again");
  }
  const Storage storage{parts[2].text, static_cast<TensorType>(parts[1].number),
                        count_of(parts[4], "number of elements")};
  const auto [place, is_new] =
      objects_.storage_of_key.emplace(storage.key, objects_.storages.size());
  if (is_new) {
    objects_.storages.push_back(storage);
  } else {
    const Storage& first = objects_.storages[place->second];
    if (first.type != storage.type || first.element_count != storage.element_count) {
      refuse("describes storage {} in two ways; the file is damaged", in_quotes(storage.key));
    }
  }
  push({Kind::Storage, static_cast<std::int64_t>(place->second), {}});
}

void Machine::call() {
  const Value arguments = pop();
  const Value function = pop();
  if (function.kind != Kind::Function || arguments.kind != Kind::Tuple) {
    refuse("does not call a known function with a tuple; the file is damaged");
  }
  const Sequence& values = objects_.sequences[arguments.index()];
  switch (static_cast<Function>(function.number)) {
    case Function::MakeDictionary:
      if (!values.empty()) {
        refuse(
            "makes an OrderedDict from a list, as Python 2 did; load it in a newer Python and save "
            "it again");
      }
      return push_dictionary();
    case Function::RebuildTensor:
      return rebuild_tensor(values);
    case Function::RebuildParameter:
      return rebuild_parameter(values);
  }
}

/// Storage, offset, sizes, strides, requires_grad, hooks, and in some files metadata.
void Machine::rebuild_tensor(const Sequence& arguments) {
  if (arguments.size() < 6 || arguments.size() > 7 || arguments[0].kind != Kind::Storage) {
    refuse(
        "makes a tensor from something other than a storage and five more values; the file is "
        "damaged");
  }
  if (arguments.size() == 7 && arguments[6].kind != Kind::None) {
    refuse("makes a tensor with metadata (a conjugate or negative view); save a plain copy of it");
  }
  Tensor tensor;
  tensor.storage = arguments[0].index();
  tensor.offset = count_of(arguments[1], "offset");
  tensor.sizes = check_counts(arguments[2], "size");
  tensor.strides = check_counts(arguments[3], "stride");
  const std::size_t sizes = objects_.sequences[tensor.sizes].size();
  const std::size_t strides = objects_.sequences[tensor.strides].size();
  if (sizes != strides) {
    refuse("makes a tensor with {} sizes and {} strides; the file is damaged", sizes, strides);
  }
  push({Kind::Tensor, static_cast<std::int64_t>(objects_.tensors.size()), {}});
  objects_.tensors.push_back(tensor);
}

void Machine::rebuild_parameter(const Sequence& arguments) {
  if (arguments.empty() || arguments[0].kind != Kind::Tensor) {
    refuse("makes a parameter from something that is not a tensor; the file is damaged");
  }
  push(arguments[0]);
}

std::uint64_t Machine::count_of(const Value& value, std::string_view what) const {
  if (value.kind != Kind::Integer || value.number < 0) {
    refuse("has {} as {}; it must be a 64-bit integer >= 0",
           value.kind == Kind::Integer ? fmt::format("{}", value.number)
                                       : std::string("something else"),
           what);
  }
  return static_cast<std::uint64_t>(value.number);
}

std::size_t Machine::check_counts(const Value& value, std::string_view what) const {
  if (value.kind != Kind::Tuple) {
    refuse("makes a tensor whose {}s are not a tuple; the file is damaged", what);
  }
  const Sequence& counts = objects_.sequences[value.index()];
  if (counts.size() > MostDimensions) {
    refuse("makes a tensor of {} dimensions; at most {} are read", counts.size(), MostDimensions);
  }
  for (const Value& count : counts) (void)count_of(count, what);
  return value.index();
}

}  // namespace rcap::pickle
