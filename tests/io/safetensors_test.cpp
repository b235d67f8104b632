#include "io/safetensors.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "file_bytes.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Shape = std::vector<std::int64_t>;

template <class Number>
TensorView view(std::string name, TensorType type, Shape shape, const Number& numbers) {
  return {std::move(name), type, std::move(shape), std::as_bytes(std::span(numbers))};
}

void put_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A file with that length field, header and data.
std::string raw_file(std::uint64_t header_length, const std::string& header,
                     const std::string& data) {
  std::string length(8, '\0');
  std::memcpy(length.data(), &header_length, 8);
  return length + header + data;
}

/// One entry of a header.
std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

class Safetensors : public testing::Test {
 protected:
  /// What reading these bytes is refused with.
  std::string refusal_of_bytes(const std::string& bytes) {
    put_file(path(), bytes);
    const auto message = message_of<BadFile>([&] { SafetensorsFile file(path()); });
    EXPECT_THAT(message, HasSubstr("SafetensorsFile \"" + path().string() + "\": "));
    return message;
  }
  std::string refusal(const std::string& header, std::size_t data_bytes = 0) {
    return refusal_of_bytes(raw_file(header.size(), header, std::string(data_bytes, '\0')));
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "x.safetensors"; }

  TemporaryFolder folder_;
};

using WriteSafetensors = Safetensors;

const std::array<float, 6> Weights = {1.0F, -2.0F, 0.5F, 0.0F, 3.0F, 4.0F};
const std::array<std::int64_t, 1> Steps = {-7};
const std::array<std::uint8_t, 3> Flags = {1, 0, 1};

/// Three types, an empty tensor, a scalar, metadata.
void write_small_file(const std::filesystem::path& path) {
  const std::vector<TensorView> tensors = {
      view("flags", TensorType::Bool, {3}, Flags),
      view("weight", TensorType::F32, {2, 3}, Weights),
      view("steps", TensorType::I64, {}, Steps),
      {"nothing", TensorType::F32, {0, 5}, {}},
  };
  write_safetensors(path, tensors, {{"format", "rcap"}, {"name \"1\"", "\u00e4\n"}});
}

// ---- both ways

