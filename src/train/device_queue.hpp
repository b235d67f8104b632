#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <torch/torch.h>

namespace rcap {

/// Work that was given to a device and may not be done yet.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  [[nodiscard]] virtual bool done() const = 0;
  virtual void wait() = 0;
};

/// A copy from the program's memory to a device's or back, which may still be under way.
class PendingCopy {
 public:
  /// @param work  null if the copy is done
  explicit PendingCopy(torch::Tensor copy, std::unique_ptr<DeviceWork> work = nullptr)
      : copy_(std::move(copy)), work_(std::move(work)) {}

  [[nodiscard]] bool done() const { return work_ == nullptr || work_->done(); }
  void wait() {
    if (!done()) work_->wait();
  }

  /// On a device it may be used at once, because a device does its work in order.
  [[nodiscard]] const torch::Tensor& tensor() const noexcept { return copy_; }

  /// The numbers of a copy in the program's memory; waits if they have not arrived. They are valid
  /// as long as the copy exists.
  template <class T>
  [[nodiscard]] std::span<const T> values() {
    wait();
    return {copy_.const_data_ptr<T>(), static_cast<std::size_t>(copy_.numel())};
  }

 private:
  torch::Tensor copy_;
  std::unique_ptr<DeviceWork> work_;
};

/// A device, and the only way in which numbers reach it and come back during a run: everything that
/// might wait for the device is here.
///
/// A processor has done its work when the call returns. A CUDA device works on its own, in the
/// order in which it was given its work, while the program prepares more.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  [[nodiscard]] virtual torch::Device device() const = 0;

  /// Whether the device works on its own. Batches should then be made in `host_memory`, as levels,
  /// in more than one buffer.
  [[nodiscard]] virtual bool works_alone() const noexcept = 0;

  /// Memory of the program that the device can copy without the program's help. It is freed once
  /// the copies that were started are done.
  [[nodiscard]] virtual std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) = 0;

  /// Starts to copy a contiguous tensor of the program to the device. The tensor must not change
  /// until the copy is done; on a processor, where the copy is the tensor itself, as long as it is
  /// in use.
  [[nodiscard]] virtual PendingCopy to_device(const torch::Tensor& host) = 0;

  /// Starts to copy what the device computes to the program's memory. Copies finish in the order
  /// in which they were started.
  [[nodiscard]] virtual PendingCopy to_host(const torch::Tensor& tensor) = 0;
};

/// @param name  cpu, cuda or cuda:N
/// @throws InvalidArgument  another name, or a device that does not exist
[[nodiscard]] std::shared_ptr<DeviceQueue> open_device(const std::string& name);

}  // namespace rcap
