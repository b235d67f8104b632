#include "study/plan_file.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest_name.hpp"
#include "io/toml_file.hpp"
#include "rcap/core/error.hpp"
#include "study/scoring_runs.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

/// One data set or method of a plan: its name in tables, and its options.
struct Entry {
  std::string name;
  std::vector<GivenOption> options;
  std::vector<double> rates;  ///< of a data set; empty: those of the plan
};

struct Grid {
  std::string title, reference;
  std::vector<std::int64_t> seeds;
  std::vector<double> rates, betas;
  std::vector<GivenOption> options;
  std::vector<Entry> datasets, methods;
};

constexpr const char* RatesKey = "pruning-rates";

const std::vector<std::string> Keys{"title",     "seeds",   "pruning-rates", "betas",
                                    "reference", "options", "datasets",      "methods"};

/// Options of a run that the study itself sets.
const std::set<std::string> ReservedOptions{"seed", "pruning_rate", "make_scores"};

/// A whole number, or for `double` any number. Never `toml::node::value`, which casts: what a
/// number out of range becomes is undefined.
template <class Number>
std::optional<Number> number_in(const toml::node& node) {
  if (const auto whole = node.value_exact<std::int64_t>()) return static_cast<Number>(*whole);
  if constexpr (std::is_floating_point_v<Number>) return node.value_exact<double>();
  return std::nullopt;
}

/// Reads the parts of a plan, and says where in the file something is wrong.
class PlanReader {
 public:
  explicit PlanReader(const fs::path& path) : path_(path), file_(path) {}

  Grid read() {
    check_keys();
    Grid grid;
    grid.title = text_of("title").value_or(path_.stem().string());
    grid.reference = text_of("reference").value_or("");
    grid.seeds = numbers_of<std::int64_t>(table(), "seeds");
    grid.rates = numbers_of<double>(table(), RatesKey);
    grid.betas = numbers_of<double>(table(), "betas");
    if (const toml::node* options = table().get("options")) {
      grid.options = options_of(require_table(*options, "options"));
    }
    grid.datasets = entries_of("datasets", {"preset", "dataset"});
    grid.methods = entries_of("methods", {"method"});
    for (const Entry& method : grid.methods) refuse_rates(method);
    return grid;
  }

 private:
  [[nodiscard]] const toml::table& table() const { return file_.table(); }

  void check_keys() const {
    for (const auto& [key, node] : table()) {
      const std::string name(key.str());
      if (std::ranges::find(Keys, name) != Keys.end()) continue;
      file_.refuse(node, fmt::format("a plan has no \"{}\"{}; it has {}", name,
                                     did_you_mean(name, Keys), fmt::join(Keys, ", ")));
    }
  }

  std::optional<std::string> text_of(const char* key) const {
    const toml::node* node = table().get(key);
    if (node == nullptr) return std::nullopt;
    if (const auto text = node->value_exact<std::string>()) return text;
    file_.refuse(*node, fmt::format("{} must be a string in quotes", key));
  }

