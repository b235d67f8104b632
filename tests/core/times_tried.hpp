#pragma once

namespace rcap {

/// How often a random test is tried: under sanitizers, which look at memory and not at numbers and
/// make it ten times as slow or more, only a tenth as often.
constexpr int times_tried(int times) {
#if defined(RCAP_SANITIZED)
  return times / 10;
#else
  return times;
#endif
}

}  // namespace rcap
