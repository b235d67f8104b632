#include "base/file_mapping.hpp"
#include "io/pth/pth.hpp"
#include "io/pth/pth_bytes.hpp"
#include "io/pth/pth_container.hpp"
#include "io/pth/pth_tensors.hpp"
#include "io/safetensors_format.hpp"

namespace rcap {

struct PthFile::Contents {
  explicit Contents(const std::filesystem::path& path) : file(path, pth::where(path)) {
    const pth::Container container = pth::read_container(path, file.bytes());
    weights = pth::find_weights(path, container);
    tensors = pth::make_tensors(path, container, container.objects.dictionaries[weights.dictionary],
                                file.bytes().size(), copies);
  }

  FileMapping file;
  pth::Copies copies;
  pth::Weights weights;
  std::vector<TensorView> tensors;
};

PthFile::PthFile(const std::filesystem::path& path) : contents_(std::make_unique<Contents>(path)) {}
PthFile::~PthFile() = default;

std::span<const TensorView> PthFile::tensors() const noexcept { return contents_->tensors; }

const TensorView* PthFile::find(std::string_view name) const noexcept {
  return safetensors::find_tensor(contents_->tensors, name);
}

std::string_view PthFile::wrapper() const noexcept { return contents_->weights.wrapper; }

std::span<const std::string> PthFile::passed_over() const noexcept {
  return contents_->weights.passed_over;
}

}  // namespace rcap
