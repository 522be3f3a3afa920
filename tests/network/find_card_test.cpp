// Networks whose reach is known, as plain functions: their cards are found by trying.
#include "network/card/find_card.hpp"

#include "support/messages.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace pb::network {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Value of the output, from the input with its channels, rows and columns. Outside of the window there are zeros.
struct Window {
    const std::vector<float>& values;
    Shape shape;
    float operator()(int64_t c, int64_t y, int64_t x) const {
        const bool is_inside = y >= 0 && y < shape.h && x >= 0 && x < shape.w;
        return is_inside ? values[static_cast<size_t>((c * shape.h + y) * shape.w + x)] : 0;
    }
};
using ValueAt = std::function<double(const Window&, int64_t c, int64_t y, int64_t x)>;

/// A network that accepts extents that are multiples of `step`.
TryWindow network_of(const ValueAt& value_at, int64_t step = 1) {
    return [=](const NetworkCard& card, const std::vector<float>& values, const Shape& shape) {
        if (shape.h % step != 0 || shape.w % step != 0) return TrialOutput{{}, "dislikes this extent"};
        const Window window{values, shape};
        TrialOutput output;
        for (int64_t c = 0; c < card.channels; ++c)
            for (int64_t y = 0; y < shape.h; ++y)
                for (int64_t x = 0; x < shape.w; ++x)
                    output.values.push_back(static_cast<float>(value_at(window, c, y, x)));
        return output;
    };
}

FoundCard find(const ValueAt& value_at, int64_t step = 1, const NetworkCard& candidate = {.channels = 1}) {
    return find_card({candidate}, network_of(value_at, step));
}

std::string refusal_of(const TryWindow& network) {
    return usage_error([&] { (void)find_card({{.channels = 1}}, network); });
}

double mean_of(const Window& in, int64_t c, int64_t edge, int64_t y, int64_t x) {
    double sum = 0;
    for (int64_t row = y / edge * edge; row < y / edge * edge + edge; ++row)
        for (int64_t column = x / edge * edge; column < x / edge * edge + edge; ++column) sum += in(c, row, column);
    return sum / static_cast<double>(edge * edge);
}

/// mutant: low and high swapped, or one axis only.
TEST(FindCard, DilatedFilter) {
    const FoundCard found = find([](const Window& in, int64_t c, int64_t y, int64_t x) {
        return 0.5 * in(c, y, x) + 0.25 * in(c, y - 3, x) + 0.25 * in(c, y, x + 3);
    });
    EXPECT_EQ(to_text(found.card), "channels 1, sigma none, range 1, alignment 1, radius 3, halo 3");
    EXPECT_THAT(found.remarks, IsEmpty());
}

/// `reach` rows or columns off, beyond the edge those of the opposite one.
TEST(FindCard, ANetworkThatWrapsAroundIsRefused) {
    const auto refusal = [](int64_t down, int64_t right) {
        const auto wrapped = [](int64_t place, int64_t size) { return (place + size) % size; };
        return refusal_of(network_of([=](const Window& in, int64_t c, int64_t y, int64_t x) {
            return in(c, wrapped(y + down, in.shape.h), wrapped(x + right, in.shape.w));
        }));
    };
    for (const auto& [down, right] : {std::pair<int64_t, int64_t>{2, 0}, {-2, 0}, {0, 3}, {0, -3}})
        EXPECT_THAT(refusal(down, right), HasSubstr("opposite edge")) << down << ", " << right;
}

/// Its first tap lies beyond the smallest windows that are tried, whose middle nothing else reaches.
TEST(FindCard, AFilterWithAFarHoleIsBounded) {
    constexpr int64_t kReach = 92;
    const FoundCard found = find([](const Window& in, int64_t c, int64_t y, int64_t x) {
        return 0.5 * in(c, y, x) + 0.25 * in(c, y - kReach, x) + 0.25 * in(c, y, x + kReach);
    });
    EXPECT_EQ(found.card.halo, kReach);
    EXPECT_EQ(found.card.radius, kReach);
}

/// The value of the given rank among those within `reach`.
double ranked(const Window& in, int64_t reach, double rank, int64_t y, int64_t x) {
    std::vector<double> taps;
    for (int64_t row = y - reach; row <= y + reach; ++row)
        for (int64_t column = x - reach; column <= x + reach; ++column) taps.push_back(in(0, row, column));
    const auto chosen = taps.begin() + std::lround(rank * static_cast<double>(taps.size() - 1));
    std::nth_element(taps.begin(), chosen, taps.end());
    return *chosen;
}

