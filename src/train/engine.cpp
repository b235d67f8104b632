#include "train/engine.hpp"

#include <algorithm>
#include <string_view>

#define XXH_INLINE_ALL
#include <ATen/autocast_mode.h>
#include <fmt/format.h>
#include <xxhash.h>

#include "models/load_weights.hpp"
#include "models/make_model.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

void check_precision(Precision precision, const torch::Device& device) {
  if (precision != Precision::Bf16 || !device.is_cpu()) return;
#if defined(__x86_64__)
  const bool has_bf16 = __builtin_cpu_supports("avx512bf16") != 0;
#else
  const bool has_bf16 = true;
#endif
  if (has_bf16) return;
  throw InvalidArgument(
      "precision bf16: this processor has no bf16 instructions (avx512_bf16), so bf16 would be "
      "emulated and slower than fp32; use fp32");
}

/// While it exists, operations that are safe in bf16 run in bf16.
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

/// Multiplies the weights of the last layer, the last matrix among the parameters.
void scale_head(Network& network, double factor) {
  if (factor == 1) return;
  const torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> parameters = network.parameters();
  const auto head = std::find_if(parameters.rbegin(), parameters.rend(),
                                 [](const torch::Tensor& p) { return p.dim() == 2; });
  if (head != parameters.rend()) head->mul_(factor);
}

std::shared_ptr<Network> make_network(const TrainOptions& options, ImageShape shape,
                                      ClassId class_count, const torch::Device& device,
                                      std::vector<std::string>& remarks) {
  auto network = make_model(options.model, {.channels = shape.channels,
                                            .class_count = class_count,
                                            .seed = options.seed,
                                            .image_height = shape.height,
                                            .image_width = shape.width,
                                            .dino = options.dino});
  if (!options.weights.empty()) {
    remarks.push_back(fmt::format("{}: {}", options.weights.string(),
                                  describe(load_weights(*network, options.weights))));
  }
  scale_head(*network, options.head_scale);
  network->to(device);
  if (options.channels_last) use_channels_last(*network);
  return network;
}

std::vector<torch::Tensor> trained_parameters(const Network& network) {
  std::vector<torch::Tensor> trained;
  for (torch::Tensor& parameter : network.parameters()) {
    if (parameter.requires_grad()) trained.push_back(std::move(parameter));
  }
  return trained;
}

torch::Tensor on_host(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU, torch::kFloat).contiguous();
}

std::uint64_t fingerprint_of_frozen(const Network& network) {
  std::uint64_t fingerprint = 0;
  for (const torch::Tensor& parameter : network.parameters()) {
    if (parameter.requires_grad()) continue;
    const torch::Tensor values = on_host(parameter);
    fingerprint = XXH3_64bits_withSeed(values.const_data_ptr(), values.nbytes(), fingerprint);
  }
  return fingerprint;
}

std::span<const float> as_span(const torch::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

/// The first numbers, one per channel of an image; none if images come normalised.
torch::Tensor per_channel(std::span<const float> numbers, int channels, torch::Device device) {
  const std::size_t count = std::min(numbers.size(), static_cast<std::size_t>(channels));
  return torch::tensor(std::vector(numbers.begin(), numbers.begin() + count)).to(device);
}

}  // namespace

Engine::Engine(const TrainOptions& options, ImageShape shape, ClassId class_count,
               const Normalization& normalization, std::shared_ptr<DeviceQueue> device)
    : device_(device ? std::move(device) : open_device(options.device)),
      precision_(options.precision),
      channels_last_(options.channels_last),
      part_size_((options.batch_size + options.grad_accumulation - 1) / options.grad_accumulation),
      shape_(shape),
      most_(torch::tensor(255.0F).to(device_->device())),
      mean_(per_channel(normalization.mean, shape.channels, device_->device())),
      deviation_(per_channel(normalization.deviation, shape.channels, device_->device())),
      network_(make_network(options, shape, class_count, device_->device(), remarks_)),
      frozen_fingerprint_(fingerprint_of_frozen(*network_)),
      optimizer_(options, trained_parameters(*network_)),
      logit_adjustment_(options.logit_adjustment) {
  check_precision(precision_, device_->device());
}

/// Its copies were started a step ago, so this hardly ever waits.
void Engine::release_last_batch() {
  for (PendingCopy& copy : inputs_) copy.wait();
  inputs_.clear();
}

/// Starts to copy a part of a batch to the device.
template <class T>
torch::Tensor Engine::hand_over(std::span<const T> values) {
  // Read only; LibTorch has no view of constant memory.
  auto* data = const_cast<T*>(values.data());
  inputs_.push_back(device_->to_device(torch::from_blob(
      data, {static_cast<std::int64_t>(values.size())}, c10::CppTypeToScalarType<T>::value)));
  return inputs_.back().tensor();
}

/// What the network reads, in the order of the batch.
torch::Tensor Engine::numbers_of(const Batch& batch) {
  const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(batch.ids.size()), shape_.height,
                                        shape_.width, shape_.channels};
  if (batch.levels.empty()) return hand_over(batch.images).view(sizes);
  // As `scale_levels` does. The divisors are tensors so that CUDA divides as the processor does:
  // to divide by a plain number, it multiplies by the inverse.
  return hand_over(batch.levels)
      .view(sizes)
      .to(torch::kFloat)
      .div_(most_)
      .sub_(mean_)
      .div_(deviation_);
}

