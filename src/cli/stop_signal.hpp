#pragma once

namespace rcap::cli {

/// From now on the first Ctrl-C, or SIGTERM, only sets what `stop_was_asked` tells; the
/// second one ends the program at once.
void watch_for_stop();

[[nodiscard]] bool stop_was_asked() noexcept;

}  // namespace rcap::cli
