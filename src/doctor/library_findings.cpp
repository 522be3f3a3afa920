// Findings about libraries: loaded version against compiled one, and rank against rank.
#include "doctor/launch_findings.hpp"

#include <algorithm>

namespace pb::doctor {

namespace {

bool is_version(const std::string& text) {
    const auto fits = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
    return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

std::string major_of(const std::string& version) { return version.substr(0, version.find('.')); }

/// LibTorch changes its binary interface in every version; the other libraries keep theirs within a major version.
Severity severity_of(const LoadedLibrary& library) {
    const bool is_compatible = library.name != "libtorch" && major_of(library.header) == major_of(library.loaded);
    return is_compatible ? Severity::advice : Severity::wrong;
}

void add_version_mismatch(const RankFacts& rank, Findings& all) {
    for (const auto& library : rank.libraries) {
        if (!is_version(library.header) || !is_version(library.loaded) || library.header == library.loaded) continue;
        all.push_back({severity_of(library),
                       library.name + ": compiled against " + library.header + ", loaded is " + library.loaded + " (" +
                           ranks_text({&rank.place}) + ")",
                       "take the folder of the other copy out of LD_LIBRARY_PATH and LD_PRELOAD (`ldd` shows which), "
                       "or build again"});
    }
}

void add_unequal_ranks(const std::vector<RankFacts>& ranks, Findings& all) {
    const RankFacts& first = ranks.front();
    for (size_t i = 0; i < first.libraries.size(); ++i) {
        const auto other = std::find_if(ranks.begin(), ranks.end(), [&](const RankFacts& rank) {
            return i >= rank.libraries.size() || rank.libraries[i].loaded != first.libraries[i].loaded;
        });
        if (other == ranks.end()) continue;
        const std::string theirs = i < other->libraries.size() ? other->libraries[i].loaded : "absent";
        all.push_back({Severity::wrong,
                       first.libraries[i].name + ": " + first.libraries[i].loaded + " on " +
                           ranks_text({&first.place}) + ", " + theirs + " on " + ranks_text({&other->place}),
                       "install the same patchbench and the same libraries on every node, best in one shared folder"});
    }
}

}  // namespace

Findings find_library_findings(const std::vector<RankFacts>& ranks) {
    Findings all;
    if (ranks.empty()) return all;
    add_version_mismatch(ranks.front(), all);
    add_unequal_ranks(ranks, all);
    return all;
}

}  // namespace pb::doctor
