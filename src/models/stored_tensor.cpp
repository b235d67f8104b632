#include "models/stored_tensor.hpp"

#include <utility>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

struct TypePair {
  TensorType stored;
  torch::Dtype torch;
};

constexpr TypePair Types[] = {
    {TensorType::F64, torch::kDouble}, {TensorType::F32, torch::kFloat},
    {TensorType::F16, torch::kHalf},   {TensorType::BF16, torch::kBFloat16},
    {TensorType::I64, torch::kLong},   {TensorType::I32, torch::kInt},
    {TensorType::I16, torch::kShort},  {TensorType::I8, torch::kChar},
    {TensorType::U8, torch::kByte},    {TensorType::Bool, torch::kBool},
};

}  // namespace

torch::Tensor tensor_of(const TensorView& stored) {
  for (const TypePair& pair : Types) {
    if (pair.stored != stored.type) continue;
    // Read only; LibTorch has no view of constant memory.
    auto* data = const_cast<std::byte*>(stored.data.data());
    return torch::from_blob(data, stored.shape, pair.torch);
  }
  throw InternalError("tensor " + stored.name + " is of an unknown type");
}

TensorView view_of(std::string name, const torch::Tensor& tensor) {
  if (!tensor.is_cpu() || !tensor.is_contiguous()) {
    throw InternalError("tensor " + name +
                        " is not on the CPU or not contiguous, so it cannot be stored");
  }
  for (const TypePair& pair : Types) {
    if (pair.torch != tensor.scalar_type()) continue;
    return {std::move(name),
            pair.stored,
            tensor.sizes().vec(),
            {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}};
  }
  throw InternalError("tensor " + name + " is of a type that cannot be stored");
}

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
