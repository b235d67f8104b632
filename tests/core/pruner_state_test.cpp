// Save, load, go on = never stopped, for every method and every moment.

#include <fstream>
#include <limits>

#include <gmock/gmock.h>

#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "memory_file.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;

class EveryState : public testing::TestWithParam<Variant> {
 protected:
  [[nodiscard]] std::unique_ptr<Pruner> make() const { return make_variant(GetParam(), classes_); }

  /// A pruner that takes over where `pruner` is, through a file.
  [[nodiscard]] std::unique_ptr<Pruner> resume(const Pruner& pruner) const {
    pruner.save(folder_ / "state.rcap");
    auto resumed = make();
    resumed->load(folder_ / "state.rcap");
    return resumed;
  }

  TemporaryFolder folder_;
  std::shared_ptr<const ClassIndex> classes_ = small_data_set(500);
};

INSTANTIATE_TEST_SUITE_P(, EveryState, testing::ValuesIn(all_variants()),
                         [](const auto& test) { return test.param.name; });

TEST_P(EveryState, GoesOnBetweenEpochsAsIfNeverStopped) {
  const auto whole = make();
  observe_initial_losses(*whole);
  const auto expected = run_epochs(*whole, 0, 9);
  for (const int stop : {0, 1, 2, 5, 8}) {
    const auto first = make();
    observe_initial_losses(*first);
    run_epochs(*first, 0, stop);
    const auto resumed = resume(*first);
    EXPECT_EQ(resumed->epoch(), stop - 1);
    EXPECT_TRUE(run_epochs(*resumed, stop, 9) ==
                std::vector(expected.begin() + stop, expected.end()))
        << stop;
  }
}

TEST_P(EveryState, GoesOnInMidEpochAsIfNeverStopped) {
  const auto whole = make();
  observe_initial_losses(*whole);
  const auto expected = run_epochs(*whole, 0, 6);
  for (const int epoch : {0, 2}) {
    for (const double part : {0.0, 0.3, 0.5, 1.0}) {
      const auto first = make();
      observe_initial_losses(*first);
      run_epochs(*first, 0, epoch);
      const std::vector<SampleId> ids = first->select(epoch).ids;
      const std::vector<SampleId> refresh_ids = first->select(epoch).refresh_ids;
      const auto seen = static_cast<std::size_t>(part * static_cast<double>(ids.size()));
      const auto before = std::span(ids).first(seen);
      const auto after = std::span(ids).subspan(seen);
      first->observe(before, losses_of(before, epoch));
      const auto refreshed = std::span(refresh_ids).first(refresh_ids.size() / 2);
      if (first->refreshes()) first->observe_refreshed(refreshed, losses_of(refreshed, epoch));
      // Twice in one epoch: nothing is lost by a second stop.
      const auto resumed = resume(*resume(*first));
      EXPECT_EQ(resumed->pending_count(), static_cast<std::int64_t>(after.size()));
      EXPECT_TRUE(resumed->select(epoch) == expected[static_cast<std::size_t>(epoch)]);
      resumed->observe(after, losses_of(after, epoch));
      const auto rest = resumed->unrefreshed_ids();
      EXPECT_EQ(rest.size(), refresh_ids.size() - refreshed.size());
      if (resumed->refreshes()) resumed->observe_refreshed(rest, losses_of(rest, epoch));
      EXPECT_TRUE(run_epochs(*resumed, epoch + 1, 6) ==
                  std::vector(expected.begin() + epoch + 1, expected.end()));
    }
  }
}

TEST_P(EveryState, GoesOnInMidInitialPass) {
  const auto whole = make();
  if (!whole->needs_initial_losses()) GTEST_SKIP() << "no initial pass";
  observe_initial_losses(*whole);
  const auto expected = run_epochs(*whole, 0, 3);
  std::vector<SampleId> ids(500);
  std::iota(ids.begin(), ids.end(), 0);
  const auto first = make();
  first->observe(std::span(ids).first(123), losses_of(std::span(ids).first(123), -1));
  const auto resumed = resume(*first);
  resumed->observe(std::span(ids).subspan(123), losses_of(std::span(ids).subspan(123), -1));
  EXPECT_TRUE(run_epochs(*resumed, 0, 3) == expected);
}

