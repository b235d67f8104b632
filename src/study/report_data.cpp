#include "study/report_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rcap/core/run_cost.hpp"

namespace rcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr int Digits = 6;
constexpr int CurveDigits = 5;  // a hundredth of a point and better

Json rounded(double value, int digits = Digits) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

Json rounded(const std::vector<double>& values, int digits = Digits) {
  Json json = Json::array();
  for (const double value : values) json.push_back(rounded(value, digits));
  return json;
}

/// A single number if all values are the same.
Json constant_or_list(const std::vector<std::int64_t>& values) {
  const bool constant =
      !values.empty() && std::ranges::all_of(values, [&](auto v) { return v == values.front(); });
  return constant ? Json(values.front()) : Json(values);
}

/// Values that many runs share: each is stored once, and runs hold its index.
class SharedValues {
 public:
  std::size_t place_of(Json value) {
    const auto [entry, is_new] = places_.try_emplace(value.dump(), values_.size());
    if (is_new) values_.push_back(std::move(value));
    return entry->second;
  }
  [[nodiscard]] const Json& values() const noexcept { return values_; }

 private:
  std::map<std::string, std::size_t> places_;
  Json values_ = Json::array();
};

/// Every k-th of `count` indices, always including the last.
std::vector<std::size_t> every(std::int64_t stride, std::size_t count) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < count; ++i) {
    if ((count - 1 - i) % static_cast<std::size_t>(stride) == 0) places.push_back(i);
  }
  return places;
}

std::int64_t evaluation_count(const RunResult& run) {
  return std::ranges::count_if(run.epochs, [](const auto& e) { return e.evaluation.has_value(); });
}

std::size_t class_count(const RunResult& run) { return run.summary.train_class_sizes.size(); }

/// The k for which every k-th of `total` values are at most `limit`.
std::int64_t stride_for(std::int64_t total, std::int64_t limit) {
  return std::max<std::int64_t>(1, (total + limit - 1) / limit);
}

class ReportData {
 public:
  ReportData(const StudyResults& results, const ReportLimits& limits)
      : results_(results), limits_(limits) {
    std::int64_t points = 0;
    std::int64_t counts = 0;
    for (const RunResult& run : results.runs) {
      points += evaluation_count(run);
      if (!has_counts(run)) continue;
      counts += static_cast<std::int64_t>(class_count(run) * run.epochs.size());
    }
    curve_stride_ = stride_for(points, limits.curve_points);
    count_stride_ = stride_for(counts, limits.class_counts);
    find_shared_options();
  }

  [[nodiscard]] Json make() {
    Json runs = Json::array();
    for (const RunResult& run : results_.runs) runs.push_back(describe(run));
    Json json;
    json["title"] = results_.title;
    json["reference"] = results_.reference;
    json["datasets"] = results_.datasets;
    json["methods"] = results_.methods;
    json["forward_part"] = rounded(ForwardPart);
    json["remarks"] = remarks();
    json["left_out"] = left_out();
    json["missing"] = Json::array();
    for (const auto& [name, reason] : results_.missing) json["missing"].push_back({name, reason});
    json["seconds"] = seconds_names();
    json["shared_options"] = shared_options_;
    json["option_names"] = Json::array();
    for (const std::string& name : option_names_) {
      json["option_names"].push_back(spell(name, Reader::File));
    }
    json["groups"] = groups_.values();
    json["grids"] = grids_.values();
    json["runs"] = std::move(runs);
    return json;
  }

 private:
  [[nodiscard]] bool has_counts(const RunResult& run) const {
    return class_count(run) > 0 && class_count(run) <= limits_.classes;
  }

  /// Options with one value in all runs, and the names of the others.
  void find_shared_options() {
    std::map<std::string, std::map<std::string, std::size_t>> uses;  // name, value: runs
    std::vector<std::string> names;
    for (const RunResult& run : results_.runs) {
      for (const auto& [name, value] : run.options) {
        if (uses[name].empty()) names.push_back(name);
        ++uses[name][value];
      }
    }
    for (const std::string& name : names) {
      const auto& [value, count] = *uses[name].begin();
      if (results_.runs.size() > 1 && uses[name].size() == 1 && count == results_.runs.size()) {
        shared_options_.push_back({spell(name, Reader::File), value});
      } else {
        option_names_.push_back(name);
      }
    }
  }

