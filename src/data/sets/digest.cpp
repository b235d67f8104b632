#include "data/sets/digest.hpp"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "rcap/core/error.hpp"

namespace rcap {

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  State() = default;
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Digest::Digest(DigestKind kind) : state_(std::make_unique<State>()) {
  const EVP_MD* algorithm = kind == DigestKind::Sha256 ? EVP_sha256() : EVP_md5();
  if (state_->context == nullptr || EVP_DigestInit_ex(state_->context, algorithm, nullptr) != 1) {
    throw Error(fmt::format(
        "the OpenSSL of this machine does not offer {}; data sets cannot be verified with it",
        kind == DigestKind::Sha256 ? "SHA-256" : "MD5"));
  }
}

Digest::~Digest() = default;

void Digest::add(std::span<const std::uint8_t> bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
  unsigned count = 0;
  EVP_DigestFinal_ex(state_->context, value.data(), &count);
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", value[i]);
  return text;
}

}  // namespace rcap
