#include <gmock/gmock.h>

#include "data/images/resize_image.hpp"
#include "data/packs/pack_images.hpp"
#include "data/packs/packed_samples.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;

TEST(PackRecipe, ResizesAsResizeImageDoes) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder / "a.pack";
  const Dataset source = small_dataset();
  for (const Interpolation kind : {Interpolation::Bilinear, Interpolation::Bicubic}) {
    (void)pack(source, out, {.recipe = {.resize = 3, .interpolation = kind}, .restart = true});
    const PackedDataset packed = open_packed(out);
    EXPECT_EQ(packed.recipe, (PackRecipe{.resize = 3, .interpolation = kind}));
    Image decoded, expected, unused;
    resize_image(source.train.images->read(0, decoded), 3, 4, expected, kind);  // 4 x 6
    const ImageView image = packed.dataset.train.images->read(0, unused);
    EXPECT_EQ(image.width, 4);
    EXPECT_EQ(std::vector(image.pixels, image.pixels + image.bytes()), expected.pixels);
  }
}

TEST(PackRecipe, CutsOutTheMiddleAsTorchvisionDoes) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder / "a.pack";
  const auto first_pixels = [&](Image&& image, int side) {
    Dataset dataset = small_dataset();
    dataset.train = {std::make_shared<ListedImages>("x", std::vector{std::move(image)}), {0}, {0}};
    (void)pack(dataset, out, {.recipe = {.center_crop = side}, .restart = true});
    const Dataset packed = open_packed(out).dataset;
    Image unused;
    const ImageView view = packed.train.images->read(0, unused);
    EXPECT_EQ(view.height, side);
    EXPECT_EQ(view.width, side);
    std::vector<int> firsts;
    for (std::size_t i = 0; i < view.bytes(); i += 3) firsts.push_back(view.pixels[i] / 3);
    return firsts;
  };
  // Pixels are numbered row by row. 3 rows too many: round(1.5) = 2; 1 column: round(0.5) = 0.
  EXPECT_THAT(first_pixels(counting_image(5, 3, 3), 2), ElementsAre(6, 7, 9, 10));
  // A row is missing: it is added at the end. Two columns: one on each side.
  EXPECT_THAT(first_pixels(counting_image(2, 1, 3), 3), ElementsAre(0, 0, 0, 0, 1, 0, 0, 0, 0));
}

TEST(EstimatePackedBytes, IsCloseToTheFile) {
  const TemporaryFolder folder;
  const Dataset source = small_dataset();
  const Bytes bytes = pack(source, folder / "a.pack", {.recipe = {.resize = 40}});
  const auto estimate = static_cast<double>(estimate_packed_bytes(source, {.resize = 40}));
  EXPECT_NEAR(estimate / static_cast<double>(bytes.size()), 1, 0.02);
  EXPECT_EQ(packed_shape({300, 200, 3}, {.center_crop = 178, .resize = 224}),
            (ImageShape{224, 224, 3}));
}

}  // namespace
}  // namespace rcap