TEST_F(Safetensors, ReadsBackWhatWasWritten) {
  write_small_file(path());
  const SafetensorsFile file(path());
  ASSERT_EQ(file.tensors().size(), 4);
  const TensorView* const weight = file.find("weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->type, TensorType::F32);
  EXPECT_EQ(weight->shape, (Shape{2, 3}));
  ASSERT_EQ(weight->data.size(), sizeof(Weights));
  EXPECT_EQ(std::memcmp(weight->data.data(), Weights.data(), sizeof(Weights)), 0);

  EXPECT_EQ(file.find("steps")->shape, Shape{});
  EXPECT_EQ(std::memcmp(file.find("steps")->data.data(), Steps.data(), 8), 0);
  EXPECT_EQ(std::memcmp(file.find("flags")->data.data(), Flags.data(), 3), 0);
  EXPECT_EQ(file.find("nothing")->shape, (Shape{0, 5}));
  EXPECT_TRUE(file.find("nothing")->data.empty());
  EXPECT_EQ(file.find("bias"), nullptr);
  EXPECT_THAT(file.metadata(),
              ElementsAre(std::pair("format", "rcap"), std::pair("name \"1\"", "\u00e4\n")));
}

TEST_F(Safetensors, KeepsEveryTypeApart) {
  const std::vector<std::pair<TensorType, std::size_t>> types = {
      {TensorType::F64, 8}, {TensorType::F32, 4}, {TensorType::F16, 2}, {TensorType::BF16, 2},
      {TensorType::I64, 8}, {TensorType::I32, 4}, {TensorType::I16, 2}, {TensorType::I8, 1},
      {TensorType::U8, 1},  {TensorType::Bool, 1}};
  const std::array<std::byte, 16> zeros{};
  std::vector<TensorView> tensors;
  for (const auto& [type, bytes] : types) {
    EXPECT_EQ(bytes_of(type), bytes);
    tensors.push_back(
        {std::to_string(tensors.size()), type, {2}, std::span(zeros).first(2 * bytes)});
  }
  write_safetensors(path(), tensors);
  const SafetensorsFile file(path());
  for (const TensorView& tensor : tensors) {
    ASSERT_NE(file.find(tensor.name), nullptr);
    EXPECT_EQ(file.find(tensor.name)->type, tensor.type);
    EXPECT_EQ(file.find(tensor.name)->data.size(), tensor.data.size());
  }
}

TEST_F(Safetensors, HoldsAFileWithoutTensors) {
  write_safetensors(path(), {});
  EXPECT_EQ(read_bytes(path()), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  const SafetensorsFile file(path());
  EXPECT_TRUE(file.tensors().empty());
  EXPECT_TRUE(file.metadata().empty());
}

TEST_F(Safetensors, ASmallDamageIsRefusedOrLeavesAWellFormedFile) {
  write_small_file(path());
  const std::string whole = read_bytes(path());
  const auto damaged = folder_ / "damaged.safetensors";
  const auto open = [&](const std::string& bytes) {
    put_file(damaged, bytes);
    try {
      const SafetensorsFile file(damaged);
      std::size_t data_bytes = 0;
      unsigned sum = 0;
      for (const TensorView& tensor : file.tensors()) {
        const auto elements = std::accumulate(tensor.shape.begin(), tensor.shape.end(),
                                              std::int64_t{1}, std::multiplies<>());
        EXPECT_EQ(tensor.data.size(), static_cast<std::size_t>(elements) * bytes_of(tensor.type));
        EXPECT_EQ(file.find(tensor.name), &tensor);
        for (const std::byte byte : tensor.data) sum += std::to_integer<unsigned>(byte);
        data_bytes += tensor.data.size();
      }
      EXPECT_EQ(data_bytes, sizeof(Weights) + sizeof(Steps) + sizeof(Flags));
      EXPECT_LE(sum, 255 * data_bytes);
      return true;
    } catch (const BadFile&) {
      return false;
    }
  };
  ASSERT_TRUE(open(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(open(whole.substr(0, length))) << "cut after " << length << " bytes";
  }
  EXPECT_FALSE(open(whole + '\0'));
  std::size_t flips = 0;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int mask : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      SCOPED_TRACE(testing::Message() << "byte " << i << " flipped by " << mask);
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ mask);
      const bool sound = open(bytes);
      EXPECT_FALSE(sound && i < 8) << "the length of the header fits no other";
      ++flips;
      if (!sound) ++refused;
    }
  }
  // Names, metadata and values may change unseen: there is no checksum. Structure may not.
  EXPECT_GT(refused, flips / 2);
}

// ---- reading

TEST_F(Safetensors, ReadsAHeaderByAnotherHand) {
  // Other order, spaces, escapes, an odd header length; "b" lies first.
  const std::string header = R"({"\u0061" : {"shape":[1], "data_offsets":[2,6], "dtype":"F32"},)"
                             R"( "b":{"data_offsets":[0,2],"dtype":"U8","shape":[2,1]}}  )";
  put_file(path(), raw_file(header.size(), header, "xy\x01\x02\x03\x04"));
  const SafetensorsFile file(path());
  ASSERT_EQ(file.tensors().size(), 2);
  EXPECT_EQ(file.tensors()[0].name, "b");
  EXPECT_EQ(file.tensors()[0].data[1], std::byte{'y'});
  EXPECT_EQ(file.tensors()[1].name, "a");
  EXPECT_EQ(file.tensors()[1].data[3], std::byte{4});
}

