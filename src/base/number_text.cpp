#include "base/number_text.hpp"

#include <charconv>
#include <cmath>
#include <iterator>

namespace rcap {
namespace {

std::string write_number(double number, std::chars_format format, int precision) {
  char buffer[400];  // the largest number has 309 digits before its point
  return {buffer, std::to_chars(buffer, std::end(buffer), number, format, precision).ptr};
}

}  // namespace

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t place = text.size(); place > 3;) {
    place -= 3;
    text.insert(place, 1, ',');
  }
  return text;
}

std::string with_decimals(double number, int decimals) {
  return write_number(number, std::chars_format::fixed, decimals);
}

std::string with_digits(double number, int digits) {
  return write_number(number, std::chars_format::general, digits);
}

std::string as_factor(double factor) {
  return factor < 100 ? with_digits(factor, 3) : with_commas(std::llround(factor));
}

std::string as_percent(double part) { return with_digits(100 * part, 6) + " %"; }

}  // namespace rcap
