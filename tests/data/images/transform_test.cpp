#include "data/images/transform.hpp"

#include <set>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/images/trivial_augment.hpp"
#include "data/sample_files.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Scaled to [0, 1] and nothing more, so that numbers are levels over 255.
const Normalization Plain{{0, 0, 0}, {1, 1, 1}};

std::vector<int> levels(const Transform& transform, const Image& image,
                        std::optional<SampleRandom> random = std::nullopt) {
  const ImageShape shape = transform.output_shape({image.height, image.width, image.channels});
  std::vector<float> numbers(static_cast<std::size_t>(shape.height * shape.width * shape.channels));
  Transform::Scratch scratch;
  transform.apply(image.view(), random, scratch, numbers.data());
  std::vector<int> result;
  for (const float number : numbers) result.push_back(static_cast<int>(number * 255 + 0.5F));
  return result;
}

std::set<std::vector<int>> all_outcomes(const Transform& transform, const Image& image) {
  std::set<std::vector<int>> outcomes;
  const RandomStream stream(0, Purpose::Augmentation, 0);
  for (SampleId id = 0; id < 2000; ++id) {
    outcomes.insert(levels(transform, image, SampleRandom(stream, id)));
  }
  return outcomes;
}

TEST(Transform, NormalisesEachChannel) {
  Image image;
  image.resize(1, 1, 3);
  image.pixels = {0, 51, 255};
  const Transform transform({.normalization = {{0.5F, 0.2F, 0.5F}, {0.5F, 0.1F, 0.25F}}});
  std::vector<float> numbers(3);
  Transform::Scratch scratch;
  transform.apply(image.view(), std::nullopt, scratch, numbers.data());
  EXPECT_THAT(numbers, ElementsAre(-1, testing::FloatNear(0, 1e-6F), 2));
}

TEST(Transform, NormalisesEveryPixelAlike) {
  const std::vector<float> mean{0.5F, 0.2F, 0.3F};
  const std::vector<float> deviation{0.5F, 0.1F, 0.25F};
  const Transform transform({.normalization = {mean, deviation}});
  Transform::Scratch scratch;
  for (const int channels : {1, 3}) {
    const Image image = counting_image(7, 37, channels);
    std::vector<float> numbers(image.pixels.size());
    transform.apply(image.view(), std::nullopt, scratch, numbers.data());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t channel = i % static_cast<std::size_t>(channels);
      const float scaled = static_cast<float>(image.pixels[i]) / 255.0F;
      ASSERT_EQ(numbers[i], (scaled - mean[channel]) / deviation[channel]);
    }
  }
}

