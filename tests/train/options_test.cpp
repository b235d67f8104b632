#include "rcap/train/options.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"
#include "rcap/train/presets.hpp"

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
  EXPECT_EQ(preset_beta(find_preset("cifar100"), 0.6), 1);  // a rate the paper does not have
}

TEST(Presets, RefusesAnUnknownName) {
  EXPECT_THAT(message_of<InvalidArgument>([] { (void)find_preset("cifar11"); }),
              HasSubstr("is none of fashion-mnist-lt, cifar10, cifar100"));
}

}  // namespace
}  // namespace rcap
