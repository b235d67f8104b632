#include "models/tensor_file.hpp"

#include "io/safetensors.hpp"
#include "models/stored_tensor.hpp"

namespace rcap {

void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata) {
  std::vector<torch::Tensor> held;
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : tensors) {
    held.push_back(tensor.detach().to(torch::kCPU).contiguous());
    views.push_back(view_of(name, held.back()));
  }
  write_safetensors(path, views, metadata);
}

}  // namespace rcap
