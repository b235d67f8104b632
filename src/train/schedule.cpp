#include "train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rcap {

Schedule::Schedule(ScheduleKind kind, double learning_rate, std::int64_t epochs,
                   std::optional<std::int64_t> planned_steps)
    : kind_(kind), learning_rate_(learning_rate), epochs_(epochs), planned_steps_(planned_steps) {}

double Schedule::learning_rate(const Position& position) const noexcept {
  if (kind_ == ScheduleKind::Constant) return learning_rate_;
  const auto ratio = [](double part, double whole) { return part / std::max(whole, 1.0); };
  const auto epoch = static_cast<double>(position.epoch);
  const auto epochs = static_cast<double>(epochs_);
  double progress = ratio(epoch, epochs);
  if (kind_ == ScheduleKind::CosineStep && planned_steps_) {
    progress = ratio(static_cast<double>(position.step), static_cast<double>(*planned_steps_));
  } else if (kind_ == ScheduleKind::CosineStep) {
    progress = ratio(epoch + ratio(static_cast<double>(position.batch),
                                   static_cast<double>(position.batches_in_epoch)),
                     epochs);
  }
  return learning_rate_ * (1 + std::cos(std::numbers::pi * std::min(progress, 1.0))) / 2;
}

}  // namespace rcap
