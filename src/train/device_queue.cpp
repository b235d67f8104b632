#include "train/device_queue.hpp"

#include <utility>

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {
namespace {

/// Does everything at once, and its memory is the program's.
class Processor final : public DeviceQueue {
 public:
  [[nodiscard]] torch::Device device() const override { return torch::kCPU; }
  [[nodiscard]] bool works_alone() const noexcept override { return false; }
  [[nodiscard]] std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) override {
    return std::shared_ptr<std::byte[]>(new std::byte[bytes]);
  }
  [[nodiscard]] PendingCopy to_device(const torch::Tensor& host) override {
    return PendingCopy(host);
  }
  [[nodiscard]] PendingCopy to_host(const torch::Tensor& tensor) override {
    return PendingCopy(tensor.detach().contiguous());
  }
};

/// Everything that a stream had been given when this was constructed.
class WorkOfStream final : public DeviceWork {
 public:
  explicit WorkOfStream(const c10::Stream& stream) : event_(stream.device_type()) {
    event_.record(stream);
  }
  [[nodiscard]] bool done() const override { return event_.query(); }
  void wait() override { event_.synchronize(); }
  /// Makes a stream wait until this is done; the program itself does not wait.
  void block(const c10::Stream& stream) const { event_.block(stream); }

 private:
  c10::Event event_;
};

/// A device with streams, through the part of LibTorch that is the same for all such devices, so
/// that it compiles without CUDA too.
///
/// Batches are copied to the device in a stream of their own, while the network's stream computes.
/// Losses are copied back in the network's stream, after the work that computes them.
class CudaDevice final : public DeviceQueue {
 public:
  explicit CudaDevice(torch::Device device)
      : device_(device), streams_(device.type()), inputs_(start(device)) {}

  [[nodiscard]] torch::Device device() const override { return device_; }
  [[nodiscard]] bool works_alone() const noexcept override { return true; }

  [[nodiscard]] std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) override {
    const torch::Tensor memory =
        torch::empty({static_cast<std::int64_t>(bytes)},
                     torch::TensorOptions().dtype(torch::kByte).pinned_memory(true));
    auto* const first = static_cast<std::byte*>(memory.mutable_data_ptr());
    // LibTorch does not know that parts of the memory are being copied, and would reuse it.
    return {first, [memory, streams = streams_, inputs = inputs_](std::byte*) {
              try {
                streams.synchronizeStream(inputs);
              } catch (const c10::Error&) {
                // The device is broken; the next call that uses it will report that.
              }
            }};
  }

  [[nodiscard]] PendingCopy to_device(const torch::Tensor& host) override {
    const c10::Stream network = streams_.getStream(device_);
    const c10::StreamGuard guard(inputs_);
    // LibTorch keeps memory that it pinned itself until the copy is done.
    const torch::Tensor pinned = host.is_pinned() ? host : host.pin_memory();
    torch::Tensor copy = pinned.to(device_, /*non_blocking=*/true);
    auto work = std::make_unique<WorkOfStream>(inputs_);
    work->block(network);
    copy.record_stream(network);  // keeps its memory from being reused until the network is done
    return PendingCopy(std::move(copy), std::move(work));
  }

  [[nodiscard]] PendingCopy to_host(const torch::Tensor& tensor) override {
    const torch::Tensor from = tensor.detach().contiguous();
    torch::Tensor copy = torch::empty(
        from.sizes(), torch::TensorOptions().dtype(from.scalar_type()).pinned_memory(true));
    copy.copy_(from, /*non_blocking=*/true);
    return PendingCopy(std::move(copy),
                       std::make_unique<WorkOfStream>(streams_.getStream(device_)));
  }

 private:
  /// Makes it the current device, so that no other device is touched.
  /// @return a stream for copies to it
  [[nodiscard]] c10::Stream start(torch::Device device) const {
    if (device.has_index()) streams_.setDevice(device);
    return streams_.getStreamFromGlobalPool(device, /*isHighPriority=*/false);
  }

  torch::Device device_;
  c10::impl::VirtualGuardImpl streams_;
  c10::Stream inputs_;
};

}  // namespace

std::shared_ptr<DeviceQueue> open_device(const std::string& name) {
  if (name == "cpu") return std::make_shared<Processor>();
  const bool is_cuda = name == "cuda" || name.starts_with("cuda:");
  if (!is_cuda || name.find_first_not_of("0123456789", 5) < name.size() || name == "cuda:") {
    throw InvalidArgument(fmt::format("device \"{}\" is not one of cpu, cuda, cuda:N", name));
  }
  if (!torch::cuda::is_available()) {
    throw InvalidArgument(
        fmt::format("device {}: this LibTorch finds no CUDA device; use cpu, or build with a CUDA "
                    "LibTorch (Torch_DIR)",
                    name));
  }
  const torch::Device device(name);
  if (device.has_index() && std::cmp_greater_equal(device.index(), torch::cuda::device_count())) {
    throw InvalidArgument(fmt::format("device {}: there are {} CUDA devices, counted from 0", name,
                                      torch::cuda::device_count()));
  }
  return std::make_shared<CudaDevice>(device);
}

}  // namespace rcap
