#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rcap {

enum class DigestKind { Sha256, Md5 };

/// A checksum of bytes that arrive piece by piece.
class Digest {
 public:
  /// @throws Error  if the cryptographic library does not offer this kind
  explicit Digest(DigestKind kind);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void add(std::span<const std::uint8_t> bytes);

  /// In lower-case hexadecimal digits. Ends the digest: call it once.
  [[nodiscard]] std::string finish();

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace rcap