/// Most pixels of their output do not depend on most of the taps.
TEST(FindCard, MedianAndMinimum) {
    for (const auto& [reach, rank] : {std::pair<int64_t, double>{2, 0.5}, {3, 0.0}}) {
        const FoundCard found = find([reach = reach, rank = rank](const Window& in, int64_t, int64_t y, int64_t x) {
            return ranked(in, reach, rank, y, x);
        });
        EXPECT_EQ(found.card.halo, reach);
        EXPECT_EQ(found.card.radius, reach);
        EXPECT_THAT(found.remarks, IsEmpty());
    }
}

/// The smallest or largest of the values up to `reach` away along an axis, of one channel.
std::vector<float> extremes(const std::vector<float>& values, const Shape& shape, int64_t reach, bool is_wide,
                            bool smallest) {
    const Window in{values, shape};
    std::vector<float> found;
    for (int64_t y = 0; y < shape.h; ++y)
        for (int64_t x = 0; x < shape.w; ++x) {
            float extreme = in(0, y, x);
            for (int64_t d = -reach; d <= reach; ++d) {
                const float value = is_wide ? in(0, y, x + d) : in(0, y + d, x);
                extreme = smallest ? std::min(extreme, value) : std::max(extreme, value);
            }
            found.push_back(extreme);
        }
    return found;
}

/// Each pixel sees a change of its smallest value alone, or of its largest.
TEST(FindCard, WideMinimumAndMaximum) {
    for (const bool smallest : {true, false}) {
        const auto network = [=](const NetworkCard&, const std::vector<float>& values, const Shape& shape) {
            const std::vector<float> lines = extremes(values, shape, 5, true, smallest);
            return TrialOutput{extremes(lines, shape, 5, false, smallest), ""};
        };
        const FoundCard found = find_card({{.channels = 1}}, network);
        EXPECT_EQ(found.card.halo, 5) << smallest;
        EXPECT_EQ(found.card.radius, 5) << smallest;
    }
}

/// The maximum of minima along a line: few pixels show all that both see, and squares and strips show it in others.
TEST(FindCard, Opening) {
    for (const int64_t reach : {2, 6}) {
        const auto network = [=](const NetworkCard&, const std::vector<float>& values, const Shape& shape) {
            return TrialOutput{extremes(extremes(values, shape, reach, true, true), shape, reach, true, false), ""};
        };
        const FoundCard found = find_card({{.channels = 1}}, network);
        EXPECT_EQ(found.card.halo, 2 * reach);
        EXPECT_EQ(found.card.radius, 2 * reach);
    }
}

/// Both taps lie outside of every square window that is tried.
TEST(FindCard, TapsBeyondTheSquareWindowsAreSeen) {
    for (const int64_t far : {300, 900})
        for (const bool is_wide : {true, false}) {
            const FoundCard found = find([=](const Window& in, int64_t c, int64_t y, int64_t x) {
                const auto tap = [&](int64_t d) { return is_wide ? in(c, y, x + d) : in(c, y + d, x); };
                return 0.4 * in(c, y, x) + 0.3 * tap(-far) + 0.3 * tap(far);
            });
            EXPECT_FALSE(found.card.halo) << far;
            EXPECT_THAT(found.remarks, Contains(AllOf(HasSubstr("unbounded"), HasSubstr("longer"))));
        }
}

TEST(FindCard, ShiftedOutput) {
    const FoundCard found = find([](const Window& in, int64_t c, int64_t y, int64_t x) { return in(c, y - 5, x - 5); });
    EXPECT_EQ(to_text(found.card), "channels 1, sigma none, range 1, alignment 1, radius 5, halo 5");
    EXPECT_THAT(found.remarks, Contains(AllOf(HasSubstr("shifted"), HasSubstr("5 px"))));
}

/// As a kernel of even size does.
TEST(FindCard, ShiftByOnePixelIsSaid) {
    const FoundCard found = find([](const Window& in, int64_t c, int64_t y, int64_t x) { return in(c, y - 1, x - 1); });
    EXPECT_EQ(found.card.halo, 1);
    EXPECT_THAT(found.remarks, Contains(AllOf(HasSubstr("shifted"), HasSubstr("1 px"))));
}

TEST(FindCard, EvenExtentsOnly) {
    const FoundCard found =
        find([](const Window& in, int64_t c, int64_t y, int64_t x) { return mean_of(in, c, 2, y, x); }, 2);
    EXPECT_EQ(to_text(found.card), "channels 1, sigma none, range 1, alignment 2, radius 1, halo 0");
}