TEST_F(Safetensors, RefusesWhatCannotBeAFileOfThisKind) {
  EXPECT_THAT(message_of<BadFile>([&] { SafetensorsFile file(folder_ / "none"); }),
              HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(message_of<BadFile>([&] { SafetensorsFile file(folder_.path()); }),
              HasSubstr("is a directory"));
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(message_of<BadFile>([&] { SafetensorsFile file(folder_ / "fifo"); }),
              HasSubstr("is not a regular file"));
  EXPECT_THAT(refusal_of_bytes(""), HasSubstr("has 0 bytes; a safetensors file begins with 8"));
  EXPECT_THAT(refusal_of_bytes("1234567"), HasSubstr("has 7 bytes"));
}

TEST_F(Safetensors, RefusesAHeaderThatCannotBe) {
  EXPECT_THAT(refusal_of_bytes(raw_file(100'000'001, "{}", "")),
              HasSubstr("claims a header of 100000001 bytes, more than the 100000000"));
  EXPECT_THAT(refusal_of_bytes(raw_file(~std::uint64_t{0}, "{}", "")),
              HasSubstr("claims a header of 18446744073709551615 bytes, more than"));
  EXPECT_THAT(refusal_of_bytes(raw_file(100'000'000, "{}", "")),
              HasSubstr("claims a header of 100000000 bytes, but only 2 follow"));
  EXPECT_THAT(refusal_of_bytes(raw_file(3, "{}", "")),
              HasSubstr("claims a header of 3 bytes, but only 2 follow; it is cut short"));
  EXPECT_THAT(refusal_of_bytes(raw_file(0, "", "")), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refusal(" {}"), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refusal("[]"), HasSubstr("does not start with '{'"));
}

TEST_F(Safetensors, RefusesAHeaderThatIsNotJson) {
  EXPECT_THAT(refusal("{"), HasSubstr("the header is not JSON at its byte 2"));
  EXPECT_THAT(refusal("{}{}"), HasSubstr("the header is not JSON at its byte 3"));
  // Its parser takes a zero byte for the end.
  EXPECT_THAT(refusal(std::string("{}\0more", 7)), HasSubstr("is not JSON at its byte 3"));
  EXPECT_THAT(refusal("{\"a\xff\":1}"), HasSubstr("is not JSON at its byte 4"));
  EXPECT_THAT(refusal(R"({"a\ud800":1})"), HasSubstr("is not JSON"));
  EXPECT_THAT(refusal("{/**/}"), HasSubstr("is not JSON at its byte 2"));
  EXPECT_THAT(refusal("{" + entry("a", "U8", "[1e999]", "[0,1]") + "}", 1),
              HasSubstr("is not JSON"));
}

TEST_F(Safetensors, RefusesWhatStandsTwice) {
  const std::string a = entry("a", "U8", "[1]", "[0,1]");
  EXPECT_THAT(refusal("{" + a + "," + entry("b", "U8", "[1]", "[1,2]") + "," +
                          entry("a", "U8", "[1]", "[2,3]") + "}",
                      3),
              HasSubstr("tensor \"a\" appears twice"));
  EXPECT_THAT(refusal("{" + a + "," + entry("\\u0061", "U8", "[1]", "[1,2]") + "}", 2),
              HasSubstr("tensor \"a\" appears twice"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","dtype":"U8"}})"),
              HasSubstr("tensor \"a\" has dtype twice"));
  EXPECT_THAT(refusal(R"({"a":{"shape":[],"shape":[]}})"),
              HasSubstr("tensor \"a\" has shape twice"));
  EXPECT_THAT(refusal(R"({"a":{"data_offsets":[0,1],"data_offsets":[0,1]}})"),
              HasSubstr("tensor \"a\" has data_offsets twice"));
  EXPECT_THAT(refusal(R"({"__metadata__":{},"__metadata__":{}})"),
              HasSubstr("__metadata__ appears twice"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"k":"1","k":"1"}})"),
              HasSubstr("__metadata__ holds \"k\" twice"));
}

