#include "rcap/core/options.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Roast { Light, Dark };
enum class Grind { Fine, Coarse };

/// One option of each kind.
struct Coffee {
  double strength = 0.5;
  int cups = 2;
  std::uint64_t seed = 0;
  std::optional<std::int64_t> sugar_cubes;
  bool milk = false;
  Roast roast = Roast::Dark;
  std::string name;
  std::filesystem::path recipe;
  std::vector<std::string> spices;
  std::vector<double> pours;
  std::optional<double> heat = 0.5;
  ChoiceOrNumber<Grind> grind = Grind::Coarse;
  int threads = 1;
};

void list_options(OptionFields& fields, Coffee& coffee) {
  fields.number("strength", coffee.strength, "S", "how strong", Range::between(0, 1));
  fields.count("cups", coffee.cups, "N", "how many", Range::at_least(1));
  fields.count("seed", coffee.seed, "S", "of chance");
  fields.count("sugar_cubes", coffee.sugar_cubes, "N", "how sweet", Range::between(0, 9));
  fields.flag("milk", coffee.milk, "white");
  fields.choice("roast", coffee.roast, {"light", "dark"}, "of the beans");
  fields.text("name", coffee.name, "NAME", "whose it is");
  fields.path("recipe", coffee.recipe, "FILE", "how it is made");
  fields.list("spices", coffee.spices, "LIST", "what is in it")
      .applies_if(coffee.roast == Roast::Dark, "is for dark roasts");
  fields.numbers("pours", coffee.pours, "G,G,...", "of water", Range::at_least(0));
  fields.number("heat", coffee.heat, "H", "how hot", Range::between(0, 1), "auto")
      .applies_if([&coffee] { return coffee.cups > 0; }, "is for some cups");
  fields.choice("grind", coffee.grind, {"fine", "coarse"}, "MM", "how fine", Range::above(0));
  fields.count("threads", coffee.threads, "N", "people at it").shapes_no_result();
}

Coffee changed(void (*change)(Coffee&)) {
  Coffee coffee;
  change(coffee);
  return coffee;
}

/// The coffee after somebody has set an option.
Coffee with(std::string_view name, std::string_view word) {
  Coffee coffee;
  OptionFields fields;
  list_options(fields, coffee);
  fields.find(name)->set(word);
  return coffee;
}

std::string refusal(std::string_view name, std::string_view word, Reader reader = Reader::Code) {
  Coffee coffee;
  OptionFields fields;
  list_options(fields, coffee);
  return message_of<InvalidArgument>([&] { fields.find(name)->set(word, reader); });
}

TEST(Spell, WritesANameAsItsReaderDoes) {
  EXPECT_EQ(spell("min_per_class", Reader::Code), "min_per_class");
  EXPECT_EQ(spell("min_per_class", Reader::File), "min-per-class");
  EXPECT_EQ(spell("min_per_class", Reader::CommandLine), "--min-per-class");
  for (const Reader reader : {Reader::Code, Reader::File, Reader::CommandLine}) {
    EXPECT_EQ(unspell(spell("min_per_class", reader)), "min_per_class");
  }
}

