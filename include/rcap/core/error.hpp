#pragma once

#include <stdexcept>

#include "rcap/core/export.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Base of everything rcap throws on purpose. A message reads
/// "where: what was given; the rule; what to do" and holds the offending values.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An argument breaks a documented condition; the caller can correct it.
struct InvalidArgument : Error {
  using Error::Error;
};

/// A file cannot be read or written, or is not what it claims to be.
struct BadFile : Error {
  using Error::Error;
};

/// A valid state file, but of another data set, method, option or version.
struct StateMismatch : Error {
  using Error::Error;
};

/// A condition that only a bug in rcap can break.
struct InternalError : Error {
  using Error::Error;
};

}  // namespace rcap
RCAP_API_END
