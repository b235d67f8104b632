#include "train/engine.hpp"

#include <string_view>

#include <ATen/autocast_mode.h>

#include "rcap/core/error.hpp"
#include "rcap/models/make_model.hpp"

namespace rcap {
namespace {

torch::Device find_device(const std::string& name) {
  if (name == "cpu") return torch::kCPU;
  const bool is_cuda = name == "cuda" || name.starts_with("cuda:");
  if (!is_cuda || name.find_first_not_of("0123456789", 5) < name.size() || name == "cuda:") {
    throw InvalidArgument(fmt::format("--device \"{}\" is none of cpu, cuda, cuda:N", name));
  }
  if (!torch::cuda::is_available()) {
    throw InvalidArgument(fmt::format(
        "--device {}: this LibTorch finds no CUDA device; use --device cpu, or build with a CUDA "
        "LibTorch (Torch_DIR)",
        name));
  }
  const torch::Device device(name);
  if (device.has_index() && std::cmp_greater_equal(device.index(), torch::cuda::device_count())) {
    throw InvalidArgument(fmt::format("--device {}: there are {} CUDA devices, counted from 0",
                                      name, torch::cuda::device_count()));
  }
  return device;
}

void check_precision(Precision precision, const torch::Device& device) {
  if (precision != Precision::Bf16 || !device.is_cpu()) return;
#if defined(__x86_64__)
  const bool has_bf16 = __builtin_cpu_supports("avx512bf16") != 0;
#else
  const bool has_bf16 = true;
#endif
  if (has_bf16) return;
  throw InvalidArgument(
      "--precision bf16: this processor has no bf16 instructions (avx512_bf16), so bf16 would be "
      "emulated and slower than fp32; use --precision fp32");
}

/// Within it operations that are safe in bf16 run in bf16.
class Autocast {
 public:
  Autocast(Precision precision, c10::DeviceType device)
      : device_(device), active_(precision == Precision::Bf16) {
    if (!active_) return;
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  }
  ~Autocast() {
    if (!active_) return;
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool active_;
};

std::shared_ptr<Network> make_network(const TrainOptions& options, ImageShape shape,
                                      ClassId class_count, const torch::Device& device) {
  auto network = make_model(options.model, {shape.channels, class_count, options.seed});
  network->to(device);
  if (!options.channels_last) return network;
  for (torch::Tensor& parameter : network->parameters()) {
    // Module::to knows no memory format.
    if (parameter.dim() == 4) {
      parameter.set_data(parameter.data().contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
  return network;
}

void turn_off_dropout(torch::nn::Module& network) {
  for (const auto& module : network.modules()) {
    if (module->as<torch::nn::Dropout>() != nullptr) module->eval();
  }
}

std::span<const float> as_span(const torch::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

torch::Tensor on_host(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU, torch::kFloat).contiguous();
}

}  // namespace

Engine::Engine(const TrainOptions& options, ImageShape shape, ClassId class_count)
    : device_(find_device(options.device)),
      precision_(options.precision),
      channels_last_(options.channels_last),
      shape_(shape),
      network_(make_network(options, shape, class_count, device_)),
      optimizer_(options, network_->parameters()) {
  check_precision(precision_, device_);
}

torch::Tensor Engine::images_of(const Batch& batch) const {
  const auto count = static_cast<std::int64_t>(batch.ids.size());
  // Read only; LibTorch has no view of constant memory.
  auto* data = const_cast<float*>(batch.images.data());
  auto images = torch::from_blob(data, {count, shape_.height, shape_.width, shape_.channels})
                    .permute({0, 3, 1, 2});
  if (!channels_last_) images = images.contiguous();
  return images.to(device_);
}

torch::Tensor Engine::run_network(const Batch& batch) {
  const Autocast autocast(precision_, device_.type());
  return network_->forward(images_of(batch)).to(torch::kFloat);
}

torch::Tensor Engine::losses_of(const torch::Tensor& logits, const Batch& batch) const {
  auto* data = const_cast<std::int64_t*>(batch.labels.data());
  const auto labels =
      torch::from_blob(data, {static_cast<std::int64_t>(batch.labels.size())}, torch::kLong)
          .to(device_);
  namespace F = torch::nn::functional;
  return F::cross_entropy(logits, labels, F::CrossEntropyFuncOptions().reduction(torch::kNone));
}

std::span<const float> Engine::forward(const Batch& batch, std::uint64_t seed) {
  torch::manual_seed(seed);
  network_->train();
  logits_ = run_network(batch);
  losses_ = losses_of(logits_, batch);
  host_losses_ = on_host(losses_);
  return as_span(host_losses_);
}

std::span<const float> Engine::logits() {
  host_outputs_ = on_host(logits_);
  return as_span(host_outputs_);
}

std::span<const float> Engine::probabilities() {
  host_outputs_ = on_host(torch::softmax(logits_.detach(), 1));
  return as_span(host_outputs_);
}

void Engine::update(std::span<const float> weights, double learning_rate) {
  const std::int64_t count = losses_.size(0);
  const double each = 1.0 / static_cast<double>(count);
  torch::Tensor factors = torch::full({count}, each, losses_.options().requires_grad(false));
  if (!weights.empty()) {
    auto* data = const_cast<float*>(weights.data());
    factors *= torch::from_blob(data, {count}).to(device_);
  }
  losses_.backward(factors);
  optimizer_.step(learning_rate);
}

std::span<const float> Engine::initial_losses(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  network_->train();
  turn_off_dropout(*network_);
  std::vector<torch::Tensor> remembered;
  for (const torch::Tensor& buffer : network_->buffers()) remembered.push_back(buffer.clone());
  host_losses_ = on_host(losses_of(run_network(batch), batch));
  const auto buffers = network_->buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(remembered[i]);
  return as_span(host_losses_);
}

std::span<const std::int64_t> Engine::predict(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  network_->eval();
  predictions_ = run_network(batch).argmax(1).to(torch::kCPU).contiguous();
  return {predictions_.const_data_ptr<std::int64_t>(),
          static_cast<std::size_t>(predictions_.numel())};
}

NamedTensors Engine::state() const {
  NamedTensors state;
  for (const auto& item : network_->named_parameters()) {
    state.emplace_back("model." + item.key(), item.value());
  }
  for (const auto& item : network_->named_buffers()) {
    state.emplace_back("model." + item.key(), item.value());
  }
  for (auto& [name, tensor] : optimizer_.state()) {
    state.emplace_back("optimizer." + name, tensor);
  }
  return state;
}

}  // namespace rcap
