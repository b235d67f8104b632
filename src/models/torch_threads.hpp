#pragma once

namespace rcap {

/// Sets how many threads LibTorch computes with, all started at once: if the system cannot start
/// that many, the program ends here with a line that names --threads, before any work is done.
void set_torch_threads(int threads);

}  // namespace rcap
