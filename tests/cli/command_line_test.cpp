#include "cli/command_line.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.hpp"

namespace rcap::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StrEq;

enum class Colour { Red, Green };

/// A command with one option of each kind.
struct Paint {
  std::int64_t layers = 2;
  std::uint64_t seed = 0;
  std::optional<double> thickness;
  Colour colour = Colour::Red;
  bool dry = false;
  int threads = 1;

  void parse(const std::vector<std::string>& words) {
    CommandLine line("paint", "Paints.", "");
    line.number("--layers", layers, "N", "coats");
    line.number("--seed", seed, "S", "seed");
    line.number("--thickness", thickness, "X", "of a coat");
    line.choice("--colour", colour, {{"red", Colour::Red}, {"green", Colour::Green}}, "which");
    line.flag("--dry", dry, "wait");
    line.threads(threads);
    line.config();
    ASSERT_TRUE(line.parse(words));
  }

  std::string refusal(const std::vector<std::string>& words) {
    try {
      parse(words);
      return "";
    } catch (const InvalidArgument& error) {
      return error.what();
    }
  }
};

TEST(CommandLine, PutsValuesIntoTheirVariables) {
  Paint paint;
  paint.parse({"--layers", "-3", "--thickness=0.5", "--colour", "green", "--dry"});
  EXPECT_EQ(paint.layers, -3);
  EXPECT_EQ(paint.thickness, 0.5);
  EXPECT_EQ(paint.colour, Colour::Green);
  EXPECT_TRUE(paint.dry);
}

TEST(CommandLine, NamesTheNearestOptionForAnUnknownOne) {
  EXPECT_THAT(Paint().refusal({"--layer", "3"}),
              StrEq("paint: there is no option --layer (did you mean --layers?); see rcap "
                    "paint --help"));
  EXPECT_THAT(Paint().refusal({"--zzzzzz=1"}),
              StrEq("paint: there is no option --zzzzzz; see rcap paint --help"));
  EXPECT_THAT(Paint().refusal({"wall"}), HasSubstr("\"wall\" was not expected"));
}

TEST(CommandLine, NamesAValueThatIsNotANumber) {
  EXPECT_THAT(Paint().refusal({"--layers", "3x"}), StrEq("--layers \"3x\" is not a whole number"));
  EXPECT_THAT(Paint().refusal({"--layers", "0x10"}), HasSubstr("\"0x10\""));
  EXPECT_THAT(Paint().refusal({"--layers", ""}), HasSubstr("\"\""));
  EXPECT_THAT(Paint().refusal({"--seed", "-1"}), HasSubstr("\"-1\" is not a whole number >= 0"));
  EXPECT_THAT(Paint().refusal({"--thickness", "thin"}), HasSubstr("\"thin\" is not a number"));
  EXPECT_THAT(Paint().refusal({"--seed", "99999999999999999999"}), HasSubstr("does not fit"));
}

TEST(CommandLine, NamesTheNearestOfAFewWords) {
  EXPECT_THAT(Paint().refusal({"--colour", "gren"}),
              StrEq("--colour \"gren\" is none of red, green (did you mean green?)"));
}

TEST(CommandLine, RefusesAMissingOrDoubleValue) {
  EXPECT_THAT(Paint().refusal({"--layers"}), HasSubstr("--layers: its value is missing"));
  EXPECT_THAT(Paint().refusal({"--layers", "1", "--layers", "2"}),
              HasSubstr("--layers: is given more than once"));
}

TEST(CommandLine, BoundsTheThreads) {
  EXPECT_THAT(Paint().refusal({"--threads", "0"}), HasSubstr("--threads 0"));
  EXPECT_THAT(Paint().refusal({"--threads", "1000000"}), HasSubstr("--threads 1000000"));
}

TEST(CommandLine, ReadsOptionsFromAFileAfterThoseOfTheCommandLine) {
  TemporaryFolder folder;
  std::ofstream(folder / "run.toml") << "# a run\nlayers = 7\nseed = 5\ndry = true\n"
                                        "colour = \"green\"\n";
  Paint paint;
  paint.parse({"--config", (folder / "run.toml").string(), "--seed", "6"});
  EXPECT_EQ(paint.layers, 7);
  EXPECT_EQ(paint.seed, 6u);
  EXPECT_TRUE(paint.dry);
  EXPECT_EQ(paint.colour, Colour::Green);
}

TEST(CommandLine, RefusesAFileWithAnUnknownOptionOrNoFile) {
  TemporaryFolder folder;
  const std::string path = (folder / "run.toml").string();
  std::ofstream(path) << "layer = 7\n";
  EXPECT_THAT(
      Paint().refusal({"--config", path}),
      AllOf(HasSubstr("--config"), HasSubstr("--layer"), HasSubstr("did you mean --layers")));
  EXPECT_THAT(Paint().refusal({"--config", path + "x"}), HasSubstr("there is no such file"));
}

TEST(NearestName, CountsASwapOfNeighboursAsOneChange) {
  const std::vector<std::string> names{"select", "bench", "doctor"};
  EXPECT_EQ(nearest_name("slect", names), "select");
  EXPECT_EQ(nearest_name("docotr", names), "doctor");
  EXPECT_EQ(nearest_name("frobnicate", names), std::nullopt);
}

}  // namespace
}  // namespace rcap::cli
