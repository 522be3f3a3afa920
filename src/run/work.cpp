#include "run/work.hpp"

#include "plan/cropping.hpp"
#include "plan/memory_limit.hpp"
#include "plan/rows.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace pb::run {

namespace {

/// A rank reads all rows that the first and the last of its own depend on.
void carry(const plan::Point& point, int rank, Work& work) {
    const auto schedule = plan::band_schedule(point, rank);
    if (!schedule) return;
    const auto [begin, end] = schedule->computed().front();
    work.image_rows = point.source.extent.h;
    work.window_rows = {begin, std::min(end, work.image_rows)};
    work.bands = std::make_shared<const network::BandSchedule>(*schedule);
    work.strips = std::ssize(plan::strips_of(point));
}

/// A rank reads its slab and the rows beside it that the first layers need.
void own_slab(const plan::Point& point, int rank, Work& work) {
    const auto slab = plan::slab_of_rank(point, rank);
    if (!slab) return;
    const auto [begin, end] = slab->held(0);
    work.window_rows = {begin, std::min(end, point.source.extent.h)};
    work.slab = std::make_shared<const network::ExchangedSlab>(*slab);
}

Work make_tile_work(const plan::Point& point, int rank) {
    const auto grid = std::make_shared<const plan::TileGrid>(plan::tile_grid(point));
    Work work;
    work.tile = [grid](int64_t index) { return grid->tile(index); };
    work.window = grid->window();
    work.windows = plan::windows_of_rank(point, *grid, rank);
    if (work.windows.size() > 0) work.window_rows = grid->window_rows(work.windows);
    if (plan::is_carried(point)) carry(point, rank, work);
    if (plan::is_exchanged(point)) own_slab(point, rank, work);
    work.patches_in = [grid](Range windows) { return windows.size() > 0 ? grid->num_patches(windows) : 0; };
    work.batch = point.batch.value();
    work.last_batch = point.settings.last_batch;
    if (plan::is_cropped(point)) work.crop = std::make_shared<const network::WindowCrop>(plan::window_crop(point));
    return work;
}

Work make_whole_work(const plan::Point& point, int rank) {
    auto calls = plan::whole_image_calls(point.facts(), point.source.extent, point.settings.odd_shape);
    const bool takes_part = rank == 0 || (point.settings.replicate && rank < point.num_ranks);
    Work work;
    work.window = calls.front().window.extent;
    work.windows = takes_part ? Range{0, static_cast<int64_t>(calls.size())} : Range{};
    work.window_rows = takes_part ? Range{0, point.source.extent.h} : Range{};
    work.patches_in = [](Range windows) { return windows.size() > 0 ? 1 : 0; };  // one image is one patch
    work.tile = [calls = std::move(calls)](int64_t index) { return calls.at(static_cast<size_t>(index)); };
    return work;
}

/// For the cores of all images; null where windows of any of them are not cropped.
std::shared_ptr<const network::WindowCrop> joined_crop(const std::vector<ImageWork>& images) {
    if (!std::ranges::all_of(images, [](const ImageWork& image) { return image.work.crop != nullptr; })) return nullptr;
    auto crop = std::make_shared<network::WindowCrop>(*images.front().work.crop);
    for (const ImageWork& image : images) crop->include(*image.work.crop);
    return crop;
}

/// The arithmetic of a batch as it runs: its windows, or the multiply-accumulates of cropped ones.
double arithmetic_of(const Work& work, const Range& run) {
    if (!work.crop) return static_cast<double>(work.run_size(run));
    double macs = 0;
    for (int64_t place = 0; place < work.run_size(run); ++place) macs += work.crop->macs(work.core_at(run, place));
    return macs;
}

/// The windows of several images in one numbering.
class JoinedImages {
  public:
    JoinedImages(std::vector<ImageWork> images, int64_t stride) : images_(std::move(images)), stride_(stride) {
        first_.reserve(images_.size());
        int64_t first = 0;
        for (const ImageWork& image : images_) {
            first_.push_back(first);
            first += image.num_windows;
        }
    }

    [[nodiscard]] plan::Tile tile(int64_t index) const {
        const size_t image = image_of(index);
        plan::Tile tile = images_[image].work.tile(index - first_[image]);
        tile.window.row += static_cast<int64_t>(image) * stride_;
        tile.core.row += static_cast<int64_t>(image) * stride_;
        return tile;
    }

    [[nodiscard]] int64_t patches_in(const Range& windows) const {
        int64_t patches = 0;
        for (size_t i = 0; i < images_.size(); ++i)
            patches +=
                images_[i].work.patches_in(windows_within(windows, {first_[i], first_[i] + images_[i].num_windows}));
        return patches;
    }

    [[nodiscard]] device::Conversion conversion(int64_t index) const { return images_[image_of(index)].conversion; }

  private:
    [[nodiscard]] size_t image_of(int64_t index) const {
        return static_cast<size_t>(std::upper_bound(first_.begin(), first_.end(), index) - first_.begin()) - 1;
    }

