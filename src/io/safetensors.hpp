#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rcap {

class FileMapping;

enum class TensorType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };

/// The bytes of one element.
[[nodiscard]] std::size_t bytes_of(TensorType type) noexcept;

/// A tensor owned by someone else: contiguous, little-endian.
struct TensorView {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

/// A safetensors file, mapped into memory and checked as a whole before anything is read
/// from it. Nothing in such a file is ever executed.
///
///  - The header has at most 100,000,000 bytes, repeats no name, and holds only what the format
///    defines.
///  - The tensors cover the data from the first byte to the last, without holes or overlap, and
///    each has as many bytes as its shape needs. Bytes of a `Bool` tensor are 0 or 1.
///  - Other values are not checked: refusing a NaN is up to the caller.
///
/// The file must not be shortened while it is open; replacing it, as `write_safetensors`
/// does, is safe. Costs one pass over the header and over `Bool` tensors.
class SafetensorsFile {
 public:
  /// @throws BadFile  names the file and the first thing that is wrong with it
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  /// All tensors, in the order of their data in the file. They point into it, and are aligned to
  /// their element only if the writer saw to that, as ours does.
  [[nodiscard]] std::span<const TensorView> tensors() const noexcept { return tensors_; }
  /// The tensor of that name, or nullptr.
  [[nodiscard]] const TensorView* find(std::string_view name) const noexcept;
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept {
    return metadata_;
  }

 private:
  std::unique_ptr<FileMapping> file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Writes a safetensors file, atomically (`StagedFile`). The data begin at a multiple of 8 bytes
/// and the tensors with the widest elements come first, so that every element is at a multiple of
/// its size (the format allows no gaps for alignment); tensors of equal width keep their order. The
/// same input gives the same bytes.
/// @throws InvalidArgument  a repeated name, or `__metadata__`; a shape that does not match the
///                          data; a `Bool` that is not 0 or 1; text that is not UTF-8; more than a
///                          header can hold
/// @throws BadFile          names the path and the reason
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace rcap
