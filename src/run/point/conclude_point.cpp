// What follows the measurement of a point: its verification, its quality, and what is saved of it.
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "engine/memory.hpp"
#include "image/quality.hpp"
#include "plan/rows.hpp"
#include "run/agreement.hpp"
#include "run/pixels/output.hpp"
#include "run/point/point_options.hpp"
#include "run/point/runner_impl.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace pb::run {

std::unique_ptr<ReferencePath> Runner::Impl::make_reference(const plan::Point& point, const Team& team,
                                                            const std::shared_ptr<const engine::Weights>& network,
                                                            ImageSource& source, std::string* note) {
    if (!network->has_layers()) {
        ReferenceEngine reference =
            make_custom_reference(*network, engine_options(point, team.place),
                                  [&](const engine::EngineOptions& options) { return engines.find(network, options); });
        if (note != nullptr) *note = std::move(reference.note);
        return std::make_unique<ReferencePath>(*network, std::move(reference.denoiser), Layout::contiguous,
                                               team.place.device, point.sigma, source);
    }
    const DeviceId device = team.place.device;
    const engine::EngineOptions options =
        reference_options(device, engine_options(point, team.place).threads, point.settings.engine);
    return std::make_unique<ReferencePath>(*network, engines.find(network, options), options.layout, device,
                                           point.sigma, source);
}

std::unique_ptr<ReferencePath> Runner::Impl::make_exact_reference(plan::Point& point,
                                                                  const std::shared_ptr<const engine::Weights>& network,
                                                                  ImageSource& source) {
    if (!point.settings.protocol.verify_fp64) return nullptr;
    if (!network->has_layers()) {
        point.notes.push_back(network->source + ": its layers are not known, so there is no comparison with fp64");
        return nullptr;
    }
    const engine::EngineOptions options{
        .engine = EngineKind::reference, .precision = Precision::fp32, .layout = Layout::contiguous, .threads = 1};
    return std::make_unique<ReferencePath>(*network, engines.find(network, options), options.layout, DeviceId{},
                                           point.sigma, source);
}

namespace {

/// Whether a quality can be of `samples` samples, of which `outside` are far outside of [0,1]: clipped to it, they
/// would be equal.
bool is_comparable(double samples, double outside) { return samples > 0 && 2 * outside <= samples; }

/// Limits samples to [0,1], as every quality does. False: one is not finite.
bool clip_to_unit(image::Image& image) {
    bool all_finite = true;
    for (int64_t y = 0; y < image.extent().h; ++y) {
        auto* row = reinterpret_cast<float*>(image.view().row(y));
        for (float& value : std::span(row, static_cast<size_t>(image.extent().w * image.channels()))) {
            all_finite = all_finite && std::isfinite(value);
            value = std::clamp(value, 0.0F, 1.0F);
        }
    }
    return all_finite;
}

/// The output, of a noisy file as it holds the output: with a range its samples are not rounded until they are stored.
/// Nothing where one is not finite.
std::optional<image::Image> read_as_stored(const Slab& output, ImageSource& source, const Rect& part) {
    image::Image samples = MemorySink(output, &source).read(part);
    if (!clip_to_unit(samples)) return std::nullopt;
    return source.map() == nullptr || source.adds_noise() ? std::move(samples) : source.as_stored(part, samples.view());
}

/// Sums over parts of an image, without gaps, which are equal in all of its images.
struct QualitySums {
    double noisy = 0, denoised = 0;  // squared errors
    double outside = 0;              // samples that are far outside of [0,1]
    double gaps = 0;

