#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

#include <gmock/gmock.h>

#include "core/expect_throw.hpp"
#include "data/sample_files.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {

/// A file that must be refused, and what the message must say about it.
struct Malformed {
  const char* what;
  std::string text;
  std::string told;  ///< with the line or the place, and the value
};

/// Writes each text to a file called `name` and reads it: every message names the file and
/// tells what is expected of it.
template <class Read>
void expect_all_refused(std::initializer_list<Malformed> cases, const std::string& name,
                        const Read& read) {
  const TemporaryFolder folder;
  for (const Malformed& malformed : cases) {
    SCOPED_TRACE(malformed.what);
    put_file(folder / name, malformed.text);
    EXPECT_THAT(message_of<BadFile>([&] { (void)read(folder / name); }),
                testing::AllOf(testing::HasSubstr(name), testing::HasSubstr(malformed.told)));
  }
}

}  // namespace rcap