  [[nodiscard]] Json options_of(const RunResult& run) const {
    Json json = Json::array();
    for (const std::string& wanted : option_names_) {
      const auto found = std::ranges::find(run.options, wanted, &GivenOption::name);
      json.push_back(found == run.options.end() ? Json(nullptr) : Json(found->word));
    }
    return json;
  }

  [[nodiscard]] Json describe(const RunResult& run) {
    const Summary& summary = run.summary;
    Json json;
    json["name"] = run.name;
    json["dataset"] = run.dataset;
    json["method"] = run.method;
    if (run.is_full()) json["full"] = true;
    json["rate"] = run.has_rate() ? rounded(summary.pruning_rate) : Json(nullptr);
    if (summary.beta) json["beta"] = rounded(*summary.beta);
    // A seed can have more digits than a number of the script.
    json["seed"] = std::to_string(summary.seed);
    json["model"] = summary.model;
    json["train_size"] = summary.n_train;
    json["keep_count"] = summary.keep_count;
    json["samples_seen"] = summary.samples_seen;
    if (summary.cost) json["cost"] = {summary.cost->trained, summary.cost->forward};
    json["epochs"] = summary.epochs;
    json["groups"] = groups_.place_of({{"by", summary.group_by},
                                       {"on", summary.evaluated_on},
                                       {"names", summary.group_names},
                                       {"test", summary.group_sizes},
                                       {"train", summary.train_class_sizes}});
    json["options"] = options_of(run);
    json["seconds"] = seconds_of(summary.seconds);
    put_evaluation(json, summary.evaluation);
    put_curves(json, run);
    if (has_counts(run)) put_counts(json, run);
    return json;
  }