TEST_F(Safetensors, RefusesFieldsThatAreMissingOrUnknown) {
  EXPECT_THAT(refusal(R"({"a":{"shape":[],"data_offsets":[0,1]}})", 1),
              HasSubstr("tensor \"a\" has no dtype"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1),
              HasSubstr("tensor \"a\" has no shape"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","shape":[]}})"),
              HasSubstr("tensor \"a\" has no data_offsets"));
  EXPECT_THAT(refusal(R"({"a":{"strides":[1]}})"),
              HasSubstr("tensor \"a\" has the unknown field \"strides\"; the fields are dtype,"));
  EXPECT_THAT(refusal("{" + entry("a", "F8_E4M3", "[1]", "[0,1]") + "}", 1),
              HasSubstr("tensor \"a\" has the dtype \"F8_E4M3\"; rcap reads F64, F32, F16, BF16, "
                        "I64, I32, I16, I8, U8, BOOL"));
  EXPECT_THAT(refusal("{" + entry("a", "f32", "[1]", "[0,4]") + "}", 4),
              HasSubstr("has the dtype \"f32\""));
}

TEST_F(Safetensors, RefusesValuesOfAnotherKind) {
  EXPECT_THAT(refusal(R"({"a":1})"), HasSubstr("tensor \"a\" is the number 1; it must be an obj"));
  EXPECT_THAT(refusal(R"({"a":[]})"), HasSubstr("tensor \"a\" is an array; it must be an object"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":null}})"), HasSubstr("has null as dtype; it must be a str"));
  EXPECT_THAT(refusal(R"({"a":{"shape":{}}})"), HasSubstr("has an object as shape; it must be an"));
  EXPECT_THAT(refusal(R"({"a":{"data_offsets":"0,1"}})"),
              HasSubstr("has a string as data_offsets; it must be an array"));
  EXPECT_THAT(refusal(R"({"a":{"shape":[true]}})"), HasSubstr("has true in its shape"));
  EXPECT_THAT(refusal(R"({"a":{"shape":[-1]}})"),
              HasSubstr("has the number -1 in its shape; lengths are whole numbers from 0 to "
                        "9223372036854775807"));
  EXPECT_THAT(refusal(R"({"a":{"shape":[1.5]}})"), HasSubstr("has the number 1.5 in its shape"));
  EXPECT_THAT(refusal(R"({"a":{"shape":[9223372036854775808]}})"),
              HasSubstr("has the number 9223372036854775808 in its shape"));
  EXPECT_THAT(refusal(R"({"a":{"shape":[99999999999999999999]}})"),
              HasSubstr("has the number 1e+20 in its shape"));
  EXPECT_THAT(refusal(R"({"a":{"data_offsets":[-1,2]}})"),
              HasSubstr("has the number -1 in data_offsets; offsets are whole numbers >= 0"));
  EXPECT_THAT(refusal(R"({"a":{"data_offsets":[1]}})"), HasSubstr("are not two numbers"));
  EXPECT_THAT(refusal(R"({"a":{"data_offsets":[1,2,3]}})"), HasSubstr("are not two numbers"));
}

TEST_F(Safetensors, RefusesMetadataThatAreNotStrings) {
  EXPECT_THAT(refusal(R"({"__metadata__":null})"),
              HasSubstr("__metadata__ is null; it must be an object of strings"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"epoch":3}})"),
              HasSubstr("__metadata__ \"epoch\" is the number 3; it must be a string"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"deep":{}}})"),
              HasSubstr("__metadata__ \"deep\" is an object; it must be a string"));
}

