// What a Runner holds, and the steps of a point: prepare, measure, conclude.
#pragma once

#include "run/point/bounds.hpp"
#include "run/point/engine_cache.hpp"
#include "run/point/rank_share.hpp"
#include "run/point/settle.hpp"
#include "run/runner.hpp"
#include "run/verify/verification.hpp"
#include "run/weights_source.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pb::run {

/// A point whose image is read and whose pass has not begun.
struct PreparedPoint {
    std::shared_ptr<const engine::Weights> network;
    std::string weights_digest;
    std::unique_ptr<RankShare> share;
};

/// An image of Runner::add() that waits for others to fill a batch.
struct WaitingImage {
    ImageJob job;
    Team* team = nullptr;
    record::PointTrace trace;
    PreparedPoint prepared;
    std::string user_error;
    int64_t images_in_pass = 1;
};

struct Runner::Impl {
    Impl(const comm::Communicator& world, const plan::Topology& topology, const config::StudySettings& study_settings,
         std::shared_ptr<SharedBlocks> blocks)
        : study(study_settings),
          teams(world, topology, study),
          shared_blocks(blocks ? std::move(blocks) : make_shared_blocks(world, topology)) {}

    config::StudySettings study;
    Teams teams;
    std::shared_ptr<SharedBlocks> shared_blocks;  // null: this rank shares nothing
    WeightsCache weights;
    EngineCache engines;
    ReferenceCache references;
    BoundsCache bounds;
    std::optional<TypicalHalos> typical_halos;  // none: each image is searched
    std::map<std::string, std::string> image_digests;
    std::set<std::string> previewed;  // networks whose pictures are saved; only on the root
    ProgressListener* listener = nullptr;
    std::optional<CheckBudget> check_budget;  // none: every point is verified as its settings say
    std::vector<WaitingImage> waiting;
    int64_t num_groups = 0;  // passes over several images

    void begin(Activity activity) const {
        if (listener != nullptr) listener->begin(activity);
    }

    /// Runs a step of a point. Its failure becomes the status of the trace. Returns an error that the user must
    /// correct.
    static std::string try_step(const Team& team, record::PointTrace& trace, const std::function<void()>& step);

    /// `source` is opened by the caller.
    [[nodiscard]] PreparedPoint prepare(Team& team, const PointFiles& files, ImageSource& source,
                                        record::PointTrace& trace);
    void measure(Team& team, RankShare& share, const std::shared_ptr<const engine::Weights>& network,
                 record::PointTrace& trace);
    /// Verifies and saves.
    void conclude(Team& team, const PreparedPoint& point, const PointFiles& files, ImageSource& source,
                  record::PointTrace& trace, CheckDepth depth);
    /// Collective. Throws PointFailed when the file of a network that the user brings was replaced since its weights
    /// were found: engines open it by its name.
    void require_same_network(const Team& team, const plan::Point& point, const engine::Weights& network,
                              int64_t channels);
    [[nodiscard]] CheckDepth decide_depth(const record::PointTrace& trace, const engine::Weights& network);

    /// The path in double precision, where the setting asks for it; a note where there is none: a network that the user
    /// brings has no layers here.
    [[nodiscard]] std::unique_ptr<ReferencePath> make_exact_reference(
        plan::Point& point, const std::shared_ptr<const engine::Weights>& network, ImageSource& source);

    /// Finishes the images that wait, several in one pass.
    void finish_waiting();

    static std::string try_image_step(const Team& team, record::PointTrace& trace, const std::function<void()>& step);

  private:
    /// The engine that a point is measured with.
    std::shared_ptr<engine::Denoiser> find_engine(const plan::Point& point, const Team& team,
                                                  const std::shared_ptr<const engine::Weights>& network);
    void settle(Team& team, ImageSource& source, const std::shared_ptr<const engine::Weights>& network,
                record::PointTrace& trace);
    int64_t find_halo(const plan::Point& point, const Team& team, const std::shared_ptr<const engine::Weights>& network,
                      ImageSource& source);
    std::unique_ptr<ReferencePath> make_reference(const plan::Point& point, const Team& team,
                                                  const std::shared_ptr<const engine::Weights>& network,
                                                  ImageSource& source, std::string* note = nullptr);
    void check(Team& team, const PreparedPoint& point, ImageSource& source, record::PointTrace& trace,
               CheckDepth depth);
    void save(const Team& team, const RankShare& share, ImageSource& source, const PointFiles& files,
              record::PointTrace& trace);
    void save_output_preview(CoreSink& output, ImageSource& source, const PointFiles& files, record::PointTrace& trace);
    void describe(const ImageSource& source, const engine::Weights& network, const PointFiles& files,
                  record::PointTrace& trace);
    const std::string& digest_of(const std::string& file);
    std::shared_ptr<const engine::Weights> find_network(const plan::Point& point, int64_t channels);

    void pass_over(std::vector<WaitingImage>& images);
    bool pass_together(std::vector<WaitingImage>& images);
    void pass_alone(WaitingImage& image);
    void conclude_all(std::vector<WaitingImage>& images);
};

}  // namespace pb::run
