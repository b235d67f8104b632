// What has to hold if rcap::core is a shared library: exceptions and classes keep their types on
// both sides of it. It is compiled with hidden visibility, as a plug-in would be.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <rcap/core/error.hpp>
#include <rcap/core/make_pruner.hpp>
#include <rcap/core/pruners/rcap_pruner.hpp>

namespace {

int failures = 0;

void expect(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "across_libraries: %.*s\n", static_cast<int>(what.size()), what.data());
  ++failures;
}

template <class Expected, class Call>
bool throws(Call&& call) {
  try {
    call();
  } catch (const Expected&) {
    return true;
  } catch (const std::exception&) {
  }
  return false;
}

struct OwnError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A method of the caller's, derived from a class of the library.
class FirstSamples final : public rcap::Pruner {
 public:
  FirstSamples(std::shared_ptr<const rcap::ClassIndex> classes, const rcap::CommonOptions& common)
      : Pruner("first", std::move(classes), common) {}

 private:
  void make_selection(std::int64_t, rcap::SampleSet& selected, const rcap::Workers&) override {
    selected = rcap::SampleSet(selected.sample_count());
    for (rcap::SampleId id = 0; id < keep_count(); ++id) selected.insert(id);
  }
};

template <class Label>
std::shared_ptr<const rcap::ClassIndex> classes_of() {
  return std::make_shared<const rcap::ClassIndex>(std::vector<Label>{0, 1, 0, 1, 1, 0, 0, 0, 1, 1});
}

}  // namespace

int main() {
  const auto classes = classes_of<int>();
  const auto make = [&](std::string_view method) { return rcap::make_pruner(method, classes, {}); };

  expect(throws<rcap::InvalidArgument>([&] { (void)make("nonsense"); }), "InvalidArgument");
  expect(throws<rcap::Error>([&] { (void)make("nonsense"); }), "Error, the base");
  expect(throws<rcap::BadFile>([&] { make("rcap")->load("/nowhere/state"); }), "BadFile");
  const auto state = make("rs2")->state();
  expect(throws<rcap::StateMismatch>([&] { make("rcap")->set_state(state); }), "StateMismatch");
  expect(throws<OwnError>([] {
           rcap::Workers(2).for_each_chunk(9, [](auto...) { throw OwnError("passing through"); });
         }),
         "an exception of the caller's, thrown through the library");

  expect(dynamic_cast<rcap::RcapPruner*>(make("rcap").get()) != nullptr, "dynamic_cast");
  FirstSamples own(classes, {.pruning_rate = 0.7});
  expect(own.select(0).ids == std::vector<rcap::SampleId>{0, 1, 2}, "a derived pruner");

  const auto same_labels = [&]<class... Label>() {
    return ((classes_of<Label>()->fingerprint() == classes->fingerprint()) && ...);
  };
  expect(same_labels.operator()<signed char, unsigned char, short, unsigned short, unsigned, long,
                                unsigned long, long long, unsigned long long>(),
         "labels of every integer type");
  return failures;
}
