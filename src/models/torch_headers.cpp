#include "models/torch_headers.hpp"
