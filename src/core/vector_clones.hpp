#pragma once

/// RCAP_VECTOR_CLONES before a function compiles it for several vector widths; the
/// program picks at run time, which takes a loader such as glibc's. The resolvers run before a
/// sanitizer is ready, so sanitized builds have the plain form only.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RCAP_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RCAP_VECTOR_CLONES
#endif