torch::Tensor Engine::images_of(const Batch& batch) {
  const torch::Tensor images = numbers_of(batch).permute({0, 3, 1, 2});
  return channels_last_ ? images : images.contiguous();
}

torch::Tensor Engine::run_network(const Batch& batch) {
  const Autocast autocast(precision_, device_->device().type());
  return network_->forward(images_of(batch)).to(torch::kFloat);
}

torch::Tensor Engine::losses_of(const torch::Tensor& logits, const Batch& batch) {
  namespace F = torch::nn::functional;
  const torch::Tensor adjusted = trained_prior_.defined() ? logits + trained_prior_ : logits;
  return F::cross_entropy(adjusted, hand_over(batch.labels),
                          F::CrossEntropyFuncOptions().reduction(torch::kNone));
}

void Engine::use_prior(std::span<const double> log_prior) {
  const auto times = [&](double factor) {
    std::vector<float> numbers;
    for (const double log : log_prior) numbers.push_back(static_cast<float>(factor * log));
    return torch::tensor(numbers).to(device_->device());
  };
  trained_prior_ = logit_adjustment_ == 0 ? torch::Tensor() : times(logit_adjustment_);
  rest_of_prior_ = logit_adjustment_ == 1 ? torch::Tensor() : times(1 - logit_adjustment_);
}

/// Calls `use(part, first)` for each part of a batch; `first` is where it begins.
template <class Use>
void Engine::for_each_part(const Batch& batch, Use&& use) const {
  const auto size = static_cast<std::size_t>(part_size_);
  for (std::size_t first = 0; first < batch.ids.size(); first += size) {
    const std::size_t count = std::min(size, batch.ids.size() - first);
    const auto part_of = [&](auto values) {
      const std::size_t each = values.size() / batch.ids.size();
      return values.subspan(first * each, count * each);
    };
    use(Batch{.ids = part_of(batch.ids),
              .images = part_of(batch.images),
              .labels = part_of(batch.labels),
              .levels = part_of(batch.levels)},
        first);
  }
}

PendingCopy Engine::forward(const Batch& batch, std::span<const float> weights,
                            std::uint64_t seed) {
  release_last_batch();
  torch::manual_seed(seed);
  network_->train();
  logits_.clear();
  for (torch::Tensor* copy : {&host_logits_, &host_probabilities_, &host_losses_}) copy->reset();
  last_losses_.reset();
  std::vector<torch::Tensor> losses;
  const double each = 1.0 / static_cast<double>(batch.ids.size());
  for_each_part(batch, [&](const Batch& part, std::size_t first) {
    if (last_losses_.defined()) learn_from_last_part();
    const torch::Tensor logits = run_network(part);
    last_losses_ = losses_of(logits, part);
    const auto count = static_cast<std::int64_t>(part.ids.size());
    last_factors_ = torch::full({count}, each, last_losses_.options().requires_grad(false));
    if (!weights.empty()) last_factors_ *= hand_over(weights.subspan(first, part.ids.size()));
    logits_.push_back(logits.detach());
    losses.push_back(last_losses_.detach());
  });
  losses_ = torch::cat(losses);
  return device_->to_host(losses_);
}

void Engine::learn_from_last_part() {
  last_losses_.backward(last_factors_);
  last_losses_.reset();
}

std::span<const float> Engine::logits() {
  if (!host_logits_.defined()) host_logits_ = on_host(torch::cat(logits_));
  return as_span(host_logits_);
}

std::span<const float> Engine::probabilities() {
  if (!host_probabilities_.defined()) {
    host_probabilities_ = on_host(torch::softmax(torch::cat(logits_), 1));
  }
  return as_span(host_probabilities_);
}

std::span<const float> Engine::losses() {
  if (!host_losses_.defined()) host_losses_ = on_host(losses_);
  return as_span(host_losses_);
}

void Engine::update(double learning_rate) {
  learn_from_last_part();
  optimizer_.step(learning_rate);
}

void Engine::begin_initial_pass() {
  network_->train();
  turn_off_chance(*network_);
  buffers_before_pass_.clear();
  for (const torch::Tensor& buffer : network_->buffers()) {
    buffers_before_pass_.push_back(buffer.clone());
  }
}

void Engine::end_initial_pass() {
  const torch::NoGradGuard no_grad;
  const auto buffers = network_->buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(buffers_before_pass_[i]);
  buffers_before_pass_.clear();
}

PendingCopy Engine::initial_losses(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  release_last_batch();
  std::vector<torch::Tensor> losses;
  for_each_part(batch, [&](const Batch& part, std::size_t) {
    losses.push_back(losses_of(run_network(part), part));
  });
  return device_->to_host(torch::cat(losses));
}

PendingCopy Engine::predict(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  release_last_batch();
  network_->eval();
  const torch::Tensor logits = run_network(batch);
  const torch::Tensor adjusted = rest_of_prior_.defined() ? logits - rest_of_prior_ : logits;
  return device_->to_host(torch::stack({logits.argmax(1), adjusted.argmax(1)}));
}

PendingCopy Engine::evaluation_losses(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  release_last_batch();
  network_->eval();
  return device_->to_host(losses_of(run_network(batch), batch));
}

NamedTensors Engine::state() const {
  NamedTensors state;
  for (const auto& item : network_->named_parameters()) {
    // Frozen parameters are read from the weight file again.
    if (item.value().requires_grad()) state.emplace_back("model." + item.key(), item.value());
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
