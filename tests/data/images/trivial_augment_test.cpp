#include "data/images/trivial_augment.hpp"

#include <map>
#include <vector>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/sample_files.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Operation = AugmentOperation;

// That all bins equal Pillow is tested by trivial_augment_test.py; here are numbers to check in
// the head.

Bytes augmented(const Image& image, const Augmentation& augmentation) {
  Image result;
  augment(image.view(), augmentation, result);
  EXPECT_EQ(result.height, image.height);
  EXPECT_EQ(result.width, image.width);
  EXPECT_EQ(result.channels, image.channels);
  return result.pixels;
}

Image grey_image(int height, int width, const Bytes& pixels) { return {pixels, height, width, 1}; }

TEST(TrivialAugment, StrengthsGrowEvenlyWithTheBin) {
  EXPECT_EQ(strength_of({Operation::Rotate, 10}), 45);
  EXPECT_EQ(strength_of({Operation::Rotate, 30, true}), -135);
  EXPECT_EQ(strength_of({Operation::TranslateX, 30}), 32);
  EXPECT_EQ(static_cast<int>(strength_of({Operation::TranslateX, 15})), 15);  // 15.999999
  EXPECT_EQ(strength_of({Operation::ShearY, 30}), 0.99F);
  EXPECT_EQ(strength_of({Operation::Solarize, 0}), 255);
  EXPECT_EQ(strength_of({Operation::Solarize, 1}), 246.5F);
  EXPECT_EQ(strength_of({Operation::Equalize, 0}), 0);
}

TEST(TrivialAugment, PosterizesWithWholeBits) {
  std::vector<int> bits;
  for (int bin = 0; bin < AugmentBinCount; ++bin) {
    bits.push_back(static_cast<int>(strength_of({Operation::Posterize, bin})));
  }
  EXPECT_THAT(bits, ElementsAre(8, 8, 8, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6, 5, 5, 5, 5, 5, 4, 4, 4, 4, 4,
                                3, 3, 3, 3, 3, 2, 2, 2));
}

TEST(TrivialAugment, IdentityChangesNothing) {
  EXPECT_EQ(augmented(three_by_three(), {Operation::Identity}), three_by_three().pixels);
}

TEST(TrivialAugment, TheWeakestBinChangesNothing) {
  for (const auto operation :
       {Operation::ShearX, Operation::ShearY, Operation::TranslateX, Operation::TranslateY,
        Operation::Rotate, Operation::Brightness, Operation::Color, Operation::Contrast,
        Operation::Sharpness, Operation::Posterize}) {
    EXPECT_EQ(augmented(counting_image(5, 4, 3), {operation, 0}), counting_image(5, 4, 3).pixels);
  }
}

TEST(TrivialAugment, ShearsAboutTheTopLeftCorner) {
  // Slope 0.99: row y + 0.5 is taken 0.495, 1.485 and 2.475 further right, from column
  // floor(0.995), floor(1.985) and floor(2.975).
  EXPECT_THAT(augmented(three_by_three(), {Operation::ShearX, 30}),
              ElementsAre(1, 2, 3, 5, 6, 0, 9, 0, 0));
  // The other way from floor(0.005), floor(-0.985) and floor(-1.975).
  EXPECT_THAT(augmented(three_by_three(), {Operation::ShearX, 30, true}),
              ElementsAre(1, 2, 3, 0, 4, 5, 0, 0, 7));
  EXPECT_THAT(augmented(three_by_three(), {Operation::ShearY, 30}),
              ElementsAre(1, 5, 9, 4, 8, 0, 7, 0, 0));
}