/// Far pixels fill black, saturated or flat parts.
TEST(FindCard, WhatIsSeenInFlatPartsAloneCounts) {
    const auto is_black = [](double value, double) { return value == 0; };
    const auto is_saturated = [](double value, double) { return value == 1; };
    const auto is_flat = [](double value, double next) { return value == next; };
    for (const auto& is_filled : std::vector<std::function<bool(double, double)>>{is_black, is_saturated, is_flat})
        for (const int64_t far : {20, 200}) {
            const FoundCard found = find([=](const Window& in, int64_t c, int64_t y, int64_t x) {
                if (!is_filled(in(c, y, x), in(c, y, x + 1))) return double{in(c, y, x)};
                return 0.5 * (in(c, y, x - far) + in(c, y, x + far));
            });
            EXPECT_EQ(found.card.halo.value_or(0), far);
        }
}

/// As smoothing by brightness, of shadows for example.
TEST(FindCard, WhatIsSeenAtSomeBrightnessAloneCounts) {
    for (const double low : {0.02, 0.99}) {
        const FoundCard found = find([=](const Window& in, int64_t c, int64_t y, int64_t x) {
            double mean = 0;
            for (int64_t row = y - 2; row <= y + 2; ++row)
                for (int64_t column = x - 2; column <= x + 2; ++column) mean += in(c, row, column) / 25;
            if (mean < low || mean > low + 0.1) return double{in(c, y, x)};
            return 0.5 * (in(c, y, x - 40) + in(c, y, x + 40));
        });
        EXPECT_EQ(found.card.halo.value_or(0), 40) << low << ": " << testing::PrintToString(found.remarks);
    }
}

/// A mean along rows that forgets: its first column counts ten times as much as others.
TEST(FindCard, AStateThatFadesIsBounded) {
    const auto network = [](const NetworkCard&, std::vector<float> values, const Shape& shape) {
        for (int64_t row = 0; row < shape.c * shape.h; ++row)
            for (int64_t x = 1; x < shape.w; ++x) {
                const auto place = static_cast<size_t>(row * shape.w + x);
                values[place] = 0.9F * values[place - 1] + 0.1F * values[place];
            }
        return TrialOutput{std::move(values), ""};
    };
    EXPECT_GT(find_card({{.channels = 1}}, network).card.halo.value_or(0), 60);
}

/// As a pooling by 3 or 6 that leaves an incomplete block out, whose result is resized to the window.
TEST(FindCard, BlocksThatAreResizedToTheWindow) {
    for (const int64_t edge : {3, 6}) {
        const FoundCard found = find([=](const Window& in, int64_t c, int64_t y, int64_t x) {
            const int64_t rows = in.shape.h / edge, columns = in.shape.w / edge;
            const int64_t row = y * rows / in.shape.h * edge, column = x * columns / in.shape.w * edge;
            return 0.5 * in(c, y, x) + 0.5 * mean_of(in, c, edge, row, column);
        });
        EXPECT_EQ(found.card.alignment, edge);
        EXPECT_TRUE(found.card.halo);
        EXPECT_THAT(found.remarks, Contains(HasSubstr("images are extended")))
            << "a remainder of 1 alone moves all blocks by one pixel";
    }
}

TEST(FindCard, ExtentsOfMultiplesOfAnyNumber) {
    for (const int64_t step : {9, 11, 13}) {
        const FoundCard found = find(
            [=](const Window& in, int64_t c, int64_t y, int64_t x) { return in(c, y / step * step, x / step * step); },
            step);
        EXPECT_EQ(found.card.alignment, step);
        EXPECT_EQ(found.card.halo, 0);
    }
}

/// It accepts any extent and pads by itself: only shifted windows show its windows of 8 px, those of 6 px next to it.
TEST(FindCard, WindowsInside) {
    for (const auto& [edge, radius] : {std::pair{8, 7}, {6, 5}}) {
        const FoundCard found = find([edge = edge](const Window& in, int64_t c, int64_t y, int64_t x) {
            return in(c, y, x) + mean_of(in, c, edge, y, x);
        });
        EXPECT_EQ(found.card.alignment, edge);
        EXPECT_EQ(found.card.radius, radius);
        EXPECT_EQ(found.card.halo, 0);
    }
}

