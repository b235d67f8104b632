// write_events FOLDER: two files of scalars, as a run and its resumption leave them, for the
// judge in event_file_test.py.
#include <array>
#include <cstdio>
#include <exception>
#include <vector>

#include "io/event_file.hpp"

namespace {

void write_run(const char* folder) {
  rcap::EventFile events(folder, 1'700'000'000.0);
  for (int epoch = 0; epoch < 300; ++epoch) {
    const double seconds = 1'700'000'000.25 + epoch;
    events.add_scalars(std::array{rcap::Scalar{"loss/train", 1.0 / (1 + epoch)}}, epoch, seconds);
    events.add_scalars(std::vector<rcap::Scalar>{{"accuracy/average", 0.5}, {"gr\u00fc\u00dfe", 0}},
                       epoch, seconds);
  }
  events.flush();
}

void write_resumption(const char* folder) {
  rcap::EventFile events(folder, 1'700'000'000.0);  // within the same second
  events.add_scalars(std::array{rcap::Scalar{"loss/train", -1.5}}, std::int64_t{1} << 40,
                     1'700'000'900.0);
  events.flush();
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2) return 2;
  try {
    write_run(arguments[1]);
    write_resumption(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
