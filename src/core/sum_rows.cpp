#include "core/sum_rows.hpp"

namespace rcap {

PieceRelay::PieceRelay(const Chunks& pieces, std::span<const std::int64_t> begins, int rank) {
  int before = Never;            // the last rank so far that has anything
  int goes_from_before = Never;  // the round in which its last piece goes on
  for (int r = 0; r + 1 < static_cast<int>(begins.size()); ++r) {
    const std::int64_t begin = begins[static_cast<std::size_t>(r)];
    const std::int64_t end = begins[static_cast<std::size_t>(r) + 1];
    if (begin == end) continue;
    const std::int64_t first = begin / pieces.length;
    const std::int64_t last = (end - 1) / pieces.length;
    const int comes = goes_from_before;
    if (before == rank) next = r;
    if (r == rank) {
      first_piece = first;
      last_piece = last + 1;
      comes_in = comes;
      previous = std::max(before, 0);
    }
    const bool is_unfinished = end < pieces.end(last);
    const bool only_passes = first == last && comes != Never;
    goes_from_before = !is_unfinished ? Never : only_passes ? comes + 1 : 0;
    if (r == rank) goes_in = goes_from_before;
    rounds = std::max(rounds, goes_from_before + 1);
    before = r;
  }
}

}  // namespace rcap
