#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/file_images.hpp"

namespace rcap {

/// ILSVRC2012_validation_ground_truth.txt: the ILSVRC ids, from 1, of the validation images
/// ILSVRC2012_val_00000001.JPEG, ..._00000002.JPEG, ...
/// @throws BadFile  names the file, the line and the value
[[nodiscard]] std::vector<std::int32_t> read_imagenet_ground_truth(
    const std::filesystem::path& path);

/// The table "synsets" of the devkit's meta.mat: the wnids of ILSVRC id 1, 2, ... Reads a MATLAB 5
/// file, packed or not, as far as this table needs it. Every size is checked against the bytes that
/// exist before it is used.
/// @throws BadFile  names the file, the byte and what is wrong there
[[nodiscard]] std::vector<std::string> read_imagenet_synsets(const std::filesystem::path& path);

/// Whether a name is that of a class: n and eight digits.
[[nodiscard]] bool is_wnid(std::string_view name) noexcept;

/// ImageNet (ILSVRC 2012). Class indices are the ranks of the wnids of the training folders, as
/// pretrained heads expect, not the ids of the devkit. Test images are those of val.
///
/// `folder` contains train, with one folder per wnid, and val: either folders too, or the images as
/// they were published, ILSVRC2012_val_00000001.JPEG and so on. These need the devkit's
/// ILSVRC2012_validation_ground_truth.txt and meta.mat, in `folder` or in
/// ILSVRC2012_devkit_t12/data below it. Images of val whose class has no training image are left
/// out, with a remark.
/// @throws BadFile  names the file or folder and the reason
[[nodiscard]] Dataset open_imagenet(const std::filesystem::path& folder,
                                    const ImageFileOptions& options);

}  // namespace rcap
