#include "study/report.hpp"

#include <map>

#include <nlohmann/json.hpp>

#include "base/quoting.hpp"
#include "base/text_file.hpp"
#include "study/report_assets.hpp"
#include "study/report_data.hpp"

namespace rcap {
namespace {

std::string escape_html(const std::string& text) {
  return replaced(replaced(replaced(text, "&", "&amp;"), "<", "&lt;"), "\"", "&quot;");
}

/// JSON that is safe inside a script element: "</script>" or "<!--" in a title would end it, or
/// change how the browser reads what follows.
std::string json_for_script(const nlohmann::ordered_json& json) {
  // The name of a folder may not be valid UTF-8.
  return replaced(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), "<",
                  "\\u003c");
}

using Parts = std::map<std::string_view, std::string_view>;

/// Replaces each {{name}} of the skeleton by that part; the parts themselves are not searched.
std::string fill(std::string_view skeleton, const Parts& parts) {
  std::string page;
  for (;;) {
    const std::size_t begin = skeleton.find("{{");
    page += skeleton.substr(0, begin);
    if (begin == std::string_view::npos) return page;
    const std::size_t end = skeleton.find("}}", begin);
    page += parts.at(skeleton.substr(begin + 2, end - begin - 2));
    skeleton.remove_prefix(end + 2);
  }
}

/// Plotly's bundle with parentheses around the function that holds all of it. To browsers they are
/// a sign that it is called at once, so that they parse its five million characters once, not
/// twice. A bundle of another shape is left unchanged.
std::string marked_as_called_at_once(std::string_view bundle) {
  constexpr std::string_view Begin = "this, () => {";
  constexpr std::string_view End = "}));";
  constexpr std::size_t LongestHead = 2000;
  const std::size_t begin = bundle.substr(0, LongestHead).find(Begin);
  const std::size_t end = bundle.rfind(End);
  std::string marked(bundle);
  if (begin == std::string_view::npos || end == std::string_view::npos ||
      bundle.find_first_not_of('\n', end + End.size()) != std::string_view::npos) {
    return marked;
  }
  marked.insert(end + 1, ")");
  marked.insert(begin + Begin.find("()"), "(");
  return marked;
}

}  // namespace

std::string make_report(const StudyResults& results, const ReportLimits& limits) {
  const ReportAssets assets = report_assets();
  const std::string title = escape_html(results.title);
  const std::string data = json_for_script(report_data(results, limits));
  const std::string plotly = marked_as_called_at_once(assets.plotly);
  return fill(assets.skeleton, {{"title", title},
                                {"style", assets.style},
                                {"data", data},
                                {"script", assets.script},
                                {"plotly-licence", assets.plotly_licence},
                                {"plotly", plotly}});
}

std::size_t write_report(const StudyResults& results, const std::filesystem::path& path) {
  const std::string page = make_report(results);
  write_text(path, page);
  return page.size();
}

}  // namespace rcap
