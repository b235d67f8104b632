#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "io/pth/pickle_value.hpp"

namespace rcap::pth {

/// What a file holds: the saved object, and the bytes of the storages it refers to.
struct Container {
  pickle::Objects objects;
  pickle::Value root;
  /// In the order of `objects.storages`; each has the bytes that its elements need.
  std::vector<std::span<const std::byte>> storages;
};

/// @param path  for messages
/// @param file  must live as long as the result
/// @throws BadFile  if torch.save did not write it, or it is damaged; names the offset
[[nodiscard]] Container read_container(const std::filesystem::path& path,
                                       std::span<const std::byte> file);

/// Whether the first bytes are those of a file that `read_container` recognises: one it reads, or
/// one it refuses by name.
[[nodiscard]] bool begins_like_pth(std::span<const std::byte> file);

}  // namespace rcap::pth