TEST(Transform, LeavesAnImageThatNeedsNothing) {
  EXPECT_THAT(levels(Transform({.normalization = Plain}), three_by_three()),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Transform, CropsInTheMiddleForEvaluation) {
  Image image;
  image.resize(4, 5, 1);
  image.pixels = counting_bytes(20);
  // Top: half of 4 - 3 = 1 is 0.5, rounded to the even 0; left: half of 2 is 1.
  EXPECT_THAT(levels(Transform({.crop = 3, .normalization = Plain}), image),
              ElementsAre(1, 2, 3, 6, 7, 8, 11, 12, 13));
  // Half of 5 - 2 = 3 is 1.5, rounded to the even 2; half of 2 is 1.
  EXPECT_THAT(levels(Transform({.crop = 2, .normalization = Plain}), image),
              ElementsAre(7, 8, 12, 13));
}

TEST(Transform, PadsAnImageThatIsTooSmallForEvaluation) {
  Image image;
  image.resize(1, 1, 1);
  image.pixels = {9};
  // One row and column are missing: the odd one is at the end.
  EXPECT_THAT(levels(Transform({.crop = 2, .normalization = Plain}), image),
              ElementsAre(9, 0, 0, 0));
}

TEST(Transform, CropsAnywhereWithinThePaddingForTraining) {
  const Transform transform({.crop = 3, .padding = 1, .normalization = Plain});
  const auto outcomes = all_outcomes(transform, three_by_three());
  EXPECT_EQ(outcomes.size(), 9U);  // three rows times three columns
  EXPECT_TRUE(outcomes.contains({0, 0, 0, 0, 1, 2, 0, 4, 5}));
  EXPECT_TRUE(outcomes.contains({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(outcomes.contains({5, 6, 0, 8, 9, 0, 0, 0, 0}));
}

TEST(Transform, FlipsEverySecondImage) {
  const Transform transform({.flip = true, .normalization = Plain});
  const RandomStream stream(0, Purpose::Augmentation, 0);
  int flipped = 0;
  for (SampleId id = 0; id < 2000; ++id) {
    const auto result = levels(transform, three_by_three(), SampleRandom(stream, id));
    const bool is_flipped = result == std::vector{3, 2, 1, 6, 5, 4, 9, 8, 7};
    ASSERT_TRUE(is_flipped || result.front() == 1);
    flipped += is_flipped;
  }
  // 1000 expected, deviation 22: five of them are missed once in two million.
  EXPECT_NEAR(flipped, 1000, 112);
}

TEST(Transform, FlipsWholePixels) {
  Image image;
  image.resize(1, 4, 3);
  image.pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const auto outcomes = all_outcomes(Transform({.flip = true, .normalization = Plain}), image);
  EXPECT_EQ(outcomes, (std::set<std::vector<int>>{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                                  {10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3}}));
}

TEST(Transform, FlipsThePaddingToo) {
  const Transform transform({.crop = 3, .padding = 1, .flip = true, .normalization = Plain});
  const auto outcomes = all_outcomes(transform, three_by_three());
  EXPECT_EQ(outcomes.size(), 18U);
  EXPECT_TRUE(outcomes.contains({0, 0, 0, 0, 1, 2, 0, 4, 5}));
  EXPECT_TRUE(outcomes.contains({0, 0, 0, 2, 1, 0, 5, 4, 0}));
  EXPECT_TRUE(outcomes.contains({0, 6, 5, 0, 9, 8, 0, 0, 0}));
}

TEST(Transform, MayTakeNothingButPadding) {
  const Transform transform({.resize = 2, .crop = 1, .padding = 2, .normalization = Plain});
  Image white;
  white.resize(4, 4, 1);
  white.pixels.assign(16, 255);
  EXPECT_EQ(all_outcomes(transform, white), (std::set<std::vector<int>>{{0}, {255}}));
}

TEST(Transform, PaddingIsBlackBeforeItIsNormalised) {
  const Transform transform({.crop = 3, .padding = 1, .normalization = {{0.5F}, {0.5F}}});
  const RandomStream stream(0, Purpose::Augmentation, 0);
  Transform::Scratch scratch;
  std::vector<float> numbers(9);
  float lowest = 0;
  for (SampleId id = 0; id < 50; ++id) {
    transform.apply(three_by_three().view(), SampleRandom(stream, id), scratch, numbers.data());
    lowest = std::min(lowest, *std::ranges::min_element(numbers));
  }
  EXPECT_EQ(lowest, -1.0F);  // (0 - 0.5) / 0.5
}

TEST(Transform, DependsOnSeedEpochAndSampleAlone) {
  const Transform transform({.crop = 3, .padding = 1, .flip = true, .normalization = Plain});
  const auto outcomes_of = [&](std::uint64_t seed, std::int64_t epoch) {
    std::vector<std::vector<int>> outcomes;
    const RandomStream stream(seed, Purpose::Augmentation, epoch);
    for (SampleId id = 0; id < 20; ++id) {
      outcomes.push_back(levels(transform, three_by_three(), SampleRandom(stream, id)));
    }
    return outcomes;
  };
  EXPECT_EQ(outcomes_of(1, 2), outcomes_of(1, 2));
  EXPECT_NE(outcomes_of(1, 2), outcomes_of(1, 3));
  EXPECT_NE(outcomes_of(1, 2), outcomes_of(2, 2));
}

TEST(Transform, ResizesBeforeItCrops) {
  const Transform transform({.resize = 2, .crop = 2, .normalization = Plain});
  EXPECT_EQ(transform.output_shape({30, 20, 3}), (ImageShape{2, 2, 3}));
  EXPECT_EQ(levels(transform, counting_image(30, 20, 3)).size(), 12U);
}

TEST(Transform, CropsTheMiddleBeforeItResizes) {
  Image image;
  image.resize(4, 2, 1);
  image.pixels = {9, 9, 10, 20, 30, 40, 9, 9};
  // The middle 2 x 2, twice as large: 10, 12.5, 17.5 and 20 along the first row.
  const Transform transform({.center_crop = 2, .resize = 4, .normalization = Plain});
  EXPECT_EQ(transform.output_shape({4, 2, 1}), (ImageShape{4, 4, 1}));
  EXPECT_THAT(levels(transform, image), ElementsAre(10, 13, 18, 20,  //
                                                    15, 18, 23, 25,  //
                                                    25, 28, 33, 35,  //
                                                    30, 33, 38, 40));
}

TEST(Transform, PadsWhatIsTooSmallForTheMiddle) {
  Image image;
  image.resize(1, 3, 1);
  image.pixels = {1, 2, 3};
  // A row is missing, at the end; a column is too much: half of it, rounded to even, is 0.
  EXPECT_THAT(levels(Transform({.center_crop = 2, .normalization = Plain}), image),
              ElementsAre(1, 2, 0, 0));
}

TEST(Transform, KnowsTheShapeOfImagesOfUnknownSize) {
  const ImageShape unknown{0, 0, 3};
  EXPECT_EQ(Transform({.resize = 256, .crop = 224}).output_shape(unknown),
            (ImageShape{224, 224, 3}));
  EXPECT_EQ(Transform({.center_crop = 178, .resize = 224}).output_shape(unknown),
            (ImageShape{224, 224, 3}));
  EXPECT_EQ(Transform({.resize = 256}).output_shape(unknown), unknown);
}

TEST(Transform, CropsTheMiddleForTrainingIfToldTo) {
  const Transform transform(
      {.crop = 1, .random_crop = false, .padding = 1, .normalization = Plain});
  EXPECT_EQ(all_outcomes(transform, three_by_three()), (std::set<std::vector<int>>{{5}}));
}

TEST(Transform, ComputesOnlyWhatTheCropTakesOfAResizedImage) {
  const Image image = counting_image(33, 47, 3);
  Image whole;
  resize_image(image.view(), 20, 28, whole, Interpolation::Bicubic);
  const Transform in_one({.resize = 20,
                          .interpolation = Interpolation::Bicubic,
                          .crop = 15,
                          .padding = 3,
                          .flip = true,
                          .normalization = Plain});
  const Transform second({.crop = 15, .padding = 3, .flip = true, .normalization = Plain});
  const RandomStream stream(0, Purpose::Augmentation, 0);
  for (SampleId id = 0; id < 100; ++id) {
    ASSERT_EQ(levels(in_one, image, SampleRandom(stream, id)),
              levels(second, whole, SampleRandom(stream, id)));
  }
  EXPECT_EQ(levels(in_one, image), levels(second, whole));
}

TEST(Transform, DrawsTopLeftFlipThenTheAugmentation) {
  Image image;
  image.resize(4, 4, 1);
  image.pixels = counting_bytes(16);
  const Transform transform(
      {.crop = 3, .flip = true, .trivial_augment = true, .normalization = Plain});
  const RandomStream stream(0, Purpose::Augmentation, 0);
  for (SampleId id = 0; id < 500; ++id) {
    SampleRandom random(stream, id);
    const int top = random.below(2);
    const int left = random.below(2);
    const bool flipped = random.below(2) == 1;
    Image crop;
    crop.resize(3, 3, 1);
    for (int i = 0; i < 9; ++i) {
      const int column = flipped ? 2 - i % 3 : i % 3;
      crop.pixels[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(4 * (top + i / 3) + left + column);
    }
    Image wanted;
    augment(crop.view(), draw_augmentation(random), wanted);
    ASSERT_THAT(levels(transform, image, SampleRandom(stream, id)),
                testing::ElementsAreArray(wanted.pixels));
  }
}

TEST(Transform, AugmentsTheMiddleWithoutAResize) {
  const Image image = counting_image(5, 5, 3);
  const Transform transform({.center_crop = 3, .trivial_augment = true, .normalization = Plain});
  const Transform plain({.center_crop = 3, .normalization = Plain});
  Image middle;
  middle.resize(3, 3, 3);
  for (std::size_t i = 0; i < 27; ++i) {
    middle.pixels[i] = static_cast<std::uint8_t>(levels(plain, image)[i]);
  }
  const RandomStream stream(0, Purpose::Augmentation, 0);
  for (SampleId id = 0; id < 100; ++id) {
    SampleRandom random(stream, id);
    Image wanted;
    augment(middle.view(), draw_augmentation(random), wanted);
    ASSERT_THAT(levels(transform, image, SampleRandom(stream, id)),
                testing::ElementsAreArray(wanted.pixels));
  }
}

TEST(Transform, DoesNotAugmentForEvaluation) {
  const Transform transform({.flip = true, .trivial_augment = true, .normalization = Plain});
  EXPECT_THAT(levels(transform, three_by_three()), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Transform, RefusesChannelsThatTheNormalisationLacks) {
  const Transform transform({.normalization = {{0.5F}, {0.5F}}});
  EXPECT_THAT(
      message_of<InvalidArgument>([&] { (void)levels(transform, counting_image(2, 2, 3)); }),
      HasSubstr("an image has 3 channels, the normalisation 1"));
}

TEST(Transform, RefusesACropThatDoesNotFit) {
  const Transform transform({.crop = 5, .padding = 0, .normalization = Plain});
  const RandomStream stream(0, Purpose::Augmentation, 0);
  EXPECT_THAT(message_of<InvalidArgument>(
                  [&] { (void)levels(transform, three_by_three(), SampleRandom(stream, 0)); }),
              HasSubstr("an image of 3 x 3 is smaller than the crop of 5 x 5"));
}

TEST(Transform, RefusesADeviationOfZero) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                Transform transform({.normalization = {{0.5F}, {0.0F}}});
              }),
              HasSubstr("deviation[0] is 0"));
}

}  // namespace
}  // namespace rcap
