#include "base/user_cache.hpp"

#include "support/environment_variable.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace pb {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
  protected:
    void put(const std::string& text) {
        fs::create_directories(folder_);
        std::ofstream(folder_ / "layer.txt") << text;
    }

    test::TemporaryFolder home_;
    fs::path folder_ = home_ / "device";
    UserCache cache_{folder_};
};

TEST_F(Cache, KeepsWhatItIsGivenForTheNext) {
    EXPECT_EQ(cache_.find("layer"), std::nullopt);
    cache_.keep("layer", "eng1_k2=3");
    cache_.keep("other", "eng4");
    EXPECT_EQ(UserCache(folder_).find("layer"), "eng1_k2=3");
    cache_.keep("layer", "eng5");
    EXPECT_EQ(cache_.find("layer"), "eng5");
    EXPECT_EQ(cache_.find("other"), "eng4");
}

TEST_F(Cache, KeepsNoAnswerThatItWouldNotFind) {
    const std::string longest(UserCache::kLongestAnswer, 'x');
    cache_.keep("layer", longest);
    EXPECT_EQ(cache_.find("layer"), longest);
    cache_.keep("other", longest + "x");
    EXPECT_EQ(cache_.find("other"), std::nullopt);
    EXPECT_FALSE(fs::exists(folder_ / "other.txt"));
}

TEST_F(Cache, TakesNothingFromADamagedFile) {
    std::string long_line(UserCache::kLongestAnswer + 2, 'x');
    long_line.back() = '\n';
    for (const std::string& damaged : {std::string(), std::string("\n"), std::string("no end of line"), long_line}) {
        put(damaged);
        EXPECT_EQ(cache_.find("layer"), std::nullopt) << damaged.size();
    }
}

TEST_F(Cache, IsDoneWithoutWhereItCannotBe) {
    const UserCache none{fs::path()};
    none.keep("layer", "eng1");
    EXPECT_EQ(none.find("layer"), std::nullopt);
    put("eng1\n");
    const UserCache in_a_file(folder_ / "layer.txt");
    in_a_file.keep("layer", "eng2");
    EXPECT_EQ(in_a_file.find("layer"), std::nullopt);
}

TEST(CacheFolder, IsNamedByTheUserOrTheSystem) {
    const test::EnvironmentVariable home("HOME", "/home/someone");
    const test::EnvironmentVariable caches("XDG_CACHE_HOME", std::nullopt);
    const test::EnvironmentVariable own("PATCHBENCH_CACHE", std::nullopt);
    EXPECT_EQ(cache_folder(), "/home/someone/.cache/patchbench");
    caches.set("/caches");
    EXPECT_EQ(cache_folder(), "/caches/patchbench");
    own.set("/own");
    EXPECT_EQ(cache_folder(), "/own");
    own.set("off");
    EXPECT_EQ(cache_folder(), "");
    own.set(std::nullopt);
    caches.set("relative");
    EXPECT_EQ(cache_folder(), "/home/someone/.cache/patchbench") << "as the specification of XDG says";
    home.set("relative");
    EXPECT_EQ(cache_folder(), "");
    for (const auto* variable : {&home, &caches, &own}) variable->set(std::nullopt);
    EXPECT_EQ(cache_folder(), "");
}

}  // namespace
}  // namespace pb