  void put_evaluation(Json& json, const Evaluation& evaluation) const {
    json["accuracy"] = {rounded(evaluation.worst_group_accuracy),
                        rounded(evaluation.average_group_accuracy), rounded(evaluation.accuracy)};
    const auto& adjusted = evaluation.prior_adjusted;
    if (evaluation.adjusted_average_accuracy) {
      json["accuracy"].push_back(rounded(*evaluation.adjusted_average_accuracy));
    } else if (adjusted) {
      json["accuracy"].push_back(nullptr);
    }
    if (adjusted) {
      json["accuracy"].push_back(rounded(adjusted->worst_group_accuracy));
      json["accuracy"].push_back(rounded(adjusted->average_group_accuracy));
    }
    const std::vector<double>& groups = evaluation.group_accuracy;
    if (groups.size() <= limits_.groups) {
      json["group_accuracy"] = rounded(groups);
      if (adjusted) json["adjusted_group_accuracy"] = rounded(adjusted->group_accuracy);
      return;
    }
    std::vector<std::size_t> order(groups.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return std::isnan(groups[i]); });
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return groups[i]; });
    order.resize(std::min(order.size(), limits_.worst_groups));
    json["worst_groups"] = Json::array();
    for (const std::size_t i : order) {
      json["worst_groups"].push_back({i, rounded(groups[i])});
      if (adjusted) json["worst_groups"].back().push_back(rounded(adjusted->group_accuracy.at(i)));
    }
  }

  void put_curves(Json& json, const RunResult& run) {
    std::vector<const EpochRecord*> evaluated;
    for (const EpochRecord& record : run.epochs) {
      if (record.evaluation) evaluated.push_back(&record);
    }
    std::vector<std::int64_t> epochs, selected;
    std::vector<double> worst, average, overall, adjusted, prior_worst, prior_average, loss;
    for (const std::size_t i : every(curve_stride_, evaluated.size())) {
      const EpochRecord& record = *evaluated[i];
      const Evaluation& evaluation = *record.evaluation;
      epochs.push_back(record.epoch);
      selected.push_back(record.selected);
      worst.push_back(evaluation.worst_group_accuracy);
      average.push_back(evaluation.average_group_accuracy);
      overall.push_back(evaluation.accuracy);
      if (const auto value = evaluation.adjusted_average_accuracy) adjusted.push_back(*value);
      if (const auto& prior = evaluation.prior_adjusted) {
        prior_worst.push_back(prior->worst_group_accuracy);
        prior_average.push_back(prior->average_group_accuracy);
      }
      loss.push_back(record.train_loss);
    }
    json["at"] = grids_.place_of(epochs);
    json["curves"] = Json::array();
    for (const auto* curve :
         {&worst, &average, &overall, &adjusted, &prior_worst, &prior_average}) {
      json["curves"].push_back(curve->empty() ? Json() : rounded(*curve, CurveDigits));
    }
    Json& curves = json["curves"];
    while (!curves.empty() && curves.back().is_null()) curves.erase(curves.size() - 1);
    json["loss"] = rounded(loss, CurveDigits);
    put_samples_seen(json, run, epochs, selected);
  }

  /// Samples trained on up to each point of the curves, for an axis of cost.
  static void put_samples_seen(Json& json, const RunResult& run,
                               const std::vector<std::int64_t>& epochs,
                               const std::vector<std::int64_t>& selected) {
    const Json an_epoch = constant_or_list(selected);
    std::int64_t sum = 0;
    std::vector<std::int64_t> seen;
    for (std::size_t i = 0, next = 0; i < run.epochs.size() && next < epochs.size(); ++i) {
      sum += run.epochs[i].selected;
      if (run.epochs[i].epoch != epochs[next]) continue;
      seen.push_back(sum);
      ++next;
    }
    const bool is_steady = an_epoch.is_number() && !seen.empty() &&
                           seen.back() == (epochs.back() + 1) * selected.front();
    json["seen"] = is_steady ? an_epoch : Json(seen);
  }

  void put_counts(Json& json, const RunResult& run) {
    std::vector<std::int64_t> epochs;
    std::vector<std::vector<std::int64_t>> counts(class_count(run));
    for (const std::size_t i : every(count_stride_, run.epochs.size())) {
      const EpochRecord& record = run.epochs[i];
      if (record.class_counts.size() != counts.size()) return;
      epochs.push_back(record.epoch);
      for (std::size_t j = 0; j < counts.size(); ++j) counts[j].push_back(record.class_counts[j]);
    }
    json["counts_at"] = grids_.place_of(epochs);
    json["counts"] = Json::array();
    for (const auto& list : counts) json["counts"].push_back(constant_or_list(list));
  }

  static Json seconds_names() {
    const Json all = Seconds{};  // items() keeps a reference to it
    Json names = Json::array();
    for (const auto& [name, value] : all.items()) names.push_back(name);
    return names;
  }

  static Json seconds_of(const Seconds& seconds) {
    const Json all = seconds;
    Json values = Json::array();
    for (const Json& value : all) values.push_back(rounded(value.get<double>()));
    return values;
  }

  /// What must be said about the accuracies of a data set; mostly nothing.
  [[nodiscard]] Json remarks() const {
    Json said = Json::array();
    for (const std::string& dataset : results_.datasets) {
      const std::string text = results_.remarks_on(dataset);
      if (!text.empty()) said.push_back({dataset, text});
    }
    return said;
  }

  /// What the page leaves out, in words.
  [[nodiscard]] Json left_out() const {
    Json said = Json::array();
    if (curve_stride_ > 1) {
      said.push_back(fmt::format("Learning curves have one evaluation in {}, and always the last.",
                                 curve_stride_));
    }
    if (count_stride_ > 1) {
      said.push_back(
          fmt::format("Class counts have one epoch in {}, and always the last.", count_stride_));
    }
    const auto without_counts =
        std::ranges::count_if(results_.runs, [&](const auto& run) { return !has_counts(run); });
    if (without_counts > 0) {
      said.push_back(fmt::format("{} runs with more than {} classes have no class counts.",
                                 without_counts, limits_.classes));
    }
    const auto with_many_groups = std::ranges::count_if(results_.runs, [&](const auto& run) {
      return run.summary.evaluation.group_accuracy.size() > limits_.groups;
    });
    if (with_many_groups > 0) {
      said.push_back(fmt::format("{} runs with more than {} groups show only the {} worst.",
                                 with_many_groups, limits_.groups, limits_.worst_groups));
    }
    return said;
  }

  const StudyResults& results_;
  const ReportLimits& limits_;
  std::int64_t curve_stride_ = 1;
  std::int64_t count_stride_ = 1;
  Json shared_options_ = Json::array();
  std::vector<std::string> option_names_;
  SharedValues groups_;
  SharedValues grids_;
};

}  // namespace

Json report_data(const StudyResults& results, const ReportLimits& limits) {
  return ReportData(results, limits).make();
}

}  // namespace rcap
