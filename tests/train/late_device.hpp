#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "train/device_queue.hpp"

namespace rcap {

/// A stand-in for a device that goes on by itself. It computes on the processor; what is copied to
/// and from it arrives late, after so many calls, or when someone waits for it. Before that a copy
/// in the program's memory holds -1 only, and a batch must stay as it was given. As on a real
/// device, results arrive after the batches that they were computed from, and memory is given back
/// after what is copied from it.
class LateDevice final : public DeviceQueue {
 public:
  struct Delays {
    int most_to_device = 0;  ///< calls from 0 to this, by chance
    int most_to_host = 0;
    unsigned seed = 0;
  };
  static constexpr int Never = std::numeric_limits<int>::max();

  explicit LateDevice(const Delays& delays) : delays_(delays), random_(delays.seed) {}

  [[nodiscard]] torch::Device device() const override { return torch::kCPU; }
  [[nodiscard]] bool works_alone() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) override {
    ++allocations;
    return {new std::byte[bytes], [this](std::byte* memory) {
              arrive_up_to(to_device_, to_device_.begun);
              delete[] memory;
            }};
  }
  [[nodiscard]] PendingCopy to_device(const torch::Tensor& host) override {
    torch::Tensor copy = host.clone();
    return begin(copy, to_device_, delays_.most_to_device, waits_for_inputs, [=] {
      EXPECT_TRUE(torch::equal(host, copy)) << "a batch changed while it was copied";
    });
  }
  [[nodiscard]] PendingCopy to_host(const torch::Tensor& tensor) override {
    const torch::Tensor values = tensor.detach().clone();
    torch::Tensor copy = torch::full_like(values, -1);
    return begin(copy, to_host_, delays_.most_to_host, waits_for_results,
                 [=, this, inputs = to_device_.begun] {
                   arrive_up_to(to_device_, inputs);
                   copy.copy_(values);
                 });
  }

  int allocations = 0;
  int waits_for_inputs = 0;
  int waits_for_results = 0;

 private:
  struct Copy {
    std::int64_t due;
    std::function<void()> arrive;
  };
  /// Copies in one direction, which arrive in their order.
  struct Lane {
    std::deque<Copy> under_way;
    std::int64_t begun = 0;
    std::int64_t arrived = 0;
  };

  class Work final : public DeviceWork {
   public:
    Work(LateDevice& device, Lane& lane, int& waits)
        : device_(device), lane_(lane), waits_(waits), number_(++lane.begun) {}
    [[nodiscard]] bool done() const override {
      device_.tick();
      return lane_.arrived >= number_;
    }
    void wait() override {
      ++waits_;
      arrive_up_to(lane_, number_);
    }

   private:
    LateDevice& device_;
    Lane& lane_;
    int& waits_;
    std::int64_t number_;
  };

  PendingCopy begin(const torch::Tensor& copy, Lane& lane, int most, int& waits,
                    std::function<void()> arrive) {
    tick();
    const std::int64_t delay =
        most == Never ? Never : std::uniform_int_distribution(0, most)(random_);
    lane.under_way.push_back({now_ + delay, std::move(arrive)});
    return PendingCopy(copy, std::make_unique<Work>(*this, lane, waits));
  }

  void tick() {
    ++now_;
    for (Lane* lane : {&to_device_, &to_host_}) {
      while (!lane->under_way.empty() && lane->under_way.front().due < now_) arrive_first(*lane);
    }
  }

  static void arrive_up_to(Lane& lane, std::int64_t number) {
    while (lane.arrived < number) arrive_first(lane);
  }

  static void arrive_first(Lane& lane) {
    lane.under_way.front().arrive();
    lane.under_way.pop_front();
    ++lane.arrived;
  }

  Delays delays_;
  std::mt19937 random_;
  std::int64_t now_ = 0;
  Lane to_device_;
  Lane to_host_;
};

}  // namespace rcap
