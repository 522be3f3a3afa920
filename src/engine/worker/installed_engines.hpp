// What `check` says of the engines that run in a process of their own.
#pragma once

#include <string>

namespace pb::engine::worker_engine {

/// "engines: onnxruntime 1.32.0, Python 3.11.7; not installed: jax (launch/engines.sh)". Asks each installed
/// environment for its versions, about 0.1 s each, without importing a framework.
[[nodiscard]] std::string installed_engines_text();

}  // namespace pb::engine::worker_engine
