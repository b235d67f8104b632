#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.hpp"

namespace rcap {

/// A weight file written by PyTorch's `torch.save`: a dictionary of tensors by name, as
/// `model.state_dict()` returns it. Read without PyTorch.
///
/// Such a file contains a program for Python's pickle machine. Here it is read by a machine with a
/// short list of instructions and names: it can build dictionaries, lists, tuples, numbers, text
/// and tensors, and nothing else. Any other instruction or name is refused with its offset, and
/// nothing is ever executed.
///
///  - Both containers are read: the zip archive (ZIP64 too; weights are stored in it uncompressed;
///    every checksum is verified), and the one before PyTorch 1.6, which is five pickles and the
///    data. Tar archives, TorchScript and big-endian files are refused, with a remedy.
///  - Types are those of `TensorType`. Parameters count as tensors. Bytes of a `Bool` tensor must
///    be 0 or 1; other values are not checked.
///  - A checkpoint may wrap the dictionary: one under `model_ema`, `teacher`, `state_dict` or
///    `model` is used, also if these are nested. If there are several, the first in this order is
///    used, because averaged weights are what is published. `wrapper` and `passed_over` report the
///    choice.
///  - Other entries of the dictionary (numbers, text, lists, dictionaries) are left out. Hooks,
///    `requires_grad` and `_metadata` are too.
///  - A tensor whose elements are not side by side is copied. All copies together take at most 4
///    times the size of the file plus 16 MiB, so that a small file cannot claim more by repeating
///    elements (stride 0).
///  - A pickle has at most 2,097,152 instructions, and nests at most 1000 deep. A tensor has at
///    most 16 dimensions.
///
/// The file must not be shortened while it is open. Costs one pass over the whole file, for the
/// checksums.
class PthFile {
 public:
  /// @throws BadFile  names the file, the offset and the first thing that is wrong with it
  explicit PthFile(const std::filesystem::path& path);
  ~PthFile();
  PthFile(const PthFile&) = delete;
  PthFile& operator=(const PthFile&) = delete;

  /// All tensors, in the order of the dictionary; at least one. They are contiguous and aligned to
  /// their element, and point into the file if it stores them that way.
  [[nodiscard]] std::span<const TensorView> tensors() const noexcept { return tensors_; }

  /// The keys that lead to the dictionary, joined by dots; empty for the outermost one.
  [[nodiscard]] std::string_view wrapper() const noexcept { return wrapper_; }
  /// The keys of other dictionaries that could have been used.
  [[nodiscard]] std::span<const std::string> passed_over() const noexcept { return passed_over_; }

 private:
  std::unique_ptr<FileMapping> file_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;  ///< of tensors that cannot be used in place
  std::vector<TensorView> tensors_;
  std::string wrapper_;
  std::vector<std::string> passed_over_;
};

}  // namespace rcap
