#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace rcap {

/// The contents of a file, piece by piece: its own bytes or, if it begins like a gzip file, what
/// they unpack to. The name of the file does not matter.
class PayloadReader {
 public:
  /// No deflate stream unpacks to more than this many times its size.
  static constexpr std::uint64_t MostExpansion = 1032;

  /// @throws BadFile  if the file cannot be opened or is not a regular one
  explicit PayloadReader(const std::filesystem::path& path);
  ~PayloadReader();
  PayloadReader(const PayloadReader&) = delete;
  PayloadReader& operator=(const PayloadReader&) = delete;

  /// Fills `out` as long as there are bytes left.
  /// @return the bytes written there; fewer than asked for only at the end
  /// @throws BadFile  a failed read, a damaged gzip stream, or one that ends early or is followed
  ///                  by something else
  std::size_t read(std::span<std::uint8_t> out);

  [[nodiscard]] bool compressed() const noexcept;
  /// The size on disk.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  /// How much of the file has been read so far.
  [[nodiscard]] std::uint64_t consumed_bytes() const noexcept;

 private:
  class State;

  std::unique_ptr<State> state_;
};

/// The whole contents of a file of at most `most_bytes`.
/// @throws BadFile  names the file and the reason
[[nodiscard]] std::vector<std::uint8_t> read_file(const std::filesystem::path& path,
                                                  std::uint64_t most_bytes);

/// Whether something of this name exists; what cannot be examined counts as missing.
[[nodiscard]] bool is_there(const std::filesystem::path& path);
/// Whether it is a folder.
[[nodiscard]] bool is_folder(const std::filesystem::path& path);

/// The size of a regular file.
/// @throws BadFile  if there is no such file; names the path and the reason
[[nodiscard]] std::uint64_t size_of_file(const std::filesystem::path& path);

}  // namespace rcap
