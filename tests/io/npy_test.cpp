#include "io/npy.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/staged_file.hpp"
#include "file_bytes.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::string_literals;

/// A file of a given version with `header` as its dictionary, unpadded.
std::string npy_bytes(const std::string& header, const std::string& data, int version = 1) {
  const std::size_t length = header.size();
  std::string bytes = "\x93NUMPY"s + static_cast<char>(version) + '\0';
  const int length_bytes = version == 1 ? 2 : 4;
  for (int i = 0; i < length_bytes; ++i) bytes += static_cast<char>((length >> (8 * i)) & 0xff);
  return bytes + header + data;
}

std::string header_of(const std::string& type, const std::string& shape,
                      const std::string& order = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

class Npy : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& bytes) {
    const auto path = folder_ / "labels.npy";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  /// The message with which the bytes are refused as labels; empty if they are not.
  std::string refusal(const std::string& bytes) {
    try {
      (void)read_integers(put(bytes), "labels");
      return "";
    } catch (const BadFile& error) {
      EXPECT_THAT(error.what(), HasSubstr((folder_ / "labels.npy").string() + ": "));
      return error.what();
    }
  }

  std::string refusal_of_losses(const std::string& bytes) {
    try {
      (void)read_reals(put(bytes), "losses");
      return "";
    } catch (const BadFile& error) {
      return error.what();
    }
  }

  TemporaryFolder folder_;
};

TEST_F(Npy, ReadsEveryVersion) {
  for (const int version : {1, 2, 3}) {
    const auto array = read_integers(
        put(npy_bytes(header_of("<i2", "(2,)"), "\x01\0\xff\xff"s, version)), "labels");
    EXPECT_THAT(std::get<std::vector<std::int16_t>>(array), ElementsAre(1, -1));
  }
}

TEST_F(Npy, KeepsTheTypeOfTheFile) {
  const auto bytes = read_integers(put(npy_bytes(header_of("|u1", "(2,)"), "\x07\xff")), "labels");
  EXPECT_THAT(std::get<std::vector<std::uint8_t>>(bytes), ElementsAre(7, 255));
  const auto wide =
      read_integers(put(npy_bytes(header_of("<u8", "(1,)"), std::string(8, '\xff'))), "labels");
  EXPECT_THAT(std::get<std::vector<std::uint64_t>>(wide), ElementsAre(~std::uint64_t{0}));
  const auto reals =
      read_reals(put(npy_bytes(header_of("<f4", "(1,)"), "\0\0\x80\x3f"s)), "losses");
  EXPECT_THAT(std::get<std::vector<float>>(reals), ElementsAre(1.0f));
}

TEST_F(Npy, ReadsKeysInAnyOrderAndAnySpacing) {
  const std::string header = "{ \"shape\" :( 1 , ),'fortran_order':False,'descr':'<i1'}   \n";
  const auto array = read_integers(put(npy_bytes(header, "\x05")), "labels");
  EXPECT_THAT(std::get<std::vector<std::int8_t>>(array), ElementsAre(5));
}

TEST_F(Npy, ReadsAnEmptyArray) {
  const auto array = read_integers(put(npy_bytes(header_of("<i8", "(0,)"), "")), "labels");
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(array), IsEmpty());
}

TEST_F(Npy, RefusesAHeaderThatIsNotExactlyTheDictionary) {
  for (const char* header : {
           "", "{}", "{'descr': '<i1', 'fortran_order': False}",                       // no shape
           "{'descr': '<i1', 'descr': '<i1', 'fortran_order': False, 'shape': (1,)}",  // twice
           "{'descr': '<i1', 'fortran_order': False, 'shape': (1,), 'more': 1}",       // unknown
           "{'descr': '<i1', 'fortran_order': 0, 'shape': (1,)}",                      // no bool
           "{'descr': '<i1', 'fortran_order': False, 'shape': (1)}",                   // no tuple
           "{'descr': '<i1', 'fortran_order': False, 'shape': (-1,)}",                 //
           "{'descr': '<i1', 'fortran_order': False, 'shape': (99999999999999999999,)}",  //
           "{'descr': '<i1', 'fortran_order': False, 'shape': (1,)} x",                   //
           "{'descr': '<i1' 'fortran_order': False, 'shape': (1,)}",                      // comma
           "{'descr': '<i1, 'fortran_order': False, 'shape': (1,)",                       //
           "{'descr': [('a', '<i1'",                                                      //
       }) {
    SCOPED_TRACE(header);
    EXPECT_THAT(refusal(npy_bytes(header, "\x05")), HasSubstr("header"));
  }
}

