#pragma once

namespace rcap {

/// How many threads LibTorch computes with, all started at once: where the system has not that many
/// to give, the program ends here with a line that names --threads, before any work is done.
void set_torch_threads(int threads);

}  // namespace rcap
