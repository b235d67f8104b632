#pragma once

#include <string>

#include <gtest/gtest.h>

namespace rcap {

/// The message of the `Exception` that `action` throws; a failure if it throws none.
template <class Exception, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace rcap
