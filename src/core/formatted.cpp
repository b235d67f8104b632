#include "core/formatted.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

namespace rcap {

std::string format_values(std::string_view pattern, std::span<const FormatValue> values) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const FormatValue& value : values) {
    std::visit([&store](const auto& v) { store.push_back(v); }, value);
  }
  return fmt::vformat(pattern, store);
}

}  // namespace rcap
