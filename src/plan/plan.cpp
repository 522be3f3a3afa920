#include "plan/plan.hpp"

#include "base/text.hpp"
#include "config/call_times.hpp"
#include "config/sample_settings.hpp"
#include "config/settings_access.hpp"
#include "config/text.hpp"
#include "plan/context.hpp"
#include "plan/memory_limit.hpp"
#include "plan/output_choice.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

namespace pb::plan {

namespace {

/// Throws UsageError for settings of files that are set without a file.
void check_samples(const config::ImageSettings& image) {
    if (image.path.empty() && !(image.range + image.nodata + image.bands + image.clean).empty())
        throw UsageError(
            "image.range, image.nodata, image.bands, image.clean: are for files, and image.path names none");
}

/// Facts about image files and networks, each looked up once.
class Sources {
  public:
    Sources(const SourceLookup& lookup, const NetworkLookup& networks) : lookup_(lookup), networks_(networks) {}

    SourceFacts find(const config::ImageSettings& image) {
        check_samples(image);
        if (image.path.empty()) return {{image.height, image.width}, image.channels};
        const std::array key{image.path, image.raw, image.range, image.nodata, image.bands, image.clean};
        const auto known = files_.find(key);
        SourceFacts facts = known != files_.end() ? known->second : files_[key] = lookup_(image);
        if (facts.channels != 1 && facts.channels != 3)
            throw UsageError(fmt::format(
                "image.path = {}: has {} channels without alpha; the networks take 1 or 3: choose bands with "
                "image.bands (denoise takes more than 4 in groups, --bands); of a stack of images save each by itself, "
                "and of channels first array.transpose(1, 2, 0)",
                image.path, facts.channels));
        facts.extent = crop_of(image, facts.extent).extent;
        return facts;
    }

    /// nullopt for the standard shape.
    std::optional<network::NetworkShape> find_relative(const config::PointSettings& settings, int64_t channels) {
        if (!networks_ || settings.network.is_custom()) return std::nullopt;
        const auto [known, is_new] = shapes_.try_emplace({settings.network.kind, settings.weights, channels});
        if (is_new) known->second = networks_(settings, channels);
        const auto& shape = known->second;
        return shape == network::standard_shape(settings.network, channels) ? std::nullopt : shape;
    }

