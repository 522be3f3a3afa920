#include "engine/torch/translate_errors.hpp"

namespace pb::torch_engine {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace pb::torch_engine
