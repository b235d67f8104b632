// rewrite_safetensors FROM TO: reads a file and writes all of it again, for the judge in
// safetensors_test.py.
#include <cstdio>
#include <exception>

#include "io/safetensors.hpp"

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  try {
    const rcap::SafetensorsFile file(arguments[1]);
    rcap::write_safetensors(arguments[2], file.tensors(), file.metadata());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
