#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/staged_file.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "rcap/core/error.hpp"
#include "study/report.hpp"

namespace rcap::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ReportArguments {
  fs::path folder;
  fs::path html;
  bool json = false;
  bool quiet = false;
};

void print_json(const StudyResults& results, const fs::path& html, std::size_t bytes) {
  Json json;
  json["report"] = html.string();
  json["bytes"] = bytes;
  json["runs"] = results.runs.size();
  json["missing"] = Json::array();
  for (const auto& [name, reason] : results.missing) {
    json["missing"].push_back({{"name", name}, {"reason", reason}});
  }
  // Names of folders may not be valid UTF-8.
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print_text(const StudyResults& results, const fs::path& html, std::size_t bytes) {
  fmt::print("{}: {} run{}, {:.1f} MB\n", html.string(), results.runs.size(),
             results.runs.size() == 1 ? "" : "s", static_cast<double>(bytes) / 1e6);
  if (results.missing.empty()) return;
  fmt::print("without a result:\n");
  for (const auto& [name, reason] : results.missing) fmt::print("  {}: {}\n", name, reason);
}

}  // namespace

void run_report(std::span<const std::string> words) {
  ReportArguments arguments;
  CommandLine line("report", "Makes one HTML file that shows a study: tables, plots, every run.",
                   R"(DIR is the --out of rcap study, or any folder that holds run folders of
rcap train. The report is made from what the runs have written so far. Runs without a result
are listed with the reason, in the report and on the terminal. The file is self-contained and
needs no network: open it in a browser, or mail it to a colleague.

Examples: next to the runs, and elsewhere
  rcap report study-out
  rcap report study-out --html ~/report.html)");
  line.argument("DIR", arguments.folder);
  line.group("Output");
  line.path("html", arguments.html, "FILE", "the report to write [DIR/report.html]");
  line.flag("json", arguments.json, "print one JSON object");
  line.flag("quiet", arguments.quiet, "print nothing");
  if (!line.parse(words)) return;
  if (arguments.folder.empty()) {
    throw InvalidArgument("report: DIR is missing; give the --out of rcap study: rcap report DIR");
  }
  const fs::path html = arguments.html.empty() ? arguments.folder / "report.html" : arguments.html;
  const StudyResults results = read_results(arguments.folder);
  // Before the page is made, so that the user's mistakes are reported first.
  check_can_write(html);
  const std::size_t bytes = write_report(results, html);
  if (arguments.json) return print_json(results, html, bytes);
  if (!arguments.quiet) print_text(results, html, bytes);
}

}  // namespace rcap::cli