TEST(TrivialAugment, MovesByWholePixelsToTheRightAndDown) {
  // Bin 2 is 2.13 pixels.
  EXPECT_THAT(augmented(three_by_three(), {Operation::TranslateX, 2}),
              ElementsAre(0, 0, 1, 0, 0, 4, 0, 0, 7));
  EXPECT_THAT(augmented(three_by_three(), {Operation::TranslateX, 2, true}),
              ElementsAre(3, 0, 0, 6, 0, 0, 9, 0, 0));
  EXPECT_THAT(augmented(three_by_three(), {Operation::TranslateY, 1}),
              ElementsAre(0, 0, 0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(augmented(three_by_three(), {Operation::TranslateY, 30}), Each(0));
}

TEST(TrivialAugment, TurnsCounterClockwise) {
  // Bin 20 is a quarter turn.
  EXPECT_THAT(augmented(three_by_three(), {Operation::Rotate, 20}),
              ElementsAre(3, 6, 9, 2, 5, 8, 1, 4, 7));
  EXPECT_THAT(augmented(three_by_three(), {Operation::Rotate, 20, true}),
              ElementsAre(7, 4, 1, 8, 5, 2, 9, 6, 3));
}

TEST(TrivialAugment, MovesWholePixels) {
  const Image image{{1, 2, 3, 4, 5, 6}, 1, 2, 3};
  EXPECT_THAT(augmented(image, {Operation::TranslateX, 1}), ElementsAre(0, 0, 0, 1, 2, 3));
}

TEST(TrivialAugment, BrightensAndDarkens) {
  // Times 1.99, at most 255, and times 0.01, rounded down.
  EXPECT_THAT(augmented(grey_image(1, 3, {0, 100, 200}), {Operation::Brightness, 30}),
              ElementsAre(0, 199, 255));
  EXPECT_THAT(augmented(grey_image(1, 3, {0, 101, 201}), {Operation::Brightness, 30, true}),
              ElementsAre(0, 1, 2));
}

TEST(TrivialAugment, TakesColourAwayAndAdds) {
  // Grey of (100, 0, 0): 1,959,500 + 32,768 over 65,536 is 30. Then 30 + 0.01 * 70 = 30.7 and
  // 30 - 0.01 * 30 = 29.7; doubled nearly, 30 + 1.99 * 70 = 169.3 and 30 - 1.99 * 30 < 0.
  const Image red{{100, 0, 0}, 1, 1, 3};
  EXPECT_THAT(augmented(red, {Operation::Color, 30, true}), ElementsAre(30, 29, 29));
  EXPECT_THAT(augmented(red, {Operation::Color, 30}), ElementsAre(169, 0, 0));
  EXPECT_THAT(augmented(grey_image(1, 1, {7}), {Operation::Color, 30}), ElementsAre(7));
}

TEST(TrivialAugment, ChangesContrastAboutTheMeanGrey) {
  // The mean is 100: 100 - 0.01 * 50 = 99.5, 100 + 0.01 * 50 = 100.5; 100 -+ 1.99 * 50.
  const Image image = grey_image(1, 2, {50, 150});
  EXPECT_THAT(augmented(image, {Operation::Contrast, 30, true}), ElementsAre(99, 100));
  EXPECT_THAT(augmented(image, {Operation::Contrast, 30}), ElementsAre(0, 199));
}

TEST(TrivialAugment, SharpensAllButTheBorder) {
  // The smooth middle is 5 * 130 / 13 = 50: 50 + 0.01 * 80 = 50.8 and 50 + 1.99 * 80 = 209.2.
  const Image image = grey_image(3, 3, {0, 0, 0, 0, 130, 0, 0, 0, 0});
  EXPECT_THAT(augmented(image, {Operation::Sharpness, 30, true}),
              ElementsAre(0, 0, 0, 0, 50, 0, 0, 0, 0));
  EXPECT_THAT(augmented(image, {Operation::Sharpness, 30}),
              ElementsAre(0, 0, 0, 0, 209, 0, 0, 0, 0));
}

TEST(TrivialAugment, PosterizesToTheHighestBits) {
  EXPECT_THAT(augmented(grey_image(1, 4, {63, 64, 200, 255}), {Operation::Posterize, 30}),
              ElementsAre(0, 64, 192, 192));
}

TEST(TrivialAugment, SolarizesFromTheThresholdOn) {
  // 255 - 8.5 = 246.5.
  EXPECT_THAT(augmented(grey_image(1, 4, {0, 246, 247, 255}), {Operation::Solarize, 1}),
              ElementsAre(0, 246, 8, 0));
  EXPECT_THAT(augmented(grey_image(1, 3, {0, 100, 255}), {Operation::Solarize, 30}),
              ElementsAre(255, 155, 0));
}

TEST(TrivialAugment, StretchesEachChannelToAllLevels) {
  // Red from 100 to 185: times 3. Green has one level and stays. Blue is stretched already.
  const Image image{{100, 9, 0, 120, 9, 100, 185, 9, 255}, 1, 3, 3};
  EXPECT_THAT(augmented(image, {Operation::AutoContrast}),
              ElementsAre(0, 9, 0, 60, 9, 100, 255, 9, 255));
  // Times 2.55 gives 254.99999999999994, rounded down.
  EXPECT_THAT(augmented(grey_image(1, 2, {100, 200}), {Operation::AutoContrast}),
              ElementsAre(0, 254));
}

TEST(TrivialAugment, EqualizesByTheCountsBelow) {
  // 510 pixels below the highest level: steps of 2. Level 10 has none below, 1 / 2 = 0; level
  // 20 has 100, 101 / 2 = 50; level 30 has 510, 511 / 2 = 255.
  Bytes pixels(100, 10);
  pixels.insert(pixels.end(), 410, 20);
  pixels.insert(pixels.end(), 90, 30);
  const Bytes result = augmented(grey_image(1, 600, pixels), {Operation::Equalize});
  EXPECT_EQ(result[0], 0);
  EXPECT_EQ(result[100], 50);
  EXPECT_EQ(result[510], 255);
  EXPECT_EQ(augmented(three_by_three(), {Operation::Equalize}), three_by_three().pixels);
}

TEST(TrivialAugment, RefusesWhatAnOperationDoesNotHave) {
  const Image image = three_by_three();
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                (void)augmented(image, {Operation::ShearX, 31});
              }),
              HasSubstr("bin 31 of ShearX; it must lie between 0 and 30"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                (void)augmented(image, {Operation::Equalize, 1});
              }),
              HasSubstr("bin 1 of Equalize; it must lie between 0 and 0"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                (void)augmented(image, {Operation::Posterize, 1, true});
              }),
              HasSubstr("Posterize has one direction only"));
  EXPECT_THAT(
      message_of<InvalidArgument>([&] { (void)augmented(image, {static_cast<Operation>(14)}); }),
      HasSubstr("operation 14; it must lie between 0 and 13"));
  EXPECT_THAT(message_of<InvalidArgument>(
                  [] { (void)augmented(counting_image(2, 2, 2), {Operation::Identity}); }),
              HasSubstr("the image has 2 channels"));
}

