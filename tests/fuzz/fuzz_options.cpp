// Options of a run, by structure: names that there are with words of any kind. Options that are
// taken come back from options.toml as they were.
#include <fuzzer/FuzzedDataProvider.h>

#include "fuzz/fuzz_input.hpp"
#include "io/toml_options.hpp"
#include "train/options.hpp"
#include "train/presets.hpp"

using namespace rcap;

namespace {

/// Every name, of the run and of all methods.
std::vector<std::string> all_names() {
  std::vector<std::string> names{"preset", "unknown"};
  for (const MethodInfo& method : methods()) {
    TrainOptions options;
    options.method = method.name;
    OptionFields fields;
    list_options(fields, options);
    for (const Option& option : fields.all()) names.emplace_back(option.name());
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Words that some option takes, so that a guess is often right.
std::vector<std::string> known_words() {
  std::vector<std::string> words{"0",    "1",   "0.5", "-1",   "1e308", "nan",      "inf",
                                 "auto", "on",  "off", "none", "off",   "table",    "mlp",
                                 "9999", "0x1", "1e3", "",     "test",  "held-out", "forward"};
  for (const MethodInfo& method : methods()) words.emplace_back(method.name);
  for (const Preset& preset : presets()) words.emplace_back(preset.name);
  return words;
}

std::string word_from(FuzzedDataProvider& input) {
  static const std::vector<std::string> known = known_words();
  switch (input.ConsumeIntegralInRange(0, 3)) {
    case 0:
      return input.ConsumeRandomLengthString(20);
    case 1:
      return std::to_string(input.ConsumeIntegral<std::int64_t>());
    case 2:
      return std::to_string(input.ConsumeFloatingPoint<double>());
    default:
      return known[input.ConsumeIntegralInRange<std::size_t>(0, known.size() - 1)];
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> names = all_names();
  FuzzedDataProvider input(data, size);
  std::vector<GivenOption> given;
  while (input.remaining_bytes() > 0 && given.size() < 12) {
    const std::string& name = names[input.ConsumeIntegralInRange<std::size_t>(0, names.size() - 1)];
    if (std::ranges::find(given, name, &GivenOption::name) != given.end()) continue;
    given.push_back({name, word_from(input)});
  }
  fuzz::read_or_refuse([&] {
    const TrainOptions options = make_options(given, Reader::CommandLine);
    (void)pruner_options_of(options);
    static MemoryFile file;
    file.put(to_toml(options));
    std::vector<GivenOption> read;
    try {
      read = read_toml_options(file.path());
      const std::string difference =
          difference_of(options, make_options(read, Reader::File), Reader::File);
      if (!difference.empty()) throw InternalError("options came back otherwise: " + difference);
    } catch (const Error& error) {
      throw InternalError(std::string("options that were taken cannot be read again: ") +
                          error.what());
    }
  });
  return 0;
}
