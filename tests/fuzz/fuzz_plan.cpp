// Plans of studies. Whatever a plan says, a study remembers it as it was read.
#include <fmt/format.h>

#include "base/text_file.hpp"
#include "fuzz/fuzz_input.hpp"
#include "study/plan_file.hpp"
#include "study/study_folder.hpp"

using namespace rcap;

namespace {

/// A plan of a hundred thousand runs is a plan, but takes its time.
constexpr std::size_t MostRuns = 200;

/// Where a file is written to memory: on a disk, most of the time would be spent syncing it.
std::filesystem::path fast_folder() {
  const std::filesystem::path memory = "/dev/shm";
  return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
}

bool is_large(std::string_view text) {
  std::size_t commas = 0;
  for (const char c : text) commas += c == ',' ? 1 : 0;
  return commas > MostRuns / 10;
}

void require_same(const StudyPlan& plan, const StudyPlan& again) {
  bool same = plan.title == again.title && plan.reference == again.reference &&
              plan.datasets == again.datasets && plan.methods == again.methods &&
              plan.runs.size() == again.runs.size();
  for (std::size_t i = 0; same && i < plan.runs.size(); ++i) {
    same = plan.runs[i].name == again.runs[i].name &&
           difference_of(plan.runs[i].options, again.runs[i].options, Reader::File).empty();
  }
  if (!same) throw InternalError("a plan was written and read, and is another one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (is_large(fuzz::as_text({data, size}))) return 0;
  const auto path = fuzz::as_file({data, size});
  fuzz::read_or_refuse([&] {
    const StudyPlan plan = read_plan_file(path, {.threads = 2, .data_root = "/data"});
    static const auto written = fast_folder() / fmt::format("rcap-fuzz-plan-{}.json", ::getpid());
    write_plan(written, plan);
    require_same(plan, read_plan(written));
    std::filesystem::remove(written);
  });
  return 0;
}
