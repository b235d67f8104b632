#pragma once

// Without its macros min and max.
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
