#pragma once

#include "bindings.hpp"

namespace rcap::python {

/// The bytes that `Pruner::save` would write, taken in turn.
[[nodiscard]] nb::bytes state_of(const PrunerHandle& handle);

/// All that makes a pruner of its method again, with everything it has observed: what pickle and
/// copy ask for. Attributes that a subclass in Python has given it are part of it.
[[nodiscard]] nb::dict contents_of(nb::handle pruner);

/// What `contents_of` was taken from, without the attributes.
/// @throws InvalidArgument, BadFile, StateMismatch  these are not the contents of such a pruner
[[nodiscard]] MadePruner remake(const MethodInfo& method, const nb::dict& contents);

/// Gives a pruner the attributes that the contents have.
void restore_attributes(nb::handle pruner, const nb::dict& contents);

}  // namespace rcap::python
