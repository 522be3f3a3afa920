#include "run/runner.hpp"

#include "base/sha256.hpp"
#include "base/stopwatch.hpp"
#include "base/user_paths.hpp"
#include "comm/interruption.hpp"
#include "config/sample_settings.hpp"
#include "config/text.hpp"
#include "engine/memory.hpp"
#include "plan/context.hpp"
#include "run/agreement.hpp"
#include "run/from_root.hpp"
#include "run/point/batch_search.hpp"
#include "run/point/point_options.hpp"
#include "run/point/repetitions.hpp"
#include "run/point/runner_impl.hpp"
#include "run/point/settle.hpp"
#include "run/verify/reach.hpp"

#include <fmt/format.h>

#include <utility>

namespace pb::run {

namespace {

record::PointTrace not_run(const plan::Point& point, record::PointStatus status, std::string reason) {
    record::PointTrace trace;
    trace.point = point;
    trace.status = status;
    trace.reason = std::move(reason);
    return trace;
}

/// Notes which networks and tensors of the weights' file are not read, and what its names leave open.
void note_weights(const engine::Weights& weights, plan::Point& point) {
    std::string note = weights.note;
    if (!weights.guess.empty()) add_item(note, weights.guess, "; ");
    if (note.empty()) return;
    point.weights_note = weights.source + ": " + note;
    point.notes.push_back(point.weights_note);
}

/// Notes a channel that is kept as alpha is, though the file does not call it so.
void note_channel(ImageSource& source, plan::Point& point) {
    if (!source.stored_info().has_alpha || !source.file()->metadata().has_unnamed_channel) return;
    point.channel_note = fmt::format(
        "channel {} is kept as it is: the file does not say what it is; image.bands (--bands) names what to denoise",
        source.channels() + 1);
    point.notes.push_back(point.channel_note);
}

/// Notes the range that `image.range: auto` found.
void note_range(const ImageSource& source, plan::Point& point) {
    if (source.map() == nullptr ||
        config::parse_range(point.settings.image.range).kind != config::RangeChoice::Kind::automatic)
        return;
    point.notes.push_back("image.range = auto is " + range_setting(source.map()->range()));
}

}  // namespace

void run_plan(const plan::Plan& plan, Runner& runner, const OutputNames& outputs, const PointSink& sink) {
    std::optional<std::string> interrupted;
    for (const plan::Point& point : plan.points) {
        if (!interrupted) interrupted = runner.find_interruption();
        if (!point.refusal.empty())
            sink(not_run(point, record::PointStatus::refused, point.refusal));
        else if (interrupted)
            sink(not_run(point, record::PointStatus::skipped,
                         "the run was interrupted before this point (" + *interrupted + ")"));
        else
            sink(runner.run(point, outputs(point)));
    }
}

std::shared_ptr<const engine::Weights> Runner::Impl::find_network(const plan::Point& point, int64_t channels) {
    if (!plan::is_simulated(point)) return weights.find(point.settings, channels);
    engine::Weights none;
    none.shape = point.shape();
    none.source = "none (simulated)";
    return std::make_shared<const engine::Weights>(std::move(none));
}

const std::string& Runner::Impl::digest_of(const std::string& file) {
    auto& digest = image_digests[file + " " + file_version(file)];  // a file that was replaced since is another one
    if (digest.empty()) digest = sha256_of_file(file);
    return digest;
}

void Runner::Impl::describe(const ImageSource& source, const engine::Weights& network, const PointFiles& files,
                            record::PointTrace& trace) {
    const plan::Point& point = trace.point;
    trace.weights_source = network.source;
    trace.weights_layout = network.layout;
    trace.weights_sha256 = network.sha256;
    trace.sample_type = source.dtype();
    // The digest requires reading a large file again, so it is only computed when results are written.
    const bool is_recorded = teams.world().is_root() && !files.folder.empty();
    if (is_recorded && !point.settings.image.path.empty()) trace.image_sha256 = digest_of(point.settings.image.path);
    if (is_recorded && !point.settings.image.clean.empty()) trace.clean_sha256 = digest_of(point.settings.image.clean);
    const std::string& adapter = point.settings.engine.file;  // an absent one is the failure of its point
    if (is_recorded && std::filesystem::exists(adapter)) trace.engine_sha256 = digest_of(adapter);
    const double copies = point.settings.replicate ? point.num_ranks : 1;
    trace.useful_pixels = copies * static_cast<double>(source.extent().pixels());
}

void Runner::Impl::require_same_network(const Team& team, const plan::Point& point, const engine::Weights& network,
                                        int64_t channels) {
    const config::PointSettings& settings = point.settings;
    if (!settings.network.is_custom() || plan::is_simulated(point)) return;
    together(team.ranks, [&] {
        if (!weights.is_current(network, settings, channels))
            throw Error(settings.network.file + ": was replaced while this point ran; measure it again");
    });
}

/// Not collective: for the root of the team.
int64_t Runner::Impl::find_halo(const plan::Point& point, const Team& team,
                                const std::shared_ptr<const engine::Weights>& network, ImageSource& source) {
    if (!has_seams(point)) return 0;
    if (!typical_halos || is_worth_a_halo_search(point, reach_of(*network).halo))
        return search_halo(point, *make_reference(point, team, network, source), kHaloCaution);
    return typical_halos->find(point, *network, [&](const plan::Point& scene, ImageSource& scene_source) {
        return make_reference(scene, team, network, scene_source);
    });
}

std::shared_ptr<engine::Denoiser> Runner::Impl::find_engine(const plan::Point& point, const Team& team,
                                                            const std::shared_ptr<const engine::Weights>& network) {
    engine::EngineOptions options = engine_options(point, team.place);
    const int sharers = plan::sharers_of(teams.topology(), team.members, teams.world().rank());
    if (options.engine == EngineKind::native && shared_blocks && sharers > 1)
        options.shared = {shared_blocks, sharers, weights.digest_of(*network)};
    return engines.find(network, options);
}

/// Settles the halo first, because the grid depends on it, and then the batch.
void Runner::Impl::settle(Team& team, ImageSource& source, const std::shared_ptr<const engine::Weights>& network,
                          record::PointTrace& trace) {
    plan::Point& point = trace.point;
    const device::Conversion conversion = conversion_for(point, *network);
    if (!point.halo) {
        begin(Activity::halo_search);
        int64_t halo = 0;
        together(team.ranks, [&] {
            if (team.is_root()) halo = find_halo(point, team, network, source);
        });
        plan::settle_searched_halo(point, from_root(team.ranks, halo));
        begin(Activity::preparation);
    }
    if (!point.batch) {
        const engine::MemoryCap cap(team.place.device, point.settings.memory_limit_mib);
        std::shared_ptr<engine::Denoiser> denoiser;
        together(team.ranks, [&] { denoiser = find_engine(point, team, network); });
        const TrialBench bench{
            point, team, *denoiser, pipeline_options(point, team.place, conversion), source.channels(), source.dtype()};
        plan::settle_batch(point, point.settings.batch.largest ? search_largest(bench, trace) : find_batch(bench));
    }
}

void Runner::Impl::measure(Team& team, RankShare& share, const std::shared_ptr<const engine::Weights>& network,
                           record::PointTrace& trace) {
    const plan::Point& point = trace.point;
    const engine::MemoryCap cap(team.place.device, point.settings.memory_limit_mib);  // not on the verification
    std::shared_ptr<engine::Denoiser> denoiser;
    std::unique_ptr<Pipeline> pipeline;
    std::array<double, 2> start_s{};  // load, prepare
    together(team.ranks, [&] {
        PipelineOptions options = pipeline_options(point, team.place, conversion_for(point, *network));
        options.ranks = &team.ranks;
        options.device_borders = team.borders.get();
        if (plan::is_simulated(point)) {
            pipeline = make_timed_pipeline(call_seconds(point.settings.timed, team.ranks.rank()), share.work(), options,
                                           static_cast<size_t>(share.channels()) * size_of(share.sample_type()));
            return;
        }
        Stopwatch watch;
        denoiser = find_engine(point, team, network);
        start_s[0] = watch.lap();
        pipeline = make_pipeline(*denoiser, share.work(), options, share.channels(), share.sample_type());
        start_s[1] = watch.lap();
    });
    const std::vector<double> slowest_s = team.reduction->max(start_s);
    trace.load_s = slowest_s[0];
    trace.prepare_s = slowest_s[1];
    share.batches().report_to(listener);
    run_repetitions(team, teams.topology(), *pipeline, share, trace, denoiser.get());
    profile_layers(team, *pipeline, trace);
    if (denoiser) trace.network_sha256 = denoiser->network_sha256();
    if (denoiser && !denoiser->remark().empty()) trace.point.notes.push_back(denoiser->remark());
}

PreparedPoint Runner::Impl::prepare(Team& team, const PointFiles& files, ImageSource& source,
                                    record::PointTrace& trace) {
    PreparedPoint prepared;
    together(team.ranks, [&] {
        device::select_device(team.place.device);
        prepared.network = find_network(trace.point, source.channels());
        if (!plan::is_simulated(trace.point)) prepared.weights_digest = weights.digest();
        settle_sigma(trace.point, *prepared.network);
        note_weights(*prepared.network, trace.point);
        note_channel(source, trace.point);
        note_range(source, trace.point);
        describe(source, *prepared.network, files, trace);
    });
    begin(Activity::preparation);
    settle(team, source, prepared.network, trace);
    trace.prediction = plan::predict(trace.point);
    trace.processed_pixels = plan::processed_pixels(trace.point);
    trace.computed_pixels = plan::computed_pixels(trace.point);
    trace.input_pixels = plan::input_pixels(trace.point);
    trace.num_patches = num_patches(trace.point);
    trace.shared_device = team.shares_device;
    trace.binding = plan::binding_of(teams.topology(), team.members);

