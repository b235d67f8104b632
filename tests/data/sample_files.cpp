#include "data/sample_files.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

// Needs <cstdio> and <cstddef> before it.
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

namespace rcap {
namespace {

void append_number(Bytes& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::uint8_t>(number >> shift));
  }
}

}  // namespace

void put_file(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void put_file(const std::filesystem::path& path, std::string_view text) {
  put_file(path, Bytes(text.begin(), text.end()));
}

Bytes get_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

Bytes idx(std::uint32_t magic, std::initializer_list<std::uint32_t> sizes, const Bytes& data) {
  Bytes bytes;
  append_number(bytes, magic);
  for (const std::uint32_t size : sizes) append_number(bytes, size);
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

Bytes counting_bytes(std::size_t count, int first) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(first) + i);
  }
  return bytes;
}

void put_mnist_files(const std::filesystem::path& folder, int count) {
  const auto size = static_cast<std::uint32_t>(count);
  Bytes labels;
  for (int i = 0; i < count; ++i) labels.push_back(static_cast<std::uint8_t>(i % 10));
  for (const char* part : {"train", "t10k"}) {
    put_file(folder / (std::string(part) + "-images-idx3-ubyte"),
             idx(0x803, {size, 2, 2}, counting_bytes(4U * size)));
    put_file(folder / (std::string(part) + "-labels-idx1-ubyte"), idx(0x801, {size}, labels));
  }
}

Bytes cifar_records(int count, int label_bytes, int class_count) {
  Bytes bytes;
  for (int i = 0; i < count; ++i) {
    bytes.insert(bytes.end(), static_cast<std::size_t>(label_bytes) - 1, std::uint8_t{0});
    bytes.push_back(static_cast<std::uint8_t>(i % class_count));
    for (int channel = 0; channel < 3; ++channel) {
      bytes.insert(bytes.end(), 1024, static_cast<std::uint8_t>(3 * i + channel));
    }
  }
  return bytes;
}

void put_cifar10_files(const std::filesystem::path& folder, int count) {
  const Bytes records = cifar_records(count, 1, 10);
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}) {
    put_file(folder / name, records);
  }
}

Image counting_image(int height, int width, int channels) {
  Image image;
  image.resize(height, width, channels);
  image.pixels = counting_bytes(image.pixels.size());
  return image;
}

Bytes encode_jpeg(const Image& image, int quality) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr handler{};
  encoder.err = jpeg_std_error(&handler);
  jpeg_create_compress(&encoder);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &data, &size);
  encoder.image_width = static_cast<JDIMENSION>(image.width);
  encoder.image_height = static_cast<JDIMENSION>(image.height);
  encoder.input_components = image.channels;
  encoder.in_color_space = image.channels == 1   ? JCS_GRAYSCALE
                           : image.channels == 4 ? JCS_CMYK
                                                 : JCS_RGB;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, quality, TRUE);
  jpeg_start_compress(&encoder, TRUE);
  for (int y = 0; y < image.height; ++y) {
    auto* row = const_cast<JSAMPROW>(image.pixels.data()) +
                static_cast<std::ptrdiff_t>(y) * image.width * image.channels;
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  Bytes bytes(data, data + size);
  std::free(data);
  jpeg_destroy_compress(&encoder);
  return bytes;
}

Bytes encode_png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&header, nullptr, &size, 0, image.pixels.data(), 0, nullptr);
  Bytes bytes(size);
  png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr);
  bytes.resize(size);
  return bytes;
}

Bytes png_header_of(std::uint32_t height, std::uint32_t width) {
  Bytes chunk{'I', 'H', 'D', 'R'};
  append_number(chunk, width);
  append_number(chunk, height);
  const Bytes fields{8, 2, 0, 0, 0};  // bits, RGB, packing, filters, not interlaced
  chunk.insert(chunk.end(), fields.begin(), fields.end());
  Bytes bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  append_number(bytes, 13);
  bytes.insert(bytes.end(), chunk.begin(), chunk.end());
  append_number(
      bytes, static_cast<std::uint32_t>(crc32(0, chunk.data(), static_cast<uInt>(chunk.size()))));
  // The start of the next chunk, up to which a reader must look.
  append_number(bytes, 10);
  for (const char letter : {'I', 'D', 'A', 'T'}) {
    bytes.push_back(static_cast<std::uint8_t>(letter));
  }
  return bytes;
}

}  // namespace rcap
