#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Files as `torch.save` writes them, made byte by byte: for tests of what PyTorch itself
/// would not write, and as first inputs of the fuzz target.
namespace rcap::pth_samples {

// ---- pickles: each function gives the instructions that push one value

[[nodiscard]] std::string text(std::string_view value);
[[nodiscard]] std::string integer(std::int64_t value);
/// The name of something in a module.
[[nodiscard]] std::string global(std::string_view module, std::string_view name);
[[nodiscard]] std::string tuple(const std::vector<std::string>& values);
[[nodiscard]] std::string integers(const std::vector<std::int64_t>& values);
/// @param items  keys are text, values are instructions
[[nodiscard]] std::string dictionary(const std::vector<std::pair<std::string, std::string>>& items);
/// An OrderedDict with the attribute `_metadata`, as a state_dict is.
[[nodiscard]] std::string ordered(const std::vector<std::pair<std::string, std::string>>& items);

/// @param type  such as "Float"
[[nodiscard]] std::string storage(std::string_view key, std::string_view type, std::int64_t count,
                                  bool old_format = false);
[[nodiscard]] std::string tensor(const std::string& storage, std::int64_t offset,
                                 const std::vector<std::int64_t>& sizes,
                                 const std::vector<std::int64_t>& strides);

/// Protocol 2, the value, the end.
[[nodiscard]] std::string pickle_of(const std::string& value);

// ---- containers

struct Record {
  std::string name;
  std::string data;
};

/// A zip archive with stored records.
/// @param zip64  with the larger form of its end and of its sizes
[[nodiscard]] std::string zip(const std::vector<Record>& records, bool zip64 = false);

/// The archive of a pickle: `archive/data.pkl`, and a record for every storage.
[[nodiscard]] std::string archive(const std::string& pickle,
                                  const std::vector<Record>& storages = {}, bool zip64 = false);

/// The format before PyTorch 1.6: five pickles, then every storage with its element count.
struct OldStorage {
  std::string key;
  std::int64_t count = 0;
  std::string data;
};
[[nodiscard]] std::string old_file(const std::string& pickle,
                                   const std::vector<OldStorage>& storages);

/// Two tensors of one storage of six floats 0 to 5: "weight", 2 x 3, and "turned", its
/// transpose; and "flags" of three truth values 1 0 1.
[[nodiscard]] std::string small_archive(bool zip64 = false);
[[nodiscard]] std::string small_old_file();

/// The bytes of numbers.
template <class Number>
[[nodiscard]] std::string bytes_of_numbers(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

}  // namespace rcap::pth_samples
