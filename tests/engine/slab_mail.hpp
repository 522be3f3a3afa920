// Slabs of one image, each computed by a thread with an engine of its own, which hand each other their border rows.
#pragma once

#include "engine/native_rows.hpp"
#include "network/parts/exchanged_slab.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace pb::test {

/// Rows on their way in one direction across one border.
class Mailbox {
  public:
    void put(std::span<const std::byte> rows) {
        const std::lock_guard lock(mutex_);
        letters_.emplace_back(rows.begin(), rows.end());
        filled_.notify_one();
    }
    void take(std::span<std::byte> rows) {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [this] { return !letters_.empty(); });
        require(letters_.front().size() == rows.size(), "what comes is what is waited for");
        std::copy(letters_.front().begin(), letters_.front().end(), rows.begin());
        letters_.pop_front();
    }

  private:
    std::mutex mutex_;
    std::condition_variable filled_;
    std::deque<std::vector<std::byte>> letters_;
};

/// Down and up, across the border below a slab.
struct BorderMail {
    Mailbox down, up;
};

/// Rows arrive as late as they may, in finish(): a row that is read before is that of an earlier map.
class MailExchange final : public engine::RowExchange {
  public:
    MailExchange(BorderMail& above, BorderMail& below) : above_(above), below_(below) {}
    void start(const BorderRows& above, const BorderRows& below) override {
        require(!is_open_, "one exchange at a time");
        is_open_ = true;
        for (const BorderRows& side : {above, below})
            require(side.sent.empty() == side.received.empty(), "an empty message says that a rank has failed");
        rows_ = {above, below};
        if (!above.sent.empty()) above_.up.put(above.sent);
        if (!below.sent.empty()) below_.down.put(below.sent);
    }
    void finish() override {
        require(is_open_, "an exchange was begun");
        is_open_ = false;
        if (!rows_[0].received.empty()) above_.down.take(rows_[0].received);
        if (!rows_[1].received.empty()) below_.up.take(rows_[1].received);
    }

  private:
    BorderMail &above_, &below_;
    std::array<BorderRows, 2> rows_;
    bool is_open_ = false;
};

/// The output of `image` in slabs of rows `cuts[i]` to `cuts[i + 1]`, computed twice with the same memory.
inline std::vector<float> exchange(const engine::Weights& weights, const WholeImage& image,
                                   const std::vector<int64_t>& cuts, const engine::EngineOptions& options) {
    const Shape& shape = image.shape;
    const network::Graph graph = weights.graph();
    const int64_t in_floats = shape.w * shape.c, out_floats = shape.w * weights.graph().channels_out();
    std::vector<float> result(static_cast<size_t>(shape.h * out_floats), -1.F);
    std::vector<BorderMail> mail(cuts.size());
    const auto unit = options.engine == EngineKind::native ? network::ComputedUnit::tile : network::ComputedUnit::pixel;
    const auto rows = [&](size_t slab) { return Range{cuts[slab], cuts[slab + 1]}; };
    const auto run = [&](size_t slab) {
        const network::ExchangedSlab own(graph, {.rows = rows(slab),
                                                 .above = slab > 0 ? rows(slab - 1) : Range{},
                                                 .below = slab + 2 < cuts.size() ? rows(slab + 1) : Range{},
                                                 .image = {shape.h, shape.w},
                                                 .unit = unit});
        const auto denoiser = make_denoiser(weights, options);
        device::Stream stream({});
        const auto pass = denoiser->make_slab_pass(own, stream);
        MailExchange border(mail[slab], mail[slab + 1]);
        for (int repetition = 0; repetition < 2; ++repetition)
            pass->run(image.values.data() + own.held(0).begin * in_floats,
                      result.data() + own.owned(graph.output()).begin * out_floats, &border);
    };
    std::vector<std::jthread> slabs;
    for (size_t slab = 0; slab + 1 < cuts.size(); ++slab) slabs.emplace_back(run, slab);
    slabs.clear();
    return result;
}

}  // namespace pb::test
