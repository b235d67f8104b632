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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StrEq;

enum class Colour { Red, Green };

/// A command with one option of each kind.
struct Paint {
  std::int64_t layers = 2;
  std::uint64_t seed = 0;
  double thickness = 0.1;
  std::optional<std::int64_t> walls;
  Colour colour = Colour::Red;
  bool dry = false;
  int threads = 1;

  void parse(const std::vector<std::string>& words) {
    CommandLine line("paint", "Paints.", "");
    line.count("layers", layers, "N", "coats");
    line.count("seed", seed, "S", "seed");
    line.number("thickness", thickness, "X", "of a coat", Range::above(0));
    line.count("walls", walls, "W", "how many [all]");
    line.choice("colour", colour, {"red", "green"}, "which");
    line.flag("dry", dry, "wait");
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
  paint.parse({"--layers", "-3", "--thickness=0.5", "--colour", "green", "--dry", "--walls=4"});
  EXPECT_EQ(paint.layers, -3);
  EXPECT_EQ(paint.walls, 4);
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
  EXPECT_THAT(Paint().refusal({"--seed", "99999999999999999999"}), HasSubstr("is out of range"));
}

TEST(CommandLine, NamesTheNearestOfAFewWords) {
  EXPECT_THAT(Paint().refusal({"--colour", "gren"}),
              StrEq("--colour \"gren\" is not one of red, green (did you mean green?)"));
}

TEST(CommandLine, RefusesAMissingOrDoubleValue) {
  EXPECT_THAT(Paint().refusal({"--layers"}), HasSubstr("--layers: its value is missing"));
  EXPECT_THAT(Paint().refusal({"--layers", "1", "--layers", "2"}),
              HasSubstr("--layers: is given more than once"));
}

TEST(CommandLine, BoundsTheThreads) {
  EXPECT_THAT(Paint().refusal({"--threads", "0"}),
              HasSubstr("--threads is 0; it must lie between 1 and 4096"));
  EXPECT_THAT(Paint().refusal({"--threads", "1000000"}), HasSubstr("--threads is 1000000"));
}

TEST(CommandLine, NamesAValueOutOfRange) {
  EXPECT_EQ(Paint().refusal({"--thickness", "0"}), "--thickness is 0; it must be above 0");
  EXPECT_THAT(Paint().refusal({"--thickness", "inf"}), HasSubstr("--thickness is inf"));
}

TEST(CommandLine, CollectsWhatOthersMakeSomethingOf) {
  bool wet = false;
  double gloss = 0.5;
  OptionFields fields;
  fields.flag("wet_paint", wet, "a sign");
  fields.number("gloss", gloss, "G", "shine");
  const auto given = [&](const std::vector<std::string>& words) {
    CommandLine line("paint", "Paints.", "");
    line.collect(fields);
    line.config();
    EXPECT_TRUE(line.parse(words));
    return std::vector(line.given().begin(), line.given().end());
  };
  EXPECT_THAT(given({}), ElementsAre());
  EXPECT_THAT(given({"--gloss", "2", "--wet-paint", "off"}),
              ElementsAre(GivenOption{"wet_paint", "off"}, GivenOption{"gloss", "2"}));
  EXPECT_THAT(given({"--wet-paint", "--gloss=3"}),
              ElementsAre(GivenOption{"wet_paint", "on"}, GivenOption{"gloss", "3"}));
  TemporaryFolder folder;
  std::ofstream(folder / "run.toml") << "gloss = 4\nwet-paint = true\n";
  EXPECT_THAT(given({"--config", (folder / "run.toml").string(), "--gloss=1"}),
              ElementsAre(GivenOption{"gloss", "1"}, GivenOption{"wet_paint", "on"}));
  EXPECT_FALSE(wet);  // nobody has set it
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

}  // namespace
}  // namespace rcap::cli
