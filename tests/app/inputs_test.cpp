// Which files `denoise` takes, and the names of its outputs.
#include "app/denoise/inputs.hpp"

#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>

namespace pb::app {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal_of(const DenoisePaths& paths) {
    return usage_error([&] { (void)list_jobs(paths); });
}

class DenoiseInputs : public testing::Test {
  protected:
    DenoiseInputs() {
        for (const char* file : {"in/a.png", "in/sub/a.png", "in/sub/deep/b.TIF", "in/notes.txt", "in/sub/c.csv",
                                 "in/.hidden.png", "in/.cache/d.png", "in/out/e.png", "both/a.png", "both/a.tif"})
            home_.write(file, file);
        fs::create_directory_symlink(folder_ / "both", folder_ / "in/linked");
    }

    [[nodiscard]] DenoisePaths paths(const std::string& input, const std::string& output) const {
        return {.inputs = {(folder_ / input).string()}, .output = folder_ / output, .weights = "default"};
    }
    [[nodiscard]] std::vector<std::string> outputs_of(const DenoisePaths& paths) const {
        std::vector<std::string> names;
        for (const DenoiseJob& job : list_jobs(paths).jobs)
            names.push_back(job.output.lexically_relative(folder_).string());
        return names;
    }

    const test::TemporaryFolder home_;
    const fs::path folder_ = home_.path();
};

TEST_F(DenoiseInputs, OfAFolderAreItsImages) {
    EXPECT_THAT(outputs_of(paths("in", "new")), ElementsAre("new/a.png"));
    EXPECT_EQ(list_jobs(paths("in", "new")).num_passed_over, 1);
}

TEST_F(DenoiseInputs, ThatAreLinksToNothingAreImagesByTheirNames) {
    fs::create_symlink("nothing", folder_ / "in/broken.png");
    fs::create_symlink("loop.png", folder_ / "in/loop.png");
    fs::create_symlink("nothing.png", folder_ / "in/broken.txt");
    EXPECT_THAT(outputs_of(paths("in", "new")), ElementsAre("new/a.png", "new/broken.png", "new/loop.png"));
    EXPECT_EQ(list_jobs(paths("in", "new")).num_passed_over, 2);
}

TEST_F(DenoiseInputs, ThatAreTwoLinksToNothingAreNotTheSame) {
    fs::create_symlink("nothing", folder_ / "in/sub/broken.png");
    fs::create_symlink("nothing", folder_ / "in/sub/deep/broken.png");
    DenoisePaths all = paths("in/sub", "new/");
    all.inputs.push_back((folder_ / "in/sub/deep").string());
    EXPECT_THAT(refusal_of(all), HasSubstr("both be written"));
}

TEST_F(DenoiseInputs, KeepTheFoldersInAFolder) {
    DenoisePaths all = paths("in", "new/");
    all.recursive = true;
    EXPECT_THAT(outputs_of(all), ElementsAre("new/a.png", "new/out/e.png", "new/sub/a.png", "new/sub/deep/b.TIF"));
    EXPECT_EQ(list_jobs(all).num_passed_over, 2);
}

TEST_F(DenoiseInputs, OfSeveralFoldersAddUpWhatIsPassedOver) {
    DenoisePaths all = paths("in", "new/");
    all.inputs.push_back((folder_ / "in/sub/deep").string());
    EXPECT_EQ(list_jobs(all).num_passed_over, 1);
}

TEST_F(DenoiseInputs, AreNotTakenFromTheOutputFolder) {
    DenoisePaths all = paths("in", "in/out");
    all.recursive = true;
    EXPECT_THAT(outputs_of(all), ElementsAre("in/out/a.png", "in/out/sub/a.png", "in/out/sub/deep/b.TIF"));
}

TEST_F(DenoiseInputs, GetTheFormatOfTheOutput) {
    DenoisePaths all = paths("in/sub", "new");
    all.recursive = true;
    all.format = OutputFormat::npy;
    EXPECT_THAT(outputs_of(all), ElementsAre("new/a.npy", "new/deep/b.npy"));
}

TEST_F(DenoiseInputs, OfOneOutputAreRefused) {
    DenoisePaths both = paths("both", "new");
    EXPECT_THAT(outputs_of(both), ElementsAre("new/a.png", "new/a.tif"));
    both.format = OutputFormat::png;
    EXPECT_THAT(refusal_of(both), AllOf(HasSubstr("both/a.png'"), HasSubstr("both/a.tif'"), HasSubstr("new/a.png'")));
}

TEST_F(DenoiseInputs, ThatAreOneFileAreRefusedAsSuch) {
    DenoisePaths twice = paths("both/a.png", "in");
    twice.inputs.push_back((folder_ / "in/../both/a.png").string());
    EXPECT_THAT(refusal_of(twice), AllOf(HasSubstr("both/a.png'"), HasSubstr("in/../both/a.png'"), HasSubstr("twice")));
}

TEST_F(DenoiseInputs, OfOneFileHaveTheFormatOfItsName) {
    DenoisePaths one = paths("both/a.tif", "new.png");
    one.format = OutputFormat::png;
    EXPECT_THAT(outputs_of(one), ElementsAre("new.png"));
    one.format = OutputFormat::tif;
    EXPECT_THAT(refusal_of(one), names("--format tif", "new.png'"));
}

TEST_F(DenoiseInputs, OfAFolderAreNotWrittenToTheNameOfAnImage) {
    EXPECT_THAT(refusal_of(paths("both", "new.png")), HasSubstr("new.png'"));
}

TEST_F(DenoiseInputs, AreNotComparedWithThemselves) {
    DenoisePaths one = paths("both/a.png", "new.png");
    one.clean = folder_ / "in/linked/a.png";
    EXPECT_THAT(refusal_of(one), names("--clean", "in/linked/a.png"));
    one.clean = folder_ / "in/a.png";
    EXPECT_THAT(outputs_of(one), ElementsAre("new.png"));
}

TEST_F(DenoiseInputs, AreNeverOutputs) {
    const DenoisePaths same = paths("both", "both");
    EXPECT_THAT(refusal_of(same), HasSubstr("both/a.png'"));
    DenoisePaths weights = paths("both/a.png", "both/a.tif");
    weights.weights = (folder_ / "both/a.tif").string();
    EXPECT_THAT(refusal_of(weights), HasSubstr("both/a.tif'"));
}

}  // namespace
}  // namespace pb::app
