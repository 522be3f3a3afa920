#include "app/denoise/launch.hpp"

#include "app/terminal.hpp"
#include "plan/plan.hpp"
#include "run/pipeline/batch_queue.hpp"
#include "run/point/engine_cache.hpp"

#include <algorithm>
#include <iterator>

namespace pb::app {

namespace {

/// Ranks on several nodes ask early: the answer may take as long as an image of the root
/// (comm/shared/shared_counter.hpp).
run::BatchQueue make_queue(const DenoiseLaunch& launch) {
    std::vector<Range> numbers = plan::cut_batches({0, std::ssize(launch.sharing.apart)}, 1);
    if (launch.world.size() == 1) return run::BatchQueue(std::move(numbers));
    return {std::move(numbers), launch.world, launch.topology.num_nodes() > 1};
}

}  // namespace

DenoiseLaunch make_launch(const DenoiseArguments& arguments, const comm::Communicator& world,
                          const plan::Topology& topology, const std::vector<DenoiseJob>& jobs) {
    DenoiseLaunch launch{arguments,
                         world,
                         topology,
                         jobs,
                         plan::share_images(input_bytes(world, jobs), world.size()),
                         run::make_shared_blocks(world, topology)};
    const std::string line = plan::sharing_line(launch.sharing, world.size());
    if (world.is_root() && !line.empty()) print_text(stdout, "{}\n", line);
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

void work_together(const DenoiseLaunch& launch, const WorkOnImage& work, const std::function<void()>& finish) {
    int64_t number = 0;
    for (const size_t job : launch.sharing.together)
        if (!work(job, ++number)) break;
    finish();
}

void work_apart(const DenoiseLaunch& launch, const WorkOnImage& work, const std::function<void()>& finish) {
    run::BatchQueue queue = make_queue(launch);
    queue.begin_pass();
    const std::vector<size_t>& jobs = launch.sharing.apart;
    bool goes_on = true;
    // A rank that was interrupted takes what is left without working on it: then the others end, too.
    for (auto next = queue.next(); next; next = queue.next())
        goes_on =
            goes_on && work(jobs[static_cast<size_t>(next->begin)], std::ssize(launch.sharing.together) + next->end);
    finish();
    launch.world.sleeping_barrier();  // the end of the queue waits, too, but it spins
}

}  // namespace pb::app
