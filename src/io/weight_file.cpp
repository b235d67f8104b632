#include "io/weight_file.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/file_mapping.hpp"
#include "io/pth/pth.hpp"
#include "io/pth/pth_container.hpp"
#include "io/safetensors_format.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

WeightFile::Format format_of(const fs::path& path) {
  const FileMapping file(path, "WeightFile \"" + path.string() + "\"");
  return pth::begins_like_pth(file.bytes()) ? WeightFile::Format::Pth
                                            : WeightFile::Format::Safetensors;
}

}  // namespace

WeightFile::WeightFile(const fs::path& path) : format_(format_of(path)) {
  if (format_ == Format::Pth) {
    pth_ = std::make_unique<PthFile>(path);
    const auto tensors = pth_->tensors();
    tensors_.assign(tensors.begin(), tensors.end());
    return;
  }
  safetensors_ = std::make_unique<SafetensorsFile>(path);
  const auto tensors = safetensors_->tensors();
  tensors_.assign(tensors.begin(), tensors.end());
  for (TensorView& tensor : tensors_) {
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.data.data());
    if (address % bytes_of(tensor.type) == 0) continue;
    auto copy = std::make_unique_for_overwrite<std::byte[]>(tensor.data.size());
    std::memcpy(copy.get(), tensor.data.data(), tensor.data.size());
    tensor.data = {copy.get(), tensor.data.size()};
    copies_.push_back(std::move(copy));
  }
}

WeightFile::~WeightFile() = default;

const TensorView* WeightFile::find(std::string_view name) const noexcept {
  return safetensors::find_tensor(tensors_, name);
}

std::string_view WeightFile::wrapper() const noexcept {
  return pth_ ? pth_->wrapper() : std::string_view();
}

std::span<const std::string> WeightFile::passed_over() const noexcept {
  return pth_ ? pth_->passed_over() : std::span<const std::string>();
}

}  // namespace rcap
