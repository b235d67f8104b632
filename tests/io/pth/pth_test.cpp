#include "io/pth/pth.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>

#include "io/pth/pickle_machine.hpp"
#include "io/pth/pth_fixture.hpp"
#include "io/safetensors_format.hpp"
#include "memory_file.hpp"

namespace rcap {
namespace {

using namespace pth_samples;
using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

using Shape = std::vector<std::int64_t>;

/// Holds for every file that is not refused.
void expect_well_formed(const PthFile& file) {
  EXPECT_FALSE(file.tensors().empty());
  unsigned sum = 0;
  for (const TensorView& tensor : file.tensors()) {
    const auto elements = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                                          std::multiplies<>());
    EXPECT_EQ(tensor.data.size(), static_cast<std::size_t>(elements) * bytes_of(tensor.type));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % bytes_of(tensor.type), 0);
    EXPECT_EQ(safetensors::find_tensor(file.tensors(), tensor.name), &tensor);
    // Under a sanitizer this tells whether the bytes are there.
    for (const std::byte byte : tensor.data) sum += std::to_integer<unsigned>(byte);
  }
  EXPECT_LE(sum, 255U * 1000U);
}

// ---- what is read

void expect_small_file(const PthFile& file) {
  ASSERT_EQ(file.tensors().size(), 3);
  EXPECT_EQ(file.tensors()[0].name, "weight");
  EXPECT_EQ(file.tensors()[0].type, TensorType::F32);
  EXPECT_EQ(file.tensors()[0].shape, (Shape{2, 3}));
  EXPECT_THAT(floats_of(file.tensors()[0]), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(safetensors::find_tensor(file.tensors(), "turned")->shape, (Shape{3, 2}));
  EXPECT_THAT(floats_of(*safetensors::find_tensor(file.tensors(), "turned")),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(safetensors::find_tensor(file.tensors(), "flags")->type, TensorType::Bool);
  EXPECT_EQ(safetensors::find_tensor(file.tensors(), "flags")->data[2], std::byte{1});
  EXPECT_EQ(safetensors::find_tensor(file.tensors(), "bias"), nullptr);
  EXPECT_EQ(file.wrapper(), "");
  EXPECT_TRUE(file.passed_over().empty());
}

TEST_F(Pth, ReadsEveryContainer) {
  for (const std::string& bytes : {small_archive(), small_archive(true), small_old_file()}) {
    put(bytes);
    const PthFile file(path());
    expect_small_file(file);
    expect_well_formed(file);
  }
}

TEST_F(Pth, ReadsAnArchiveWithACommentBehindIt) {
  std::string bytes = small_archive();
  bytes[bytes.size() - 2] = 3;
  put(bytes + "end");
  expect_small_file(PthFile(path()));
}

TEST_F(Pth, GivesEmptyTensorsWithoutAskingForTheirStorage) {
  put(archive(pickle_of(dictionary({{"w", tensor(storage("0", "Float", 0), 5, {0, 3}, {3, 1})}})),
              {{"0", ""}}));
  const PthFile file(path());
  EXPECT_EQ(file.tensors()[0].shape, (Shape{0, 3}));
  EXPECT_TRUE(file.tensors()[0].data.empty());
}

TEST_F(Pth, TakesAveragedWeightsBeforeTrainedOnes) {
  const std::string one = dictionary({{"a", tensor(floats_, 0, {1}, {1})}});
  const std::string two = dictionary({{"b", tensor(floats_, 0, {2}, {1})}});
  put(archive(pickle_of(dictionary({{"state_dict", one},
                                    {"model", dictionary({{"model_ema", two}, {"teacher", one}})},
                                    {"teacher", two}})),
              {{"0", std::string(24, '\0')}}));
  const PthFile file(path());
  EXPECT_EQ(file.wrapper(), "teacher");
  EXPECT_THAT(file.passed_over(), ElementsAre("state_dict", "model.model_ema", "model.teacher"));
  EXPECT_NE(safetensors::find_tensor(file.tensors(), "b"), nullptr);
}

TEST_F(Pth, IsNotCaughtByADictionaryThatHoldsItself) {
  // BINPUT 0, then itself under "model", by BINGET 0.
  EXPECT_THAT(refusal_of_value("}q" + std::string(1, '\0') + "(" + text("model") + "h"s +
                               std::string(1, '\0') + "u"),
              HasSubstr("holds no dictionary of tensors"));
}

TEST_F(Pth, ASmallDamageIsRefusedOrLeavesAWellFormedFile) {
  MemoryFile memory;
  for (const std::string& whole : {small_archive(), small_archive(true), small_old_file()}) {
    const auto opens = [&](const std::string& bytes) {
      memory.put(bytes);
      try {
        const PthFile file(memory.path());
        expect_well_formed(file);
        return true;
      } catch (const BadFile&) {
        return false;
      }
    };
    ASSERT_TRUE(opens(whole));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_FALSE(opens(whole.substr(0, length))) << "cut after " << length << " bytes";
    }
    EXPECT_FALSE(opens(whole + '\0'));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const int mask : {1, 4, 16, 128, 255}) {
        SCOPED_TRACE(testing::Message() << "byte " << i << " flipped by " << mask);
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ mask);
        (void)opens(bytes);
      }
    }
  }
}

