#include "data/images/bad_images.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "rcap/core/error.hpp"

namespace rcap {

std::vector<BadImage> find_bad_images(const ImageSource& images, const Workers& workers,
                                      const std::function<void(std::int64_t)>& progress) {
  std::map<SampleId, std::string> reasons;
  std::vector<Image> buffers(static_cast<std::size_t>(workers.count()));
  std::mutex mutex;
  std::int64_t done = 0;
  workers.for_each_chunk(images.size(), [&](std::int64_t id, int worker) {
    std::string reason;
    try {
      (void)images.read(id, buffers[static_cast<std::size_t>(worker)]);
    } catch (const BadFile& error) {
      reason = error.what();
    }
    const std::lock_guard lock(mutex);
    if (!reason.empty()) reasons.emplace(id, std::move(reason));
    if (progress) progress(++done);
  });
  std::vector<BadImage> bad;
  for (auto& [id, reason] : reasons) bad.push_back({id, std::move(reason)});
  return bad;
}

}  // namespace rcap
