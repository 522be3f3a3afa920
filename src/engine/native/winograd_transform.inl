// The transforms of Winograd's F(4x4, 3x3) and F(2x2, 3x3) (Lavin & Gray 2016, "Fast algorithms for convolutional
// neural networks"). Those of the weights are in packed_weights.cpp.
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

/// Along one axis, for tiles of kTile pixels.
template <int kTile>
struct Transform;

/// With the points 0, +-1/sqrt(2), +-sqrt(2) and infinity. Their products are 1 or near it, which makes the largest
/// error 4 to 6 times smaller than with 0, +-1, +-2 (after Barabasz et al. 2020, "Error analysis and improving the
/// accuracy of Winograd convolution").
template <>
struct Transform<4> {
    static constexpr float kRoot = 1.41421356237309504880F;  // the outer points are +-kRoot
    static constexpr float kHalfRoot = kRoot / 2;            // the inner ones, +-1/sqrt(2)

    /// Six values: the transposed of B.
    static HWY_INLINE void operand(const Vector* d, Vector* out) {
        out[0] = multiply_add(d[2], -2.5F, d[0] + d[4]);
        out[5] = multiply_add(d[3], -2.5F, d[1] + d[5]);
        const Vector even_inner = multiply_add(d[2], -2.F, d[4]), odd_inner = multiply_add(d[1], -2.F, d[3]);
        out[1] = multiply_add(odd_inner, kHalfRoot, even_inner);
        out[2] = multiply_add(odd_inner, -kHalfRoot, even_inner);
        const Vector even_outer = multiply_add(d[2], -0.5F, d[4]), odd_outer = multiply_add(d[1], -0.5F, d[3]);
        out[3] = multiply_add(odd_outer, kRoot, even_outer);
        out[4] = multiply_add(odd_outer, -kRoot, even_outer);
    }

    /// Four values: the transposed of A.
    static HWY_INLINE void result(const Vector* m, Vector* out) {
        const Vector inner_sum = m[1] + m[2], inner = m[1] - m[2];
        const Vector outer_sum = m[3] + m[4], outer = m[3] - m[4];
        out[0] = m[0] + inner_sum + outer_sum;
        out[1] = multiply_add(outer, kRoot, inner * all(kHalfRoot));
        out[2] = multiply_add(outer_sum, 2.F, inner_sum * all(0.5F));
        out[3] = multiply_add(outer, 2 * kRoot, multiply_add(inner, kHalfRoot / 2, m[5]));
    }
};

/// With the points 0, +-1 and infinity.
template <>
struct Transform<2> {
    static HWY_INLINE void operand(const Vector* d, Vector* out) {
        out[0] = d[0] - d[2];
        out[1] = d[1] + d[2];
        out[2] = d[2] - d[1];
        out[3] = d[3] - d[1];
    }

    static HWY_INLINE void result(const Vector* m, Vector* out) {
        out[0] = m[0] + m[1] + m[2];
        out[1] = m[1] - m[2] + m[3];
    }
};

/// Pixels of the operands of tiles that lie side by side, and where their products begin.
struct PatchPlace {
    const float* in = nullptr;
    int64_t row_step = 0, column_step = 0;  // in floats
    float* out = nullptr;
    int64_t product_step = 0, tile_step = 0;
    int64_t num_tiles = 1;
};

