// The product that all convolutions but the narrow ones are made of. Each result is one chain of multiply-adds in the
// order of the depth, whatever the number of rows: the bits do not depend on how rows are grouped.
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

/// Rows x 2 vectors of results stay in registers: 28 of 32 with AVX-512, 12 of 16 with AVX2.
constexpr int64_t kRows = kLanes == network::kNativeLanes ? network::kDirectPixels : 6;
constexpr int64_t kColumns = 2 * kLanes;
static_assert(network::kNativePanel % kColumns == 0);

/// A kernel of fewer rows reads weights faster than main memory gives them, so those of the next product are fetched
/// meanwhile: a line whenever so many rows of the own ones are read, with which five groups fetch all of them.
constexpr bool kFetchPays = kLanes < network::kNativeLanes;
constexpr int64_t kRowsPerFetch = 5;

/// c[row][column] = sum over segments and depth of a[segment][row * a_step + k] * b[segment][k][column]
struct Product {
    std::array<const float*, 3> a{};
    int64_t num_segments = 1;
    int64_t a_step = 0;
    int64_t depth = 0;
    const float* b = nullptr;  // rows of kNativePanel columns, of which at most kColumns are multiplied
    float* c = nullptr;        // rows of kNativePanel columns
    const float* fetched = nullptr;  // rows of kNativePanel columns, whose first line is fetched; null: none
};

/// kPair: both vectors of columns are needed.
template <bool kFetches>
struct Fp32Kernel {
    template <int kCount, bool kPair>
    static void multiply(const Product& product);
};
using Fp32Product = Fp32Kernel<false>;
using FetchingProduct = Fp32Kernel<true>;

template <bool kFetches>
template <int kCount, bool kPair>
void Fp32Kernel<kFetches>::multiply(const Product& product) {
    Vector left[kCount], right[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) left[i] = right[i] = hn::Zero(kLanesTag);
    const int64_t a_step = product.a_step;
    const float* b = product.b;
    [[maybe_unused]] const float* fetched = product.fetched == nullptr ? b : product.fetched;
    for (int64_t segment = 0; segment < product.num_segments; ++segment) {
        const float* a = product.a[static_cast<size_t>(segment)];
        for (int64_t k = 0; k < product.depth; ++k, b += network::kNativePanel) {
            if constexpr (kFetches)
                if (k % kRowsPerFetch == 0) {
                    fetch(fetched);
                    fetched += network::kNativePanel;
                }
            const Vector b_left = load(b), b_right = kPair ? load(b + kLanes) : hn::Zero(kLanesTag);
#pragma GCC unroll 16
            for (int i = 0; i < kCount; ++i) {
                const Vector value = all(a[i * a_step + k]);
                left[i] = hn::MulAdd(value, b_left, left[i]);
                if constexpr (kPair) right[i] = hn::MulAdd(value, b_right, right[i]);
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
        store(left[i], product.c + i * network::kNativePanel);
        if constexpr (kPair) store(right[i], product.c + i * network::kNativePanel + kLanes);
    }
}

using Multiply = void (*)(const Product&);

template <class Kernel, bool kPair, int... kCounts>
constexpr std::array<Multiply, sizeof...(kCounts)> make_multiply(std::integer_sequence<int, kCounts...> /*counts*/) {
    return {&Kernel::template multiply<kCounts + 1, kPair>...};
}

/// `count`: rows of the product, 1 to kRows. `columns`: those that are needed; whole vectors, at most two, are computed.
template <class Kernel>
HWY_INLINE void multiply(const Product& product, int64_t count, int64_t columns) {
    static constexpr auto kOne = make_multiply<Kernel, false>(std::make_integer_sequence<int, kRows>());
    static constexpr auto kTwo = make_multiply<Kernel, true>(std::make_integer_sequence<int, kRows>());
    (columns > kLanes ? kTwo : kOne)[static_cast<size_t>(count - 1)](product);
}

/// Columns of a panel that are not filling.
HWY_INLINE int64_t panel_columns(const network::NativeConvolution& layer, int64_t panel) {
    return std::min(network::kNativePanel, layer.columns() - panel * network::kNativePanel);
}

}  // namespace
}  // namespace pb::engine::native::HWY_NAMESPACE
