#include "data/dataset.hpp"

#include <utility>

namespace rcap {
namespace {

/// Some images of another source, in another order.
class SubsetSource final : public ImageSource {
 public:
  SubsetSource(std::shared_ptr<const ImageSource> whole, std::span<const SampleId> positions)
      : whole_(std::move(whole)), positions_(positions.begin(), positions.end()) {}

  [[nodiscard]] std::int64_t size() const noexcept override {
    return static_cast<std::int64_t>(positions_.size());
  }
  [[nodiscard]] ImageView read(SampleId id, Image& buffer) const override {
    return whole_->read(position(id), buffer);
  }
  [[nodiscard]] std::string name_of(SampleId id) const override {
    return whole_->name_of(position(id));
  }
  [[nodiscard]] std::uint64_t stamp_of(SampleId id) const override {
    return whole_->stamp_of(position(id));
  }
  [[nodiscard]] std::optional<ImageShape> fixed_shape() const noexcept override {
    return whole_->fixed_shape();
  }
  [[nodiscard]] bool in_memory() const noexcept override { return whole_->in_memory(); }
  [[nodiscard]] bool holds_rows() const noexcept override { return whole_->holds_rows(); }
  [[nodiscard]] const float* row(SampleId id) const noexcept override {
    return whole_->row(position(id));
  }

 private:
  [[nodiscard]] SampleId position(SampleId id) const {
    return positions_[static_cast<std::size_t>(id)];
  }

  std::shared_ptr<const ImageSource> whole_;
  std::vector<SampleId> positions_;
};

template <class T>
std::vector<T> at_positions(const std::vector<T>& values, std::span<const SampleId> positions) {
  std::vector<T> taken;
  if (values.empty()) return taken;
  taken.reserve(positions.size());
  for (const SampleId position : positions) {
    taken.push_back(values[static_cast<std::size_t>(position)]);
  }
  return taken;
}

}  // namespace

Split subset(const Split& split, std::span<const SampleId> positions) {
  return {std::make_shared<SubsetSource>(split.images, positions),
          at_positions(split.labels, positions), at_positions(split.groups, positions)};
}

}  // namespace rcap
