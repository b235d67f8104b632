// Compares what the cases give on this processor with the golden file, and tries files:
//
//     portable_selections golden.txt           ends with 1 where a bit differs or a file is wrong
//     portable_selections --write golden.txt   writes it anew
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "portable/portable_cases.hpp"
#include "portable/portable_files.hpp"

namespace rcap::portable {
namespace {

constexpr int MostShown = 5;

std::string line_of(const Digest& digest) {
  std::string line;
  for (const std::uint64_t part : digest.parts) {
    char text[10];
    std::snprintf(text, sizeof text, "%s%08x", line.empty() ? "" : " ",
                  static_cast<unsigned>(part & 0xffffffffU));
    line += text;
  }
  return line;
}

/// Which of the functions that are compiled several times (`vector_clones.hpp`) run here.
const char* vectors() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "x86-64 with AVX-512";
  if (__builtin_cpu_supports("avx2")) return "x86-64 with AVX2";
  return "x86-64 without AVX2";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "another processor";
#endif
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) lines.push_back(line);
  }
  return lines;
}

int write_golden(const std::string& path) {
  std::ofstream file(path);
  file << "# What tests/portable/portable_cases.cpp gives, a line a case: hashes of its "
          "selections, orders, weights\n"
          "# and state (or scores). Written by portable_selections --write; the same on every "
          "processor.\n";
  for (int number = 0; number < CaseCount; ++number) {
    file << line_of(run_case(number).digest) << '\n';
  }
  return file.flush() ? 0 : 1;
}

std::string differing_parts(const std::string& expected, const std::string& got) {
  std::istringstream expected_words(expected);
  std::istringstream got_words(got);
  std::string names;
  for (const std::string_view name : Digest::Parts) {
    std::string a;
    std::string b;
    expected_words >> a;
    got_words >> b;
    if (a != b) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

int compare(const std::string& path) {
  const std::vector<std::string> golden = read_lines(path);
  if (golden.size() != static_cast<std::size_t>(CaseCount)) {
    std::printf("%s has %zu cases, not %d\n", path.c_str(), golden.size(), CaseCount);
    return 1;
  }
  int differing = 0;
  for (int number = 0; number < CaseCount; ++number) {
    const Case done = run_case(number);
    const std::string& expected = golden[static_cast<std::size_t>(number)];
    const std::string got = line_of(done.digest);
    if (got == expected) continue;
    if (differing++ < MostShown) {
      std::printf("case %d (%s) differs in %s\n", number, done.what.c_str(),
                  differing_parts(expected, got).c_str());
    }
  }
  const std::string wrong_files = check_files();
  if (!wrong_files.empty()) std::printf("files: %s\n", wrong_files.c_str());
  std::printf("%s: %d cases, %d differ\n", vectors(), CaseCount, differing);
  return differing == 0 && wrong_files.empty() ? 0 : 1;
}

}  // namespace
}  // namespace rcap::portable

int main(int count, char** words) {
  try {
    if (count == 2) return rcap::portable::compare(words[1]);
    if (count == 3 && words[1] == std::string_view("--write")) {
      return rcap::portable::write_golden(words[2]);
    }
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  std::printf("usage: portable_selections [--write] golden.txt\n");
  return 2;
}