/// One that cuts its window into tiles: it sees nothing of the next one. A multiple of no period that is tried.
TEST(FindCard, TilesOfItsOwnAreSeen) {
    for (const int64_t tile : {100, 200, 300, 640}) {
        const FoundCard found = find([=](const Window& in, int64_t c, int64_t y, int64_t x) {
            return 0.5 * in(c, y, x) + (x % tile == 0 ? 0 : 0.5 * in(c, y, x - 1));
        });
        EXPECT_FALSE(found.card.halo) << tile;
        EXPECT_THAT(found.remarks, Contains(HasSubstr("tiles of its own"))) << tile;
    }
}

/// Where it cuts only what is large along both axes, strips do not show it.
TEST(FindCard, TilesOfLargeWindowsAloneAreSeen) {
    const FoundCard found = find([](const Window& in, int64_t c, int64_t y, int64_t x) {
        const bool is_cut = x % 100 == 0 && std::min(in.shape.h, in.shape.w) > 256;
        return 0.5 * in(c, y, x) + (is_cut ? 0 : 0.5 * in(c, y, x - 1));
    });
    EXPECT_FALSE(found.card.halo);
    EXPECT_THAT(found.remarks, Contains(HasSubstr("tiles of its own")));
}

TEST(FindCard, WindowsThatOverlap) {
    const ValueAt network = [](const Window& in, int64_t c, int64_t y, int64_t x) {
        return mean_of(in, c, 8, y, x) + mean_of(in, c, 8, y + 8, x + 8);
    };
    for (const int64_t step : {1, 4, 8})
        EXPECT_EQ(to_text(find(network, step).card), "channels 1, sigma none, range 1, alignment 8, radius 15, halo 8" +
                                                         (step < 8 ? fmt::format(", step {}", step) : ""))
            << "where extents are multiples of " << step;
}

/// A shift along the diagonal does not show it.
TEST(FindCard, CheckerboardInside) {
    const FoundCard found = find([](const Window& in, int64_t c, int64_t y, int64_t x) {
        return 0.5 * in(c, y, x) + ((y - x) % 2 == 0 ? 0.25 * in(c, y, x + 1) : 0);
    });
    EXPECT_EQ(to_text(found.card), "channels 1, sigma none, range 1, alignment 2, radius 1, halo 2, step 1");
}

/// Where one block holds the maximum of two, a shift shows nothing in many of its pixels. Columns or rows alone: a
/// shift along the other axis shows nothing at all.
TEST(FindCard, MaximumOfBlocksInside) {
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{3, 3}, {1, 4}, {4, 1}, {7, 7}}) {
        const FoundCard found = find([h = height, w = width](const Window& in, int64_t c, int64_t y, int64_t x) {
            double most = 0;
            for (int64_t row = y / h * h; row < y / h * h + h; ++row)
                for (int64_t column = x / w * w; column < x / w * w + w; ++column)
                    most = std::max<double>(most, in(c, row, column));
            return most;
        });
        EXPECT_EQ(found.card.alignment, std::max(height, width));
        EXPECT_EQ(found.card.halo, 0);
    }
}

TEST(FindCard, GlobalMeanIsUnbounded) {
    const auto network = [](const NetworkCard&, const std::vector<float>& values, const Shape&) {
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
        TrialOutput output{values, ""};
        for (float& value : output.values) value -= static_cast<float>(0.5 * mean);
        return output;
    };
    const FoundCard found = find_card({{.channels = 3}}, network);
    EXPECT_EQ(to_text(found.card), "channels 3, sigma none, range 1, alignment 1, radius unbounded, halo unbounded");
    EXPECT_THAT(found.remarks, Contains(AllOf(HasSubstr("unbounded"), HasSubstr("global"))));
}

/// Attention within blocks of `period` px, and `of_mean` of the mean over the window. One channel.
TryWindow blocks_beside_a_mean(int64_t period, const std::function<double(double)>& of_mean) {
    return [=](const NetworkCard&, const std::vector<float>& values, const Shape& shape) {
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
        const Window in{values, shape};
        TrialOutput output{values, ""};
        for (int64_t y = 0; y < shape.h; ++y)
            for (int64_t x = 0; x < shape.w; ++x)
                output.values[static_cast<size_t>(y * shape.w + x)] +=
                    static_cast<float>(of_mean(mean)) + in(0, y / period * period, x / period * period);
        return output;
    };
}

