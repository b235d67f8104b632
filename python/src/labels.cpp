#include "labels.hpp"

#include <algorithm>
#include <limits>

namespace rcap::python {

std::shared_ptr<const ClassIndex> classes_of(nb::handle labels,
                                             std::optional<std::int64_t> class_count) {
  std::optional<ClassId> count;
  if (class_count) {
    // Out of range stays out of range; ClassIndex says what is wrong.
    constexpr std::int64_t Largest = std::numeric_limits<ClassId>::max();
    count = static_cast<ClassId>(std::clamp<std::int64_t>(*class_count, -1, Largest));
  }
  const Array array = as_array("labels", labels);
  return with_integers("labels", array, [&](auto values) {
    return std::make_shared<const ClassIndex>(values, count);
  });
}

}  // namespace rcap::python