TEST_P(EveryState, RefusesEveryTruncationAndFlippedByteAndStaysAsItWas) {
  // A data set of its own: small enough that every byte can have its turn.
  const auto classes = std::make_shared<const ClassIndex>(std::vector<int>{0, 0, 0, 1, 1, 0, 1});
  const auto pruner = make_variant(GetParam(), classes);
  observe_initial_losses(*pruner);
  run_epochs(*pruner, 0, 2);
  const auto path = folder_ / "small.rcap";
  pruner->save(path);
  std::ifstream in(path, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  const auto expected = run_epochs(*pruner, 2, 4);

  const auto victim = make_variant(GetParam(), classes);
  MemoryFile file;
  const auto refuses = [&](const std::string& bytes) {
    file.put(bytes);
    try {
      victim->load(file.path());
    } catch (const Error& error) {
      return std::string_view(error.what()).size() > 20;
    }
    return false;
  };
  ASSERT_FALSE(refuses(good));
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_TRUE(refuses(good.substr(0, size))) << "cut to " << size << " bytes";
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      ASSERT_TRUE(refuses(bad)) << "byte " << at;
    }
  }
  ASSERT_TRUE(refuses(good + '\0'));
  EXPECT_TRUE(run_epochs(*victim, 2, 4) == expected);
}

TEST(PrunerState, CannotHoldWeightsOfWhatWasNeverSelected) {
  const auto classes = small_data_set(500);
  const auto pruner = make_pruner("rs2", classes, options_for(*classes));
  const StateIdentity identity{"rs2", 500, 6, classes->fingerprint(), pruner->options()};
  std::int64_t epoch = -1, losses_of = 0;
  SampleSet selected(500), pending = SampleSet::all(500);
  std::vector<double> weights(6);
  const auto refusal = [&] {
    const auto state = encode_state(identity, [&](StateFields& fields) {
      fields.number("epoch", epoch);
      fields.samples("selected", selected);
      fields.samples("pending", pending);
      fields.weights("trained_weights", weights);
      fields.number("losses_of", losses_of);
    });
    return message_of<BadFile>([&] { pruner->set_state(state); });
  };
  weights[3] = 2;
  EXPECT_THAT(refusal(), HasSubstr("load_state: the trained weights add up to 2 after 0 epochs"));
  epoch = 3;
  pending = selected;
  weights.assign(6, std::numeric_limits<double>::max());
  EXPECT_THAT(refusal(), HasSubstr("the trained weights add up to inf after 4 epochs"));
  EXPECT_EQ(pruner->epoch(), -1);
}

TEST(PrunerState, BelongsToItsDataSetMethodAndOptions) {
  const TemporaryFolder folder;
  const auto path = folder / "state.rcap";
  const auto classes = small_data_set(500);
  const auto rcap_pruner = [&](double beta, std::shared_ptr<const ClassIndex> data) {
    PrunerOptions options = options_for(*data);
    options.rcap.beta = beta;
    return make_pruner("rcap", data, options);
  };
  rcap_pruner(1.0, classes)->save(path);
  const auto refusal = [&](Pruner& pruner) {
    return message_of<StateMismatch>([&] { pruner.load(path); });
  };
  EXPECT_THAT(refusal(*rcap_pruner(2.0, classes)), HasSubstr("beta=1"));
  EXPECT_THAT(refusal(*rcap_pruner(1.0, small_data_set(501))), HasSubstr("500"));
  std::vector<int> shifted;
  for (SampleId id = 0; id < 500; ++id) shifted.push_back(classes->class_of((id + 1) % 500));
  EXPECT_THAT(refusal(*rcap_pruner(1.0, std::make_shared<const ClassIndex>(shifted, 6))),
              HasSubstr("labels"));
  EXPECT_THAT(refusal(*make_pruner("rs2", classes, options_for(*classes))), HasSubstr("rcap"));
}

TEST(PrunerState, OfAStaticMethodBelongsToItsSubset) {
  const TemporaryFolder folder;
  const auto path = folder / "state.rcap";
  const auto classes = small_data_set(500);
  PrunerOptions options = options_for(*classes);
  make_pruner("ccs", classes, options)->save(path);
  options.ccs.strata = 5;
  EXPECT_THAT(message_of<StateMismatch>([&] { make_pruner("ccs", classes, options)->load(path); }),
              HasSubstr("chosen_samples="));
}

}  // namespace
}  // namespace rcap