/// The pixels of all channels under the first tile become rows of channels, one for each product: 6 x 6 become 36. The
/// last vector ends with the last channel, whatever their number: some are transformed twice.
template <int kTile>
void transform_patch(const PatchPlace& place, int64_t channels) {
    static_assert(kLanes <= network::kWinogradChannels);
    constexpr int kPatch = network::winograd_patch(kTile);
    for (int64_t begin = 0; begin < channels; begin += kLanes) {
        const int64_t c = std::min(begin, channels - kLanes);
        Vector half[kPatch][kPatch], line[kPatch], result[kPatch];
#pragma GCC unroll 16
        for (int j = 0; j < kPatch; ++j) {
#pragma GCC unroll 16
            for (int i = 0; i < kPatch; ++i) line[i] = load(place.in + i * place.row_step + j * place.column_step + c);
            Transform<kTile>::operand(line, result);
#pragma GCC unroll 16
            for (int i = 0; i < kPatch; ++i) half[i][j] = result[i];
        }
#pragma GCC unroll 16
        for (int i = 0; i < kPatch; ++i) {
            Transform<kTile>::operand(half[i], result);
#pragma GCC unroll 16
            for (int j = 0; j < kPatch; ++j) store(result[j], place.out + (i * kPatch + j) * place.product_step + c);
        }
    }
}

/// Pixels of one tile of the result.
struct TilePlace {
    const float* products = nullptr;
    int64_t product_step = 0;
    const float* bias = nullptr;
    const float* summand = nullptr;  // null: none
    int64_t summand_row_step = 0;    // in floats; columns lie as in `out`
    float* out = nullptr;
    int64_t row_step = 0, column_step = 0;  // in floats
    int64_t channels = 0;                   // of the panel
    int64_t h = 0, w = 0;                   // of the part that is inside the map
    bool relu = false;
};

/// The products of one panel of channels become the pixels of a tile. kWhole: all of them are inside the map, and the
/// channels are whole vectors.
template <int kTile, bool kWhole, bool kStreams>
void transform_tile(const TilePlace& place) {
    constexpr int kPatch = network::winograd_patch(kTile);
    for (int64_t c = 0; c < place.channels; c += kLanes) {
        Vector half[kTile][kPatch], line[kPatch], result[kTile];
        const Vector bias = load(place.bias + c);
#pragma GCC unroll 16
        for (int j = 0; j < kPatch; ++j) {
#pragma GCC unroll 16
            for (int i = 0; i < kPatch; ++i) line[i] = load(place.products + (i * kPatch + j) * place.product_step + c);
            Transform<kTile>::result(line, result);
#pragma GCC unroll 16
            for (int i = 0; i < kTile; ++i) half[i][j] = result[i];
        }
#pragma GCC unroll 16
        for (int i = 0; i < kTile; ++i) {
            if (!kWhole && i >= place.h) break;
            Transform<kTile>::result(half[i], result);
#pragma GCC unroll 16
            for (int j = 0; j < kTile; ++j) {
                if (!kWhole && j >= place.w) break;
                const int64_t column = j * place.column_step + c;
                const float* summand =
                    place.summand == nullptr ? nullptr : place.summand + i * place.summand_row_step + column;
                float* const out = place.out + i * place.row_step + column;
                if (kWhole || c + kLanes <= place.channels)
                    put<kStreams>(finished(result[j] + bias, summand, place.relu), out);
                else
                    put_first(result[j] + bias, place.channels - c, summand, place.relu, out);
            }
        }
    }
}

/// transform_tile() of a whole tile past the caches. Where a vector is only a part of a cache line, the pixels are put
/// together first: more lines than the processor can gather at a time would be begun, and written in parts.
template <int kTile>
void stream_tile(const TilePlace& place) {
    if constexpr (kLanes == network::kNativeLanes) {
        transform_tile<kTile, true, true>(place);
    } else {
        float pixels[int64_t{kTile} * kTile * network::kNativePanel];
        TilePlace gathered = place;
        gathered.out = pixels;
        gathered.column_step = place.channels;
        gathered.row_step = kTile * place.channels;
        transform_tile<kTile, true, false>(gathered);
        const float* from = pixels;
        for (int i = 0; i < kTile; ++i)
            for (int j = 0; j < kTile; ++j, from += place.channels)
                for (int64_t c = 0; c < place.channels; c += kLanes)
                    put<true>(load(from + c), place.out + i * place.row_step + j * place.column_step + c);
    }
}

}  // namespace
}  // namespace pb::engine::native::HWY_NAMESPACE
