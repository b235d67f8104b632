#include "base/read_number.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>
#include <system_error>

#include <locale.h>
#if __has_include(<xlocale.h>)
#include <xlocale.h>  // macOS has strtod_l here
#endif

namespace rcap {

std::from_chars_result read_double_with_c(std::string_view text, double& value) {
  // strtod also takes spaces, a plus and hexadecimal numbers, which from_chars does not.
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.find_first_of("+- \t\n\v\f\r", sign) == sign) {
    return {text.data(), std::errc::invalid_argument};
  }
  const bool is_hexadecimal = text.find_first_of("xX") == sign + 1;
  const std::string word(text.substr(0, is_hexadecimal ? sign + 1 : text.size()));

  const locale_t with_points = ::newlocale(LC_NUMERIC_MASK, "C", nullptr);
  errno = 0;
  char* end = nullptr;
  const double number = ::strtod_l(word.c_str(), &end, with_points);
  // Numbers so small that they have fewer digits are none the worse for it.
  const bool is_out_of_range = errno == ERANGE && (number == 0 || std::isinf(number));
  ::freelocale(with_points);

  if (end == word.c_str()) return {text.data(), std::errc::invalid_argument};
  const char* rest = text.data() + (end - word.c_str());
  if (is_out_of_range) return {rest, std::errc::result_out_of_range};
  value = number;
  return {rest, std::errc{}};
}

}  // namespace rcap