  const toml::array* array_of(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node != nullptr && !node->is_array()) {
      file_.refuse(*node, fmt::format("{} must be a list in [ ]", key));
    }
    return node == nullptr ? nullptr : node->as_array();
  }

  template <class Number>
  std::vector<Number> numbers_of(const toml::table& table, const char* key) const {
    std::vector<Number> numbers;
    const toml::array* array = array_of(table, key);
    if (array == nullptr) return numbers;
    for (const toml::node& node : *array) {
      const auto number = number_in<Number>(node);
      if (!number) {
        file_.refuse(node, fmt::format("{}: this is not a {}", key,
                                       std::is_integral_v<Number> ? "whole number" : "number"));
      }
      if (std::ranges::find(numbers, *number) != numbers.end()) {
        file_.refuse(node, fmt::format("{}: {} appears twice", key, *number));
      }
      numbers.push_back(*number);
    }
    return numbers;
  }

  const toml::table& require_table(const toml::node& node, const std::string& key) const {
    if (const toml::table* table = node.as_table()) return *table;
    file_.refuse(node, fmt::format("{}: must be a table of options", key));
  }

  /// @param besides  keys that are no options
  std::vector<GivenOption> options_of(const toml::table& table,
                                      const std::set<std::string_view>& besides = {}) const {
    std::vector<GivenOption> options;
    for (const auto& [key, node] : table) {
      const std::string name = unspell(key.str());
      if (besides.contains(key.str())) continue;
      if (ReservedOptions.contains(name) || key == RatesKey) {
        file_.refuse(node,
                     fmt::format("{} is set by the study; rates and seeds belong at the top of the "
                                 "plan, as {} and seeds",
                                 key.str(), RatesKey));
      }
      options.push_back({name, file_.word_of(node, key.str())});
    }
    return options;
  }

  /// @param naming  options whose value names an entry that has no name; an entry that is a string
  ///                sets the first of them
  std::vector<Entry> entries_of(const char* key, const std::vector<std::string>& naming) const {
    std::vector<Entry> entries;
    const toml::array* array = array_of(table(), key);
    if (array == nullptr) return entries;
    for (const toml::node& node : *array) {
      Entry entry;
      if (const auto text = node.value_exact<std::string>()) {
        entry.name = *text;
        entry.options = {{naming.front(), *text}};
      } else {
        const toml::table& table = require_table(node, key);
        entry.rates = numbers_of<double>(table, RatesKey);
        entry.options = options_of(table, {"name", RatesKey});
        entry.name = name_of(table, naming);
      }
      if (entry.name.empty()) {
        file_.refuse(
            node, fmt::format("{}: an entry needs one of name, {}", key, fmt::join(naming, ", ")));
      }
      if (std::ranges::find(entries, entry.name, &Entry::name) != entries.end()) {
        file_.refuse(
            node, fmt::format("{}: \"{}\" appears twice; give each its own name", key, entry.name));
      }
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  /// Methods in one row of a table have the same rate.
  void refuse_rates(const Entry& method) const {
    if (method.rates.empty()) return;
    throw InvalidArgument(
        fmt::format("{}: method \"{}\": {} belong to the plan or to a data set, so that methods "
                    "are compared at the same rates",
                    path_.string(), method.name, RatesKey));
  }

  static std::string name_of(const toml::table& table, const std::vector<std::string>& naming) {
    if (const auto name = table["name"].value<std::string>()) return *name;
    for (const std::string& option : naming) {
      if (const auto name = table[option].value<std::string>()) return *name;
    }
    return "";
  }

  fs::path path_;
  TomlFile file_;
};

/// The word of each option, by name; later settings override earlier ones.
using Words = std::map<std::string, std::string>;

/// Paths in a plan are relative to `data_root`, not to the study's folder, in which runs start.
void make_paths_absolute(Words& words, const fs::path& data_root) {
  TrainOptions defaults;
  OptionFields fields;
  list_run_options(fields, defaults);
  for (auto& [name, word] : words) {
    const Option* field = fields.find(name);
    if (field == nullptr || field->kind() != Option::Kind::Path) continue;
    word = fs::absolute(data_root / word).lexically_normal().string();
  }
}

void require_complete(const fs::path& path, const Grid& grid) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw InvalidArgument(fmt::format("{}: {}", path.string(), what));
  };
  require(!grid.datasets.empty(), "there is no data set; add [[datasets]]");
  require(!grid.methods.empty(), "there is no method; add methods = [\"rcap\", \"rs2\"]");
  require(!grid.seeds.empty(), "there is no seed; add seeds = [0, 27, 100]");
  require(std::ranges::all_of(grid.seeds, [](std::int64_t seed) { return seed >= 0; }),
          "a seed is below 0");
}

/// Makes the runs of a grid.
class RunMaker {
 public:
  RunMaker(const fs::path& path, const Grid& grid, const PlanDefaults& defaults)
      : path_(path), grid_(grid), defaults_(defaults) {}

  std::vector<PlannedRun> make() {
    for (const std::int64_t seed : grid_.seeds) {
      for (const Entry& dataset : grid_.datasets) {
        for (const Entry& method : grid_.methods) add_method(dataset, method, seed);
      }
    }
    return std::move(runs_);
  }

 private:
  void add_method(const Entry& dataset, const Entry& method, std::int64_t seed) {
    Words words{{"threads", fmt::format("{}", defaults_.threads)}};
    for (const auto* options : {&grid_.options, &dataset.options, &method.options}) {
      for (const GivenOption& option : *options) words[option.name] = option.word;
    }
    words["seed"] = fmt::format("{}", seed);
    make_paths_absolute(words, defaults_.data_root);
    const TrainOptions options = options_of(dataset, method, words);
    if (!follows_rate(options)) return add_run(dataset, method, words, "");
    const std::vector<double>& rates = dataset.rates.empty() ? grid_.rates : dataset.rates;
    if (rates.empty()) {
      throw InvalidArgument(
          fmt::format("{}: method {} needs pruning rates; add pruning-rates = [0.9]",
                      path_.string(), method.name));
    }
    for (const double rate : rates) {
      words["pruning_rate"] = fmt::format("{}", rate);
      const std::string suffix = fmt::format("-rate-{}", rate);
      if (grid_.betas.empty() || !has_option(require_method(options.method), "beta")) {
        add_run(dataset, method, words, suffix);
        continue;
      }
      for (const double beta : grid_.betas) {
        words["beta"] = fmt::format("{}", beta);
        add_run(dataset, method, words, fmt::format("{}-beta-{}", suffix, beta));
      }
    }
  }

