#include "core/together.hpp"

#include <array>
#include <cstring>
#include <string>

#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

enum class Outcome : char { Fine, InvalidArgument, BadFile, StateMismatch, InternalError };

/// The first byte is the kind, the others are the message.
std::string outcome_of(const std::function<void()>& work) {
  const auto tell = [](Outcome outcome, const char* what) {
    return std::string(1, static_cast<char>(outcome)) + what;
  };
  try {
    work();
    return {};
  } catch (const InvalidArgument& error) {
    return tell(Outcome::InvalidArgument, error.what());
  } catch (const BadFile& error) {
    return tell(Outcome::BadFile, error.what());
  } catch (const StateMismatch& error) {
    return tell(Outcome::StateMismatch, error.what());
  } catch (const std::exception& error) {
    return tell(Outcome::InternalError, error.what());
  }
}

[[noreturn]] void rethrow(const std::string& told) {
  const std::string message = told.substr(1);
  switch (static_cast<Outcome>(told.front())) {
    case Outcome::InvalidArgument:
      throw InvalidArgument(message);
    case Outcome::BadFile:
      throw BadFile(message);
    case Outcome::StateMismatch:
      throw StateMismatch(message);
    default:
      throw InternalError(message);
  }
}

}  // namespace

void together(const Shard& shard, const std::function<void()>& work) {
  if (shard.is_whole()) return work();
  const std::string told = outcome_of(work);
  for (const RankBytes& bytes : shard.exchange().all_gather(bytes_of(std::span(told)))) {
    if (bytes.empty()) continue;
    rethrow({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

void require_same(const Shard& shard, std::string_view what, std::int64_t value) {
  if (!shard.is_whole()) require_same(shard, what, formatted("{}", value));
}

void require_same(const Shard& shard, std::string_view what, std::string_view value) {
  if (shard.is_whole()) return;
  const auto values = shard.exchange().all_gather(bytes_of(std::span(value)));
  const auto text = [&](std::size_t rank) {
    return std::string(reinterpret_cast<const char*>(values[rank].data()), values[rank].size());
  };
  for (std::size_t rank = 1; rank < values.size(); ++rank) {
    if (values[rank] == values.front()) continue;
    throw InvalidArgument(
        formatted("{} is {} on rank {} and {} on rank 0; give every rank the same", what,
                  text(rank), rank, text(0)));
  }
}

}  // namespace rcap
