// Which planted fault is switched on: the one that PATCHBENCH_MUTANT names. run.py puts this file, and the faults that
// ask it, into a copy of the tree; the program itself knows nothing of it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

template <size_t kLength>
struct MutantId {
    char text[kLength]{};
    consteval MutantId(const char (&id)[kLength]) {
        for (size_t i = 0; i < kLength; ++i) text[i] = id[i];
    }
};

/// Asks the environment once, because faults lie in inner loops, too.
template <MutantId kId>
bool mutant_is_on() {
    static const bool is_on = [] {
        const char* const wanted = std::getenv("PATCHBENCH_MUTANT");
        return wanted != nullptr && std::string_view(kId.text) == wanted;
    }();
    return is_on;
}
