#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "io/pth/pickle_names.hpp"
#include "io/pth/pickle_value.hpp"
#include "io/pth/pth_bytes.hpp"

namespace rcap::pickle {

/// Reads one pickle, as far as the weights of a network need it.
///
/// A file can use only the instructions and names that the machine knows; each builds a value and
/// has no other effect. There are at most `MostInstructions`, which bounds the stack, the memo and
/// all objects, and at most `MostNesting` open marks.
class Machine {
 public:
  static constexpr std::size_t MostInstructions = std::size_t{1} << 21;
  static constexpr std::size_t MostNesting = 1000;

  /// @param input    positioned at the first byte of the pickle; after `run`, behind its last
  /// @param objects  receives what the values refer to
  Machine(pth::ByteReader& input, Objects& objects) : input_(input), objects_(objects) {}

  /// The value that the pickle builds.
  /// @throws BadFile  names the instruction or name that is unknown or invalid, and its offset
  [[nodiscard]] Value run();

 private:
  void execute(std::uint8_t code);
  void check_protocol();
  void push(Value value) { stack_.push_back(value); }
  void push_integer(std::int64_t number) { push({Kind::Integer, number, {}}); }
  void push_long();
  void push_text(std::uint32_t length);
  void push_global();
  void push_sequence(Kind kind, Sequence values);
  void push_dictionary();
  void push_storage();
  void push_memo(std::uint32_t number);
  void mark();
  [[nodiscard]] Value pop();
  [[nodiscard]] Sequence pop_last(std::size_t count);
  [[nodiscard]] Sequence pop_to_mark();
  [[nodiscard]] Value& top();

  void append(const Sequence& values);
  void set_items(const Sequence& values);
  void drop_state();
  void call();
  void rebuild_tensor(const Sequence& arguments);
  void rebuild_parameter(const Sequence& arguments);
  [[nodiscard]] std::uint64_t count_of(const Value& value, std::string_view what) const;
  [[nodiscard]] std::size_t check_counts(const Value& value, std::string_view what) const;

  /// @throws BadFile  with the instruction's name and place before `what`
  template <class... T>
  [[noreturn]] void refuse(fmt::format_string<T...> what, T&&... values) const {
    pth::refuse(input_.path(), "{} at {} {}", name_of_code(code_), input_.place(offset_),
                fmt::format(what, std::forward<T>(values)...));
  }

  pth::ByteReader& input_;
  Objects& objects_;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;  ///< the height of the stack at each
  std::unordered_map<std::uint32_t, Value> memo_;
  std::uint8_t code_ = 0;   ///< of the instruction being executed
  std::size_t offset_ = 0;  ///< where it is
};

}  // namespace rcap::pickle
