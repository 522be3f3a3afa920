// A pass that tells how far it is within a step, for a progress bar.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace pb::engine {

class LayerReport {
  public:
    virtual ~LayerReport() = default;
    /// The pass calls `done` after each layer of a step with the number of layers that are done, and of all.
    void report_layers(std::function<void(int64_t, int64_t)> done) { layer_done_ = std::move(done); }

  protected:
    void tell_layer(int64_t done, int64_t all) const {
        if (layer_done_) layer_done_(done, all);
    }

  private:
    std::function<void(int64_t, int64_t)> layer_done_;
};

}  // namespace pb::engine
