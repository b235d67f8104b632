#include "io/pth/pickle_names.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace rcap::pickle {
namespace {

struct CodeName {
  int code;
  std::string_view name;
};

/// All instructions of protocols 0 to 5.
constexpr CodeName CodeNames[] = {
    {'(', "MARK"},          {')', "EMPTY_TUPLE"},
    {'.', "STOP"},          {'0', "POP"},
    {'1', "POP_MARK"},      {'2', "DUP"},
    {'B', "BINBYTES"},      {'C', "SHORT_BINBYTES"},
    {'F', "FLOAT"},         {'G', "BINFLOAT"},
    {'I', "INT"},           {'J', "BININT"},
    {'K', "BININT1"},       {'L', "LONG"},
    {'M', "BININT2"},       {'N', "NONE"},
    {'P', "PERSID"},        {'Q', "BINPERSID"},
    {'R', "REDUCE"},        {'S', "STRING"},
    {'T', "BINSTRING"},     {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},       {'X', "BINUNICODE"},
    {']', "EMPTY_LIST"},    {'a', "APPEND"},
    {'b', "BUILD"},         {'c', "GLOBAL"},
    {'d', "DICT"},          {'e', "APPENDS"},
    {'g', "GET"},           {'h', "BINGET"},
    {'i', "INST"},          {'j', "LONG_BINGET"},
    {'l', "LIST"},          {'o', "OBJ"},
    {'p', "PUT"},           {'q', "BINPUT"},
    {'r', "LONG_BINPUT"},   {'s', "SETITEM"},
    {'t', "TUPLE"},         {'u', "SETITEMS"},
    {'}', "EMPTY_DICT"},    {0x80, "PROTO"},
    {0x81, "NEWOBJ"},       {0x82, "EXT1"},
    {0x83, "EXT2"},         {0x84, "EXT4"},
    {0x85, "TUPLE1"},       {0x86, "TUPLE2"},
    {0x87, "TUPLE3"},       {0x88, "NEWTRUE"},
    {0x89, "NEWFALSE"},     {0x8a, "LONG1"},
    {0x8b, "LONG4"},        {0x8c, "SHORT_BINUNICODE"},
    {0x8d, "BINUNICODE8"},  {0x8e, "BINBYTES8"},
    {0x8f, "EMPTY_SET"},    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},    {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"}, {0x94, "MEMOIZE"},
    {0x95, "FRAME"},        {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
};

struct GlobalRow {
  std::string_view module;
  std::string_view name;
  Kind kind;
  int enumerator;
};

constexpr GlobalRow function(std::string_view module, std::string_view name, Function meaning) {
  return {module, name, Kind::Function, static_cast<int>(meaning)};
}
constexpr GlobalRow storage(std::string_view name, TensorType type) {
  return {"torch", name, Kind::StorageType, static_cast<int>(type)};
}

constexpr std::array Globals = {
    function("collections", "OrderedDict", Function::MakeDictionary),
    function("torch._utils", "_rebuild_tensor_v2", Function::RebuildTensor),
    function("torch._utils", "_rebuild_parameter", Function::RebuildParameter),
    storage("DoubleStorage", TensorType::F64),
    storage("FloatStorage", TensorType::F32),
    storage("HalfStorage", TensorType::F16),
    storage("BFloat16Storage", TensorType::BF16),
    storage("LongStorage", TensorType::I64),
    storage("IntStorage", TensorType::I32),
    storage("ShortStorage", TensorType::I16),
    storage("CharStorage", TensorType::I8),
    storage("ByteStorage", TensorType::U8),
    storage("BoolStorage", TensorType::Bool),
};

}  // namespace

std::string name_of_code(std::uint8_t code) {
  const auto row = std::find_if(std::begin(CodeNames), std::end(CodeNames),
                                [&](const CodeName& known) { return known.code == code; });
  return row == std::end(CodeNames) ? fmt::format("0x{:02x}", code) : std::string(row->name);
}

std::optional<Value> find_global(std::string_view module, std::string_view name) {
  const auto row = std::find_if(Globals.begin(), Globals.end(), [&](const GlobalRow& known) {
    return known.module == module && known.name == name;
  });
  if (row == Globals.end()) return std::nullopt;
  return Value{row->kind, row->enumerator, {}};
}

}  // namespace rcap::pickle
