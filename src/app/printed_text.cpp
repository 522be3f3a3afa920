#include "app/printed_text.hpp"

#include "app/standard_streams.hpp"
#include "report/text_lines.hpp"

#include <spdlog/spdlog.h>

namespace pb::app {

void print_folded(std::FILE* stream, const std::string& text) {
    fmt::print(stream, "{}", report::folded(text, terminal_width(stream)));
}

void print_timed(const std::string& text) {
    constexpr size_t kTime = 9;  // "12:34:56 ", which spdlog writes
    spdlog::info("{}", report::folded(std::string(kTime, ' ') + text, terminal_width(stderr)).substr(kTime));
}

}  // namespace pb::app