    std::vector<ImageWork> images_;
    std::vector<int64_t> first_;  // first window of each image
    int64_t stride_;
};

}  // namespace

Range windows_within(const Range& run, const Range& image) {
    const int64_t begin = std::clamp(run.begin, image.begin, image.end);
    const int64_t end = std::clamp(run.end, image.begin, image.end);
    return {begin - image.begin, end - image.begin};
}

Work join_work(std::vector<ImageWork> images, int64_t stride, int64_t batch, Range windows) {
    Work work;
    work.window = images.front().work.window;
    work.last_batch = images.front().work.last_batch;
    work.windows = windows;
    work.batch = batch;
    work.crop = joined_crop(images);
    const auto joined = std::make_shared<const JoinedImages>(std::move(images), stride);
    work.tile = [joined](int64_t index) { return joined->tile(index); };
    work.patches_in = [joined](Range range) { return joined->patches_in(range); };
    work.conversion = [joined](int64_t index) { return joined->conversion(index); };
    return work;
}

int64_t Work::run_size(const Range& run) const { return last_batch == config::LastBatch::pad ? batch : run.size(); }

plan::Tile Work::band(int64_t window_index) const {
    plan::Tile made = tile(window_index);
    made.window.row = made.core.row;
    return made;
}

Rect Work::core_at(const Range& run, int64_t place) const { return tile(window_at(run, place)).core_in_window(); }

Range Work::resident_batch() const {
    if (resident) return *resident;
    const std::vector<Range> all = batches();
    const bool has_full = all.back().size() == all.front().size();
    return all[(all.size() - (has_full ? 0 : 1)) / 2];
}

Range Work::largest_batch() const {
    if (!crop) return resident_batch();
    std::map<std::array<int64_t, 5>, int64_t> known;  // an image has few different cores, and many batches
    const auto peak = [&](const Rect& core, int64_t n) {
        const auto [at, is_new] = known.try_emplace({core.row, core.column, core.extent.h, core.extent.w, n});
        if (is_new) at->second = crop->peak_bytes(core, n);
        return at->second;
    };
    const auto bytes_of = [&](const Range& run) {
        std::vector<Rect> cores(static_cast<size_t>(run_size(run)));
        for (size_t place = 0; place < cores.size(); ++place) cores[place] = core_at(run, static_cast<int64_t>(place));
        int64_t most = 0;
        for (Range alike; alike.end < std::ssize(cores);) {
            alike = network::alike_from(alike.end, cores);
            most = std::max(most, peak(cores[static_cast<size_t>(alike.begin)], alike.size()));
        }
        return most;
    };
    std::vector<Range> full = batches();
    std::erase_if(full, [size = full.front().size()](const Range& run) { return run.size() != size; });
    return std::ranges::max(full, {}, bytes_of);
}

double Work::work_per_call(const std::vector<Range>& runs) const {
    if (runs.empty()) return 1;
    const auto num_calls = static_cast<double>(runs.size());
    if (bands) return static_cast<double>(strips) * bands->whole_bands() / num_calls;
    if (slab) return static_cast<double>(slab->shape().rows.size()) / static_cast<double>(window.h) / num_calls;
    double done = 0;
    for (const Range& run : runs) done += arithmetic_of(*this, run);
    return done / num_calls / arithmetic_of(*this, resident_batch());
}

double Work::core_pixels(const std::vector<Range>& runs) const {
    double pixels = 0;
    for (const int64_t index : indices_of(runs)) pixels += static_cast<double>(tile(index).core.extent.pixels());
    return pixels;
}

std::vector<int64_t> indices_of(const std::vector<Range>& runs) {
    std::vector<int64_t> indices;
    for (const Range& run : runs)
        for (int64_t index = run.begin; index < run.end; ++index) indices.push_back(index);
    return indices;
}

Work make_work(const plan::Point& point, int rank) {
    return point.settings.workload == config::Workload::tiles ? make_tile_work(point, rank)
                                                              : make_whole_work(point, rank);
}

std::vector<Rect> rects_of_windows(const plan::Point& point, const std::vector<Range>& windows) {
    const bool is_any = std::ranges::any_of(windows, [](const Range& run) { return run.size() > 0; });
    if (!is_any) return {};
    if (point.settings.workload == config::Workload::whole) return {{0, 0, point.source.extent}};
    const plan::TileGrid grid = plan::tile_grid(point);
    std::vector<Rect> rects;
    for (const Range& run : windows)
        if (run.size() > 0)
            for (const Rect& rect : plan::covered_rects(grid, run)) rects.push_back(rect);
    return rects;
}

int64_t num_patches(const plan::Point& point) {
    if (point.settings.workload == config::Workload::tiles) return plan::tile_grid(point).num_patches();
    return point.settings.replicate ? point.num_ranks : 1;  // one image is one patch
}

}  // namespace pb::run