TEST_F(Npy, NamesBigEndianAndTheLineThatMendsIt) {
  EXPECT_THAT(refusal(npy_bytes(header_of(">i4", "(1,)"), "\0\0\0\1"s)),
              HasSubstr("holds big-endian int32 ('>i4'); save it with labels.astype('<i4')"));
  EXPECT_THAT(refusal_of_losses(npy_bytes(header_of(">f8", "(1,)"), std::string(8, '\0'))),
              HasSubstr("holds big-endian float64 ('>f8'); save it with losses.astype('<f8')"));
}

TEST_F(Npy, NamesEveryTypeThatItRefuses) {
  const auto refused_as = [&](const std::string& type) {
    return refusal(npy_bytes(header_of(type, "(1,)"), std::string(16, '\0')));
  };
  EXPECT_THAT(refused_as("|O"), HasSubstr("Python objects ('|O')"));
  EXPECT_THAT(refused_as("<f4"), HasSubstr("float32 ('<f4'), but integers are needed"));
  EXPECT_THAT(refused_as("|b1"), HasSubstr("bool ('|b1')"));
  EXPECT_THAT(refused_as("<c16"), HasSubstr("complex128 ('<c16')"));
  EXPECT_THAT(refused_as("<U4"), HasSubstr("strings ('<U4')"));
  EXPECT_THAT(refused_as("|S4"), HasSubstr("strings ('|S4')"));
  EXPECT_THAT(refused_as("<M8[ns]"), HasSubstr("dates ('<M8[ns]')"));
  EXPECT_THAT(refused_as("=i4"), HasSubstr("int32 ('=i4')"));
  EXPECT_THAT(refused_as("|i4"), HasSubstr("int32 ('|i4')"));
  EXPECT_THAT(refused_as("<i3"), HasSubstr("int"));
  EXPECT_THAT(refused_as(""), HasSubstr("an unknown type ('')"));
  EXPECT_THAT(refused_as("<"), HasSubstr("an unknown type ('<')"));
  const std::string structured =
      "{'descr': [('a', '<i4'), ('b', '<f4', (2,))], 'fortran_order': False, 'shape': (1,), }\n";
  EXPECT_THAT(refusal(npy_bytes(structured, std::string(12, '\0'))),
              HasSubstr("structured records"));
}

TEST_F(Npy, RefusesHalfPrecisionAndIntegersAsLosses) {
  EXPECT_THAT(refusal_of_losses(npy_bytes(header_of("<f2", "(1,)"), "\0\0"s)),
              HasSubstr("float16 ('<f2'), but float32 or float64 is needed; save it with "
                        "losses.astype('<f4')"));
  EXPECT_THAT(refusal_of_losses(npy_bytes(header_of("<i4", "(1,)"), "\0\0\0\0"s)),
              HasSubstr("int32 ('<i4'), but float32 or float64 is needed"));
  EXPECT_THAT(refusal_of_losses(npy_bytes(header_of(">f2", "(1,)"), "\0\0"s)),
              HasSubstr("losses.astype('<f4')"));
}

TEST_F(Npy, RefusesFortranOrderAndOtherShapes) {
  EXPECT_THAT(refusal(npy_bytes(header_of("<i1", "(1,)", "True"), "\x05")),
              HasSubstr("Fortran-ordered"));
  EXPECT_THAT(refusal(npy_bytes(header_of("<i1", "(1, 1)"), "\x05")),
              AllOf(HasSubstr("shape (1, 1)"), HasSubstr("labels.ravel()")));
  EXPECT_THAT(refusal(npy_bytes(header_of("<i1", "()"), "\x05")), HasSubstr("shape ()"));
}

TEST_F(Npy, NamesBothByteCountsWhenTheSizeIsWrong) {
  EXPECT_THAT(refusal(npy_bytes(header_of("<i4", "(3,)"), std::string(11, '\0'))),
              HasSubstr("truncated: its header claims 12 bytes of data, the file has 11"));
  EXPECT_THAT(refusal(npy_bytes(header_of("<i4", "(3,)"), std::string(13, '\0'))),
              HasSubstr("too long: its header claims 12 bytes of data, the file has 13"));
}

TEST_F(Npy, TakesNoMemoryForASizeThatTheFileDoesNotHave) {
  EXPECT_THAT(refusal(npy_bytes(header_of("<i8", "(1000000000000000000,)"), "")),
              HasSubstr("truncated: its header claims 8000000000000000000 bytes"));
  // 2^61 values of 8 bytes are 2^64 bytes: 0 if the product wrapped round.
  EXPECT_THAT(refusal(npy_bytes(header_of("<i8", "(2305843009213693952,)"), "")),
              HasSubstr("its header claims 2305843009213693952 values"));
}

