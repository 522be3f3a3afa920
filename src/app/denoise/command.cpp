// patchbench denoise IN... OUT: denoises images for everyday use. It uses the points, plan and pipeline of a study,
// with one pass for each image.
#include "app/commands.hpp"
#include "app/custom_networks.hpp"
#include "app/denoise/arguments.hpp"
#include "app/denoise/images.hpp"
#include "app/denoise/progress.hpp"
#include "app/denoise/results.hpp"
#include "app/session.hpp"
#include "app/terminal.hpp"
#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "base/user_cache.hpp"
#include "comm/shared/shared_counter.hpp"
#include "plan/image_sharing.hpp"
#include "plan/plan.hpp"
#include "run/agreement.hpp"
#include "run/environment.hpp"
#include "run/from_root.hpp"
#include "run/pipeline/batch_queue.hpp"
#include "run/point/engine_cache.hpp"
#include "run/weights_source.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

namespace pb::app {

namespace {

/// The images of one launch, and the ranks that work on them.
struct DenoiseLaunch {
    const DenoiseArguments& arguments;
    const comm::Communicator& world;
    const plan::Topology& topology;
    const std::vector<DenoiseJob>& jobs;
    bool single = false;  // one image was named: what is wrong with it ends the program
    plan::ImageSharing sharing;
    std::shared_ptr<SharedBlocks> blocks;  // of the ranks of each node
    plan::ImageOrder order;
};

/// Throws on all ranks where one cannot write into the folder of the outputs, or does not see there what the root
/// writes: its images would be lost. Collective.
void require_shared_folder(const comm::Communicator& world, const std::filesystem::path& output) {
    std::optional<AtomicFile> probe;
    const auto name = [&](int rank) { return output.parent_path() / fmt::format("seen-by-rank-{}", rank); };
    run::together(world, [&] { probe.emplace(name(world.rank())); });
    const std::filesystem::path of_root = run::from_root(world, probe.value().path());
    run::together(world, [&] {
        if (!std::filesystem::exists(of_root))
            throw UsageError(fmt::format("the output folder '{}' is not that of rank 0: name one that all nodes see",
                                         output.parent_path().string()));
    });
    world.barrier();  // then the root's is removed
}

/// Decides how the images are shared out. The root prints it. Collective.
DenoiseLaunch make_launch(const DenoiseArguments& arguments, const comm::Communicator& world,
                          const plan::Topology& topology, const std::vector<DenoiseJob>& jobs, bool single) {
    std::vector<int64_t> bytes;
    std::ranges::transform(jobs, std::back_inserter(bytes), &DenoiseJob::bytes);
    const plan::ImageSharing sharing = plan::share_images(bytes, world.size());
    DenoiseLaunch launch{arguments,
                         world,
                         topology,
                         jobs,
                         single,
                         sharing,
                         run::make_shared_blocks(world, topology),
                         plan::ImageOrder(sharing, bytes)};
    const std::string line = plan::sharing_line(launch.sharing, world.size());
    if (world.is_root() && !line.empty()) print_text(text_stream(arguments.json), "{}\n", line);
    if (world.size() == 1 || launch.sharing.apart.empty()) return launch;
    if (!arguments.dry_run) require_shared_folder(world, jobs.front().output);
    if (const auto obstacle = comm::shared_counter_obstacle(world)) throw run::AgreedError(*obstacle, ExitCode::usage);
    return launch;
}

Group make_group(const DenoiseLaunch& launch, bool apart) {
    const int rank = launch.world.rank();
    Group group{launch.world.split(apart ? rank : 0, rank), launch.topology, launch.blocks};
    if (!apart) return group;
    const plan::RankPlace& place = launch.topology.place_of(rank);
    group.topology.num_apart =
        static_cast<int>(std::ranges::count(launch.topology.ranks, place.node, &plan::RankPlace::node));
    group.topology.ranks = {place};
    group.topology.ranks.front().rank = 0;
    return group;
}

/// Ranks on several nodes ask early: the answer may take as long as an image of the root
/// (comm/shared/shared_counter.hpp).
run::BatchQueue make_queue(const DenoiseLaunch& launch) {
    std::vector<Range> numbers = plan::cut_batches({0, std::ssize(launch.sharing.apart)}, 1);
    if (launch.world.size() == 1) return run::BatchQueue(std::move(numbers));
    return {std::move(numbers), launch.world, launch.topology.num_nodes() > 1};
}

/// Gives each image that all ranks work on to all ranks: calls `work(job, number)` with the index of the image and its
/// number of all, from 1; it returns false after a signal. Collective.
template <class Work>
void work_together(const DenoiseLaunch& launch, Denoise& denoise, const Work& work) {
    int64_t number = 0;
    for (const size_t job : launch.sharing.together)
        if (!work(job, ++number)) break;
    denoise.finish();
}

/// Gives each of the other images to one rank, the one that is free first. Returns when all ranks are done. Collective,
/// but not `work` and the end of the images, which must not throw if there are several ranks.
template <class Work>
void work_apart(const DenoiseLaunch& launch, Denoise& denoise, const Work& work) {
    run::BatchQueue queue = make_queue(launch);
    queue.begin_pass();
    const std::vector<size_t>& jobs = launch.sharing.apart;
    bool goes_on = true;
    // A rank that was interrupted takes what is left without working on it: then the others end, too.
    for (auto next = queue.next(); next; next = queue.next())
        goes_on =
            goes_on && work(jobs[static_cast<size_t>(next->begin)], std::ssize(launch.sharing.together) + next->end);
    denoise.finish();
    launch.world.sleeping_barrier();  // the end of the queue waits, too, but it spins
}

/// Denoises the images that single ranks work on, or those that all ranks work on. Collective.
void denoise_images(const DenoiseLaunch& launch, bool apart, DenoiseProgress& progress, ImageResults& results) {
    const size_t count = (apart ? launch.sharing.apart : launch.sharing.together).size();
    if (count == 0) return;
    const Group group = make_group(launch, apart);
    const std::string rank = apart && launch.world.size() > 1 ? comm::name_of_rank(launch.world) : "";
    const auto report = [&](size_t job, std::vector<ImageLine> lines, const ImagePasses& passes) {
        const bool names_rank = !passes.is_written && !passes.is_interrupted && !rank.empty();
        for (ImageLine& line : lines)
            if (names_rank && line.status != record::PointStatus::ok) line.reason += fmt::format(" ({})", rank);
        if (group.ranks.is_root()) results.push_back({job, std::move(lines), passes});
    };
    Denoise denoise(launch.arguments, group, progress, report);
    if (apart && count > 1) denoise.keep_engines();
    const auto work = [&](size_t job, int64_t number) {
        if (denoise.find_interruption()) return false;
        const DenoiseJob& image = launch.jobs[job];
        progress.begin_image(image.input.filename().string(),
                             launch.order.place(number, apart ? launch.world.size() : 1), denoise.num_waiting());
        denoise.run(job, image, launch.single);
        return true;
    };
    apart ? work_apart(launch, denoise, work) : work_together(launch, denoise, work);
}

/// Ranks that work on images of their own compare neither images nor weights while they do: here they compare the sizes
/// of the images (of a thousand at most) and the bytes of the weights. Collective.
void require_same_inputs(const comm::Communicator& world, const config::PointSettings& settings,
                         const std::vector<DenoiseJob>& jobs) {
    constexpr int64_t kMostImages = 1000;
    if (world.size() == 1) return;
    const auto step = static_cast<size_t>(ceil_div(std::ssize(jobs), kMostImages));
    uintmax_t bytes = 0;
    for (size_t i = 0; i < jobs.size(); i += step) {
        std::error_code unknown;  // what cannot be read is said of that image
        const uintmax_t size = std::filesystem::file_size(jobs[i].input, unknown);
        if (!unknown) bytes += size;
    }
    std::vector<std::filesystem::path> files;
    run::together(world, [&] { files = run::weights_files(settings); });
    run::require_same_files(world, fmt::format("{} images, {} bytes", jobs.size(), bytes), files);
}

/// What settings do not hold.
std::vector<std::string> option_lines(const DenoiseArguments& arguments) {
    const auto line = [](const char* option, bool given) { return fmt::format("{} = {}", option, given); };
    std::vector<std::string> lines{
        "--sigma " + arguments.sigma,
        "--bands " + arguments.bands,
        "--pages " + arguments.pages,
        fmt::format("--format = {}", name_of(arguments.format)),
        line("--network given", arguments.names_network),
        "--clean " + arguments.clean,
        fmt::format("--compress {}", arguments.compression ? name_of(*arguments.compression) : "auto"),
        line("--no-cache", arguments.no_cache),
        line("--no-clobber", arguments.no_clobber),
        line("--dry-run", arguments.dry_run),
        line("--json", arguments.json),
        line("--recursive", arguments.recursive),
        line("--share-devices", arguments.share_devices),
        line("--trust-model", arguments.trusts_model),
        line("--verify of all images", !arguments.verify.is_bounded),
        fmt::format("{} of IN... OUT", counted(arguments.paths.size(), "path"))};
    for (const std::string& path : arguments.paths) lines.push_back("the path " + path);
    return lines;
}

ExitCode run_denoise(DenoiseArguments arguments, RankSession& session) {
    const comm::Communicator& world = session.world;
    run::require_same_software(world, run::Software::linked);
    config::PointSettings settings;
    run::together(world, [&] {
        if (arguments.paths.size() < 2) throw UsageError("denoise takes inputs and an output: denoise IN... OUT");
        settings = settings_from(arguments);
        (void)sigma_from(arguments);
        (void)parse_pages(arguments.pages);
    });
    run::require_same_settings(world, {}, {settings}, option_lines(arguments));
    DenoiseJobs found = list_jobs(world, paths_from(arguments));
    if (!arguments.dry_run) make_folders(world, found);
    const size_t num_named = found.jobs.size();
    const std::string kept = arguments.no_clobber ? remove_done(found.jobs) : "";
    if (world.is_root()) print_folded(text_stream(arguments.json), kept);
    const ImageCounts counts{found.jobs.size(), num_named - found.jobs.size(), found.num_passed_over};
    if (found.jobs.empty()) return conclude_none(world, counts, arguments.dry_run, arguments.json);
    if (!arguments.names_network) take_network_of_weights(world, arguments.settings);
    settle_networks({&arguments.settings}, arguments.trusts_model, world, arguments.no_cache ? "" : cache_folder());
    if (const auto& card = arguments.settings.network.card; card && !arguments.names_patch)
        arguments.settings.patch = round_up(arguments.settings.patch, card->alignment);
    if (found.jobs.size() > 1) require_same_inputs(world, arguments.settings, found.jobs);
    const config::SharingRule sharing =
        arguments.share_devices ? config::SharingRule::allow : config::SharingRule::error;
    const plan::Topology topology = run::gather_topology(world, settings.device, sharing);
    run::together(world, [&] { require_possible(arguments, topology); });
    if (world.is_root()) print_nodes(topology);
    const DenoiseLaunch launch = make_launch(arguments, world, topology, found.jobs, num_named == 1);
    DenoiseProgress progress(world.is_root());
    ImageResults results;
    for (const bool apart : {false, true}) denoise_images(launch, apart, progress, results);
    return (arguments.dry_run ? conclude_dry_run : conclude)(world, results, counts, progress, arguments.json);
}

}  // namespace

void add_denoise_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<DenoiseArguments>();
    CLI::App* command = app.add_subcommand("denoise", "denoise images, keeping type, size, alpha and metadata");
    add_denoise_options(*command, *arguments);
    command->footer(
        "Examples:\n"
        "  patchbench denoise in.png out.png\n"
        "  mpirun -n 4 patchbench denoise photos/ denoised/ --recursive --no-clobber\n"
        "  patchbench denoise scan.tif out.tif --network model.onnx --range 0:4095 --sigma 40");
    command->callback([&chosen, arguments, command] {
        arguments->names_network = command->count("--network") > 0;
        arguments->names_patch = command->count("--patch") > 0;
        if (!arguments->config.empty()) take_config(*command, *arguments);
        chosen = [arguments](const Arguments& raw) {
            return with_ranks(raw, [&](RankSession& session) { return run_denoise(*arguments, session); });
        };
    });
}

}  // namespace pb::app
