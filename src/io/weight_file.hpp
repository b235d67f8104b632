#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.hpp"

namespace rcap {

class PthFile;

/// The weights of a network, read from a safetensors file or from one written by PyTorch's
/// `torch.save` (`.pth`). The first bytes decide which it is; the name of the file does not matter.
///
/// Every tensor is contiguous, little-endian and aligned to its element, however the file stores
/// it. Most of them point into the mapped file, so it must not be shortened while the object lives.
/// Names are those of the file: stripping a prefix such as `module.` is up to the caller.
class WeightFile {
 public:
  enum class Format { Safetensors, Pth };

  /// Checks the whole file. Nothing in it is ever executed; see `SafetensorsFile` and
  /// `PthFile` for what each of them refuses.
  /// @throws BadFile  names the file, the place and the first thing that is wrong with it
  explicit WeightFile(const std::filesystem::path& path);
  ~WeightFile();
  WeightFile(const WeightFile&) = delete;
  WeightFile& operator=(const WeightFile&) = delete;

  /// All tensors: of a safetensors file in the order of their data, of a `.pth` file in the order
  /// of the dictionary.
  [[nodiscard]] std::span<const TensorView> tensors() const noexcept { return tensors_; }
  /// The tensor of that name, or nullptr.
  [[nodiscard]] const TensorView* find(std::string_view name) const noexcept;

  [[nodiscard]] Format format() const noexcept { return format_; }
  /// The keys of a `.pth` file under which the tensors were found, such as "model_ema"; empty if
  /// its outermost dictionary holds them.
  [[nodiscard]] std::string_view wrapper() const noexcept;
  /// Other dictionaries of tensors, to which `wrapper` was preferred, such as "model".
  [[nodiscard]] std::span<const std::string> passed_over() const noexcept;

 private:
  Format format_;
  std::unique_ptr<SafetensorsFile> safetensors_;
  std::unique_ptr<PthFile> pth_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;  ///< of misaligned tensors
  std::vector<TensorView> tensors_;
};

}  // namespace rcap
