// An error of a collective step as the ranks throw it that did not meet it themselves.
#pragma once

namespace pb {

/// Its text names the ranks that met it, by their numbers among those that took the step: nothing is put before it.
/// They themselves throw what they met, to which whoever prints it adds the rank.
struct FailedElsewhere {};

template <class Kind>
class Elsewhere final : public Kind, public FailedElsewhere {
    using Kind::Kind;
};

}  // namespace pb
