#include "data/images/path_list.hpp"

#include <gmock/gmock.h>

#include "data/sample_files.hpp"
#include "data/sets/file_list.hpp"
#include "temporary_folder.hpp"

namespace rcap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(PathList, GivesBackWhatWasAdded) {
  const std::vector<std::string> paths{"b/x.jpg", "a/x.jpg", "a/b/y", "plain", "b/", "b/z.jpg"};
  const PathList list(paths);
  ASSERT_EQ(list.size(), paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(list[i], paths[i]);
  EXPECT_THAT(list.folders(), ElementsAre("b/", "a/", "a/b/", ""));
  EXPECT_EQ(list.folder_of(5), 0U);
  EXPECT_EQ(list.name(5), "z.jpg");
}

TEST(PathList, AppendsAnotherWithItsFolders) {
  PathList list(std::vector<std::string>{"a/1", "b/2"});
  list.append(PathList(std::vector<std::string>{"b/3", "c/4", "a/5"}));
  EXPECT_EQ(list.size(), 5U);
  EXPECT_EQ(list[2] + list[3] + list[4], "b/3c/4a/5");
  EXPECT_THAT(list.folders(), ElementsAre("a/", "b/", "c/"));
}

TEST(PathList, FindsTheFirstThatStandsTwice) {
  EXPECT_EQ(find_repeated(PathList(std::vector<std::string>{"a/1", "b/1", "a/2", "1"})),
            std::nullopt);
  EXPECT_THAT(
      find_repeated(PathList(std::vector<std::string>{"a/1", "b/1", "c/1", "b/1", "a/1", "b/1"})),
      testing::Optional(Pair(1U, 3U)));
}

TEST(FindMissingFiles, ListsFoldersInsteadOfAsking) {
  const TemporaryFolder folder;
  for (const char* name : {"a/1.jpg", "a/2.jpg", "b/1.jpg", "0.jpg"}) put_file(folder / name, "x");
  const FileList list{folder.path(),
                      PathList(std::vector<std::string>{"b/1.jpg", "b/2.jpg", "a/2.jpg", "c/1.jpg",
                                                        "0.jpg", "1.jpg"}),
                      {},
                      {}};
  for (const int threads : {1, 2}) {
    EXPECT_THAT(find_missing_files(list, threads), ElementsAre(1, 3, 5));
  }
  EXPECT_THAT(find_missing_files({folder.path(), {}, {}, {}}, 1), IsEmpty());
}

}  // namespace
}  // namespace rcap