  [[nodiscard]] TrainOptions options_of(const Entry& dataset, const Entry& method,
                                        const Words& words) const {
    std::vector<GivenOption> given;
    for (const auto& [name, word] : words) given.push_back({name, word});
    try {
      return make_options(given, Reader::File);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("{}: data set \"{}\", method \"{}\": {}", path_.string(),
                                        dataset.name, method.name, error.what()));
    }
  }

  void add_run(const Entry& dataset, const Entry& method, const Words& words,
               const std::string& suffix) {
    PlannedRun run;
    run.name = fmt::format("{}-{}{}-seed-{}", as_file_name(dataset.name), as_file_name(method.name),
                           suffix, words.at("seed"));
    constexpr std::size_t LongestName = 240;  // of a file with an ending
    if (run.name.size() > LongestName) {
      throw InvalidArgument(
          fmt::format("{}: a run would be called {}..., which has {} characters; a file name may "
                      "have {}: give shorter names to data sets and methods",
                      path_.string(), run.name.substr(0, 40), run.name.size(), LongestName));
    }
    run.dataset = dataset.name;
    run.method = method.name;
    run.options = options_of(dataset, method, words);
    const auto same = std::ranges::find(runs_, run.name, &PlannedRun::name);
    if (same != runs_.end()) {
      throw InvalidArgument(fmt::format(
          "{}: two runs would be called {}; give methods and data sets names that differ in "
          "letters and digits",
          path_.string(), run.name));
    }
    runs_.push_back(std::move(run));
  }

  const fs::path& path_;
  const Grid& grid_;
  const PlanDefaults& defaults_;
  std::vector<PlannedRun> runs_;
};

/// The options that decide which samples the accuracies of a run are measured on.
std::vector<const char*> evaluation_options(const TrainOptions& options) {
  std::vector<const char*> names{"evaluate", "min_test_samples"};
  if (options.evaluate == Evaluate::HeldOut) names.push_back("hold_out");
  return names;
}

/// Accuracies on different samples do not belong in one row of a table.
void require_same_samples(const fs::path& path, const std::vector<PlannedRun>& runs) {
  std::map<std::string, const PlannedRun*> first_of;
  for (const PlannedRun& run : runs) {
    const PlannedRun& first = *first_of.try_emplace(run.dataset, &run).first->second;
    for (const char* name : evaluation_options(run.options)) {
      const std::string word = word_of(run.options, name);
      const std::string first_word = word_of(first.options, name);
      if (word == first_word) continue;
      throw InvalidArgument(fmt::format(
          "{}: data set \"{}\": {} is {} with {} and {} with {}, so one row of a table would "
          "compare accuracies on different samples; set it for all methods, or make two data sets",
          path.string(), run.dataset, spell(name, Reader::File), first_word, first.method, word,
          run.method));
    }
  }
}

std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names;
}

/// The method that others are compared with: the one named, otherwise the first that is rcap.
std::string find_reference(const fs::path& path, const Grid& grid) {
  const std::vector<std::string> names = names_of(grid.methods);
  if (!grid.reference.empty()) {
    if (std::ranges::find(names, grid.reference) != names.end()) return grid.reference;
    throw InvalidArgument(fmt::format("{}: reference \"{}\" is not one of the methods {}{}",
                                      path.string(), grid.reference, fmt::join(names, ", "),
                                      did_you_mean(grid.reference, names)));
  }
  for (const Entry& method : grid.methods) {
    const auto kind = std::ranges::find(method.options, "method", &GivenOption::name);
    if (kind != method.options.end() && kind->word == "rcap") return method.name;
  }
  return "";
}

}  // namespace

StudyPlan read_plan_file(const fs::path& path, const PlanDefaults& defaults) {
  const Grid grid = PlanReader(path).read();
  require_complete(path, grid);
  StudyPlan plan;
  plan.title = grid.title;
  plan.reference = find_reference(path, grid);
  plan.datasets = names_of(grid.datasets);
  plan.methods = names_of(grid.methods);
  std::vector<PlannedRun> runs = RunMaker(path, grid, defaults).make();
  require_same_samples(path, runs);
  plan.runs = with_scoring_runs(std::move(runs));
  return plan;
}

}  // namespace rcap
