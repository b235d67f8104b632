#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <torch/torch.h>

namespace rcap {

/// Something that a device was given to do and may not have done yet.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  [[nodiscard]] virtual bool done() const = 0;
  virtual void wait() = 0;
};

/// A copy from the program's memory to a device's or back, which may still be under way.
class PendingCopy {
 public:
  /// @param work  nothing where the copy is done
  explicit PendingCopy(torch::Tensor copy, std::unique_ptr<DeviceWork> work = nullptr)
      : copy_(std::move(copy)), work_(std::move(work)) {}

  [[nodiscard]] bool done() const { return work_ == nullptr || work_->done(); }
  void wait() {
    if (!done()) work_->wait();
  }

  /// On a device it may be used at once: what a device is given later it does later.
  [[nodiscard]] const torch::Tensor& tensor() const noexcept { return copy_; }

  /// The numbers of a copy in the program's memory; waits where they have not arrived. They hold as
  /// long as the copy.
  template <class T>
  [[nodiscard]] std::span<const T> values() {
    wait();
    return {copy_.const_data_ptr<T>(), static_cast<std::size_t>(copy_.numel())};
  }

 private:
  torch::Tensor copy_;
  std::unique_ptr<DeviceWork> work_;
};

/// A device, and the only way by which numbers come to it and back in a run: all that could wait
/// for it is here.
///
/// A processor has done what it was given when the call returns. A CUDA device goes on by itself,
/// in the order in which it was given its work, and the program meanwhile prepares more.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  [[nodiscard]] virtual torch::Device device() const = 0;

  /// Whether the device goes on by itself. Batches should then be made in `host_memory`, as levels,
  /// in more than one place.
  [[nodiscard]] virtual bool works_alone() const noexcept = 0;

  /// Memory of the program that the device can copy without its help. It is given back after the
  /// copies that were begun.
  [[nodiscard]] virtual std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) = 0;

  /// Begins to copy a contiguous tensor of the program to the device. It must stay as it is until
  /// the copy is done; on a processor, where the copy is the tensor itself, as long as that is
  /// used.
  [[nodiscard]] virtual PendingCopy to_device(const torch::Tensor& host) = 0;

  /// Begins to copy what the device computes to the program's memory. Copies are done in the order
  /// in which they were begun.
  [[nodiscard]] virtual PendingCopy to_host(const torch::Tensor& tensor) = 0;
};

/// @param name  cpu, cuda or cuda:N
/// @throws InvalidArgument  another name, or a device that is not there
[[nodiscard]] std::shared_ptr<DeviceQueue> open_device(const std::string& name);

}  // namespace rcap