TEST_F(Safetensors, RefusesHolesAndOverlaps) {
  const std::string a = "{" + entry("a", "U8", "[4]", "[0,4]") + ",";
  const auto with = [&](const std::string& offsets, const std::string& shape, std::size_t bytes) {
    return refusal(a + entry("b", "U8", shape, offsets) + "}", bytes);
  };
  EXPECT_THAT(with("[5,6]", "[1]", 6), HasSubstr("tensor \"b\" begins at byte 5 of the data, not "
                                                 "at 4; tensors follow each other"));
  EXPECT_THAT(with("[3,6]", "[3]", 6), HasSubstr("tensor \"b\" begins at byte 3"));
  EXPECT_THAT(with("[0,4]", "[4]", 4), HasSubstr("tensor \"b\" begins at byte 0"));
  EXPECT_THAT(with("[2,2]", "[0]", 4), HasSubstr("tensor \"b\" begins at byte 2"));
  EXPECT_THAT(with("[4,6]", "[2]", 7), HasSubstr("1 bytes follow the last tensor"));
  EXPECT_THAT(refusal("{" + entry("a", "U8", "[1]", "[1,2]") + "}", 2),
              HasSubstr("tensor \"a\" begins at byte 1 of the data, not at 0"));
  EXPECT_THAT(refusal("{}", 3), HasSubstr("3 bytes follow the last tensor"));
}

TEST_F(Safetensors, RefusesOffsetsAndShapesThatDoNotFit) {
  const auto of = [&](const std::string& shape, const std::string& offsets) {
    return refusal("{" + entry("a", "F32", shape, offsets) + "}", 16);
  };
  EXPECT_THAT(of("[4]", "[16,0]"), HasSubstr("tensor \"a\" ends at 0, before its start at 16"));
  EXPECT_THAT(of("[5]", "[0,20]"), HasSubstr("ends at byte 20 of the data, but there are 16; the "
                                             "file is cut short"));
  EXPECT_THAT(of("[4]", "[0,18446744073709551615]"),
              HasSubstr("ends at byte 18446744073709551615"));
  EXPECT_THAT(of("[3]", "[0,16]"), HasSubstr("has 16 bytes of data; its shape needs 12 as F32"));
  EXPECT_THAT(of("[0,4]", "[0,16]"), HasSubstr("its shape needs 0 as F32"));
  // 2^32 * 2^32 elements, of which 64 bits see 0; 2^62 + 4 of them, whose bytes are 16 there.
  EXPECT_THAT(of("[4294967296,4294967296]", "[0,16]"),
              HasSubstr("tensor \"a\" has a shape with more elements than can be counted"));
  EXPECT_THAT(of("[4611686018427387908]", "[0,16]"), HasSubstr("than can be counted"));
  EXPECT_THAT(of("[0,4294967296,4294967296]", "[0,0]"), HasSubstr("than can be counted"));
}

TEST_F(Safetensors, RefusesATruthValueOfTwo) {
  const std::string header = "{" + entry("a", "BOOL", "[2]", "[0,2]") + "}";
  EXPECT_THAT(refusal_of_bytes(raw_file(header.size(), header, "\x01\x02")),
              HasSubstr("tensor \"a\" is BOOL, but its byte 1 is 2; truth values are 0 and 1"));
}

TEST_F(Safetensors, DeepNestingCostsNoStack) {
  const std::size_t depth = 5'000'000;
  EXPECT_THAT(refusal(R"({"a":)" + std::string(depth, '[')), HasSubstr("tensor \"a\" is an array"));
  std::string objects;
  for (std::size_t i = 0; i < depth / 5; ++i) objects += R"({"a":)";
  EXPECT_THAT(refusal(objects), HasSubstr("tensor \"a\" has the unknown field \"a\""));
}

