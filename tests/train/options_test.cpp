#include "train/options.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "train/presets.hpp"

namespace rcap {
namespace {

using testing::HasSubstr;

std::string value_of(const TrainOptions& options, const std::string& name) {
  for (const auto& [option, value] : list_options(options)) {
    if (option == name) return value;
  }
  return "absent";
}

TEST(ListOptions, ShowsOptionsOfTheChosenMethodOnly) {
  TrainOptions options;
  options.method = "rcap";
  options.pruner.rcap.class_share = ClassShare::Group;
  EXPECT_EQ(value_of(options, "class-share"), "\"group\"");
  EXPECT_EQ(value_of(options, "epsilon"), "absent");
  options.method = "epsilon-greedy";
  EXPECT_EQ(value_of(options, "class-share"), "absent");
  EXPECT_EQ(value_of(options, "epsilon"), "0.1");
}

TEST(ListOptions, WritesNumbersSoThatTheyComeBack) {
  TrainOptions options;
  options.learning_rate = 0.1 + 0.2;
  EXPECT_EQ(std::stod(value_of(options, "lr")), options.learning_rate);
}

TEST(ListOptions, LeavesOutWhatIsNotSetSoThatOldRunsCanBeResumed) {
  TrainOptions options;
  EXPECT_EQ(value_of(options, "train-samples"), "absent");
  EXPECT_EQ(value_of(options, "label-column"), "absent");
  options.train_samples = 500;
  EXPECT_EQ(value_of(options, "train-samples"), "500");
}

TEST(ListOptions, ShowsNoOptionOfImagesForATable) {
  TrainOptions options;
  EXPECT_EQ(value_of(options, "flip"), "\"off\"");
  find_preset("table").apply(options);
  options.label_column = "kind";
  EXPECT_EQ(value_of(options, "label-column"), "\"kind\"");
  for (const char* name : {"flip", "image-size", "skip-bad", "fast-decode"}) {
    EXPECT_EQ(value_of(options, name), "absent") << name;
  }
}

TEST(ListOptions, EscapesPaths) {
  TrainOptions options;
  options.data_folder = "a \"b\"\\c";
  EXPECT_EQ(value_of(options, "data"), R"("a \"b\"\\c")");
}

TEST(CheckOptions, NamesTheOptionOutOfRange) {
  const auto message = [](auto change) {
    TrainOptions options;
    change(options);
    return message_of<InvalidArgument>([&] { check_options(options); });
  };
  EXPECT_THAT(message([](TrainOptions& o) { o.epochs = 0; }), HasSubstr("--epochs is 0"));
  EXPECT_THAT(message([](TrainOptions& o) { o.learning_rate = -1; }), HasSubstr("--lr is -1"));
  EXPECT_THAT(message([](TrainOptions& o) { o.momentum = 1; }), HasSubstr("--momentum is 1"));
  EXPECT_THAT(message([](TrainOptions& o) { o.batch_size = 0; }), HasSubstr("--batch-size is 0"));
  EXPECT_THAT(message([](TrainOptions& o) { o.weight_decay = -1; }), HasSubstr("--weight-decay"));
  EXPECT_THAT(message([](TrainOptions& o) { o.grad_accumulation = 65; }),
              HasSubstr("--grad-accumulation is 65"));
  EXPECT_THAT(message([](TrainOptions& o) { o.center_crop = -1; }), HasSubstr("--center-crop"));
  EXPECT_THAT(message([](TrainOptions& o) {
                o.resize = 100;
                o.image_size = 200;
              }),
              HasSubstr("--resize is 100; it must be at least --image-size, 200"));
}

TEST(CheckOptions, RefusesWhatDoesNotGoWithATable) {
  TrainOptions options;
  options.label_column = "kind";
  EXPECT_THAT(message_of<InvalidArgument>([&] { check_options(options); }),
              HasSubstr("--label-column is kind; it must be left out: only --dataset table"));
  find_preset("table").apply(options);
  EXPECT_NO_THROW(check_options(options));
  options.model = "resnet18";
  EXPECT_THAT(message_of<InvalidArgument>([&] { check_options(options); }),
              HasSubstr("--dataset table with --model is resnet18; it must be mlp"));
}

TEST(RequireWeights, KnowsWhatCannotStartFromNothing) {
  TrainOptions options;
  EXPECT_NO_THROW(require_weights(options));
  options.model = "dinov2-mlp";
  EXPECT_THAT(message_of<InvalidArgument>([&] { require_weights(options); }),
              HasSubstr("--model dinov2-mlp trains a head on a frozen backbone"));
  options.weights = "dinov2.pth";
  EXPECT_NO_THROW(require_weights(options));
}

TEST(Presets, HoldThePapersCifarRecipe) {
  TrainOptions options;
  find_preset("cifar10").apply(options);
  EXPECT_EQ(options.model, "resnet18-cifar");
  EXPECT_EQ(options.epochs, 200);
  EXPECT_EQ(options.batch_size, 128);
  EXPECT_EQ(options.learning_rate, 0.1);
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
  EXPECT_EQ(waterbirds.learning_rate, 4e-5);
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
  EXPECT_EQ(inaturalist.learning_rate, 1e-3);
  EXPECT_EQ(inaturalist.weight_decay, 5e-4);
  EXPECT_EQ(inaturalist.batch_size, 256);
  EXPECT_EQ(inaturalist.epochs, 5);
  EXPECT_TRUE(inaturalist.flip);
}

TEST(Presets, HoldThePapersTemperatures) {
  const auto betas = [](const char* name) {
    std::vector<double> values;
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
  EXPECT_EQ(preset_beta(find_preset("cifar100"), 0.6), 1);  // a rate the paper does not have
}

TEST(Presets, RefusesAnUnknownName) {
  EXPECT_THAT(message_of<InvalidArgument>([] { (void)find_preset("cifar11"); }),
              HasSubstr("is none of fashion-mnist-lt, cifar10, cifar100"));
}

}  // namespace
}  // namespace rcap