TEST(FindCard, ThePeriodOfAnUnboundedNetworkIsEstimated) {
    for (const int64_t period : {2, 7, 8, 12, 16}) {
        const auto network = blocks_beside_a_mean(period, [](double mean) { return 0.5 * mean; });
        const FoundCard found = find_card({{.channels = 1}}, network);
        EXPECT_EQ(found.card.halo, std::nullopt);
        EXPECT_EQ(found.card.alignment, period);
        EXPECT_EQ(found.card.step, 1);
    }
}

/// A mean whose effect differs from window to window, and is as small as that of no other shift.
TEST(FindCard, ThePeriodIsTheLeastOfThoseThatChangeLittle) {
    const auto network = blocks_beside_a_mean(8, [](double mean) { return std::sin(1e5 * mean) * 1e-4; });
    EXPECT_EQ(find_card({{.channels = 1}}, network).card.alignment, 8);
}

/// Blocks of extents that are no powers of two, which begin in the middle of a window that is padded at both ends.
TEST(FindCard, OtherPeriods) {
    for (const int64_t edge : {11, 13, 15, 18, 36}) {
        const auto blocks = [edge](bool is_centred) {
            return [=](const Window& in, int64_t c, int64_t y, int64_t x) {
                const auto before = [&](int64_t extent) {
                    return is_centred ? (ceil_div(extent, edge) * edge - extent) / 2 : int64_t{0};
                };
                const int64_t top = before(in.shape.h), left = before(in.shape.w);
                const int64_t row = (y + top) / edge * edge - top, column = (x + left) / edge * edge - left;
                return in(c, y, x) + in(c, std::max<int64_t>(row, 0), std::max<int64_t>(column, 0));
            };
        };
        EXPECT_EQ(find(blocks(false)).card.alignment, edge);
        EXPECT_EQ(find(blocks(true)).card.alignment, edge);
    }
}

/// Global attention may lack memory for large windows: what is seen in smaller ones is said, and nothing is refused.
TEST(FindCard, UnboundedWhereLargeWindowsAreRefused) {
    const auto network = [](const NetworkCard&, std::vector<float> values, const Shape& shape) {
        if (shape.h > 200) return TrialOutput{{}, "out of memory"};
        for (float& value : values) value += values.front() + values.back();
        return TrialOutput{std::move(values), ""};
    };
    EXPECT_FALSE(find_card({{.channels = 1}}, network).card.halo);
}

TEST(FindCard, PlaceInTheWindowIsUnbounded) {
    const FoundCard found = find([](const Window& in, int64_t c, int64_t y, int64_t x) {
        return in(c, y, x) * std::sin(static_cast<double>(x * x));
    });
    EXPECT_FALSE(found.card.halo);
    EXPECT_THAT(found.remarks, Contains(HasSubstr("where a pixel lies")));
}

/// Means of blocks of 8 of a window that is extended to whole blocks by its last row and column; the first block begins
/// `before` pixels in front of the window.
double mean_of_padded(const Window& in, int64_t before_row, int64_t before_column, int64_t y, int64_t x) {
    constexpr int64_t kEdge = 8;
    const int64_t top = (y + before_row) / kEdge * kEdge - before_row;
    const int64_t left = (x + before_column) / kEdge * kEdge - before_column;
    double sum = 0;
    for (int64_t row = top; row < top + kEdge; ++row)
        for (int64_t column = left; column < left + kEdge; ++column)
            sum += in(0, std::clamp<int64_t>(row, 0, in.shape.h - 1), std::clamp<int64_t>(column, 0, in.shape.w - 1));
    return sum / (kEdge * kEdge);
}

int64_t before_padded(int64_t extent) { return (8 - extent % 8) % 8 / 2; }

TEST(FindCard, ANetworkThatPadsByItselfTakesOtherExtents) {
    const FoundCard at_the_end = find([](const Window& in, int64_t, int64_t y, int64_t x) {
        return 0.5 * in(0, y, x) + 0.5 * mean_of_padded(in, 0, 0, y, x);
    });
    EXPECT_EQ(to_text(at_the_end.card), "channels 1, sigma none, range 1, alignment 8, radius 7, halo 0, step 1");
    const FoundCard at_both_ends = find([](const Window& in, int64_t, int64_t y, int64_t x) {
        return 0.5 * in(0, y, x) + 0.5 * mean_of_padded(in, before_padded(in.shape.h), before_padded(in.shape.w), y, x);
    });
    EXPECT_EQ(at_both_ends.card.alignment, 8);
    EXPECT_EQ(at_both_ends.card.step, 1);
    EXPECT_EQ(at_both_ends.card.halo, 8) << "blocks do not begin where cores do";
    EXPECT_THAT(at_both_ends.remarks, IsEmpty());
    const FoundCard in_twos = find([](const Window& in, int64_t, int64_t y,
                                      int64_t x) { return 0.5 * in(0, y, x) + 0.5 * mean_of_padded(in, 0, 0, y, x); },
                                   2);
    EXPECT_EQ(in_twos.card.step, 2);
}

