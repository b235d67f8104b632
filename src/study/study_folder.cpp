#include "study/study_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const PlannedRun& run) {
  Json json;
  json["name"] = run.name;
  json["dataset"] = run.dataset;
  json["method"] = run.method;
  if (!run.scores_from.empty()) json["scores_from"] = run.scores_from;
  if (run.makes_scores) json["makes_scores"] = true;
  json["options"] = Json::object();
  for (const auto& [name, word] : words_of(run.options)) {
    json["options"][spell(name, Reader::File)] = word;
  }
  return json;
}

PlannedRun run_from_json(const Json& json) {
  PlannedRun run;
  json.at("name").get_to(run.name);
  json.at("dataset").get_to(run.dataset);
  json.at("method").get_to(run.method);
  run.scores_from = json.value("scores_from", "");
  run.makes_scores = json.value("makes_scores", false);
  std::vector<GivenOption> given;
  for (const auto& [name, word] : json.at("options").items()) {
    given.push_back({unspell(name), word.get<std::string>()});
  }
  run.options = make_options(given, Reader::File);
  return run;
}

}  // namespace

StudyPlan read_plan(const std::filesystem::path& path) {
  try {
    const Json json = Json::parse(read_text(path));
    StudyPlan plan;
    json.at("title").get_to(plan.title);
    json.at("reference").get_to(plan.reference);
    json.at("datasets").get_to(plan.datasets);
    json.at("methods").get_to(plan.methods);
    for (const Json& run : json.at("runs")) plan.runs.push_back(run_from_json(run));
    return plan;
  } catch (const Json::exception& error) {
    throw BadFile(fmt::format("{}: is damaged: {}", path.string(), error.what()));
  }
}

void write_plan(const std::filesystem::path& path, const StudyPlan& plan) {
  Json json;
  json["title"] = plan.title;
  json["reference"] = plan.reference;
  json["datasets"] = plan.datasets;
  json["methods"] = plan.methods;
  json["runs"] = Json::array();
  for (const PlannedRun& run : plan.runs) json["runs"].push_back(to_json(run));
  write_text(path, json.dump(1) + '\n');
}

std::string as_file_name(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.';
    const bool capital = c >= 'A' && c <= 'Z';
    if (plain || capital) {
      result += capital ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result.empty() ? "unnamed" : result;
}

}  // namespace rcap