TEST_F(Pth, SeesEveryChangedByteOfARecord) {
  const std::string whole = small_archive();
  const std::size_t begin = whole.find("archive/data.pkl") + 16;
  const std::size_t end = whole.find("PK\x03\x04", begin);
  ASSERT_GT(end - begin, 300);
  MemoryFile memory;
  for (std::size_t i = begin; i < end; ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 32);
    memory.put(bytes);
    EXPECT_THAT(message_of<BadFile>([&] { PthFile file(memory.path()); }),
                HasSubstr("record \"archive/data.pkl\" has the checksum"));
  }
}

// ---- the program inside

TEST_F(Pth, RefusesEveryInstructionThatWeightsDoNotNeed) {
  const std::string known = "().GJKMNQRUX]abcehjqrstu}\x80\x85\x86\x87\x88\x89\x8a";
  for (int code = 0; code < 256; ++code) {
    if (known.find(static_cast<char>(code)) != known.npos) continue;
    const std::string message =
        refusal_of_pickle("\x80\x02" + std::string(1, static_cast<char>(code)));
    EXPECT_THAT(message,
                HasSubstr(" at byte 2 of data.pkl is not an instruction that weights need"));
  }
  EXPECT_THAT(refusal_of_value("\x81"), HasSubstr("NEWOBJ at byte 2 of data.pkl"));
  EXPECT_THAT(refusal_of_value("i"), HasSubstr("INST at byte 2 of data.pkl"));
  EXPECT_THAT(refusal_of_value("\x93"), HasSubstr("STACK_GLOBAL at byte 2"));
  EXPECT_THAT(refusal_of_value("\xff"), HasSubstr("0xff at byte 2"));
}

TEST_F(Pth, RefusesEveryNameThatWeightsDoNotNeed) {
  for (const auto& [module, name] :
       std::vector<std::pair<std::string, std::string>>{{"os", "system"},
                                                        {"builtins", "eval"},
                                                        {"torch", "load"},
                                                        {"torch", ""},
                                                        {"torch._utils", "_rebuild_tensor"},
                                                        {"torch", "ComplexFloatStorage"},
                                                        {"Torch", "FloatStorage"},
                                                        {"collections", "OrderedDict "}}) {
    EXPECT_THAT(refusal_of_value("N" + global(module, name)),
                HasSubstr("GLOBAL at byte 3 of data.pkl asks for \"" + module + "." + name + "\""));
  }
  EXPECT_THAT(refusal_of_value(global("os\x1b[2J", "\a")), HasSubstr("\"os?[2J.?\""));
  EXPECT_THAT(refusal_of_pickle("\x80\x02"
                                "cos\nsystem"),
              HasSubstr("a name at byte 12 of data.pkl"));
}

TEST_F(Pth, RefusesPicklesThatCannotBe) {
  EXPECT_THAT(refusal_of_pickle(""), HasSubstr("an instruction at byte 0 of data.pkl needs 1"));
  EXPECT_THAT(refusal_of_pickle("\x80\x02"), HasSubstr("an instruction at byte 2 of data.pkl"));
  EXPECT_THAT(refusal_of_pickle("\x80\x05."),
              HasSubstr("announces pickle protocol 5; only protocol 2"));
  EXPECT_THAT(refusal_of_pickle("\x80\x02}.X"), HasSubstr("1 bytes follow the pickle in data.pkl"));
  EXPECT_THAT(refusal_of_value(""), HasSubstr("STOP at byte 2 of data.pkl ends with 0 values"));
  EXPECT_THAT(refusal_of_value("NN"), HasSubstr("ends with 2 values and 0 open marks"));
  EXPECT_THAT(refusal_of_value("N("), HasSubstr("ends with 1 values and 1 open marks"));
  EXPECT_THAT(refusal_of_value("t"), HasSubstr("TUPLE at byte 2 of data.pkl finds no mark"));
  EXPECT_THAT(refusal_of_value("N\x86"), HasSubstr("TUPLE2 at byte 3 of data.pkl finds no value"));
  EXPECT_THAT(refusal_of_value("}(s"), HasSubstr("SETITEM at byte 4 of data.pkl finds no value"));
  EXPECT_THAT(refusal_of_value("}(Nu"), HasSubstr("has a key without a value"));
  EXPECT_THAT(refusal_of_value("](NNu"),
              HasSubstr("puts items into something that is not a dictionary"));
  EXPECT_THAT(refusal_of_value("}Na"), HasSubstr("appends to something that is not a list"));
  EXPECT_THAT(refusal_of_value(")(Ne"), HasSubstr("appends to something that is not a list"));
  EXPECT_THAT(refusal_of_value("}Nb"), HasSubstr("sets attributes of something other"));
  EXPECT_THAT(refusal_of_value("]}b"), HasSubstr("sets attributes of something other"));
  EXPECT_THAT(refusal_of_value("h\x07"),
              HasSubstr("BINGET at byte 2 of data.pkl asks for value 7"));
  EXPECT_THAT(refusal_of_value("q\x07"), HasSubstr("BINPUT at byte 2 of data.pkl finds no value"));
  EXPECT_THAT(refusal_of_value("X\xff\xff\xff\xff"),
              HasSubstr("text at byte 7 of data.pkl needs 4294967295 bytes, but 1 are left"));
  EXPECT_THAT(refusal_of_value("\x8a\xff"), HasSubstr("needs 255 bytes"));
}

