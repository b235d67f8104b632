#pragma once

#include <stdexcept>
#include <string>

namespace rcap {

/// Base of everything rcap throws on purpose. A message reads
/// "where: what was given; the rule; what to do" and holds the offending values.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument breaks a documented condition; the caller can put it right.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A file cannot be read or written, or is not what it claims to be.
class BadFile : public Error {
 public:
  using Error::Error;
};

/// A sound state file, but of another data set, method, option or version.
class StateMismatch : public Error {
 public:
  using Error::Error;
};

/// A condition that only a bug in rcap can break.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace rcap
