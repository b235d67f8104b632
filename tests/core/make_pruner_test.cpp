#include "rcap/core/make_pruner.hpp"

#include <cctype>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/all_methods.hpp"
#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;

TEST(MakePruner, KnowsEveryMethodByItsName) {
  const auto classes = small_data_set();
  for (const MethodInfo& info : methods()) {
    EXPECT_EQ(make_pruner(info.name, classes, options_for(*classes))->method(), info.name);
    EXPECT_EQ(find_method(info.name)->name, info.name);
  }
}

TEST(MakePruner, ListsTheMethodsWhenAskedForAnother) {
  EXPECT_EQ(find_method("rcapp"), nullptr);
  EXPECT_THAT(
      message_of<InvalidArgument>([] { (void)make_pruner("rcapp", small_data_set(), {}); }),
      HasSubstr("there is no method \"rcapp\" (did you mean rcap?); the methods are rcap rs2 "
                "rs2-replace infobatch"));
}

TEST(MakePruner, NamesOptionsOutOfRange) {
  const auto classes = small_data_set();
  const auto refusal = [&](std::string_view method, auto change) {
    PrunerOptions options = options_for(*classes);
    change(options);
    return message_of<InvalidArgument>([&] { (void)make_pruner(method, classes, options); });
  };
  EXPECT_THAT(refusal("rcap", [](auto& o) { o.rcap.beta = 0; }), HasSubstr("beta is 0; it must"));
  EXPECT_THAT(refusal("rcap", [](auto& o) { o.common.pruning_rate = 1; }),
              HasSubstr("pruning_rate is 1"));
  EXPECT_THAT(refusal("full", [](auto& o) { o.common.pruning_rate = 1; }),
              HasSubstr("pruning_rate is 1"));
  EXPECT_THAT(refusal("rcap", [](auto& o) { o.common.threads = 0; }), HasSubstr("threads is 0"));
  EXPECT_THAT(refusal("rcap", [](auto& o) { o.rcap.min_per_class = -1; }),
              HasSubstr("min_per_class is -1"));
  EXPECT_THAT(refusal("rs2", [](auto& o) { o.rs2.stratified = true; }),
              HasSubstr("use rs2-replace"));
  EXPECT_THAT(refusal("infobatch", [](auto& o) { o.infobatch.epochs = 0; }),
              HasSubstr("epochs is 0"));
  EXPECT_THAT(refusal("infobatch", [](auto& o) { o.infobatch.prune_probability = 1; }),
              HasSubstr("prune_probability is 1"));
  EXPECT_THAT(refusal("infobatch", [](auto& o) { o.infobatch.annealing = 2; }),
              HasSubstr("annealing is 2"));
  EXPECT_THAT(refusal("infobatch", [](auto& o) { o.infobatch.batch_size = 0; }),
              HasSubstr("batch_size is 0"));
  EXPECT_THAT(refusal("ucb", [](auto& o) { o.ucb.loss_weight = 1.5; }),
              HasSubstr("loss_weight is 1.5"));
  EXPECT_THAT(refusal("ucb", [](auto& o) { o.ucb.period = 0; }), HasSubstr("period is 0"));
  EXPECT_THAT(refusal("epsilon-greedy", [](auto& o) { o.epsilon_greedy.epsilon = -1; }),
              HasSubstr("epsilon is -1"));
  EXPECT_THAT(refusal("ccs", [](auto& o) { o.scores.clear(); }),
              HasSubstr("ccs: 0 scores for 2000 samples"));
  EXPECT_THAT(refusal("tdds", [](auto& o) { o.scores.pop_back(); }),
              HasSubstr("tdds: 1999 scores for 2000 samples"));
  for (const char* method : {"el2n", "forgetting", "dyn-unc", "dual"}) {
    EXPECT_THAT(refusal(method, [](auto& o) { o.scores.clear(); }),
                HasSubstr(std::string(method) + ": 0 scores for 2000 samples"));
  }
  EXPECT_THAT(
      refusal("dual", [](auto& o) { o.mean_probabilities.clear(); }),
      HasSubstr("dual: 0 mean probabilities for 2000 samples; its draw needs one per sample "
                "beside the scores; without them set choose to top, strata or per-class"));
  EXPECT_THAT(refusal("metriq", [](auto& o) { o.recalls.clear(); }),
              HasSubstr("metriq: 0 recalls for 6 classes"));
}

/// Sets options by name, as somebody who reads a file does.
std::string refusal_of_given(std::string_view name, std::vector<GivenOption> given) {
  const MethodInfo& method = require_method(name);
  PrunerOptions options;
  OptionFields fields;
  list_options(fields, method, options);
  return message_of<InvalidArgument>([&] { set_options(fields, method, given, Reader::File); });
}

TEST(SetOptions, TellsWhichMethodsHaveAnOption) {
  EXPECT_EQ(refusal_of_given("ucb", {{"beta", "3"}}), "ucb has no option beta; rcap has it");
  EXPECT_EQ(refusal_of_given("rs2", {{"loss_weight", "1"}}),
            "rs2 has no option loss-weight; ucb and epsilon-greedy have it");
  EXPECT_EQ(refusal_of_given("rcap", {{"betta", "3"}}),
            "there is no option betta (did you mean beta?)");
}

TEST(SetOptions, TakesTheCommonOptionsAndThoseOfTheMethod) {
  PrunerOptions options;
  OptionFields fields;
  list_options(fields, require_method("epsilon-greedy"), options);
  const std::vector<GivenOption> given{
      {"pruning_rate", "0.25"}, {"epsilon", "0.5"}, {"start", "zero"}};
  set_options(fields, require_method("epsilon-greedy"), given, Reader::Code);
  EXPECT_EQ(options.common.pruning_rate, 0.25);
  EXPECT_EQ(options.epsilon_greedy.epsilon, 0.5);
  EXPECT_EQ(options.epsilon_greedy.start, BanditStart::Zero);
  EXPECT_EQ(options.ucb.start, BanditStart::FirstLoss);
}

TEST(Methods, HaveNamesForEveryReader) {
  for (const MethodInfo& method : methods()) {
    EXPECT_FALSE(method.summary.empty()) << method.name;
    EXPECT_TRUE(std::isupper(method.python_name.front())) << method.name;
    PrunerOptions options;
    OptionFields fields;
    list_options(fields, method, options);
    std::set<std::string_view> names;
    for (const Option& option : fields.all()) {
      EXPECT_TRUE(names.insert(option.name()).second) << method.name << " " << option.name();
      EXPECT_FALSE(option.meaning().empty()) << option.name();
    }
  }
}

}  // namespace
}  // namespace rcap
