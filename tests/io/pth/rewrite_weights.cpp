// rewrite_weights FROM TO: reads a file of weights and writes its tensors as safetensors, for
// the judge in pth_test.py.
#include <cstdio>
#include <exception>
#include <string>

#include "io/weight_file.hpp"

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  try {
    const rcap::WeightFile file(arguments[1]);
    std::string passed_over;
    for (const std::string& wrapper : file.passed_over()) {
      passed_over += (passed_over.empty() ? "" : " ") + wrapper;
    }
    rcap::write_safetensors(
        arguments[2], file.tensors(),
        {{"format", file.format() == rcap::WeightFile::Format::Pth ? "pth" : "safetensors"},
         {"wrapper", std::string(file.wrapper())},
         {"passed_over", passed_over}});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
