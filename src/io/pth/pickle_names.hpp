#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/pth/pickle_value.hpp"

namespace rcap::pickle {

/// Instructions that the machine executes, by the byte that stands for them.
enum class Code : std::uint8_t {
  Mark = '(',
  EmptyTuple = ')',
  Stop = '.',
  BinFloat = 'G',
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  None = 'N',
  BinPersId = 'Q',
  Reduce = 'R',
  ShortBinString = 'U',
  BinUnicode = 'X',
  EmptyList = ']',
  Append = 'a',
  Build = 'b',
  Global = 'c',
  Appends = 'e',
  BinGet = 'h',
  LongBinGet = 'j',
  BinPut = 'q',
  LongBinPut = 'r',
  SetItem = 's',
  Tuple = 't',
  SetItems = 'u',
  EmptyDict = '}',
  Proto = 0x80,
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  NewTrue = 0x88,
  NewFalse = 0x89,
  Long1 = 0x8a
};

/// What Python calls the instruction, such as "REDUCE", even if it is refused; for a byte without a
/// name, the byte itself: "0x00".
[[nodiscard]] std::string name_of_code(std::uint8_t code);

/// What a module's name and the name of something in it stand for; empty unless it is one of the
/// few that weight files need.
[[nodiscard]] std::optional<Value> find_global(std::string_view module, std::string_view name);

}  // namespace rcap::pickle
