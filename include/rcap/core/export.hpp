#pragma once

// A shared library offers what the public headers declare between RCAP_API_BEGIN and RCAP_API_END,
// and hides everything else. The build defines RCAP_SHARED, for the library and for its users; a
// static library needs no marks.
#ifdef RCAP_SHARED
#define RCAP_API_BEGIN _Pragma("GCC visibility push(default)")
#define RCAP_API_END _Pragma("GCC visibility pop")
#else
#define RCAP_API_BEGIN
#define RCAP_API_END
#endif