TEST_F(Pth, BoundsNestingAndLength) {
  const std::string deepest = std::string(pickle::Machine::MostNesting, '(');
  EXPECT_THAT(refusal_of_value(deepest + "("),
              HasSubstr("MARK at byte 1002 of data.pkl nests deeper than 1000"));
  EXPECT_THAT(refusal_of_value(deepest), HasSubstr("1000 open marks"));
  EXPECT_THAT(refusal_of_value(std::string(pickle::Machine::MostInstructions, 'N')),
              HasSubstr("comes after 2097152 others"));
}

TEST_F(Pth, RefusesCallsThatCannotBe) {
  const std::string rebuild = global("torch._utils", "_rebuild_tensor_v2");
  const std::string parameter = global("torch._utils", "_rebuild_parameter");
  EXPECT_THAT(refusal_of_value("N)R"), HasSubstr("does not call a known function"));
  EXPECT_THAT(refusal_of_value(global("torch", "FloatStorage") + ")R"),
              HasSubstr("REDUCE at byte 23 of data.pkl does not call a known function"));
  EXPECT_THAT(refusal_of_value(rebuild + "]R"), HasSubstr("with a tuple"));
  EXPECT_THAT(refusal_of_value(global("collections", "OrderedDict") + "]\x85R"),
              HasSubstr("makes an OrderedDict from a list"));
  EXPECT_THAT(refusal_of_value(rebuild + ")R"), HasSubstr("something other than a storage"));
  EXPECT_THAT(refusal_of_value(rebuild + tuple({"N", "N", "N", "N", "N", "N"}) + "R"),
              HasSubstr("something other than a storage"));
  EXPECT_THAT(
      refusal_of_value(rebuild + tuple({floats_, integer(0), ")", ")", "\x89", "N", "}"}) + "R"),
      HasSubstr("makes a tensor with metadata"));
  EXPECT_THAT(refusal_of_value(parameter + ")R"),
              HasSubstr("makes a parameter from something that is not"));
  EXPECT_THAT(refusal_of_value(parameter + "N\x85R"), HasSubstr("makes a parameter from some"));
  EXPECT_THAT(refusal_of_value(rebuild + tuple({floats_, integer(0), "]", ")", "\x89", "N"}) + "R"),
              HasSubstr("whose sizes are not a tuple"));
}

TEST_F(Pth, RefusesStoragesThatCannotBe) {
  EXPECT_THAT(refusal_of_value("NQ"),
              HasSubstr("refers to something outside the pickle that is not"));
  EXPECT_THAT(refusal_of_value(tuple({text("module"), "N", "N", "N", "N"}) + "Q"),
              HasSubstr("is not a storage of a known type"));
  EXPECT_THAT(refusal_of_value(storage("0", "Float", -1)),
              HasSubstr("has -1 as number of elements; it must be a 64-bit integer >= 0"));
  EXPECT_THAT(refusal_of_tensor(tensor(storage("9", "Float", 6), 0, {6}, {1})),
              HasSubstr("there is no record for storage \"9\""));
  EXPECT_THAT(refusal_of_tensor(tensor(storage("0", "Float", 7), 0, {6}, {1})),
              HasSubstr("storage \"0\" has 24 bytes; the pickle says 7 elements of 4"));
  EXPECT_THAT(refusal_of_tensor(tensor(storage("0", "Float", 1), 0, {1}, {1})),
              HasSubstr("storage \"0\" has 24 bytes; the pickle says 1 elements of 4"));
  EXPECT_THAT(refusal_of_value(tuple({floats_, storage("0", "Int", 6)})),
              HasSubstr("describes storage \"0\" in two ways"));
  EXPECT_THAT(refusal_of_value(tuple({text("storage"), global("torch", "FloatStorage"), text("0"),
                                      text("cpu"), integer(6), "}"}) +
                               "Q"),
              HasSubstr("refers to a part of another storage"));
}

