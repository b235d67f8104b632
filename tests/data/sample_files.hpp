#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "data/images/image.hpp"

namespace rcap {

/// Files for the tests of rcap::data, made on the spot.

using Bytes = std::vector<std::uint8_t>;

/// Writes the bytes, and the folders above the file where they are missing.
void put_file(const std::filesystem::path& path, const Bytes& bytes);
void put_file(const std::filesystem::path& path, std::string_view text);
[[nodiscard]] Bytes get_file(const std::filesystem::path& path);

/// The bytes as a gzip file.
[[nodiscard]] Bytes gzip(const Bytes& bytes);

/// An IDX file: the magic number, the sizes, the data.
[[nodiscard]] Bytes idx(std::uint32_t magic, std::initializer_list<std::uint32_t> sizes,
                        const Bytes& data);

/// `first`, `first` + 1, ... modulo 256.
[[nodiscard]] Bytes counting_bytes(std::size_t count, int first = 0);

/// The four files of MNIST or a relative, with `count` images of 2 x 2 pixels in each split
/// and the labels 0, 1, ... 9, 0, ...
void put_mnist_files(const std::filesystem::path& folder, int count);

/// A CIFAR file of `count` records: `label_bytes` labels of which the last one counts up,
/// planes of which red, green and blue are constant: 3 i, 3 i + 1, 3 i + 2 in record i.
[[nodiscard]] Bytes cifar_records(int count, int label_bytes, int class_count);
/// The six files of CIFAR-10, each with `count` images.
void put_cifar10_files(const std::filesystem::path& folder, int count);

/// An image whose pixels count up.
[[nodiscard]] Image counting_image(int height, int width, int channels);
/// The grey levels 1 to 9, in three rows.
[[nodiscard]] inline Image three_by_three() { return {{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3, 1}; }
/// Grey, RGB, or, with four channels, CMYK as Adobe has it.
[[nodiscard]] Bytes encode_jpeg(const Image& image, int quality = 90);
[[nodiscard]] Bytes encode_png(const Image& image);
/// A PNG file that ends after a header that claims this size.
[[nodiscard]] Bytes png_header_of(std::uint32_t height, std::uint32_t width);

}  // namespace rcap