/// Each pixel depends on the blocks beside its own. Where the network pads at both ends, blocks do not begin where
/// cores do, which only windows show that are no whole blocks.
TEST(FindCard, TheHaloIsThatOfAllExtents) {
    const FoundCard found = find([](const Window& in, int64_t, int64_t y, int64_t x) {
        const int64_t top = before_padded(in.shape.h), left = before_padded(in.shape.w);
        return in(0, y, x) + 0.25 * mean_of_padded(in, top, left, y, std::max<int64_t>(x - 8, -left)) +
               0.25 * mean_of_padded(in, top, left, std::max<int64_t>(y - 8, -top), x);
    });
    EXPECT_EQ(found.card.alignment, 8);
    EXPECT_EQ(found.card.step, 1);
    EXPECT_EQ(found.card.halo, 16) << "8 where windows are whole blocks";
}

/// It puts its window into the middle of a square: where blocks begin depends on the difference of both extents.
TEST(FindCard, ANetworkThatMakesASquareOfItsWindow) {
    const FoundCard found = find([](const Window& in, int64_t, int64_t y, int64_t x) {
        const int64_t edge = std::max(in.shape.h, in.shape.w);
        return 0.5 * in(0, y, x) + 0.5 * mean_of_padded(in, (edge - in.shape.h) / 2, (edge - in.shape.w) / 2, y, x);
    });
    EXPECT_EQ(found.card.alignment, 16) << "shifts of 8 px give the same in windows of one extent";
}

/// Its blocks begin where the middle of the window is, along one axis.
TEST(FindCard, AGridThatTheExtentOfOneAxisMoves) {
    for (const bool is_wide : {true, false}) {
        const FoundCard found = find([=](const Window& in, int64_t, int64_t y, int64_t x) {
            const int64_t moved = (is_wide ? in.shape.w : in.shape.h) / 2 % 8;
            return 0.5 * in(0, y, x) + 0.5 * mean_of_padded(in, is_wide ? 0 : moved, is_wide ? moved : 0, y, x);
        });
        EXPECT_EQ(found.card.alignment, 16) << is_wide;
    }
}

/// Around the window there is something that its network has made, or nothing, as its extents differ.
TEST(FindCard, ANetworkWhoseBordersDependOnTheExtentsIsUnbounded) {
    for (const bool is_first : {true, false})
        for (const bool is_wide : {true, false}) {
            const FoundCard found = find([=](const Window& in, int64_t, int64_t y, int64_t x) {
                const int64_t place = is_wide ? x : y, extent = is_wide ? in.shape.w : in.shape.h;
                const bool is_border = place == (is_first ? 0 : extent - 1);
                return in(0, y, x) + (is_border && in.shape.h != in.shape.w ? 0.1 : 0.0);
            });
            EXPECT_EQ(found.card.halo, std::nullopt);
            EXPECT_THAT(found.remarks, Contains(HasSubstr("along the edges")));
        }
}

/// Extents of the remainder `odd` are computed with other blocks, whose place depends on the window's extent.
TEST(FindCard, ExtentsThatAreComputedInAnotherWayAreExtended) {
    for (const int64_t odd : {1, 2, 4, 6, 7}) {
        const FoundCard found = find([=](const Window& in, int64_t, int64_t y, int64_t x) {
            const bool is_other = in.shape.h % 8 == odd && y >= in.shape.h / 2;
            return 0.5 * in(0, y, x) + 0.5 * mean_of_padded(in, is_other ? 4 : 0, 0, y, x);
        });
        EXPECT_EQ(found.card.alignment, 8) << odd;
        EXPECT_EQ(found.card.step, std::nullopt) << odd;
        EXPECT_THAT(found.remarks, Contains(HasSubstr("no multiples of 8 px"))) << odd;
    }
}