TEST(TrivialAugment, DrawsOperationThenBinThenDirection) {
  const RandomStream stream(3, Purpose::Augmentation, 1);
  for (SampleId id = 0; id < 200; ++id) {
    SampleRandom random(stream, id);
    SampleRandom same(stream, id);
    const Augmentation drawn = draw_augmentation(random);
    EXPECT_EQ(same.below(14), static_cast<int>(drawn.operation));
    EXPECT_EQ(has_bins(drawn.operation) ? same.below(31) : 0, drawn.bin);
    EXPECT_EQ(is_signed(drawn.operation) && same.below(2) == 1, drawn.negative);
    EXPECT_EQ(random.below(1000), same.below(1000)) << "another number of draws";
  }
}

/// Sum of (found - expected)^2 / expected over all outcomes.
double chi_square(const std::map<int, int>& counts, int outcomes) {
  int total = 0;
  for (const auto& [outcome, count] : counts) total += count;
  const double expected = static_cast<double>(total) / outcomes;
  double sum = (outcomes - static_cast<double>(counts.size())) * expected;
  for (const auto& [outcome, count] : counts) {
    sum += (count - expected) * (count - expected) / expected;
  }
  return sum;
}

TEST(TrivialAugment, DrawsUniformly) {
  std::map<int, int> operations;
  std::map<int, int> bins_of_operations;
  std::map<int, int> bins_and_directions;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const RandomStream stream(seed, Purpose::Augmentation, 0);
    for (SampleId id = 0; id < 10000; ++id) {
      SampleRandom random(stream, id);
      const Augmentation drawn = draw_augmentation(random);
      const int operation = static_cast<int>(drawn.operation);
      ++operations[operation];
      if (has_bins(drawn.operation)) ++bins_of_operations[31 * operation + drawn.bin];
      if (is_signed(drawn.operation))
        ++bins_and_directions[2 * drawn.bin + (drawn.negative ? 1 : 0)];
    }
  }
  // Bounds that a uniform drawing exceeds once in 100,000 cases, with 13, 340 and 61 degrees of
  // freedom.
  EXPECT_LT(chi_square(operations, 14), 46.9);
  EXPECT_LT(chi_square(bins_of_operations, 11 * 31), 462.9);
  EXPECT_LT(chi_square(bins_and_directions, 31 * 2), 120.0);
}

}  // namespace
}  // namespace rcap
