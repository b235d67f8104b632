#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rcap {

/// A file of a published data set, as it is once unpacked.
struct OfficialFile {
  std::string_view name;  ///< in the folder; may be packed there, with .gz appended to the name
  std::uint64_t bytes = 0;
  std::string_view sha256;  ///< of the contents; empty if unknown
  std::string_view md5;     ///< from a third party's list; used if there is no SHA-256
  std::string_view copy{};  ///< another form of it that is read too, without a checksum
};

/// What a data set is published as.
struct OfficialArchive {
  std::string_view address;
  std::uint64_t bytes = 0;  ///< 0 if unknown
  std::string_view sha256;  ///< empty if unknown
  std::string_view md5;     ///< empty if unknown
};

/// One published data set.
struct CatalogueEntry {
  std::string_view name;            ///< as in `open_dataset`
  std::string_view default_folder;  ///< where it usually is; empty if there is no such place
  std::string_view subfolder;       ///< that its archive unpacks to; empty if none
  std::string_view address;         ///< of the publisher
  std::string_view unpacked_as;     ///< what to put into the folder, in words
  std::string_view remedy;          ///< how to get it, in words
  std::span<const OfficialArchive> archives;
  std::span<const OfficialFile> files;  ///< those with a published size
  bool images_in_files = false;         ///< besides `files`, each image has a file
};

/// All published data sets that rcap knows, in display order.
[[nodiscard]] std::span<const CatalogueEntry> catalogue() noexcept;

/// The data set of that name, or nullptr.
[[nodiscard]] const CatalogueEntry* find_in_catalogue(std::string_view name) noexcept;

/// Where an official file is.
struct LocatedFile {
  std::string name;                    ///< on disk, so possibly with .gz
  std::filesystem::path path;          ///< where it is, or where it was looked for
  std::optional<std::uint64_t> bytes;  ///< on disk; empty if the file does not exist
};

/// Looks for the files of a data set, in `folder` or in the folder that its archive unpacks
/// to. Opens none of them. In the order of `entry.files`.
[[nodiscard]] std::vector<LocatedFile> locate_files(const CatalogueEntry& entry,
                                                    const std::filesystem::path& folder);

enum class FileState {
  Good,      ///< size and checksum are the published ones
  Doubtful,  ///< the checksum of a third party's list differs, or there is only a copy
  Damaged,   ///< not the published file
  Missing,
};

/// "good", "doubtful", "damaged" or "missing".
[[nodiscard]] std::string_view name_of(FileState state) noexcept;

struct FileCheck {
  LocatedFile file;
  FileState state = FileState::Missing;
  std::string finding;  ///< what was found and what was expected; empty if good
};

/// Called with the file being read, and how many bytes of how many on disk.
using VerifyProgress =
    std::function<void(const std::string& name, std::uint64_t done, std::uint64_t total)>;

/// Checks the files of a data set against the published sizes and checksums: the size first, then
/// SHA-256 if it is known, otherwise MD5. Packed files are judged by what they unpack to, since
/// packing the same contents again gives a different file.
///
/// A file that cannot be read counts as damaged; nothing is thrown for it.
[[nodiscard]] std::vector<FileCheck> verify(const CatalogueEntry& entry,
                                            const std::filesystem::path& folder,
                                            const VerifyProgress& progress = {});

}  // namespace rcap