/// Only where extents are no whole blocks does its first row depend on them.
TEST(FindCard, ANetworkWhoseBordersDependOnOtherExtentsHasImagesExtended) {
    const FoundCard found = find([](const Window& in, int64_t, int64_t y, int64_t x) {
        const bool is_other = in.shape.h % 8 != 0 && in.shape.h != in.shape.w && y == 0;
        return 0.5 * in(0, y, x) + 0.5 * mean_of_padded(in, 0, 0, y, x) + (is_other ? 0.1 : 0.0);
    });
    EXPECT_EQ(found.card.halo, 0);
    EXPECT_EQ(found.card.step, std::nullopt);
    EXPECT_THAT(found.remarks, Contains(HasSubstr("images are extended")));
}

TEST(FindCard, NoiseLevelWithoutEffectIsSaid) {
    const NetworkCard with_sigma{.channels = 1, .sigma = SigmaInput::channel};
    const auto uses = [](const Window& in, int64_t, int64_t y, int64_t x) { return in(0, y, x) * (1 - in(1, y, x)); };
    const auto ignores = [](const Window& in, int64_t, int64_t y, int64_t x) { return in(0, y, x); };
    EXPECT_THAT(find(uses, 1, with_sigma).remarks, IsEmpty());
    EXPECT_THAT(find(ignores, 1, with_sigma).remarks, Contains(HasSubstr("changes nothing")));
}

TEST(FindCard, ANetworkForOneWindowACallIsSaid) {
    enum class Kind { apart, mixes, refuses };
    const auto found_for = [](Kind kind) {
        const TryWindow network = [=](const NetworkCard&, std::vector<float> values, const Shape& shape) {
            if (shape.c != 1) return TrialOutput{{}, "one channel only"};
            if (kind == Kind::refuses && shape.n > 1) return TrialOutput{{}, "one window only"};
            if (kind == Kind::mixes) values.front() += values.back();  // the same pixels in one window only
            return TrialOutput{std::move(values), ""};
        };
        FoundCard found{.card = {.channels = 1}, .remarks = {}};
        look_at_batches(found, network);
        return found;
    };
    EXPECT_THAT(found_for(Kind::apart).remarks, IsEmpty());
    EXPECT_EQ(found_for(Kind::apart).card.batch, std::nullopt);
    EXPECT_THAT(found_for(Kind::mixes).remarks, Contains(HasSubstr("change each other")));
    EXPECT_EQ(found_for(Kind::mixes).card.batch, 1);
    EXPECT_THAT(found_for(Kind::refuses).remarks, Contains(HasSubstr("does not take two")));
    EXPECT_EQ(found_for(Kind::refuses).card.batch, 1);
}

TEST(FindCard, ALevelThatMayBeLeftOutIsSaid) {
    const auto remarks_of = [](double effect) {
        const TryWindow network = [=](const NetworkCard& card, const std::vector<float>& values, const Shape& shape) {
            const auto pixels = static_cast<ptrdiff_t>(card.channels * shape.h * shape.w);
            TrialOutput output{{values.begin(), values.begin() + pixels}, ""};
            for (float& value : output.values)
                value += static_cast<float>(card.sigma == SigmaInput::input ? effect : 0);
            return output;
        };
        const FoundCard found = find_card({{.channels = 1}, {.channels = 1, .sigma = SigmaInput::input}}, network);
        EXPECT_EQ(found.card.sigma, SigmaInput::none);
        return found.remarks;
    };
    EXPECT_THAT(remarks_of(0.1), Contains(HasSubstr("second input")));
    EXPECT_THAT(remarks_of(0), IsEmpty());
}

TEST(FindCard, TakesTheFirstCandidateThatRuns) {
    const auto gray = network_of([](const Window& in, int64_t c, int64_t y, int64_t x) { return in(c, y, x); });
    const auto network = [&](const NetworkCard& card, const std::vector<float>& values, const Shape& shape) {
        return shape.c == 1 ? gray(card, values, shape) : TrialOutput{{}, "wrong channels"};
    };
    EXPECT_EQ(find_card({{.channels = 3}, {.channels = 1}}, network).card.channels, 1);
}

/// A median of 5 in [0,255] that rounds: in [0,1] it gives nothing useful.
TEST(FindCard, RangeOf255) {
    const FoundCard found = find([](const Window& in, int64_t c, int64_t y, int64_t x) {
        double sum = 0;
        for (int64_t dy = -1; dy <= 1; ++dy)
            for (int64_t dx = -1; dx <= 1; ++dx) sum += in(c, y + dy, x + dx) / 9;
        return std::max(sum, 3.0);
    });
    EXPECT_EQ(found.card.range, 255);
}