  private:
    const SourceLookup& lookup_;
    const NetworkLookup& networks_;
    std::map<std::tuple<network::NetworkKind, std::string, int64_t>, std::optional<network::NetworkShape>> shapes_;
    std::map<std::array<std::string, 6>, SourceFacts> files_;  // by the settings that run::source_facts() reads
};

void settle_whole(Point& point) {
    const config::PointSettings& settings = point.settings;
    if (settings.schedule == config::Schedule::dynamic) throw UsageError("schedule = dynamic: needs workload: tiles");
    point.halo = 0;
    point.batch = 1;
    const auto calls = whole_image_calls(point.facts(), point.source.extent, settings.odd_shape);
    if (settings.odd_shape == OddShape::split && settings.network != network::kind_of<network::DrunetShape>() &&
        calls.front().window.extent != point.source.extent)
        point.notes.emplace_back("odd_shape = split is DRUNet's rule: this network pads instead");
    if (point.num_ranks > 1 && !settings.replicate)
        point.notes.push_back(fmt::format("one image: only rank 0 of {} works; replicate: true gives every rank a copy",
                                          point.num_ranks));
    if (exceeds_index_limit(point, calls.front().window.extent))
        point.notes.emplace_back("the image has 2^31 or more elements in the widest layer: status index_limit");
}

void settle_tiles(Point& point) {
    if (point.settings.replicate) throw UsageError("replicate = true: needs workload: whole");
    const config::HaloSetting& halo = point.settings.halo;
    if (halo.kind == config::HaloSetting::Kind::exact && !point.facts().is_bounded)
        throw Refused("halo = exact: the receptive field of " + point.settings.network.file +
                      " is unbounded, so no halo makes tiles equal to the whole image; choose halo: auto or a number");
    if (halo.kind == config::HaloSetting::Kind::exact) settle_halo(point, point.facts().exact_halo);
    if (is_carried(point)) settle_carried(point, point.settings.patch);
    if (is_exchanged(point)) settle_exchanged(point);
    if (halo.kind == config::HaloSetting::Kind::pixels) settle_halo(point, halo.pixels);
    // The patch must be legal even while the halo is open.
    if (!point.halo) (void)patch_grid(point, 0);
}

/// Refuses what the engine `timed` cannot do, and adds the notes that a reader of its points needs.
void settle_timed(Point& point) {
    const config::PointSettings& settings = point.settings;
    if (settings.workload != config::Workload::tiles) throw UsageError("engine = timed: needs workload: tiles");
    if (settings.halo.kind == config::HaloSetting::Kind::automatic)
        throw UsageError("halo = auto: is probed with a network, and engine timed has none; give its pixels");
    if (settings.batch.is_open())
        throw UsageError("batch = " + config::format_setting(settings.batch) +
                         ": is found by trying, and engine timed has nothing to try; give a number");
    const config::CallTimes times(settings.timed);
    const int64_t batch = point.batch.value();
    point.notes.push_back(
        fmt::format("simulated: no network is run, a call of {} waits {:.3g} s (T(b) = {}); pixels pass through and "
                    "are checked, no output is compared with a network's",
                    counted(batch, "window"), times.seconds(batch), times.formula()));
    if (settings.output == config::OutputKind::file)
        point.notes.emplace_back(
            "the file that is written is the image itself, its noise included: no network's result");
    if (const int64_t slow = settings.timed.slow_rank; slow >= point.num_ranks)
        point.notes.push_back(
            fmt::format("timed.slow_rank = {}: the point has {} ranks (the first is 0), none of them is slow", slow,
                        point.num_ranks));
    else if (slow >= 0)
        point.notes.push_back(fmt::format("rank {} of the point takes {} x as long", slow,
                                          config::format_setting(settings.timed.slow_factor)));
}

/// Refuses what the network that the user brings, or what is known of it, does not allow.
void check_custom(const Point& point) {
    const config::NetworkSetting& network = point.settings.network;
    if (!network.is_custom()) return;
    if (!network.card) throw Error("network = " + network.file + ": has not been examined");
    if (is_simulated(point))
        throw UsageError("network = " + network.file + ": engine timed simulates networks of the list; name one");
    if (network.card->channels != point.source.channels)
        throw UsageError(fmt::format("network = {}: is for {}, the image has {}", network.file,
                                     counted(network.card->channels, "image channel"), point.source.channels));
}

/// A network whose layers are not known may pad by itself, and in another way.
void note_extension(Point& point) {
    const Extent image = point.source.extent;
    const int64_t multiple = point.facts().step;
    const Extent extended{round_up(image.h, multiple), round_up(image.w, multiple)};
    if (point.settings.network.has_layers() || extended == image) return;
    point.edge_note = fmt::format(
        "windows are multiples of {} px, so the image is extended to {} x {} px by its last row and column; where {} "
        "pads by itself, or computes other extents in another way, pixels are not those that it gives for the image "
        "alone",
        multiple, extended.h, extended.w, point.settings.network.file);
    point.notes.push_back(point.edge_note);
}

/// Resolves `image.height_per_rank` to the height of the scene for this number of ranks.
void settle_height(config::PointSettings& settings, int num_ranks) {
    auto& image = settings.image;
    if (image.height_per_rank == 0) return;
    if (!image.path.empty()) throw UsageError("image.height_per_rank: is for scenes, image.path names a file");
    image.height = image.height_per_rank * num_ranks;
}

/// A file has its own extents and channels. A user who sets them for a file may have wanted to crop it. A network in a
/// file has its weights.
void note_unused(Point& point) {
    const config::ImageSettings& image = point.settings.image;
    const config::ImageSettings unset;
    if (point.settings.network.is_custom() && point.settings.weights != config::PointSettings{}.weights)
        point.notes.push_back(fmt::format("weights = {} has no effect: {} holds its weights", point.settings.weights,
                                          point.settings.network.file));
    if (image.path.empty()) return;
    if (image.height != unset.height || image.width != unset.width || image.channels != unset.channels)
        point.notes.emplace_back(
            "image.height, image.width and image.channels have no effect on a file: "
            "image.crop_height and image.crop_width cut it, image.bands chooses channels");
}

/// Settles everything that does not depend on the launch. Throws Refused for a shape that odd_shape does not allow.
void resolve(Point& point, const config::StudySettings& study, const Topology& topology, Sources& sources) {
    const config::PointSettings& settings = point.settings;
    config::validate(settings);
    point.num_ranks = settings.ranks.is_automatic() ? topology.num_ranks() : static_cast<int>(settings.ranks.count);
    settle_height(point.settings, point.num_ranks);
    point.source = sources.find(settings.image);
    note_unused(point);
    check_custom(point);
    if (!is_simulated(point)) point.relative = sources.find_relative(settings, point.source.channels);
    point.device =
        settings.device == config::DeviceChoice::cuda ? DeviceKind::cuda : DeviceKind::cpu;  // final value: place_point
    point.sigma = settings.sigma.is_automatic() ? settings.image.noise_sigma : settings.sigma.level;
    note_sigma(point);
    note_extension(point);
    check_output(point, study);
    settings.workload == config::Workload::whole ? settle_whole(point) : settle_tiles(point);
    if (is_simulated(point))
        settle_timed(point);
    else if (settings.timed != config::TimedSettings{})
        point.notes.emplace_back("timed.* has no effect: the engine is not timed");
}

/// It is run all the same: a prediction can be wrong.
void note_beyond_limit(Point& point, const Topology& topology) {
    const auto limit = static_cast<double>(point.settings.memory_limit_mib);
    const double device = device_mib(point, topology);
    const double peak = limit > 0 || device > 0 ? predict(point).value_or(Prediction{}).peak_mib : 0;
    const auto note = [&](const std::string& what) {
        point.notes.push_back(fmt::format("a rank is predicted to take {:.0f} MiB, {}", peak, what));
    };
    if (limit > 0 && peak > limit) note(fmt::format("more than memory_limit_mib = {:.0f}", limit));
    if (device > 0 && peak > device) note(fmt::format("and its GPU has {:.0f} for it", device));
}

Point make_point(const config::PointSettings& settings, int64_t index, const config::StudySettings& study,
                 const Topology& topology, Sources& sources) {
    Point point;
    point.index = index;
    point.settings = settings;
    try {
        resolve(point, study, topology, sources);
        place_point(point, study, topology);
        weigh_context(point, topology);
        note_beyond_limit(point, topology);
    } catch (const Refused& refusal) {
        point.refusal = refusal.what();
    } catch (const UsageError& error) {
        throw PointError(point, error.what());
    }
    point.key = key_of(point);
    return point;
}

/// As the point's key, but the same for all patches and halos where one patch holds the image.
std::string work_key(Point point) {
    const bool is_tiled = point.settings.workload == config::Workload::tiles && point.halo && !is_in_bands(point);
    if (!is_tiled || tile_grid(point).num_patches() > 1) return point.key;
    point.settings.patch = 0;
    point.settings.halo = {config::HaloSetting::Kind::pixels, 0};
    return key_of(point);
}

/// With `ranks: [1, 2, 4, all]` on four ranks, `all` adds a point that exists already, which is refused. Other repeated
/// points may be intended.
void note_repeated(Point& point, const Point& first) {
    const std::string same = fmt::format("the same measurement as point {}", first.index);
    const bool is_all_again = point.settings.ranks.is_automatic() && !first.settings.ranks.is_automatic();
    if (is_all_again && point.refusal.empty())
        point.refusal = "ranks = all: " + were_started(point.num_ranks) + ", " + same;
    else
        point.notes.push_back(same);
}

/// A study in which no point can run is a mistake.
void check_refusals(const Plan& plan) {
    const auto is_refused = [](const Point& point) { return !point.refusal.empty(); };
    if (plan.points.empty() || !std::all_of(plan.points.begin(), plan.points.end(), is_refused)) return;
    const Point& first = plan.points.front();
    throw PointError(first, first.refusal, plan.points.size() > 1 ? " (no point of the study can run here)" : "");
}

}  // namespace

PointError::PointError(const Point& point, const std::string& why, const std::string& remark)
    : UsageError(fmt::format("point {} ({}): {}{}", point.index, label_of(point), why, remark)), reason_(why) {}

Plan make_plan(const config::Config& config, const Topology& topology, const SourceLookup& lookup,
               const NetworkLookup& networks) {
    config::validate(config.study);
    Plan plan{config.study, {}};
    Sources sources(lookup, networks);
    std::unordered_map<std::string, int64_t> first_with_key, first_with_work;
    for (const config::PointSettings& settings : config.points) {
        Point point = make_point(settings, static_cast<int64_t>(plan.points.size()), config.study, topology, sources);
        const auto [first, is_new] = first_with_key.emplace(point.key, point.index);
        const auto [alike, does_new_work] = first_with_work.emplace(work_key(point), point.index);
        if (!is_new)
            note_repeated(point, plan.points[static_cast<size_t>(first->second)]);
        else if (!does_new_work)
            point.notes.push_back(
                fmt::format("computes what point {} does, because one patch holds the image", alike->second));
        plan.points.push_back(std::move(point));
    }
    check_refusals(plan);
    return plan;
}

}  // namespace pb::plan
