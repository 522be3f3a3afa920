// Pictures for the report: which points leave them, and what they show.
#include "support/load_image.hpp"
#include "support/on_ranks.hpp"
#include "support/small_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace pb::run {
namespace {

namespace fs = std::filesystem;

class Previews : public test::OnRanks {
  protected:
    Previews() { study_.previews = 40; }

    /// The points of `all`, one after the other, by one runner.
    std::vector<record::PointTrace> run(const std::vector<config::PointSettings>& all) {
        Runner runner(world_, topology_, study_);
        std::vector<record::PointTrace> traces;
        for (const plan::Point& point : plan::make_plan({study_, all, ""}, topology_, source_facts).points)
            traces.push_back(runner.run(
                point, {.image = {}, .folder = folder_, .preview = "previews/" + std::to_string(point.index)}));
        return traces;
    }

    const test::SharedFolder shared_{world_};
    fs::path folder_ = shared_.path();
    config::PointSettings settings_ = test::computed_point({72, 30});
};

TEST_F(Previews, ShowTheCentreBeforeAndAfter) {
    const record::PointTrace trace = run({settings_}).front();
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (!world_.is_root()) return;
    ASSERT_TRUE(trace.preview);
    EXPECT_EQ(trace.preview->part, (Rect{16, 0, {40, 30}}));
    EXPECT_EQ(trace.preview->noisy_file, "previews/0-noisy.png");
    const image::Image noisy = image::load_image(folder_ / trace.preview->noisy_file);
    const image::Image clean = image::load_image(folder_ / trace.preview->clean_file);
    const image::Image denoised = image::load_image(folder_ / trace.preview->denoised_file);
    for (const image::Image* picture : {&noisy, &clean, &denoised}) {
        EXPECT_EQ(picture->extent(), (Extent{40, 30}));
        EXPECT_EQ(picture->dtype(), DType::u8);
    }
    const auto differ = [](const image::Image& a, const image::Image& b) {
        return !std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin());
    };
    EXPECT_TRUE(differ(noisy, clean));
    EXPECT_TRUE(differ(noisy, denoised));
}

TEST_F(Previews, AreOfTheFirstPointOfANetworkOnly) {
    config::PointSettings other = settings_;
    other.network = network::kind_of<network::UnetShape>();
    config::PointSettings again = settings_;
    again.batch.count = 2;
    const auto traces = run({settings_, again, other});
    if (!world_.is_root()) return;
    EXPECT_TRUE(traces[0].preview);
    EXPECT_FALSE(traces[1].preview);
    EXPECT_TRUE(traces[2].preview);
}

TEST_F(Previews, HaveNoOriginalWhereNoneIsKnown) {
    if (world_.is_root()) {
        const image::Image image({72, 30}, 3, DType::u8);
        for (const char* name : {"given.png", "other.png"})
            image::save_image({.pixels = image.view(), .alpha = {}}, folder_ / name);
    }
    world_.barrier();
    settings_.image.path = (folder_ / "given.png").string();
    settings_.image.noise_sigma = 0;
    settings_.sigma = 0.1;
    config::PointSettings other = settings_;
    other.image.path = (folder_ / "other.png").string();
    Runner runner(world_, topology_, study_);
    const auto points = plan::make_plan({study_, {settings_, other}, ""}, topology_, source_facts).points;
    const record::PointTrace trace = runner.run(points[0], {.image = {}, .folder = folder_, .preview = "previews/0"});
    const record::PointTrace of_other =
        runner.run(points[1], {.image = {}, .folder = folder_, .preview = "previews/1"});
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (!world_.is_root()) return;
    ASSERT_TRUE(trace.preview);
    EXPECT_EQ(trace.preview->clean_file, "");
    EXPECT_TRUE(fs::exists(folder_ / trace.preview->noisy_file));
    EXPECT_TRUE(of_other.preview) << "each image has its pictures";
}

TEST_F(Previews, ShowTheCleanImageThatIsGiven) {
    if (world_.is_root()) {
        image::Image noisy({72, 30}, 3, DType::u8), clean({72, 30}, 3, DType::u8);
        std::ranges::fill(clean.bytes(), std::byte{200});
        image::save_image({.pixels = noisy.view(), .alpha = {}}, folder_ / "noisy.png");
        image::save_image({.pixels = clean.view(), .alpha = {}}, folder_ / "clean.png");
    }
    world_.barrier();
    settings_.image.path = (folder_ / "noisy.png").string();
    settings_.image.clean = (folder_ / "clean.png").string();
    settings_.image.noise_sigma = 0;
    settings_.sigma = 0.1;
    const record::PointTrace trace = run({settings_}).front();
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (!world_.is_root()) return;
    ASSERT_TRUE(trace.preview);
    const image::Image picture = image::load_image(folder_ / trace.preview->clean_file);
    EXPECT_EQ(std::ranges::count(picture.bytes(), std::byte{200}), std::ssize(picture.bytes()));
}

TEST_F(Previews, MayBeLeftOutAndNeverCostAPoint) {
    study_.previews = 0;
    EXPECT_FALSE(run({settings_}).front().preview);
    EXPECT_FALSE(fs::exists(folder_ / "previews"));
    study_.previews = 40;
    const fs::path folder = std::exchange(folder_, "/dev/null/nowhere");
    const record::PointTrace trace = run({settings_}).front();
    folder_ = folder;
    EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    EXPECT_FALSE(trace.preview);
    if (world_.is_root()) {
        EXPECT_NE(trace.point.notes.back().find("no pictures"), std::string::npos);
    }
}

}  // namespace
}  // namespace pb::run
