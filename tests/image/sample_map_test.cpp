#include "image/sample_map.hpp"

#include "base/half.hpp"
#include "image_support.hpp"

#include "patchbench/base/enum_names.hpp"

#include <cmath>
#include <limits>

namespace pb::image {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// One row of these samples.
template <class Sample>
Image row_of(DType type, const std::vector<Sample>& samples) {
    Image image({1, static_cast<int64_t>(samples.size())}, 1, type);
    std::copy(samples.begin(), samples.end(), image.as<Sample>());
    return image;
}

Image unit_of(const SampleMap& map, const Image& samples) {
    Image unit(samples.extent(), samples.channels(), DType::f32);
    map.to_unit(samples.view(), unit.view());
    return unit;
}

Image samples_of(const SampleMap& map, DType type, const Image& unit) {
    Image samples(unit.extent(), unit.channels(), type);
    map.from_unit(unit.view(), samples.view());
    return samples;
}

TEST(SampleMap, TheEndsOfTheRangeAreZeroAndOneAndTheWayBackLeadsToTheSamples) {
    const std::vector<double> values{-300, 4700, 0, 2200, 5000, -301};
    const std::vector<double> expected{0, 1, 0.06, 0.5, 1.06, -0.0002};
    const auto expect_both_ways = [&](DType type, const Image& samples) {
        const SampleMap map(type, {-300, 4700});
        const Image unit = unit_of(map, samples);
        for (size_t i = 0; i < expected.size(); ++i)
            EXPECT_NEAR(unit.as<float>()[i], expected[i], 1e-7) << name_of(type);
        EXPECT_TRUE(test::same_bytes(samples_of(map, type, unit), samples)) << name_of(type);
    };
    expect_both_ways(DType::i16, row_of<int16_t>(DType::i16, {-300, 4700, 0, 2200, 5000, -301}));
    const SampleMap half_map(DType::f16, {-300, 4700});
    const std::vector<uint16_t> halves{f16_bits(-300), f16_bits(4700), f16_bits(0), f16_bits(2200)};
    const Image half_back = samples_of(half_map, DType::f16, unit_of(half_map, row_of(DType::f16, halves)));
    for (size_t i = 0; i < halves.size(); ++i) EXPECT_NEAR(f16_value(half_back.as<uint16_t>()[i]), values[i], 1e-3);
    const Image doubles = row_of<double>(DType::f64, values);
    const SampleMap map(DType::f64, {-300, 4700});
    const Image back = samples_of(map, DType::f64, unit_of(map, doubles));
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(back.as<double>()[i], values[i], 1e-3);
}

TEST(SampleMap, EveryIntegerSurvives) {
    Image all({256, 256}, 1, DType::i16);
    for (int64_t i = 0; i < 65536; ++i) all.as<int16_t>()[i] = static_cast<int16_t>(i - 32768);
    for (const SampleRange range : {SampleRange{-32768, 32767}, SampleRange{-300, 4700}, SampleRange{0, 1}}) {
        const SampleMap map(DType::i16, range);
        EXPECT_TRUE(test::same_bytes(samples_of(map, DType::i16, unit_of(map, all)), all)) << range.low;
    }
}

TEST(SampleMap, FullScaleIsWhatUnmappedSamplesHave) {
    for (const DType type : {DType::u8, DType::u16}) {
        const Image image = test::make_pattern({64, 33}, 3, type);
        Image expected(image.extent(), 3, DType::f32);
        to_float(image.view(), expected.view());
        EXPECT_TRUE(test::same_bytes(unit_of({type, range_of_type(type).value()}, image), expected));
    }
    EXPECT_FALSE(range_of_type(DType::i16).has_value());
    EXPECT_FALSE(range_of_type(DType::u32).has_value());
    EXPECT_EQ(range_of_type(DType::f64), (SampleRange{0, 1}));
}

TEST(SampleMap, IntegersAreRoundedToEvenAndClipped) {
    const Image unit = row_of<float>(DType::f32, {0.25F, 0.75F, 1e9F, -1e9F, kNan, kInfinity});
    const Image samples = samples_of({DType::i16, {0, 2}}, DType::i16, unit);
    const std::vector<int16_t> expected{0, 2, 32767, -32768, 0, 32767};
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(samples.as<int16_t>()[i], expected[i]) << i;
    EXPECT_EQ(samples_of({DType::u32, {0, 1}}, DType::u32, row_of<float>(DType::f32, {1e12F})).as<uint32_t>()[0],
              4294967295U);
    EXPECT_EQ(
        f16_value(samples_of({DType::f16, {0, 1}}, DType::f16, row_of<float>(DType::f32, {1e9F})).as<uint16_t>()[0]),
        65504.0F);
}

TEST(SampleMap, WhatIsNoDataIsMarkedAndComesBackBitForBit) {
    const SampleMap map(DType::f32, {-300, 4700}, true, -9999);
    const Image original = row_of<float>(DType::f32, {0, -9999, kNan, kInfinity, -kInfinity, -9998, 4700});
    const Image unit = unit_of(map, original);
    const std::vector<bool> gaps{false, true, true, true, true, false, false};
    for (size_t i = 0; i < gaps.size(); ++i) EXPECT_EQ(std::isnan(unit.as<float>()[i]), gaps[i]) << i;
    EXPECT_EQ(count_gaps(unit.view()), 4);
    Image samples = row_of<float>(DType::f32, {1, 2, 3, 4, 5, 6, 7});
    map.copy_gaps(original.view(), samples.view());
    for (size_t i = 0; i < gaps.size(); ++i) {
        const float expected = gaps[i] ? original.as<float>()[i] : static_cast<float>(i + 1);
        EXPECT_EQ(std::memcmp(&samples.as<float>()[i], &expected, sizeof expected), 0) << i;
    }
}

TEST(SampleMap, ANodataValueIsTakenAsTheTypeHoldsIt) {
    const SampleMap floats(DType::f32, {0, 1}, true, 0.1);
    EXPECT_EQ(count_gaps(unit_of(floats, row_of<float>(DType::f32, {0.1F, 0.2F})).view()), 1);
    for (const double nodata : {-9999.0, 0.5, 1e10, std::nan("")})
        EXPECT_FALSE(SampleMap(DType::u16, {0, 1}, true, nodata).nodata().has_value()) << nodata;
    EXPECT_EQ(SampleMap(DType::i16, {0, 1}, true, -9999).nodata(), -9999);
    constexpr double kLargest = std::numeric_limits<float>::max();
    EXPECT_EQ(SampleMap(DType::f32, {0, 1}, true, -3.40282346638529e+38).nodata(), -kLargest) << "as GDAL writes it";
    EXPECT_EQ(SampleMap(DType::f16, {0, 1}, true, 1e-7).nodata(), std::ldexp(1, -23)) << "the nearest subnormal";
    for (const auto& [type, beyond] : {std::pair(DType::f32, 1e39), {DType::f32, -1e39}, {DType::f16, -1e5}})
        EXPECT_FALSE(SampleMap(type, {0, 1}, true, beyond).nodata()) << beyond << ": the largest sample is no gap";
}

TEST(SampleMap, AnInfiniteNodataValueIsOneOfFloats) {
    for (const float nodata : {-kInfinity, kInfinity}) {
        for (const DType type : {DType::f16, DType::f32, DType::f64})
            EXPECT_EQ(SampleMap(type, {0, 1}, true, nodata).nodata(), nodata) << name_of(type);
        EXPECT_FALSE(SampleMap(DType::u16, {0, 1}, true, nodata).nodata().has_value()) << nodata;
        const SampleMap map(DType::f32, {0, 1}, true, nodata);
        const Image original = row_of<float>(DType::f32, {nodata, 0.5F});
        const Image unit = unit_of(map, original);
        EXPECT_EQ(count_gaps(unit.view()), 1);
        Image samples = samples_of(map, DType::f32, row_of<float>(DType::f32, {0.25F, 0.5F}));
        map.copy_gaps(original.view(), samples.view());
        EXPECT_EQ(samples.as<float>()[0], nodata);
        EXPECT_EQ(samples.as<float>()[1], 0.5F);
        EXPECT_EQ(map.added_rounding(0.5), 0) << "no sample is near it";
    }
}

TEST(SampleMap, NoSampleBecomesNodata) {
    const auto neighbour = [](DType type, double nodata, float unit, SampleRange range) {
        Image sample = samples_of({type, range, true, nodata}, type, row_of<float>(DType::f32, {unit}));
        Image back({1, 1}, 1, DType::f32);
        SampleMap(type, {0, 1}).to_unit(sample.view(), back.view());
        return back.as<float>()[0];
    };
    EXPECT_EQ(neighbour(DType::i16, 100, 0.5F, {0, 200}), 99);
    EXPECT_EQ(neighbour(DType::i16, 100, 0.501F, {0, 200}), 101);
    EXPECT_EQ(neighbour(DType::u8, 0, -1.0F, {0, 255}), 1.0F / 255 * 255) << "nothing lies below 0";
    EXPECT_EQ(neighbour(DType::u8, 255, 2.0F, {0, 255}), 254);
    const float below = neighbour(DType::f32, 100, 0.5F, {0, 200});
    EXPECT_NE(below, 100);
    EXPECT_NEAR(below, 100, 1e-5);
    const float half = neighbour(DType::f16, 100, 0.5F, {0, 200});
    EXPECT_NE(half, 100);
    EXPECT_NEAR(half, 100, 0.2);
}

TEST(SampleMap, SaysWhatTheWayBackDoesToANumber) {
    const SampleMap shorts(DType::i16, {-300, 4700});
    EXPECT_DOUBLE_EQ(shorts.rounding(), 0.5 / 5000);
    EXPECT_DOUBLE_EQ(shorts.limits().high, (32767.0 + 300) / 5000);
    EXPECT_DOUBLE_EQ(shorts.limits().low, (-32768.0 + 300) / 5000);
    EXPECT_DOUBLE_EQ(SampleMap(DType::f32, {-3000, 1000}).rounding(), std::ldexp(1.0, -24) * 3000 / 4000);
    const SampleMap halves(DType::f16, {0, 1});
    for (const float value : {0.3F, 0.777F, 0.999F, 1e-3F}) {
        const Image unit = row_of<float>(DType::f32, {value});
        EXPECT_LE(std::abs(unit_of(halves, samples_of(halves, DType::f16, unit)).as<float>()[0] - value),
                  halves.rounding());
    }
}

TEST(SampleMap, RoundingIsAddedToBeyondTheRangeOfFloatsAndAtNodata) {
    const SampleMap shorts(DType::i16, {-300, 4700}, true, 100);
    EXPECT_NEAR(shorts.added_rounding(400.4 / 5000), 0.5 / 5000, 1e-12);
    for (const double value : {0.0, 399.4 / 5000, 400.6 / 5000, 6.0})
        EXPECT_EQ(shorts.added_rounding(value), 0) << value;
    const SampleMap halves(DType::f16, {0, 1}, true, 0.5);
    for (const double value : {-0.9, 0.0, 0.3, 1.0}) EXPECT_EQ(halves.added_rounding(value), 0) << value;
    EXPECT_NEAR(halves.added_rounding(40), 39 * halves.rounding(), 1e-12);
    EXPECT_NEAR(halves.added_rounding(0.5), halves.rounding(), 1e-12);
}

TEST(SampleMap, TheNeighbourOfAHalfIsTheNextOne) {
    const auto neighbour_of = [](float nodata) {
        const SampleMap map(DType::f16, {0, 1}, true, nodata);
        const Image unit = row_of<float>(DType::f32, {nodata});
        return unit_of(SampleMap(DType::f16, {0, 1}), samples_of(map, DType::f16, unit)).as<float>()[0];
    };
    EXPECT_EQ(neighbour_of(1.9375F), 1.9375F - std::ldexp(1.F, -10));
    EXPECT_EQ(neighbour_of(1), 1 - std::ldexp(1.F, -11)) << "halves are denser below a power of two";
}

TEST(RangeOfValues, LeavesOutAThousandthAtEachEnd) {
    std::vector<double> values;
    for (int i = 0; i <= 10000; ++i) values.push_back(static_cast<float>(10000 - i));
    EXPECT_EQ(range_of_values(values), (SampleRange{10, 9990}));
    std::vector<double> few{3, 1, 2};
    EXPECT_EQ(range_of_values(few), (SampleRange{1, 3}));
    std::vector<double> flat(9, 7.0F), none;
    EXPECT_THROW((void)range_of_values(flat), UsageError);
    EXPECT_THROW((void)range_of_values(none), UsageError);
    std::vector<double> endless{-1.7e308, 1.7e308};
    EXPECT_THROW((void)range_of_values(endless), UsageError);
}

TEST(SampleMap, ARangeIsFoundInSamplesOfAnySize) {
    Image samples({1, 4}, 1, DType::f64);
    const double values[] = {1e12, 3e12, -9999, 2e12};
    std::copy(std::begin(values), std::end(values), samples.as<double>());
    std::vector<double> data;
    SampleMap(DType::f64, {0, 1}, true, -9999).append_data(samples.view(), data);
    EXPECT_EQ(range_of_values(data), (SampleRange{1e12, 3e12}));
}

/// A ramp with gaps.
Image ramp_with_gaps(Extent extent) {
    Image image(extent, 3, DType::f32);
    for (int64_t i = 0; i < extent.pixels() * 3; ++i)
        image.as<float>()[i] = i % 11 == 0 || (i / 3 / extent.w) % 13 > 4 ? kNan : static_cast<float>(i) * 1e-3F;
    return image;
}

TEST(FillGaps, TakesTheMeanOfTheNearestDataOfTheChannel) {
    Image image({9, 9}, 1, DType::f32);
    std::fill_n(image.as<float>(), 81, 0.25F);
    image.as<float>()[4 * 9 + 4] = kNan;
    image.as<float>()[3 * 9 + 4] = 0.33F;
    const Rect whole{0, 0, {9, 9}};
    EXPECT_FLOAT_EQ(fill_gaps(image.view(), whole, whole).as<float>()[4 * 9 + 4], 0.26F);
    std::fill_n(image.as<float>(), 81, kNan);
    image.as<float>()[0] = 0.9F;
    const Image filled = fill_gaps(image.view(), whole, whole);
    EXPECT_FLOAT_EQ(filled.as<float>()[3 * 9 + 3], 0.9F) << "three pixels away";
    EXPECT_FLOAT_EQ(filled.as<float>()[4 * 9], 0.5F) << "beyond reach";
}

TEST(FillGaps, IsTheSameHoweverTheImageIsCut) {
    const Image image = ramp_with_gaps({40, 31});
    const Rect whole{0, 0, image.extent()};
    const Image filled = fill_gaps(image.view(), whole, whole);
    EXPECT_EQ(count_gaps(filled.view()), 0);
    for (const Rect part : {Rect{0, 0, {7, 5}}, Rect{5, 9, {1, 1}}, Rect{20, 11, {20, 20}}, Rect{39, 30, {1, 1}}}) {
        const int64_t top = std::max<int64_t>(0, part.row - kGapReach),
                      left = std::max<int64_t>(0, part.column - kGapReach);
        const Rect around{top,
                          left,
                          {std::min<int64_t>(40, part.row + part.extent.h + kGapReach) - top,
                           std::min<int64_t>(31, part.column + part.extent.w + kGapReach) - left}};
        EXPECT_TRUE(
            test::same_bytes(fill_gaps(test::crop(image, around).view(), around, part), test::crop(filled, part)));
    }
}

TEST(SampleMap, ImagesOfUnequalExtentOrAnotherTypeAreRefused) {
    const SampleMap map(DType::u8, {0, 255}, true);
    Image unit({1, 3}, 1, DType::f32), bytes({1, 3}, 1, DType::u8);
    const Image words = row_of<uint16_t>(DType::u16, {1, 2, 3});
    EXPECT_THROW(map.to_unit(row_of<uint8_t>(DType::u8, {1, 2}).view(), unit.view()), Error);
    EXPECT_THROW(map.to_unit(words.view(), unit.view()), Error);
    EXPECT_THROW(map.copy_gaps(words.view(), bytes.view()), Error);
}

TEST(SampleMap, ASampleFarFromTheRangeIsRefusedOnEitherSide) {
    const SampleMap map(DType::f32, {0, 1});
    for (const float far : {1e30F, -1e30F})
        EXPECT_THROW((void)unit_of(map, row_of<float>(DType::f32, {0, far})), UsageError) << far;
}

}  // namespace
}  // namespace pb::image