    begin(Activity::reading);
    const OutputPlan output = plan_output(trace.point, team, source, files, trace.point.notes);
    prepared.share = std::make_unique<RankShare>(trace.point, team, source, output);
    trace.read_s = team.reduction->max(std::array{prepared.share->read_s}).front();
    trace.noise_s = team.reduction->max(std::array{prepared.share->noise_s}).front();
    return prepared;
}

std::string Runner::Impl::try_step(const Team& team, record::PointTrace& trace, const std::function<void()>& step) {
    std::string user_error;
    try {
        step();
    } catch (const PointFailed& failure) {
        trace.status = failure.status();
        trace.reason = failure.what();
    } catch (const AgreedError& error) {
        user_error = error.what();
    }
    engine::empty_allocator_cache(team.place.device);
    return user_error;
}

Runner::Runner(const comm::Communicator& world, const plan::Topology& topology, const config::StudySettings& study,
               std::shared_ptr<SharedBlocks> blocks)
    : impl_(std::make_unique<Impl>(world, topology, study, std::move(blocks))) {}
Runner::~Runner() = default;
void Runner::keep_engines() {
    impl_->engines.keep();
    impl_->weights.keep(2);  // for gray and for colour images
}
void Runner::bound_searches(const std::filesystem::path& cache) { impl_->typical_halos.emplace(cache); }
void Runner::report_to(ProgressListener* listener) { impl_->listener = listener; }
void Runner::bound_verification(double share) { impl_->check_budget.emplace(share); }

plan::NetworkLookup Runner::network_lookup() { return impl_->weights.lookup(); }
void Runner::read_weights(const plan::Point& point) {
    (void)impl_->weights.find(point.settings, point.source.channels);
}
void Runner::settle_weights(plan::Point& point) {
    settle_sigma(point, *impl_->weights.find(point.settings, point.source.channels));
}

std::optional<std::string> Runner::find_interruption() const {
    const std::string mine = comm::interruption();
    return impl_->teams.world().agree(mine.empty() ? std::nullopt : std::optional(mine + " came"));
}

record::PointTrace Runner::run(const plan::Point& point, const PointFiles& files, ImageSource* opened) {
    record::PointTrace trace;
    trace.point = point;
    Team& team = impl_->teams.of(point);
    std::string user_error;
    if (team.takes_part()) {
        std::optional<ImageSource> opened_here;
        PreparedPoint prepared;  // after an error on which all ranks agree it ends on all of them together
        user_error = Impl::try_step(team, trace, [&] {
            impl_->begin(Activity::reading);
            together(team.ranks, [&] {
                if (opened == nullptr) opened = &opened_here.emplace(trace.point.settings.image);
            });
            prepared = impl_->prepare(team, files, *opened, trace);
            impl_->begin(Activity::preparation);
            impl_->measure(team, *prepared.share, prepared.network, trace);
            impl_->conclude(team, prepared, files, *opened, trace, impl_->decide_depth(trace, *prepared.network));
        });
    }
    // Rank 0 takes part in every point, so it can tell the sleeping ranks the outcome.
    const comm::Communicator& world = impl_->teams.world();
    if (world.size() > 1) impl_->begin(Activity::waiting);
    world.sleeping_barrier();
    trace.status = from_root(world, trace.status);
    user_error = world.broadcast(user_error);
    if (!user_error.empty()) throw AgreedError(user_error, ExitCode::usage);
    return trace;
}

}  // namespace pb::run
