#include "train/options.hpp"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/text_file.hpp"
#include "core/expect_throw.hpp"
#include "io/toml_options.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"
#include "train/presets.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;

/// As options.toml has it, or "absent".
std::string value_of(const TrainOptions& options, const std::string& name) {
  const std::string text = "\n" + to_toml(options);
  const std::size_t at = text.find("\n" + name + " = ");
  if (at == std::string::npos) return "absent";
  const std::size_t begin = at + name.size() + 4;
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string refusal_of(std::vector<GivenOption> given, Reader reader = Reader::CommandLine) {
  return message_of<InvalidArgument>([&] { (void)make_options(given, reader); });
}

TEST(ToToml, ShowsOptionsOfTheChosenMethodOnly) {
  TrainOptions options;
  options.method = "rcap";
  options.pruner.rcap.class_share = ClassShare::Group;
  EXPECT_EQ(value_of(options, "class-share"), "\"group\"");
  EXPECT_EQ(value_of(options, "epsilon"), "absent");
  options.method = "epsilon-greedy";
  EXPECT_EQ(value_of(options, "class-share"), "absent");
  EXPECT_EQ(value_of(options, "epsilon"), "0.1");
}

TEST(ToToml, WritesNumbersSoThatTheyComeBack) {
  TrainOptions options;
  options.lr = 0.1 + 0.2;
  EXPECT_EQ(std::stod(value_of(options, "lr")), options.lr);
}

TEST(ToToml, PutsWordsInQuotesAndTheNumbersInTheirPlaceInNone) {
  TrainOptions options;
  options.method = "rcap";
  EXPECT_EQ(value_of(options, "clip"), "\"auto\"");
  options.pruner.rcap.clip = LossClip::None;
  EXPECT_EQ(value_of(options, "clip"), "\"none\"");
  options.pruner.rcap.clip = 2.5;
  EXPECT_EQ(value_of(options, "clip"), "2.5");
}

TEST(ToToml, LeavesOutWhatIsNotSet) {
  TrainOptions options;
  EXPECT_EQ(value_of(options, "train-samples"), "absent");
  EXPECT_EQ(value_of(options, "label-column"), "absent");
  EXPECT_EQ(value_of(options, "checkpoint-seconds"), "absent");
  options.train_samples = 500;
  options.checkpoint_seconds = 5;
  EXPECT_EQ(value_of(options, "train-samples"), "500");
  EXPECT_EQ(value_of(options, "checkpoint-seconds"), "5");
}

TEST(ToToml, ShowsNoOptionOfImagesForATable) {
  TrainOptions options;
  EXPECT_EQ(value_of(options, "flip"), "\"off\"");
  find_preset("table").apply(options);
  options.label_column = "kind";
  EXPECT_EQ(value_of(options, "label-column"), "\"kind\"");
  for (const char* name : {"flip", "image-size", "skip-bad", "fast-decode"}) {
    EXPECT_EQ(value_of(options, name), "absent") << name;
  }
}

TEST(ToToml, EscapesPaths) {
  TrainOptions options;
  options.data = "a \"b\"\\c\n";
  EXPECT_EQ(value_of(options, "data"), R"("a \"b\"\\c\u000a")");
}

TEST(ToToml, ComesBackAsTheSameOptionsForEveryMethodAndPreset) {
  const TemporaryFolder folder;
  for (const Preset& preset : presets()) {
    for (const MethodInfo& method : methods()) {
      const std::vector<GivenOption> given{{"preset", std::string(preset.name)},
                                           {"method", std::string(method.name)},
                                           {"seed", "18446744073709551615"},
                                           {"pruning_rate", "0.7"},
                                           {"data", "a \"b\" c"}};
      const TrainOptions options = make_options(given, Reader::Code);
      write_text(folder / "options.toml", to_toml(options));
      const TrainOptions read =
          make_options(read_toml_options(folder / "options.toml"), Reader::File);
      EXPECT_EQ(words_of(read), words_of(options)) << preset.name << " " << method.name;
      EXPECT_EQ(difference_of(options, read, Reader::File), "");
    }
  }
}

TEST(MakeOptions, TakesWhatIsGivenBeforeThePreset) {
  const TrainOptions options = make_options(
      std::vector<GivenOption>{{"preset", "cifar10"}, {"epochs", "3"}, {"flip", "off"}},
      Reader::Code);
  EXPECT_EQ(options.model, "resnet18-cifar");
  EXPECT_EQ(options.epochs, 3);
  EXPECT_FALSE(options.flip);
}

TEST(MakeOptions, TakesThePapersTemperatureUnlessOneIsGiven) {
  std::vector<GivenOption> given{{"preset", "cifar10"}, {"pruning_rate", "0.5"}};
  EXPECT_EQ(make_options(given, Reader::Code).pruner.rcap.beta, 3);
  given.push_back({"beta", "0.5"});
  EXPECT_EQ(make_options(given, Reader::Code).pruner.rcap.beta, 0.5);
}

TEST(MakeOptions, LeavesTheLongTailToTheDefaultPresetsOwnData) {
  EXPECT_EQ(make_options({}, Reader::Code).imbalance, 100);
  const auto imbalance = [](std::vector<GivenOption> given) {
    return make_options(given, Reader::Code).imbalance;
  };
  EXPECT_EQ(imbalance({{"dataset", "mnist"}}), 1);
  EXPECT_EQ(imbalance({{"dataset", "fashion-mnist"}}), 100);
  EXPECT_EQ(imbalance({{"dataset", "mnist"}, {"preset", "fashion-mnist-lt"}}), 100);
  EXPECT_EQ(make_options(std::vector<GivenOption>{{"dataset", "table"}}, Reader::Code).model,
            "mlp");
}

TEST(MakeOptions, NamesTheOptionOutOfRange) {
  EXPECT_EQ(refusal_of({{"epochs", "0"}}), "--epochs is 0; it must lie between 1 and 2147483647");
  EXPECT_EQ(refusal_of({{"epochs", "0"}}, Reader::File),
            "epochs is 0; it must lie between 1 and 2147483647");
  EXPECT_THAT(refusal_of({{"lr", "-1"}}), HasSubstr("--lr is -1"));
  EXPECT_THAT(refusal_of({{"momentum", "1"}}), HasSubstr("--momentum is 1"));
  EXPECT_THAT(refusal_of({{"batch_size", "0"}}), HasSubstr("--batch-size is 0"));
  EXPECT_THAT(refusal_of({{"weight_decay", "-1"}}), HasSubstr("--weight-decay"));
  for (const char* tau : {"-0.5", "10.5"}) {
    EXPECT_EQ(refusal_of({{"logit_adjustment", tau}}),
              fmt::format("--logit-adjustment is {}; it must lie between 0 and 10", tau));
  }
  EXPECT_THAT(refusal_of({{"beta", "0"}}), HasSubstr("--beta is 0"));
  EXPECT_THAT(refusal_of({{"pruning_rate", "1"}}), HasSubstr("--pruning-rate is 1"));
  EXPECT_THAT(refusal_of({{"grad_accumulation", "65"}}), HasSubstr("--grad-accumulation is 65"));
  EXPECT_THAT(refusal_of({{"center_crop", "-1"}}), HasSubstr("--center-crop"));
  EXPECT_THAT(refusal_of({{"hold_out", "0.6"}}),
              HasSubstr("--hold-out is 0.6; it must lie between 0 and 0.5"));
  EXPECT_THAT(refusal_of({{"label_noise", "1"}}), HasSubstr("--label-noise is 1"));
  EXPECT_THAT(refusal_of({{"min_test_samples", "0"}}), HasSubstr("--min-test-samples is 0"));
  EXPECT_THAT(refusal_of({{"resize", "100"}, {"image_size", "200"}}),
              HasSubstr("--resize is 100; it must be at least --image-size, 200"));
  EXPECT_THAT(refusal_of({{"nesterov", "on"}, {"momentum", "0"}}),
              HasSubstr("--nesterov on with --momentum is 0; it must be above 0"));
}

TEST(MakeOptions, RefusesWhatDoesNotGoTogether) {
  EXPECT_THAT(refusal_of({{"label_column", "kind"}}),
              HasSubstr("--label-column is for tables: only the data set table"));
  EXPECT_THAT(refusal_of({{"dataset", "table"}, {"model", "resnet18"}}),
              HasSubstr("--dataset table with --model is resnet18; it must be mlp"));
  EXPECT_THAT(refusal_of({{"dataset", "table"}, {"flip", "on"}}),
              HasSubstr("--flip is for images; a table has none, so leave it out"));
  EXPECT_THAT(refusal_of({{"optimizer", "adamw"}, {"momentum", "0.5"}}),
              HasSubstr("--momentum is for the optimizer sgd"));
  EXPECT_THAT(refusal_of({{"model", ""}}), HasSubstr("--model is empty; leave it out to get"));
  EXPECT_THAT(refusal_of({{"evaluate", "held-out"}}),
              HasSubstr("--evaluate held-out with --hold-out is 0; it must be above 0"));
  EXPECT_THAT(refusal_of({{"features", "cls3"}}), HasSubstr("--features is for the network dino"));
  EXPECT_THAT(refusal_of({{"scores", "a"}}),
              HasSubstr("--scores is for methods that select by scores: ccs, metriq, tdds, el2n, "
                        "forgetting, dyn-unc, dual"));
  EXPECT_THAT(refusal_of({{"method", "ccs"}, {"score_window", "3"}}),
              HasSubstr("--score-window is for the scoring run of tdds, el2n, dyn-unc, dual"));
  EXPECT_THAT(refusal_of({{"method", "el2n"}, {"dual_epochs", "3"}}),
              HasSubstr("--dual-epochs is for the scoring run of dual"));
  EXPECT_THAT(refusal_of({{"method", "dual"}, {"score_epochs", "3"}}),
              HasSubstr("--score-epochs is for the scoring run of tdds"));
  EXPECT_THAT(refusal_of({{"method", "el2n"}, {"el2n_epochs", "0"}}),
              HasSubstr("--el2n-epochs is 0; it must be at least 1"));
  EXPECT_THAT(refusal_of({{"method", "el2n"}, {"choose", "top"}, {"strata", "9"}}),
              HasSubstr("--strata is for choose strata"));
  EXPECT_THAT(refusal_of({{"make_scores", "ccs,rs2"}}),
              HasSubstr("--make-scores: \"rs2\" does not select by scores"));
  EXPECT_THAT(refusal_of({{"make_scores", "ccs"}, {"pruning_rate", "0.5"}}),
              HasSubstr("--pruning-rate is for pruned runs; this one only makes scores"));
}

TEST(MakeOptions, RefusesUnknownNames) {
  EXPECT_EQ(refusal_of({{"method", "ucb"}, {"beta", "3"}}),
            "ucb has no option --beta; rcap has it");
  EXPECT_THAT(refusal_of({{"epoch", "3"}}),
              HasSubstr("no option --epoch (did you mean --epochs?)"));
  EXPECT_THAT(refusal_of({{"method", "rcup"}}), HasSubstr("(did you mean rcap?)"));
  EXPECT_THAT(refusal_of({{"preset", "cifar11"}}),
              HasSubstr("--preset \"cifar11\" is not one of fashion-mnist-lt, cifar10, cifar100"));
}

TEST(MakeOptionsToGoOn, KeepsWhatTheRunWasBegunWith) {
  const std::vector<GivenOption> stored{{"epochs", "7"}, {"threads", "3"}};
  const auto go_on = [&](std::vector<GivenOption> given) {
    return make_options_to_go_on(stored, given, Reader::CommandLine);
  };
  EXPECT_EQ(go_on({}).epochs, 7);
  EXPECT_EQ(go_on({{"epochs", "7"}, {"checkpoint_seconds", "5"}}).checkpoint_seconds, 5);
  EXPECT_THAT(message_of<StateMismatch>([&] {
                (void)go_on({{"epochs", "8"}});
              }),
              HasSubstr("--epochs was 7, now 8"));
  EXPECT_THAT(message_of<StateMismatch>([&] {
                (void)go_on({{"method", "rs2"}});
              }),
              HasSubstr("--method was rcap, now rs2"));
}

TEST(PrunerOptionsOf, TellTheMethodWhatTheRunKnows) {
  std::vector<GivenOption> given{
      {"method", "infobatch"}, {"seed", "5"}, {"epochs", "8"}, {"batch_size", "32"}};
  const PrunerOptions pruner = pruner_options_of(make_options(given, Reader::Code));
  EXPECT_EQ(pruner.common.seed, 5u);
  EXPECT_EQ(pruner.infobatch.epochs, 8);
  EXPECT_EQ(pruner.infobatch.batch_size, 32);
  given.push_back({"meet_rate", "off"});
  EXPECT_EQ(pruner_options_of(make_options(given, Reader::Code)).infobatch.batch_size,
            std::nullopt);
}

TEST(PrunerOptionsOf, TellAClassShareTheEpochsOfTheRunWhereItFollowsThem) {
  const auto epochs_of = [](const char* method, const char* share) {
    const std::vector<GivenOption> given{
        {"method", method}, {"class_share", share}, {"epochs", "8"}};
    const PrunerOptions pruner = pruner_options_of(make_options(given, Reader::Code));
    return std::string_view(method) == "rcap" ? pruner.rcap.share.epochs
                                              : pruner.balanced.share.epochs;
  };
  EXPECT_EQ(epochs_of("rcap", "robust"), std::nullopt);
  EXPECT_EQ(epochs_of("rcap", "deferred"), 8);
  EXPECT_EQ(epochs_of("balanced", "equal"), std::nullopt);
  EXPECT_EQ(epochs_of("balanced", "progressive"), 8);
}

TEST(RequireWeights, KnowsWhatCannotStartFromNothing) {
  TrainOptions options;
  EXPECT_NO_THROW(require_weights(options));
  options.model = "dinov2-mlp";
  EXPECT_THAT(message_of<InvalidArgument>([&] { require_weights(options); }),
              HasSubstr("dinov2-mlp trains a head on a frozen backbone"));
  options.weights = "dinov2.pth";
  EXPECT_NO_THROW(require_weights(options));
}

TEST(Presets, HoldThePapersCifarRecipe) {
  TrainOptions options;
  find_preset("cifar10").apply(options);
  EXPECT_EQ(options.model, "resnet18-cifar");
  EXPECT_EQ(options.epochs, 200);
  EXPECT_EQ(options.batch_size, 128);
  EXPECT_EQ(options.lr, 0.1);
  EXPECT_EQ(options.momentum, 0.9);
  EXPECT_EQ(options.weight_decay, 5e-4);
  EXPECT_EQ(options.crop_padding, 4);
  EXPECT_TRUE(options.flip);
}

TEST(Presets, HoldThePapersRecipesForPhotographs) {
  const auto options = [](const char* name) {
    TrainOptions resolved;
    find_preset(name).apply(resolved);
    EXPECT_NO_THROW(check_options(resolved)) << name;
    EXPECT_EQ(resolved.optimizer, OptimizerKind::AdamW) << name;
    EXPECT_TRUE(resolved.trivial_augment) << name;
    EXPECT_EQ(resolved.image_size, 224) << name;
    return resolved;
  };
  const TrainOptions imagenet = options("imagenet");
  EXPECT_EQ(imagenet.model, "dinov2-mlp");
  EXPECT_EQ(imagenet.epochs, 10);
  EXPECT_EQ(imagenet.weight_decay, 0.01);
  EXPECT_FALSE(imagenet.flip);
  const TrainOptions waterbirds = options("waterbirds");
  EXPECT_EQ(waterbirds.model, "efficientnet-b3");
  EXPECT_EQ(waterbirds.lr, 4e-5);
  EXPECT_EQ(waterbirds.batch_size, 32);
  EXPECT_EQ(waterbirds.epochs, 300);
  EXPECT_TRUE(waterbirds.random_crop);
  const TrainOptions celeba = options("celeba");
  EXPECT_EQ(celeba.model, "efficientformerv2-s0");
  EXPECT_EQ(celeba.center_crop, 178);
  EXPECT_EQ(celeba.resize, 224);
  EXPECT_FALSE(celeba.random_crop);
  const TrainOptions inaturalist = options("inaturalist");
  EXPECT_EQ(inaturalist.model, "resnet50");
  EXPECT_EQ(inaturalist.lr, 1e-3);
  EXPECT_EQ(inaturalist.weight_decay, 5e-4);
  EXPECT_EQ(inaturalist.batch_size, 256);
  EXPECT_EQ(inaturalist.epochs, 5);
  EXPECT_TRUE(inaturalist.flip);
}

TEST(Presets, HoldThePapersTemperatures) {
  const auto betas = [](const char* name) {
    std::vector<std::optional<double>> values;
    for (const double rate : {0.5, 0.7, 0.8, 0.9}) {
      values.push_back(preset_beta(find_preset(name), rate));
    }
    return values;
  };
  EXPECT_THAT(betas("cifar10"), testing::ElementsAre(3, 1, 2, 1));
  EXPECT_THAT(betas("cifar100"), testing::ElementsAre(3, 2, 2, 2));
  EXPECT_THAT(betas("imagenet"), testing::ElementsAre(1.0 / 3, 4, 2, 2));
  EXPECT_THAT(betas("waterbirds"), testing::ElementsAre(3, 0.5, 0.5, 0.5));
  EXPECT_THAT(betas("celeba"), testing::ElementsAre(2, 2, 3, 1));
  EXPECT_THAT(betas("inaturalist"), testing::ElementsAre(2, 3, 3, 1.0 / 3));
  EXPECT_EQ(preset_beta(find_preset("cifar100"), 0.6), std::nullopt);  // not in the paper
}

TEST(Presets, RepeatThePaperWithItsOwnRule) {
  for (const char* name :
       {"cifar10", "cifar100", "imagenet", "waterbirds", "celeba", "inaturalist"}) {
    TrainOptions options;
    find_preset(name).apply(options);
    EXPECT_EQ(options.pruner.rcap.class_share, ClassShare::Paper) << name;
    EXPECT_EQ(options.pruner.rcap.initial_loss, InitialLoss::Forward) << name;
  }
  EXPECT_EQ(TrainOptions().pruner.rcap.class_share, ClassShare::Robust);
}

TEST(Presets, RefusesAnUnknownName) {
  EXPECT_THAT(message_of<InvalidArgument>([] { (void)find_preset("cifar11"); }),
              HasSubstr("is not one of fashion-mnist-lt, cifar10, cifar100"));
}

}  // namespace
}  // namespace rcap