/// It makes a constant of samples in [0,1] and leaves the noise of those in [0,255].
TEST(FindCard, RangeOf255IsOfNetworksThatTakeNoiseAway) {
    const FoundCard found =
        find([](const Window& in, int64_t c, int64_t y, int64_t x) { return std::max<double>(in(c, y, x), 3); });
    EXPECT_EQ(found.card.range, 1);
}

const auto kGivesTheNoise = Contains(HasSubstr("its output seems to be the noise, not the image"));

TEST(FindCard, SaysWhereTheOutputIsTheNoise) {
    const auto mean = [](const Window& in, int64_t c, int64_t y, int64_t x) {
        double sum = 0;
        for (int64_t dy = -1; dy <= 1; ++dy)
            for (int64_t dx = -1; dx <= 1; ++dx) sum += in(c, y + dy, x + dx) / 9;
        return sum;
    };
    const auto noise = [&](const Window& in, int64_t c, int64_t y, int64_t x) {
        return in(c, y, x) - mean(in, c, y, x);
    };
    const auto nothing = [](const Window& in, int64_t c, int64_t y, int64_t x) { return in(c, y, x); };
    const auto untrained = [&](const Window& in, int64_t c, int64_t y, int64_t x) { return 0.5 - mean(in, c, y, x); };
    EXPECT_THAT(find(noise).remarks, kGivesTheNoise);
    for (const ValueAt& other : {ValueAt(mean), ValueAt(nothing), ValueAt(untrained)})
        EXPECT_THAT(find(other).remarks, Not(kGivesTheNoise));
    for (const NetworkCard& card :
         {NetworkCard{.channels = 3, .sigma = SigmaInput::channel}, NetworkCard{.channels = 1}})
        EXPECT_THAT(find(noise, 1, card).remarks, kGivesTheNoise);
}

TEST(FindCard, RefusesWhatIsNoNetworkForImages) {
    const auto never = [](const NetworkCard&, const std::vector<float>&, const Shape&) {
        return TrialOutput{{}, "gave an array of 3 axes"};
    };
    EXPECT_THAT(refusal_of(never), HasSubstr("gave an array of 3 axes"));
    const auto infinite = [](const Window&, int64_t, int64_t, int64_t) {
        return std::numeric_limits<double>::quiet_NaN();
    };
    EXPECT_THAT(refusal_of(network_of(infinite)), HasSubstr("not finite"));
    double counter = 0;
    const auto random = [&](const Window&, int64_t, int64_t, int64_t) { return counter += 0.001; };
    EXPECT_THAT(refusal_of(network_of(random)), HasSubstr("another output"));
    const auto fixed = [](const NetworkCard&, const std::vector<float>& values, const Shape& shape) {
        return shape.h == 64 && shape.w == 64 ? TrialOutput{values, ""} : TrialOutput{{}, "64 px only"};
    };
    EXPECT_THAT(refusal_of(fixed), HasSubstr("dynamic height and width"));
    for (const bool is_wide : {false, true}) {
        const auto one_way = [=](const NetworkCard&, const std::vector<float>& values, const Shape& shape) {
            const bool is_taken = is_wide ? shape.h <= shape.w : shape.w <= shape.h;
            return is_taken ? TrialOutput{values, ""} : TrialOutput{{}, "longer in one way only"};
        };
        EXPECT_THAT(refusal_of(one_way), HasSubstr("dynamic height and width")) << is_wide;
    }
}

TEST(NetworkCard, TextIsReadBack) {
    for (const NetworkCard& card :
         {NetworkCard{
              .channels = 1, .sigma = SigmaInput::input, .range = 255, .alignment = 8, .radius = 12, .halo = 16},
          NetworkCard{.alignment = 2, .radius = 1, .halo = 0}, NetworkCard{.radius = 0, .halo = 0},
          NetworkCard{.range = 0.5}, NetworkCard{.alignment = 8, .step = 2, .batch = 1}})
        EXPECT_EQ(parse_network_card(to_text(card)), card) << to_text(card);
}

TEST(NetworkCard, RefusesWrongValues) {
    for (const char* text :
         {"channels 2", "alignment 0", "radius 3", "halo 4", "radius -1, halo 0", "alignment 8, radius 1, halo 4",
          "radius 1, halo 1048577", "alignment 8, step 3", "alignment 2, step 4", "step 0", "batch 0", "range 0",
          "range inf", "range 1e30", "sigma perhaps", "size 3", "channels"})
        EXPECT_THROW((void)parse_network_card(text), UsageError) << text;
}

}  // namespace
}  // namespace pb::network