TEST_F(Pth, ChecksTensorsAgainstTheirStorage) {
  constexpr std::int64_t Huge = std::numeric_limits<std::int64_t>::max();
  const auto refusal_of = [&](std::int64_t offset, const Shape& sizes, const Shape& strides) {
    return refusal_of_tensor(tensor(floats_, offset, sizes, strides));
  };
  EXPECT_THAT(refusal_of(0, {7}, {1}),
              HasSubstr("tensor \"w\" needs 7 elements of storage \"0\", which has 6"));
  EXPECT_THAT(refusal_of(1, {2, 3}, {3, 1}), HasSubstr("needs 7 elements"));
  EXPECT_THAT(refusal_of(6, {}, {}), HasSubstr("needs 7 elements"));
  EXPECT_THAT(refusal_of(0, {2, 2}, {5, 1}), HasSubstr("needs 7 elements"));
  EXPECT_THAT(refusal_of(Huge, {1}, {1}), HasSubstr("needs 9223372036854775808 elements"));
  EXPECT_THAT(refusal_of(0, {3}, {Huge}), HasSubstr("needs 18446744073709551615 elements"));
  EXPECT_THAT(refusal_of(0, {5}, {Huge}), HasSubstr("needs uncountable elements"));
  EXPECT_THAT(refusal_of(Huge, {3, 2}, {Huge, 1}), HasSubstr("needs uncountable elements"));
  EXPECT_THAT(refusal_of(0, {Huge, 4}, {0, 0}), HasSubstr("more elements than can be counted"));
  EXPECT_THAT(refusal_of(0, {0, Huge, 4}, {0, 0, 0}), HasSubstr("more elements than can"));
  EXPECT_THAT(refusal_of(-1, {1}, {1}), HasSubstr("has -1 as offset"));
  EXPECT_THAT(refusal_of(0, {-1}, {1}), HasSubstr("has -1 as size"));
  EXPECT_THAT(refusal_of(0, {2}, {-1}), HasSubstr("has -1 as stride"));
  EXPECT_THAT(refusal_of(0, {2, 3}, {1}), HasSubstr("with 2 sizes and 1 strides"));
  EXPECT_THAT(refusal_of(0, Shape(17, 1), Shape(17, 1)), HasSubstr("a tensor of 17 dimensions"));
}

TEST_F(Pth, BoundsWhatCopiesTake) {
  // 16 MiB and four times the file are free: 4 Mi floats and a little, from one repeated float.
  const auto repeated = [&](std::int64_t count) {
    return archive(pickle_of(dictionary({{"w", tensor(floats_, 0, {count}, {0})}})),
                   {{"0", std::string(24, '\0')}});
  };
  put(repeated(1 << 22));
  EXPECT_EQ(PthFile(path()).tensors()[0].data.size(), 1 << 24);
  EXPECT_THAT(refusal(repeated(1 << 23)),
              HasSubstr("tensor \"w\" is not contiguous and takes 33554432 bytes to copy"));
  EXPECT_THAT(refusal(repeated(std::int64_t{1} << 40)), HasSubstr("takes 4398046511104 bytes"));
}

TEST_F(Pth, RefusesDictionariesThatCannotBe) {
  const std::string one = tensor(floats_, 0, {1}, {1});
  EXPECT_THAT(refusal_of_value("N"), HasSubstr("does not hold a dictionary"));
  EXPECT_THAT(refusal_of_value(one), HasSubstr("does not hold a dictionary"));
  EXPECT_THAT(refusal_of_value("}"), HasSubstr("its keys are none; save model.state_dict()"));
  EXPECT_THAT(refusal_of_value(dictionary({{"a", "N"}, {"b", "]"}})),
              HasSubstr("its keys are \"a\", \"b\""));
  EXPECT_THAT(refusal_of_value(dictionary({{"w", one}, {"v", one}, {"w", one}})),
              HasSubstr("tensor \"w\" appears twice"));
  EXPECT_THAT(refusal_of_value(dictionary({{"\xff", one}})),
              HasSubstr("has a name that is not UTF-8"));
}

TEST_F(Pth, RefusesTruthValuesThatAreNone) {
  const std::string value = dictionary({{"w", tensor(storage("0", "Bool", 3), 0, {3}, {1})}});
  EXPECT_THAT(refusal(archive(pickle_of(value), {{"0", "\1\2\1"}})),
              HasSubstr("tensor \"w\" holds truth values, but element 1 is 2"));
}

}  // namespace
}  // namespace rcap
