#include "io/pth/pickle_machine.hpp"

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "io/pth/pickle_names.hpp"

namespace rcap::pickle {
namespace {

constexpr int Protocol = 2;
constexpr std::string_view Remedy =
    "if you trust the file, load it in Python and save the state_dict alone with torch.save";

}  // namespace

Value Machine::run() {
  for (std::size_t count = 0; count < MostInstructions; ++count) {
    offset_ = input_.position();
    code_ = input_.take_number<std::uint8_t>("an instruction");
    if (static_cast<Code>(code_) != Code::Stop) {
      execute(code_);
      continue;
    }
    if (stack_.size() != 1 || !marks_.empty()) {
      refuse("ends with {} values and {} open marks; one value must be left", stack_.size(),
             marks_.size());
    }
    return stack_.back();
  }
  refuse("comes after {} others, and no more are read; {}", MostInstructions, Remedy);
}

void Machine::execute(std::uint8_t code) {
  switch (static_cast<Code>(code)) {
    case Code::None:
      return push({});
    case Code::NewTrue:
      return push({Kind::Truth, 1, {}});
    case Code::NewFalse:
      return push({Kind::Truth, 0, {}});
    case Code::EmptyTuple:
      return push_sequence(Kind::Tuple, {});
    case Code::EmptyList:
      return push_sequence(Kind::List, {});
    case Code::EmptyDict:
      return push_dictionary();
    case Code::Mark:
      return mark();
    case Code::BinInt:
      return push_integer(input_.take_number<std::int32_t>("a number"));
    case Code::BinInt1:
      return push_integer(input_.take_number<std::uint8_t>("a number"));
    case Code::BinInt2:
      return push_integer(input_.take_number<std::uint16_t>("a number"));
    case Code::Long1:
      return push_long();
    case Code::BinFloat:
      input_.skip(8, "a number");
      return push({Kind::Real, 0, {}});
    case Code::BinUnicode:
      return push_text(input_.take_number<std::uint32_t>("a length"));
    case Code::ShortBinString:
      return push_text(input_.take_number<std::uint8_t>("a length"));
    case Code::Tuple:
      return push_sequence(Kind::Tuple, pop_to_mark());
    case Code::Tuple1:
      return push_sequence(Kind::Tuple, pop_last(1));
    case Code::Tuple2:
      return push_sequence(Kind::Tuple, pop_last(2));
    case Code::Tuple3:
      return push_sequence(Kind::Tuple, pop_last(3));
    case Code::Append:
      return append(pop_last(1));
    case Code::Appends:
      return append(pop_to_mark());
    case Code::SetItem:
      return set_items(pop_last(2));
    case Code::SetItems:
      return set_items(pop_to_mark());
    case Code::Build:
      return drop_state();
    case Code::BinPersId:
      return push_storage();
    case Code::Reduce:
      return call();
    case Code::BinPut:
      memo_[input_.take_number<std::uint8_t>("a number")] = top();
      return;
    case Code::LongBinPut:
      memo_[input_.take_number<std::uint32_t>("a number")] = top();
      return;
    case Code::BinGet:
      return push_memo(input_.take_number<std::uint8_t>("a number"));
    case Code::LongBinGet:
      return push_memo(input_.take_number<std::uint32_t>("a number"));
    case Code::Proto:
      return check_protocol();
    case Code::Global:
      return push_global();
    default:
      refuse("is not an instruction that weights need; {}", Remedy);
  }
}

void Machine::check_protocol() {
  const auto version = input_.take_number<std::uint8_t>("a version");
  if (version != Protocol) {
    refuse(
        "announces pickle protocol {}; only protocol {} is read: save it with torch.save(..., "
        "pickle_protocol={})",
        version, Protocol, Protocol);
  }
}

/// Little-endian in as few bytes as it needs; the highest bit is the sign.
void Machine::push_long() {
  const auto length = input_.take_number<std::uint8_t>("a length");
  const std::string_view text = input_.take_text(length, "a number");
  if (length > sizeof(std::int64_t)) return push({Kind::LongInteger, 0, text});
  std::uint64_t number = 0;
  const bool negative = length > 0 && (text.back() & 0x80) != 0;
  for (std::size_t i = sizeof number; i-- > 0;) {
    const auto byte = i < length ? static_cast<std::uint8_t>(text[i])
                      : negative ? std::uint8_t{0xFF}
                                 : std::uint8_t{0};
    number = number << 8U | byte;
  }
  push_integer(static_cast<std::int64_t>(number));
}

void Machine::push_global() {
  const std::string_view module = input_.take_line("a name");
  const std::string_view name = input_.take_line("a name");
  const auto value = find_global(module, name);
  if (!value) {
    refuse("asks for {}, which weights do not need, and is not executed; {}",
           in_quotes(fmt::format("{}.{}", module, name)), Remedy);
  }
  push(*value);
}

void Machine::push_text(std::uint32_t length) {
  push({Kind::Text, 0, input_.take_text(length, "text")});
}

void Machine::push_sequence(Kind kind, Sequence values) {
  push({kind, static_cast<std::int64_t>(objects_.sequences.size()), {}});
  objects_.sequences.push_back(std::move(values));
}

void Machine::push_dictionary() {
  push({Kind::Dictionary, static_cast<std::int64_t>(objects_.dictionaries.size()), {}});
  objects_.dictionaries.emplace_back();
}

void Machine::push_memo(std::uint32_t number) {
  const auto found = memo_.find(number);
  if (found == memo_.end()) {
    refuse("asks for value {}, which was never stored; the file is damaged", number);
  }
  push(found->second);
}

void Machine::mark() {
  if (marks_.size() == MostNesting) refuse("nests deeper than {}; {}", MostNesting, Remedy);
  marks_.push_back(stack_.size());
}

Value& Machine::top() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
    refuse("finds no value on the stack; the file is damaged");
  }
  return stack_.back();
}

Value Machine::pop() {
  const Value value = top();
  stack_.pop_back();
  return value;
}

Sequence Machine::pop_last(std::size_t count) {
  Sequence values(count);
  while (count > 0) values[--count] = pop();
  return values;
}

Sequence Machine::pop_to_mark() {
  if (marks_.empty()) refuse("finds no mark on the stack; the file is damaged");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  Sequence values(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return values;
}

void Machine::append(const Sequence& values) {
  if (top().kind != Kind::List) {
    refuse("appends to something that is not a list; the file is damaged");
  }
  Sequence& list = objects_.sequences[top().index()];
  list.insert(list.end(), values.begin(), values.end());
}

void Machine::set_items(const Sequence& values) {
  if (top().kind != Kind::Dictionary) {
    refuse("puts items into something that is not a dictionary; the file is damaged");
  }
  if (values.size() % 2 != 0) refuse("has a key without a value; the file is damaged");
  Dictionary& dictionary = objects_.dictionaries[top().index()];
  for (std::size_t i = 0; i < values.size(); i += 2) {
    dictionary.emplace_back(values[i], values[i + 1]);
  }
}

/// Attributes of a dictionary, such as `_metadata`; nothing here uses them.
void Machine::drop_state() {
  const Value state = pop();
  if (state.kind != Kind::Dictionary || top().kind != Kind::Dictionary) {
    refuse("sets attributes of something other than a dictionary; the file is damaged");
  }
}

}  // namespace rcap::pickle
