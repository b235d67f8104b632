#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/inverse_chance.hpp"
#include "rcap/core/sample_set.hpp"

RCAP_API_BEGIN
namespace rcap {

/// What a state belongs to. All of it is in the head of the file and must agree with the
/// pruner that loads it.
struct StateIdentity {
  std::string method;
  std::int64_t sample_count = 0;
  std::int64_t class_count = 0;
  std::uint64_t label_fingerprint = 0;
  /// The options that shape the selections, "name=value" each, in a fixed order.
  std::vector<std::string> options;
};

/// The fields of a pruner's state, listed once for both directions: a writer reads the
/// targets, a reader fills them. Order and names are part of the file.
class StateFields {
 public:
  virtual ~StateFields() = default;
  virtual void number(std::string_view name, std::int64_t& value) = 0;
  /// Stored as the number 0 or 1.
  virtual void flag(std::string_view name, bool& value) = 0;
  /// Losses, scores, limits: finite and >= 0, as many as there are now.
  virtual void losses(std::string_view name, std::vector<float>& values) = 0;
  /// The same, one for each sample that is here.
  virtual void sample_losses(std::string_view name, std::vector<float>& values) {
    losses(name, values);
  }
  /// Sums of weights: finite and >= 0, as many as there are now.
  virtual void weights(std::string_view name, std::vector<double>& values) = 0;
  /// One for each selected sample that is here.
  /// @param count  how many they must be; there may be more or fewer before they are read
  virtual void chances(std::string_view name, std::vector<InverseChance>& values,
                       std::size_t count) = 0;
  /// A set over the same data set; no bit past the last sample.
  virtual void samples(std::string_view name, SampleSet& values) = 0;
};

/// Names every field of a state.
using ListFields = std::function<void(StateFields&)>;

/// Takes the next bytes of a state.
using WriteBytes = std::function<void(std::span<const std::byte>)>;

/// Writes a state file: to a temporary file next to `path`, synced, then renamed, so
/// that `path` is always the complete old file or the complete new one. A symbolic link
/// is replaced, not followed. The bytes are described in `docs/state_format.md`.
///
/// @param list_fields  called twice, to count the bytes and to write them, and must list
///                     the same both times
/// @throws BadFile        if the file cannot be written; the temporary one is removed
/// @throws InternalError  a value that `read_state_file` would refuse
///
/// Streams: no copy of the fields is made, however large they are.
void write_state_file(const std::filesystem::path& path, const StateIdentity& identity,
                      const ListFields& list_fields);

/// Reads a state file into the listed fields. Size and checksum of the whole file are
/// verified before anything is used; if anything is wrong, or `list_fields` itself
/// throws, every field is restored. What only the pruner can judge, such as the range of a
/// number, it therefore checks in `list_fields`, after the field is read.
///
/// @throws BadFile        not a state file, truncated, altered, or a value out of range
/// @throws StateMismatch  a valid file of another data set, method, option or version;
///                        names what differs
///
/// Two passes over the file. Meanwhile the old values are kept as well as the new ones.
void read_state_file(const std::filesystem::path& path, const StateIdentity& identity,
                     const ListFields& list_fields);

/// Passes on the bytes that `write_state_file` writes, piece by piece.
void stream_state(const WriteBytes& write, const StateIdentity& identity,
                  const ListFields& list_fields);

/// The same bytes, to keep inside another checkpoint.
[[nodiscard]] std::vector<std::byte> encode_state(const StateIdentity& identity,
                                                  const ListFields& list_fields);

/// As `read_state_file`, from the bytes of a state file.
void decode_state(std::span<const std::byte> bytes, const StateIdentity& identity,
                  const ListFields& list_fields);

/// The head of a state file, after the same checks of size and checksum.
[[nodiscard]] StateIdentity read_state_identity(const std::filesystem::path& path);

}  // namespace rcap
RCAP_API_END
