// To be preloaded: a system that has only RCAP_TEST_THREADS more threads to give.

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <dlfcn.h>
#include <pthread.h>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*work)(void*), void* argument) {
  static std::atomic<int> asked{0};
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  const char* most = std::getenv("RCAP_TEST_THREADS");
  if (most != nullptr && asked++ >= std::atoi(most)) return EAGAIN;
  return create(thread, attributes, work, argument);
}
