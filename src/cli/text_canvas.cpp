#include "cli/text_canvas.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace rcap::cli {
namespace {

constexpr const char* EndOfInk = "\x1b[0m";

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::Strong:
      return "\x1b[1m";
    case Ink::Faint:
      return "\x1b[2m";
    case Ink::First:
      return "\x1b[36m";
    case Ink::Second:
      return "\x1b[33m";
    case Ink::Good:
      return "\x1b[32m";
    case Ink::Bad:
      return "\x1b[31m";
    case Ink::Plain:
      break;
  }
  return EndOfInk;
}

void append_utf8(std::string& text, char32_t character) {
  const auto tail = [&](int shift) {
    text += static_cast<char>(0x80 | ((character >> shift) & 0x3f));
  };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0 | (character >> 6));
    tail(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0 | (character >> 12));
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xf0 | (character >> 18));
    tail(12), tail(6), tail(0);
  }
}

std::string as_utf8(const std::u32string& characters) {
  std::string text;
  for (const char32_t character : characters) append_utf8(text, character);
  return text;
}

/// How many bytes the first character has; 0 if it is not valid.
std::size_t length_of_first(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return length <= text.size() && is_utf8(text.substr(0, length)) ? length : 0;
}

char32_t decode(std::string_view bytes) {
  constexpr unsigned Masks[] = {0x7f, 0x1f, 0x0f, 0x07};
  char32_t character = static_cast<unsigned char>(bytes.front()) & Masks[bytes.size() - 1];
  for (const char byte : bytes.substr(1)) {
    character = (character << 6) | (static_cast<unsigned char>(byte) & 0x3fu);
  }
  return character;
}

bool is_control(char32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

}  // namespace

std::u32string characters_of(std::string_view text) {
  std::u32string characters;
  while (!text.empty()) {
    const std::size_t length = length_of_first(text);
    const char32_t character = length == 0 ? U'?' : decode(text.substr(0, length));
    characters += is_control(character) ? U'?' : character;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return characters;
}

std::string shortened(std::string_view text, int most) {
  std::u32string characters = characters_of(text);
  if (static_cast<int>(characters.size()) > most) {
    characters.resize(static_cast<std::size_t>(std::max(most, 0)));
    if (most > 0) characters.back() = U'…';
  }
  return as_utf8(characters);
}

std::string end_of(std::string_view text, int most) {
  std::u32string characters = characters_of(text);
  const auto size = static_cast<int>(characters.size());
  if (size > most) {
    characters.erase(0, static_cast<std::size_t>(size - std::max(most, 0)));
    if (most > 0) characters.front() = U'…';
  }
  return as_utf8(characters);
}

TextCanvas::TextCanvas(int columns, int rows)
    : columns_(std::max(columns, 0)),
      rows_(std::max(rows, 0)),
      cells_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_)) {}

void TextCanvas::put(int row, int column, char32_t character, Ink ink) {
  if (row < 0 || row >= rows_ || column < 0 || column >= columns_) return;
  cells_[static_cast<std::size_t>(row * columns_ + column)] = {character, ink};
}

int TextCanvas::write(int row, int column, std::string_view text, Ink ink) {
  for (const char32_t character : characters_of(text)) put(row, column++, character, ink);
  return column;
}

void TextCanvas::write_before(int row, int end, std::string_view text, Ink ink) {
  write(row, end - static_cast<int>(characters_of(text).size()), text, ink);
}

std::vector<std::string> TextCanvas::lines(bool colours) const {
  std::vector<std::string> found;
  for (int row = 0; row < rows_; ++row) found.push_back(line(row, colours));
  return found;
}

std::string TextCanvas::line(int row, bool colours) const {
  const auto begin = cells_.begin() + row * columns_;
  auto end = begin + columns_;
  while (end != begin && (end - 1)->character == U' ') --end;
  std::string text;
  Ink ink = Ink::Plain;
  for (auto cell = begin; cell != end; ++cell) {
    if (colours && cell->ink != ink) {
      if (ink != Ink::Plain && cell->ink != Ink::Plain) text += EndOfInk;
      text += code_of(cell->ink);
      ink = cell->ink;
    }
    append_utf8(text, cell->character);
  }
  if (ink != Ink::Plain) text += EndOfInk;
  return text;
}

}  // namespace rcap::cli