TEST_F(Safetensors, ShowsAHostileNameHarmlessly) {
  const std::string message = refusal("{\"" + std::string(1000, 'n') + "\":1}");
  EXPECT_THAT(message, HasSubstr("tensor \"" + std::string(80, 'n') + "...\" is the number 1"));
  EXPECT_THAT(refusal(R"({"\u001b[2J\n":1})"), HasSubstr("tensor \"?[2J?\" is the number 1"));
}

// ---- writing

TEST_F(WriteSafetensors, AlignsEveryElementAndKeepsTheOrderOfEqualWidths) {
  const std::array<std::byte, 24> zeros{};
  const auto part = [&](std::size_t bytes) { return std::span(zeros).first(bytes); };
  for (std::size_t name_length = 1; name_length <= 8; ++name_length) {
    const std::vector<TensorView> tensors = {
        {std::string(name_length, 'n'), TensorType::U8, {3}, part(3)},
        {"b", TensorType::F32, {3}, part(12)},
        {"a", TensorType::I32, {1}, part(4)},
        {"h", TensorType::F16, {1}, part(2)},
        {"d", TensorType::F64, {3}, part(24)}};
    write_safetensors(path(), tensors);
    const SafetensorsFile file(path());
    std::string order;
    for (const TensorView& tensor : file.tensors()) {
      order += tensor.name[0];
      const auto address = std::bit_cast<std::uintptr_t>(tensor.data.data());
      EXPECT_EQ(address % bytes_of(tensor.type), 0) << tensor.name;
    }
    EXPECT_EQ(order, "dbahn");
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(file.tensors()[0].data.data()) % 8, 0);
  }
}

TEST_F(WriteSafetensors, RefusesWhatItCouldNotReadBack) {
  const std::array<float, 2> two = {1.0F, 2.0F};
  const auto message = [&](const std::vector<TensorView>& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    return message_of<InvalidArgument>([&] { write_safetensors(path(), tensors, metadata); });
  };
  const TensorView a = view("a", TensorType::F32, {2}, two);
  EXPECT_EQ(message({a, a}), "write_safetensors: tensor \"a\" appears twice; names must differ");
  EXPECT_THAT(message({view("a", TensorType::F32, {3, 1}, two)}),
              HasSubstr("tensor \"a\" has 8 bytes of data, but F32 of shape [3, 1] needs 12"));
  EXPECT_THAT(message({view("a", TensorType::F32, {-2, -1}, two)}),
              HasSubstr("tensor \"a\" has the shape [-2, -1]; lengths must be >= 0"));
  EXPECT_THAT(message({view("a", TensorType::F32, {std::int64_t{1} << 62, 4}, two)}),
              HasSubstr("their product countable"));
  EXPECT_THAT(message({view("__metadata__", TensorType::F32, {2}, two)}),
              HasSubstr("a tensor is named __metadata__"));
  EXPECT_THAT(message({view("a\xff", TensorType::F32, {2}, two)}), HasSubstr("is not UTF-8"));
  EXPECT_THAT(message({a}, {{"k", "\xc0\x80"}}), HasSubstr("is not UTF-8; names and metadata"));
  EXPECT_THAT(message({view("a", TensorType::Bool, {3}, std::array<std::uint8_t, 3>{0, 1, 7})}),
              HasSubstr("tensor \"a\" is BOOL, but its byte 2 is 7"));
  EXPECT_THAT(message({}, {{"k", std::string(100'000'000, 'x')}}),
              HasSubstr("make a header of 100000032 bytes; the format allows 100000000"));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(WriteSafetensors, ReplacesAFileThatIsOpen) {
  write_small_file(path());
  const SafetensorsFile old(path());
  write_safetensors(path(), {}, {{"new", "yes"}});
  EXPECT_EQ(std::memcmp(old.find("weight")->data.data(), Weights.data(), sizeof(Weights)), 0);
  EXPECT_EQ(SafetensorsFile(path()).metadata().at("new"), "yes");
}

TEST_F(WriteSafetensors, NamesThePathThatCannotBeWritten) {
  EXPECT_THAT(message_of<BadFile>([&] { write_safetensors(folder_ / "none/x", {}); }),
              HasSubstr("write_safetensors \"" + (folder_ / "none/x").string() + "\": "));
}

}  // namespace
}  // namespace rcap