TEST(Range, KnowsItsEnds) {
  EXPECT_TRUE(Range::between(0, 1).holds(0));
  EXPECT_TRUE(Range::between(0, 1).holds(1));
  EXPECT_FALSE(Range::proper_part().holds(1));
  EXPECT_FALSE(Range::above(0).holds(0));
  EXPECT_TRUE(Range::at_least(0).holds(1e300));
  EXPECT_FALSE(Range().holds(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(Range().holds(std::numeric_limits<double>::infinity()));
}

TEST(Range, IsARuleInWords) {
  EXPECT_EQ(Range::between(1e-3, 1e3).rule(), "lie between 0.001 and 1000");
  EXPECT_EQ(Range::at_least(1).rule(), "be at least 1");
  EXPECT_EQ(Range::above(0).rule(), "be above 0");
  EXPECT_EQ(Range::proper_part().rule(), "be at least 0 and below 1");
  EXPECT_EQ(Range().rule(), "be finite");
}

TEST(Option, TakesTheWordsOfItsKind) {
  EXPECT_EQ(with("strength", "0.25").strength, 0.25);
  EXPECT_EQ(with("cups", "-3").cups, -3);  // the range is looked at by check
  EXPECT_EQ(with("seed", "18446744073709551615").seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(with("sugar_cubes", "3").sugar_cubes, 3);
  EXPECT_EQ(with("sugar_cubes", "none").sugar_cubes, std::nullopt);
  EXPECT_EQ(with("heat", "0.25").heat, 0.25);
  EXPECT_EQ(with("heat", "auto").heat, std::nullopt);
  EXPECT_EQ(with("grind", "fine").grind, Grind::Fine);
  EXPECT_EQ(with("grind", "0.25").grind.number(), 0.25);
  EXPECT_FALSE(with("grind", "0.25").grind == Grind::Fine);
  EXPECT_TRUE(with("milk", "on").milk);
  EXPECT_EQ(with("roast", "light").roast, Roast::Light);
  EXPECT_EQ(with("recipe", "a/b").recipe, "a/b");
  EXPECT_THAT(with("spices", "salt,pepper").spices, ElementsAre("salt", "pepper"));
  EXPECT_THAT(with("pours", "30,-0.5,1e3").pours, ElementsAre(30, -0.5, 1000));
}

TEST(Option, GivesBackEveryWordItTook) {
  const std::vector<GivenOption> words{{"strength", "0.30000000000000004"},
                                       {"cups", "7"},
                                       {"seed", "5"},
                                       {"sugar_cubes", "3"},
                                       {"milk", "on"},
                                       {"heat", "auto"},
                                       {"grind", "fine"},
                                       {"grind", "0.25"},
                                       {"roast", "light"},
                                       {"name", "a b"},
                                       {"recipe", "x/y z"},
                                       {"spices", "salt,pepper"},
                                       {"pours", "30,0.25"}};
  for (const auto& [name, word] : words) {
    Coffee coffee;
    OptionFields fields;
    list_options(fields, coffee);
    fields.find(name)->set(word);
    EXPECT_EQ(fields.find(name)->word(), word) << name;
  }
}

TEST(Option, TakesMinusZeroForZero) {
  Coffee coffee;
  OptionFields fields;
  list_options(fields, coffee);
  for (const auto* name : {"strength", "heat", "grind", "pours"}) {
    fields.find(name)->set("-0");
    EXPECT_EQ(fields.find(name)->word(), "0") << name;
  }
}

TEST(Option, SaysWhichWordItDoesNotTake) {
  EXPECT_EQ(refusal("strength", "strong"), "strength \"strong\" is not a number");
  EXPECT_EQ(refusal("cups", "1.5"), "cups \"1.5\" is not a whole number");
  EXPECT_EQ(refusal("seed", "-1"), "seed \"-1\" is not a whole number >= 0");
  EXPECT_THAT(refusal("cups", "99999999999"), HasSubstr("cups 99999999999 is out of range"));
  EXPECT_EQ(refusal("sugar_cubes", "few", Reader::CommandLine),
            "--sugar-cubes \"few\" is not a whole number");
  EXPECT_EQ(refusal("roast", "drak"),
            "roast \"drak\" is not one of light, dark (did you mean dark?)");
  EXPECT_EQ(refusal("heat", "warm"), "heat \"warm\" is not a number nor auto");
  EXPECT_EQ(refusal("grind", "corse"),
            "grind \"corse\" is not a number nor one of fine, coarse (did you mean coarse?)");
  EXPECT_EQ(refusal("milk", "yes"), "milk \"yes\" is not one of on, off");
  EXPECT_EQ(refusal("pours", "30,much"), "pours \"much\" is not a number");
  EXPECT_EQ(refusal("pours", "30,,5"), "pours \"\" is not a number");
  EXPECT_EQ(refusal("recipe", ""), "recipe \"\": an empty file name");
}

TEST(Option, ThatDoesNotApplySaysWhy) {
  Coffee coffee;
  coffee.roast = Roast::Light;
  OptionFields fields;
  list_options(fields, coffee);
  EXPECT_FALSE(fields.find("spices")->applies());
  EXPECT_EQ(message_of<InvalidArgument>([&] { fields.find("spices")->set("salt"); }),
            "spices is for dark roasts");
}

TEST(Option, AppliesByWhatTheOthersAreSetToLater) {
  Coffee coffee;
  OptionFields fields;
  list_options(fields, coffee);
  EXPECT_TRUE(fields.find("heat")->applies());
  fields.find("cups")->set("0");
  EXPECT_FALSE(fields.find("heat")->applies());
  EXPECT_EQ(message_of<InvalidArgument>([&] { fields.find("heat")->set("1"); }),
            "heat is for some cups");
}

TEST(OptionFields, SaysOnceWhatAppliesToAllThatFollow) {
  int milk = 0, sugar = 0, cups = 0;
  OptionFields fields;
  fields.applies_if(false, "is for white coffee");
  fields.count("milk", milk, "N", "");
  fields.applies_if(true, "is for sweet coffee");
  fields.count("sugar", sugar, "N", "");
  fields.applies_if(false, "is for guests");
  fields.group("Another");
  fields.count("cups", cups, "N", "");
  EXPECT_FALSE(fields.find("milk")->applies());
  EXPECT_TRUE(fields.find("sugar")->applies());
  EXPECT_TRUE(fields.find("cups")->applies());
}

TEST(CheckOptions, NamesTheValueOutOfRange) {
  EXPECT_NO_THROW(check_options(Coffee()));
  EXPECT_EQ(
      message_of<InvalidArgument>([] { check_options(changed([](Coffee& c) { c.cups = 0; })); }),
      "cups is 0; it must be at least 1");
  EXPECT_EQ(message_of<InvalidArgument>(
                [] { check_options(changed([](Coffee& c) { c.sugar_cubes = 10; })); }),
            "sugar_cubes is 10; it must lie between 0 and 9");
  EXPECT_EQ(
      message_of<InvalidArgument>([] { check_options(changed([](Coffee& c) { c.heat = 2; })); }),
      "heat is 2; it must lie between 0 and 1");
  EXPECT_NO_THROW(check_options(changed([](Coffee& c) { c.heat = std::nullopt; })));
  EXPECT_EQ(
      message_of<InvalidArgument>([] { check_options(changed([](Coffee& c) { c.grind = 0.0; })); }),
      "grind is 0; it must be above 0");
  EXPECT_EQ(message_of<InvalidArgument>([] {
              check_options(changed([](Coffee& c) { c.pours = {30, -1}; }));
            }),
            "pours[1] is -1; it must be at least 0");
  EXPECT_EQ(message_of<InvalidArgument>([] {
              check_options(changed([](Coffee& c) { c.strength = std::nan(""); }),
                            Reader::CommandLine);
            }),
            "--strength is nan; it must lie between 0 and 1");
}

TEST(DescribeOptions, TellsWhatShapesResults) {
  EXPECT_THAT(describe_options(changed([](Coffee& c) {
                c.milk = true;
                c.threads = 3;
              })),
              ElementsAre("strength=0.5", "cups=2", "seed=0", "sugar_cubes=none", "milk=on",
                          "roast=dark", "name=none", "recipe=none", "spices=none", "pours=none",
                          "heat=0.5", "grind=coarse"));
}

TEST(OptionFields, KeepsTheFirstOfTwoOptionsOfOneName) {
  Coffee mine, theirs;
  OptionFields fields, others;
  fields.count("cups", mine.cups, "N", "mine");
  list_options(others, theirs);
  fields.append(others);
  EXPECT_EQ(fields.find("cups")->meaning(), "mine");
  EXPECT_EQ(fields.all().size(), others.all().size());
}

}  // namespace
}  // namespace rcap
