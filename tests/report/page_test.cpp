#include "report/html/page.hpp"

#include "measure/sweep_traces.hpp"
#include "report/metrics.hpp"
#include "report/results/jsonl_writer.hpp"
#include "report/results/results_file.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <set>

namespace pb::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kDataStart = R"(<script type="application/json" id="patchbench-data">)";

class Html : public testing::Test {
  protected:
    void add_line(const std::string& line) const { std::ofstream(results_, std::ios::app | std::ios::binary) << line; }
    void write_point(const record::PointTrace& trace) const {
        JsonlWriter writer(results_, {}, {});
        writer.write_point(trace, measure::summarise(trace));
    }

    /// Appends a second point as a line without its line end, as some editors leave it.
    void add_point(record::PointTrace trace) const {
        trace.point.index = 1;
        const std::filesystem::path other = folder_ / "other.jsonl";
        {
            JsonlWriter writer(other, {}, {});
            writer.write_point(trace, measure::summarise(trace));
        }
        add_line(load_results(other).points.front().json);
    }

    /// Returns the page's data as a browser reads them: up to the first end of a script.
    [[nodiscard]] json data() const {
        const std::string text = html_text({results_});
        const size_t begin = text.find(kDataStart) + kDataStart.size();
        return json::parse(text.substr(begin, text.find("</script", begin) - begin));
    }

    const test::TemporaryFolder folder_;
    std::filesystem::path results_ = folder_ / "results.jsonl";
};

TEST_F(Html, ThePageHoldsItsScriptsStylesAndPlotly) {
    write_point(three_rank_trace());
    const std::string page = html_text({results_});
    EXPECT_THAT(page, HasSubstr("plotly.js v"));
    EXPECT_THAT(page, HasSubstr("pb.drawPage = "));
    EXPECT_THAT(page, HasSubstr("--page:"));
    EXPECT_THAT(page, Not(HasSubstr("@inline")));
    EXPECT_THAT(page, Not(HasSubstr("@data@")));
    EXPECT_TRUE(page.ends_with("</html>\n"));
}

TEST_F(Html, LinesArriveAsTheyAreAndWithThemTheTableOfMetrics) {
    write_point(three_rank_trace());
    const json lines = data()["files"][0]["lines"];
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[1]["key"], "0123456789abcdef");
    EXPECT_EQ(lines[1]["samples"]["wall_s"].size(), kTraceRepetitions);
    EXPECT_EQ(data()["metrics"].size(), metrics().size());
    const json explained = data()["settings"];
    std::set<std::string> settings;
    for (const auto& setting : explained) settings.insert(setting["key"]);
    EXPECT_TRUE(settings.contains("network"));
    EXPECT_FALSE(settings.contains("name")) << "a setting of the study";
    EXPECT_EQ(data()["files"][0]["name"], folder_.path().filename().string());
}

TEST_F(Html, WhatPointsSayTogetherIsComputedForFilesThatDoNotSayIt) {
    std::vector<record::PointTrace> traces = batch_sweep();
    for (auto& trace : traces) trace.verification.seam_error = 0;
    JsonlWriter writer(results_, {}, {});
    for (auto trace = traces.rbegin(); trace != traces.rend(); ++trace)
        writer.write_point(*trace, measure::summarise(*trace));
    const auto summary = [&] { return data()["files"][0]["summary"]; };
    EXPECT_EQ(summary()["batch_panels"][0]["lines"][0]["points"], json({1, 2, 4}));
    EXPECT_EQ(summary()["batch_memory"][0]["predicted_batch"], json()) << "a CPU has no limit of its own";
    EXPECT_EQ(summary()["points"][1]["useful_mpx_per_s"]["low"], 1 / (1.1 * 9.6));
    EXPECT_TRUE(summary()["recommendations"].empty()) << "more points may be to come";
    writer.write_end({});
    EXPECT_EQ(summary()["recommendations"][0]["point"], 4) << "the fastest";
}

TEST_F(Html, TextFromTheResultsCannotEndTheScript) {
    record::PointTrace trace = three_rank_trace();
    trace.point.settings.image.path = "</script><script>alert(1)</script><!--";
    write_point(trace);
    EXPECT_EQ(data()["files"][0]["lines"][1]["point"]["image"]["path"], trace.point.settings.image.path);
    EXPECT_THAT(html_text({results_}), Not(HasSubstr("<script>alert(1)")));
}

TEST_F(Html, AnUnfinishedLastLineIsLeftOut) {
    write_point(three_rank_trace());
    add_line(R"({"type":"point","key":"12)");
    EXPECT_EQ(data()["files"][0]["lines"].size(), 2u);
}

TEST_F(Html, ACompleteLastLineWithoutItsEndIsShown) {
    write_point(three_rank_trace());
    add_point(three_rank_trace());
    EXPECT_EQ(data()["files"][0]["lines"].size(), 3u);
}

TEST_F(Html, WhatResumeRefusesIsRefusedHereToo) {
    write_point(three_rank_trace());
    add_line(std::string(1000, '[') + "\n");
    EXPECT_THROW((void)html_text({results_}), UsageError);
}

TEST_F(Html, WhatIsNoResultsFileIsRefusedWithItsPlace) {
    write_point(three_rank_trace());
    add_line("not json\n");
    EXPECT_THAT(usage_error([&] { (void)html_text({results_}); }), HasSubstr("results.jsonl:3"));
    EXPECT_THROW((void)html_text({folder_ / "absent.jsonl"}), UsageError);
}

TEST_F(Html, OnlyPicturesBesideTheResultsAreTakenIn) {
    const std::string png = "\x89PNG\r\n\x1a\n...";
    results_ = folder_ / "study" / "results.jsonl";
    folder_.write("above.png", png);
    folder_.write("study/own.png", png);
    folder_.write("study/text.png", "secret");
    record::PointTrace trace = three_rank_trace();
    trace.preview = record::Preview{{0, 0, {8, 8}}, "own.png", "../above.png", (folder_ / "above.png").string()};
    write_point(trace);
    trace.preview->noisy_file = "text.png";
    add_point(trace);
    const json images = data()["images"];
    EXPECT_EQ(images.size(), 1u) << images;
    EXPECT_EQ(images["0/own.png"], "data:image/png;base64,iVBORw0KGgouLi4=");
}

TEST(Base64, IsThatOfRfc4648) {
    EXPECT_EQ(base64_of(""), "");
    EXPECT_EQ(base64_of("f"), "Zg==");
    EXPECT_EQ(base64_of("fo"), "Zm8=");
    EXPECT_EQ(base64_of("foo"), "Zm9v");
    EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64_of("\xff\xfe"), "//4=");
}

}  // namespace
}  // namespace pb::report
