#include "base/staged_file.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/expect_throw.hpp"
#include "file_bytes.hpp"
#include "file_size_limit.hpp"
#include "rcap/core/error.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::StrEq;

void write(StagedFile& file, std::string_view text) { file.write(text.data(), text.size()); }

class StagedFileTest : public testing::Test {
 protected:
  std::vector<std::string> names_in_folder() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  /// The message with which both the constructor and the check refuse `path`.
  std::string refusal(const fs::path& path) const {
    const std::string message = message_of<BadFile>([&] { StagedFile file(path); });
    EXPECT_EQ(message_of<BadFile>([&] { check_can_write(path); }), message);
    return message;
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "a";
};

TEST_F(StagedFileTest, TakesThePlaceOfTheOldFileWhenItIsPublished) {
  std::ofstream(path_) << "old";
  StagedFile file(path_);
  write(file, "new");
  EXPECT_EQ(read_bytes(path_), "old");
  file.publish();
  EXPECT_EQ(read_bytes(path_), "new");
  EXPECT_THAT(names_in_folder(), ElementsAre("a"));
}

TEST_F(StagedFileTest, LeavesTheOldFileWhenItIsNotPublished) {
  std::ofstream(path_) << "old";
  {
    StagedFile file(path_);
    write(file, "new");
    file.sync();
    EXPECT_EQ(names_in_folder().size(), 2U);
  }
  EXPECT_EQ(read_bytes(path_), "old");
  EXPECT_THAT(names_in_folder(), ElementsAre("a"));
}

TEST_F(StagedFileTest, KeepsTheOrderOfSmallAndLargePieces) {
  // The buffer has 1 MiB: pieces that fit, that fill it exactly, that pass by it.
  std::string expected;
  StagedFile file(path_);
  char letter = 'a';
  for (const std::size_t size : {1, 3, 1 << 20, 5, (1 << 20) - 5, 0, 1, (1 << 20) + 1, 2}) {
    const std::string piece(size, letter++);
    expected += piece;
    file.write(std::as_bytes(std::span(piece)));
  }
  file.publish();
  EXPECT_TRUE(read_bytes(path_) == expected);
}

TEST_F(StagedFileTest, HasEverythingInTheFileAfterASync) {
  StagedFile file(path_);
  write(file, "one ");
  file.sync();
  EXPECT_EQ(read_bytes(folder_ / names_in_folder().front()), "one ");
  write(file, "two");
  file.publish();
  EXPECT_EQ(read_bytes(path_), "one two");
}

TEST_F(StagedFileTest, PublishesAnEmptyFile) {
  StagedFile(path_).publish();
  EXPECT_EQ(fs::file_size(path_), 0U);
}

TEST_F(StagedFileTest, StepsOverTemporaryFilesOfOthers) {
  const auto taken = folder_ / (".a." + std::to_string(::getpid()) + "-0.tmp");
  StagedFile elsewhere(folder_ / "b");
  write(elsewhere, "someone else's");
  elsewhere.sync();
  fs::rename(folder_ / names_in_folder().front(), taken);
  StagedFile first(path_);
  StagedFile second(path_);
  write(first, "first");
  write(second, "second");
  first.publish();
  EXPECT_EQ(read_bytes(path_), "first");
  second.publish();
  EXPECT_EQ(read_bytes(path_), "second");
  EXPECT_EQ(read_bytes(taken), "someone else's");
}

TEST_F(StagedFileTest, RemovesWhatAKilledProcessLeft) {
  for (const std::string& name : {std::string("a"), std::string(255, 'n')}) {
    const fs::path path = folder_ / name;
    const pid_t child = ::fork();
    if (child == 0) {
      StagedFile file(path);
      write(file, std::string(2 << 20, 'x'));
      ::raise(SIGKILL);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ASSERT_EQ(names_in_folder().size(), 1U);
    { StagedFile other(folder_ / "other"); }
    EXPECT_EQ(names_in_folder().size(), 1U);
    StagedFile(path).publish();
    EXPECT_THAT(names_in_folder(), ElementsAre(name));
    fs::remove(path);
  }
}

TEST_F(StagedFileTest, RemovesWhatAKilledProcessLeftThatNobodyHasWaitedFor) {
  const pid_t child = ::fork();
  if (child == 0) {
    StagedFile file(path_);
    ::raise(SIGKILL);
  }
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(names_in_folder().size(), 1U);
  StagedFile(path_).publish();
  EXPECT_THAT(names_in_folder(), ElementsAre("a"));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(StagedFileTest, LeavesFilesThatALiveProcessMayBeWriting) {
  // Another container's processes look dead from here, but their files are locked.
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const std::string name = ".a." + std::to_string(dead) + "-0.tmp";
  {
    StagedFile elsewhere(folder_ / "b");
    fs::rename(folder_ / names_in_folder().front(), folder_ / name);
    StagedFile(path_).publish();
    EXPECT_THAT(names_in_folder(), ElementsAre(name, "a"));
  }
  // No longer locked. The others are not of this kind of name.
  const std::vector<std::string> others = {".a.1x-0.tmp", ".a.old.tmp", ".a.tmp",
                                           ".b." + std::to_string(dead) + "-0.tmp"};
  for (const auto& other : others) std::ofstream(folder_ / other) << "someone else's";
  StagedFile(path_).publish();
  EXPECT_THAT(names_in_folder(),
              ElementsAre(".a.1x-0.tmp", ".a.old.tmp", ".a.tmp", others[3], "a"));
}

TEST_F(StagedFileTest, TakesTheLongestNameThereIs) {
  const std::string name(255, 'n');
  StagedFile(folder_ / name).publish();
  EXPECT_THAT(names_in_folder(), ElementsAre(name));
}

TEST_F(StagedFileTest, IsWrittenInTheCurrentFolderWithoutAFolderInItsName) {
  const fs::path old_folder = fs::current_path();
  fs::current_path(folder_.path());
  StagedFile("plain").publish();
  fs::current_path(old_folder);
  EXPECT_THAT(names_in_folder(), ElementsAre("plain"));
}

TEST_F(StagedFileTest, ReplacesALinkAndLeavesWhatItLedTo) {
  std::ofstream(folder_ / "b") << "old";
  fs::create_symlink("b", path_);
  StagedFile file(path_);
  write(file, "new");
  file.publish();
  EXPECT_FALSE(fs::is_symlink(path_));
  EXPECT_EQ(read_bytes(path_), "new");
  EXPECT_EQ(read_bytes(folder_ / "b"), "old");
}

// ---- what goes wrong

TEST_F(StagedFileTest, LeavesNothingBehindWhenTheDiskRefusesMore) {
  std::ofstream(path_) << "old";
  const std::string text(101, 'x');
  for (const bool publish : {false, true}) {
    SCOPED_TRACE(publish ? "publish" : "sync");
    const FileSizeLimit limit(100);
    const std::string message = message_of<BadFile>([&] {
      StagedFile file(path_);
      write(file, text);
      publish ? file.publish() : file.sync();
    });
    EXPECT_EQ(
        message,
        path_.string() +
            ": cannot write the file: File too large; a file that existed before is unchanged");
    EXPECT_EQ(read_bytes(path_), "old");
    EXPECT_THAT(names_in_folder(), ElementsAre("a"));
  }
}

TEST_F(StagedFileTest, CannotBePublishedAfterAFailure) {
  // Half of the bytes are in the file by then; a second try would write them twice.
  StagedFile file(path_);
  write(file, std::string(150, 'x'));
  {
    const FileSizeLimit limit(100);
    EXPECT_THROW(file.sync(), BadFile);
  }
  EXPECT_THAT(message_of<InvalidArgument>([&] { file.publish(); }),
              HasSubstr("has been published or could not be written; it cannot be used again"));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(StagedFileTest, TakesNothingMoreOnceItIsPublished) {
  StagedFile file(path_);
  file.publish();
  EXPECT_THROW(write(file, "late"), InvalidArgument);
  EXPECT_THROW(file.sync(), InvalidArgument);
  EXPECT_THROW(file.publish(), InvalidArgument);
  EXPECT_THAT(names_in_folder(), ElementsAre("a"));
}

TEST_F(StagedFileTest, NamesTheFolderThatIsMissing) {
  const std::string folder = folder_.path().string();
  EXPECT_THAT(refusal(folder_ / "absent/ids.npy"),
              StrEq(folder + "/absent/ids.npy: there is no folder \"" + folder +
                    "/absent\": No such file or directory; create the folder first"));
  std::ofstream(path_) << "a file";
  EXPECT_THAT(refusal(path_ / "ids.npy"),
              HasSubstr("there is no folder \"" + path_.string() + "\": Not a directory"));
}

TEST_F(StagedFileTest, NeedsAFileName) {
  EXPECT_THAT(refusal(folder_ / ""), EndsWith("does not name a file; give a file name"));
  EXPECT_THAT(refusal(""), EndsWith("does not name a file; give a file name"));
  EXPECT_THAT(refusal("."), StartsWith(".: is a directory; "));
  EXPECT_THAT(refusal(folder_ / ".."), HasSubstr("is a directory"));
}

TEST_F(StagedFileTest, DoesNotReplaceWhatIsNotARegularFile) {
  fs::create_directory(path_);
  EXPECT_THAT(refusal(path_),
              EndsWith(": is a directory; only regular files are replaced; choose another name"));
  fs::create_symlink("a", folder_ / "link");
  EXPECT_THAT(refusal(folder_ / "link"), HasSubstr("is a directory"));
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder_ / "fifo"), HasSubstr("is not a regular file"));
  EXPECT_THAT(names_in_folder(), ElementsAre("a", "fifo", "link"));
}

TEST_F(StagedFileTest, NamesAFolderThatMayNotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(
      refusal(path_),
      EndsWith(
          "cannot create a file: Permission denied; choose a folder that you can read and write"));
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

TEST_F(StagedFileTest, BeginsItsMessagesWithTheOperation) {
  const fs::path absent = folder_ / "absent/a";
  const std::string start = "save_state \"" + absent.string() + "\": there is no folder";
  EXPECT_THAT(message_of<BadFile>([&] { StagedFile file(absent, "save_state"); }),
              StartsWith(start));
  EXPECT_THAT(message_of<BadFile>([&] { check_can_write(absent, "save_state"); }),
              StartsWith(start));
}

TEST_F(StagedFileTest, IsCheckedWithoutMakingAFile) {
  check_can_write(path_);
  EXPECT_THAT(names_in_folder(), IsEmpty());
}

// ---- the order of things on the disk

TEST_F(StagedFileTest, IsSyncedBeforeItIsRenamedAndItsFolderAfter) {
  // A trace of the test above that publishes one file: the order the system saw.
  if (std::system("strace -o /dev/null true >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "needs strace, and leave to trace";
  }
  const fs::path trace = folder_ / "trace";
  const std::string command =
      "ASAN_OPTIONS=detect_leaks=0 strace -y -e trace=/sync,/rename -o '" + trace.string() + "' '" +
      fs::read_symlink("/proc/self/exe").string() +
      "' --gtest_filter='*.TakesThePlaceOfTheOldFileWhenItIsPublished' >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::vector<std::string> calls;
  std::ifstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("sync(") != line.npos || line.find("rename") != line.npos) calls.push_back(line);
  }
  EXPECT_THAT(calls, ElementsAre(AllOf(StartsWith("fsync("), HasSubstr(".tmp>"), EndsWith("= 0")),
                                 AllOf(StartsWith("rename"), HasSubstr("\"a\""), EndsWith("= 0")),
                                 AllOf(StartsWith("fsync("), HasSubstr("rcap-test-"),
                                       testing::Not(HasSubstr(".tmp>")), EndsWith("= 0"))));
}

}  // namespace
}  // namespace rcap
