#pragma once

#include "bindings.hpp"

namespace rcap::python {

/// The bytes that `Pruner::save` would write, taken in turn.
[[nodiscard]] nb::bytes state_of(const PrunerHandle& handle);

/// Everything needed to make a pruner again, with all it has observed: what pickle and copy ask
/// for. Includes attributes that a Python subclass has given it.
[[nodiscard]] nb::dict contents_of(nb::handle pruner);

/// Makes the pruner that `contents_of` describes, without the attributes.
/// @throws InvalidArgument, BadFile, StateMismatch  not the contents of such a pruner
[[nodiscard]] MadePruner remake(const MethodInfo& method, const nb::dict& contents);

/// Gives a pruner the attributes in the contents.
void restore_attributes(nb::handle pruner, const nb::dict& contents);

}  // namespace rcap::python