    void add(const PixelView& clean, const PixelView& noisy_part, const PixelView& denoised_part) {
        outside += static_cast<double>(image::count_far_outside(noisy_part, clean));
        noisy += image::squared_error(noisy_part, clean);
        denoised += image::squared_error(denoised_part, clean);
    }
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr record::Quality kNotFinite{kNone, kNone, kNone, kNone, 0};

/// Nothing where no sample has data in both images, or most are far outside of [0,1].
std::optional<record::Quality> quality_of(const QualitySums& sums, ImageSource& source) {
    const int64_t samples = source.extent().pixels() * source.channels() - static_cast<int64_t>(sums.gaps);
    if (!is_comparable(static_cast<double>(samples), sums.outside)) return std::nullopt;
    return record::Quality{image::psnr_of(sums.noisy, samples), image::psnr_of(sums.denoised, samples), kNone, kNone,
                           static_cast<double>(samples)};
}

/// Returns PSNR and SSIM before and after denoising, as quality_of(). Takes the memory of some rows, beside that of
/// files that are decoded as a whole. Call it only on the root.
std::optional<record::Quality> measure_quality(const Slab& output, ImageSource& source) {
    constexpr int64_t kRows = 256;
    const Extent whole = source.extent();
    const bool has_ssim = std::min(whole.h, whole.w) >= image::kSsimWindow;
    QualitySums sums;
    double noisy_ssim = 0, denoised_ssim = 0;
    for (int64_t row = 0; row < whole.h; row += kRows) {
        const Extent own{std::min(kRows, whole.h - row), whole.w};
        const Extent next{std::min<int64_t>(image::kSsimWindow - 1, whole.h - row - own.h), whole.w};
        const Rect part{row, 0, {own.h + next.h, whole.w}};  // the windows of SSIM that begin in the own rows
        std::optional<image::Image> denoised = read_as_stored(output, source, part);
        if (!denoised) return kNotFinite;
        image::Image clean = source.read_clean(part), noisy = source.read_noisy(part);
        sums.gaps += static_cast<double>(source.blank_gaps(part, {&clean, &*denoised, &noisy}));
        if (next.h > 0) sums.gaps -= static_cast<double>(source.blank_gaps({row + own.h, 0, next}, {}));
        const Rect rows{0, 0, own};
        sums.add(clean.view().part(rows), noisy.view().part(rows), denoised->view().part(rows));
        if (!has_ssim || part.extent.h < image::kSsimWindow) continue;
        noisy_ssim += image::ssim_sum(noisy.view(), clean.view());
        denoised_ssim += image::ssim_sum(denoised->view(), clean.view());
    }
    std::optional<record::Quality> quality = quality_of(sums, source);
    if (!quality || !has_ssim) return quality;
    quality->ssim_noisy = image::ssim_of(noisy_ssim, whole, source.channels());
    quality->ssim_denoised = image::ssim_of(denoised_ssim, whole, source.channels());
    return quality;
}

/// The same of a streamed output, without SSIM: each rank compares its own windows, and those of SSIM cross their
/// borders. Collective.
std::optional<record::Quality> measure_quality_by_windows(const Team& team, const RankShare& share,
                                                          ImageSource& source) {
    if (team.ranks.sum(static_cast<double>(share.streamed()->counts().not_finite)) > 0) return kNotFinite;
    QualitySums own;
    together(team.ranks, [&] {
        for (const int64_t index : indices_of(share.windows_done())) {
            const Rect part = share.work().tile(index).core;
            image::Image clean = source.read_clean(part), noisy = source.read_noisy(part);
            image::Image denoised = share.cores().read(part);
            own.gaps += static_cast<double>(source.blank_gaps(part, {&clean, &noisy, &denoised}));
            own.add(clean.view(), noisy.view(), denoised.view());
        }
    });
    const auto all = [&](double sum) { return team.ranks.sum(sum); };
    return quality_of({all(own.noisy), all(own.denoised), all(own.outside), all(own.gaps)}, source);
}

/// Notes the input's metadata that the output does not hold. `streamed`: all ranks wrote the output. The text is
/// written both into the notes and into the field that `denoise` prints.
void note_lost_metadata(ImageSource& source, const PointFiles& files, bool streamed, record::PointTrace& trace) {
    const bool in_tiles = files.compression.value_or(image::Compression::none) != image::Compression::none &&
                          (source.file() == nullptr || source.file()->num_pages() == 1);  // a stack has strips
    const bool placed = streamed || in_tiles;
    for (const std::string& each :
         image::lost_metadata(metadata_to_save(source, files.compression), files.image, placed))
        add_item(trace.lost_metadata, each);
    if (!trace.lost_metadata.empty())
        trace.point.notes.push_back("metadata not kept in the output: " + trace.lost_metadata);
}

}  // namespace

void Runner::Impl::check(Team& team, const PreparedPoint& point, ImageSource& source, record::PointTrace& trace,
                         CheckDepth depth) {
    const RankShare& share = *point.share;
    engine::empty_allocator_cache(team.place.device);
    if (share.streamed() != nullptr) finish_stream(team, *share.streamed(), trace);
    const bool wanted = trace.point.settings.protocol.verify != config::VerifyMode::off;
    if (plan::is_simulated(trace.point)) {
        if (wanted) trace.verification = verify_passed_through(trace, team, share, source);
        return;
    }
    if (wanted) {
        std::unique_ptr<ReferencePath> reference, exact;
        std::string note;
        together(team.ranks, [&] {
            reference = make_reference(trace.point, team, point.network, source, &note);
            exact = make_exact_reference(trace.point, point.network, source);
        });
        if (!note.empty()) trace.point.notes.push_back(note);
        const std::string& digest = trace.network_sha256.empty() ? point.weights_digest : trace.network_sha256;
        trace.verification = verify({trace, team, share, *reference, exact.get()}, digest, references, depth);
    }
    if (!source.clean_is_known() || trace.point.settings.output == config::OutputKind::checksum) return;
    if (share.streamed() != nullptr)
        trace.quality = measure_quality_by_windows(team, share, source);
    else
        together(team.ranks, [&] {
            if (team.is_root()) trace.quality = measure_quality(share.output(), source);
        });
    if (!trace.quality && trace.point.settings.image.clean.empty() && team.is_root())
        trace.point.notes.emplace_back("no PSNR: no sample has data, or most are far outside of [0, 1] (image.range)");
}

/// Saves pictures for the first point of each network. A failure adds a note and does not fail the point.
void Runner::Impl::save_output_preview(CoreSink& output, ImageSource& source, const PointFiles& files,
                                       record::PointTrace& trace) {
    constexpr size_t kMostPreviews = 12;
    const config::PointSettings& settings = trace.point.settings;
    const std::string network = settings.network.name() + ' ' + settings.weights + ' ' + settings.image.path;
    if (study.previews == 0 || files.preview.empty() || previewed.size() == kMostPreviews ||
        !previewed.insert(network).second)
        return;
    try {
        trace.preview = save_preview(output, source, study.previews, files);
    } catch (const std::exception& error) {
        trace.point.notes.push_back(std::string("no pictures for the report: ") + error.what());
    }
}

void Runner::Impl::save(const Team& team, const RankShare& share, ImageSource& source, const PointFiles& files,
                        record::PointTrace& trace) {
    together(team.ranks, [&] {
        if (!team.is_root()) return;
        if (trace.verification.outcome == record::Verification::Outcome::failed)
            return;  // wrong output must not be saved
        if (trace.point.settings.output == config::OutputKind::checksum) return;
        if (!plan::is_simulated(trace.point)) save_output_preview(share.cores(), source, files, trace);
        if (files.image.empty()) return;
        const Stopwatch watch;
        if (share.streamed() != nullptr)
            share.streamed()->publish();
        else
            save_output(share.output(), source, files);
        trace.write_s += watch.seconds();
        trace.output_file = files.image.string();
        note_lost_metadata(source, files, share.streamed() != nullptr, trace);
    });
}

CheckDepth Runner::Impl::decide_depth(const record::PointTrace& trace, const engine::Weights& network) {
    if (!check_budget || plan::is_simulated(trace.point)) return CheckDepth::windows;
    std::optional<Extent> window;
    if (!network.has_layers()) window = plan::tile_grid(trace.point).window();
    const CheckDepth depth = check_budget->decide(trace.processed_pixels, check_pixels(trace.point, network), window);
    return depth == CheckDepth::windows && plan::is_in_bands(trace.point) ? CheckDepth::parts : depth;
}

void Runner::Impl::conclude(Team& team, const PreparedPoint& point, const PointFiles& files, ImageSource& source,
                            record::PointTrace& trace, CheckDepth depth) {
    begin(Activity::verification);
    const bool has_network = !plan::is_simulated(trace.point);
    if (has_network && study.bounds) bounds.add_to(trace, team, engine_options(trace.point, team.place));
    if (study.bounds) bounds.add_link_to(trace, team);
    check(team, point, source, trace, depth);
    together(team.ranks, [&] { source.require_unchanged(); });  // it was read for the verification, too
    const bool is_wrong = trace.verification.outcome == record::Verification::Outcome::failed;
    if (check_budget && team.ranks.sum(is_wrong ? 1 : 0) > 0) check_budget->distrust();
    require_same_network(team, trace.point, *point.network, source.channels());
    begin(Activity::writing);
    if (has_network || point.share->streamed() != nullptr) save(team, *point.share, source, files, trace);
}

}  // namespace pb::run
