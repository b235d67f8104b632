#include "cli/tell.hpp"

#include <cstdio>

namespace rcap::cli {

void tell_text(std::string_view text) noexcept {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace rcap::cli