TEST_F(Npy, RefusesEveryTruncationOfASoundFile) {
  const std::string sound = npy_bytes(header_of("<i2", "(3,)"), "\1\0\2\0\3\0"s);
  ASSERT_EQ(refusal(sound), "");
  for (std::size_t length = 0; length < sound.size(); ++length) {
    SCOPED_TRACE(length);
    EXPECT_NE(refusal(sound.substr(0, length)), "");
  }
}

TEST_F(Npy, RefusesWhatIsNoFileOfItsKind) {
  EXPECT_THAT(refusal("a plain text, and a long one"), HasSubstr("is not a .npy file"));
  EXPECT_THAT(refusal(npy_bytes(header_of("<i1", "(1,)"), "\x05", 4)), HasSubstr("version 4.0"));
  EXPECT_THROW((void)read_integers(folder_ / "absent.npy", "labels"), BadFile);
  EXPECT_THROW((void)read_integers(folder_.path(), "labels"), BadFile);
}

TEST_F(Npy, TurnsEveryIntegerTypeIntoIds) {
  EXPECT_THAT(read_ids(put(npy_bytes(header_of("|u1", "(2,)"), "\x07\xff"))), ElementsAre(7, 255));
  EXPECT_THAT(read_ids(put(npy_bytes(header_of("<i2", "(1,)"), "\xff\xff"))), ElementsAre(-1));
  const auto path = put(npy_bytes(header_of("<u8", "(1,)"), std::string(8, '\xff')));
  try {
    (void)read_ids(path);
    FAIL() << "accepted 2^64 - 1 as an id";
  } catch (const BadFile& error) {
    EXPECT_THAT(error.what(), HasSubstr("id 18446744073709551615 at position 0"));
  }
}

TEST_F(Npy, WritesWhatItReadsWithTheDataAtAMultipleOf64) {
  for (std::size_t count : {0, 1, 5, 1000}) {
    const std::vector<std::int64_t> ids(count, 42);
    StagedFile file(folder_ / "ids.npy");
    write_npy(file, std::span<const std::int64_t>(ids));
    file.publish();
    EXPECT_EQ(read_ids(folder_ / "ids.npy"), ids);
    EXPECT_EQ((read_bytes(folder_ / "ids.npy").size() - 8 * count) % 64, 0u);
  }
}

TEST_F(Npy, ReadsTablesOfEveryType) {
  const auto bytes =
      read_number_table(put(npy_bytes(header_of("|i1", "(2, 3)"), "\1\2\3\4\5\xff")), "table");
  EXPECT_EQ(bytes.rows, 2);
  EXPECT_EQ(bytes.columns, 3);
  EXPECT_THAT(bytes.values, ElementsAre(1, 2, 3, 4, 5, -1));
  const auto reals =
      read_number_table(put(npy_bytes(header_of("<f4", "(1, 1)"), "\0\0\x80\x3f"s)), "table");
  EXPECT_THAT(reals.values, ElementsAre(1.0));
}

TEST_F(Npy, RefusesTablesOfOtherTypesOrdersAndShapes) {
  const auto refusal_of_table = [&](const std::string& header, std::size_t bytes) {
    try {
      (void)read_number_table(put(npy_bytes(header, std::string(bytes, '\0'))), "table");
      return ""s;
    } catch (const BadFile& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refusal_of_table(header_of("<f4", "(4,)"), 16),
              HasSubstr("shape (4); two dimensions are needed, one row per sample"));
  EXPECT_THAT(refusal_of_table(header_of("<f4", "(2, 2)", "True"), 16),
              HasSubstr("save it with np.ascontiguousarray(table)"));
  EXPECT_THAT(refusal_of_table(header_of("<f2", "(2, 2)"), 8),
              HasSubstr("float16 ('<f2'), but float32, float64 or integers are needed"));
  EXPECT_THAT(refusal_of_table(header_of("<f4", "(2, 2)"), 15),
              HasSubstr("claims 16 bytes of data, the file has 15"));
  // 2^32 x 2^32 is 0 if the product wrapped round.
  EXPECT_THAT(refusal_of_table(header_of("<f4", "(4294967296, 4294967296)"), 0),
              HasSubstr("its header claims 4294967296 x 4294967296 values of 4 bytes"));
}

TEST_F(Npy, TellsItsFilesByTheirFirstBytes) {
  EXPECT_TRUE(is_npy(put(npy_bytes(header_of("<i1", "(1,)"), "\x05"))));
  EXPECT_FALSE(is_npy(put("\x93NUMP")));
  EXPECT_FALSE(is_npy(put("a,b\n1,2\n")));
  EXPECT_FALSE(is_npy(folder_ / "absent.npy"));
}

}  // namespace
}  // namespace rcap
