#include "run/agreement.hpp"

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "comm/collective_step.hpp"
#include "comm/rows/border_channel.hpp"
#include "config/settings_access.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

namespace pb::run {

namespace {

record::PointStatus status_of(Attempt::Kind kind) {
    switch (kind) {
        case Attempt::Kind::interrupted: return record::PointStatus::interrupted;
        case Attempt::Kind::oom: return record::PointStatus::oom;
        case Attempt::Kind::index_limit: return record::PointStatus::index_limit;
        default: return record::PointStatus::failed;
    }
}

void require_same(const comm::Communicator& communicator, const std::string& found) {
    const std::string root = communicator.broadcast(found);
    std::optional<std::string> other;
    if (found != root)
        other = fmt::format("found {}, but rank 0 found {}: all ranks must read the same files", found, root);
    if (const auto all = communicator.agree(other)) throw AgreedError(*all, ExitCode::usage);
}

bool is_same_everywhere(const comm::Communicator& communicator, const std::string& text) {
    const double differs = communicator.broadcast(text) == text ? 0 : 1;
    return communicator.max(differs) == 0;
}

/// The same text for the same files of a host. Empty where one is not there any more.
std::string places_of(const std::vector<std::filesystem::path>& files) {
    std::string places = comm::host_name();
    for (const auto& file : files) {
        struct stat status {};
        if (::stat(file.c_str(), &status) != 0) return "";
        places += fmt::format(" {}:{}", status.st_dev, status.st_ino);
    }
    return places;
}

std::string bytes_of(const std::vector<std::filesystem::path>& files) {
    constexpr size_t kDigits = 8;  // as people compare them
    std::string text;
    for (const auto& file : files)
        add_item(
            text,
            fmt::format("{} of bytes {}", without_controls(file.filename()), sha256_of_pieces(file).substr(0, kDigits)),
            "; ");
    return text;
}

}  // namespace

Attempt attempt(const std::function<void()>& step) {
    using Kind = Attempt::Kind;
    try {
        step();
        return {};
    } catch (const comm::Elsewhere<OutOfMemory>&) {
        return {Kind::oom, ""};  // the rank that ran out of memory reports it
    } catch (const comm::Elsewhere<Error>&) {
        return {Kind::failed, ""};
    } catch (const comm::NeighbourFailed& error) {
        return {Kind::elsewhere, error.what()};
    } catch (const UsageError& error) {
        return {Kind::usage, error.what()};
    } catch (const OutOfMemory& error) {
        return {Kind::oom, error.what()};
    } catch (const IndexLimit& error) {
        return {Kind::index_limit, error.what()};
    } catch (const Interrupted& error) {
        return {Kind::interrupted, error.what()};
    } catch (const std::bad_alloc&) {
        return {Kind::oom, "host memory ran out (std::bad_alloc)"};
    } catch (const std::filesystem::filesystem_error& error) {
        return {Kind::usage, describe(error)};
    } catch (const std::exception& error) {
        return {Kind::failed, error.what()};
    }
}

void agree_on(const comm::Communicator& communicator, const Attempt& mine) {
    const auto worst = static_cast<Attempt::Kind>(static_cast<int>(communicator.max(static_cast<double>(mine.kind))));
    if (worst == Attempt::Kind::ok) return;
    // Only the ranks with the worst outcome report: lesser errors of the others would hide the cause.
    const auto text = mine.kind == worst && !mine.reason.empty() ? std::optional(mine.reason) : std::nullopt;
    const std::string reason = communicator.agree(text).value_or("");
    if (worst == Attempt::Kind::usage) throw AgreedError(reason, ExitCode::usage);
    throw PointFailed(status_of(worst), reason);
}

void together(const comm::Communicator& communicator, const std::function<void()>& step) {
    agree_on(communicator, attempt(step));
}

void require_same_settings(const comm::Communicator& communicator, const config::StudySettings& study,
                           const std::vector<config::PointSettings>& points, std::vector<std::string> others) {
    if (communicator.size() == 1) return;
    for (std::string& line : config::setting_lines(study)) others.push_back(std::move(line));
    others.push_back(counted(std::ssize(points), "point"));
    for (const config::PointSettings& point : points)
        for (std::string& line : config::setting_lines(point)) others.push_back(std::move(line));
    const std::string mine = fmt::format("{}\n", fmt::join(others, "\n"));
    if (is_same_everywhere(communicator, sha256_of(std::as_bytes(std::span(mine))))) return;
    std::istringstream my_lines(mine), root_lines(communicator.broadcast(mine));
    std::optional<std::string> other;
    for (std::string told, root; !other && std::getline(my_lines, told) && std::getline(root_lines, root);)
        if (told != root)
            other = fmt::format(
                "was told {}, but rank 0 was told {}: all ranks must have the same options and read the same study",
                told, root);
    if (const auto all = communicator.agree(other)) throw AgreedError(*all, ExitCode::usage);
}

void require_same_files(const comm::Communicator& communicator, const std::string& found,
                        const std::vector<std::filesystem::path>& files) {
    require_same(communicator, found);
    if (is_same_everywhere(communicator, places_of(files))) return;
    std::string bytes;
    together(communicator, [&] { bytes = bytes_of(files); });
    require_same(communicator, bytes);
}

}  // namespace pb::run
