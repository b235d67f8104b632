#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "io/pth/pth.hpp"
#include "io/pth/pth_samples.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {

class Pth : public testing::Test {
 protected:
  /// What reading these bytes is refused with.
  std::string refusal(const std::string& bytes) {
    put(bytes);
    const auto message = message_of<BadFile>([&] { PthFile file(path()); });
    EXPECT_THAT(message, testing::HasSubstr("PthFile \"" + path().string() + "\": "));
    return message;
  }
  /// What an archive with this pickle is refused with, beside a storage "0" of six floats.
  std::string refusal_of_pickle(const std::string& pickle) {
    return refusal(pth_samples::archive(pickle, {{"0", std::string(24, '\0')}}));
  }
  std::string refusal_of_value(const std::string& value) {
    return refusal_of_pickle(pth_samples::pickle_of(value));
  }
  std::string refusal_of_tensor(const std::string& value) {
    return refusal_of_value(pth_samples::dictionary({{"w", value}}));
  }

  void put(const std::string& bytes) { std::ofstream(path(), std::ios::binary) << bytes; }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "x.pth"; }

  TemporaryFolder folder_;
  const std::string floats_ = pth_samples::storage("0", "Float", 6);
};

inline std::vector<float> floats_of(const TensorView& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

}  // namespace rcap
