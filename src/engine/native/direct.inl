// Every convolution that Winograd's method does not fit, as products of some pixels of a row with the weights: few
// channels, any number of channels, 1x1, 2x2 with stride 2. A row of the kernel is one segment of the product, because
// its pixels lie side by side. Row r of the result of a transposed convolution is the product of row r / 2 with the
// weights for r % 2, whose columns are the channels of two neighbouring pixels.
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

class DirectRow {
  public:
    DirectRow(const ConvolutionCall& call, int64_t number, float* scratch)
        : call_(call),
          layer_(call.layer),
          window_(call.window_of(number)),
          row_(call.row_of(number)),
          pixels_(layer_.transposed ? Range{call.columns.begin / 2, call.columns.end / 2} : call.columns),
          num_segments_(layer_.transposed ? 1 : layer_.kernel),
          stride_(layer_.transposed ? 1 : layer_.stride),
          out_(call.out.at(window_, row_, call.columns.begin)),
          summand_(call.summand.values == nullptr ? nullptr : call.summand.at(window_, row_, call.columns.begin)),
          products_(scratch),
          patch_(scratch + network::kDirectPixels * network::kNativePanel) {}

    void run() {
        const int64_t groups = ceil_div(pixels_.size(), kRows);
        for (int64_t panel = 0; panel < layer_.panels(); ++panel)
            for (int64_t group = 0; group < groups; ++group) {
                const Range range = shard(pixels_.size(), group, groups);
                multiply_panel(panel, {pixels_.begin + range.begin, pixels_.begin + range.end});
                for (int64_t i = 0; i < range.size(); ++i)
                    finish(panel, range.begin + i, products_ + i * network::kNativePanel);
            }
    }

  private:
    void multiply_panel(int64_t panel, Range range) {
        Product product = operand_of(range);
        const int64_t panel_floats = num_segments_ * layer_.depth() * network::kNativePanel;
        const int64_t part = layer_.transposed ? row_ % 2 : 0;
        const float* weights = call_.weights + (part * layer_.panels() + panel) * panel_floats;
        const int64_t columns = panel_columns(layer_, panel);
        for (int64_t column = 0; column < columns; column += kColumns) {
            product.b = weights + column;
            product.c = products_ + column;
            multiply<Fp32Product>(product, range.size(), columns - column);
        }
    }

    /// The pixels of the operand where they lie, or copied where some are beyond the map.
    [[nodiscard]] Product operand_of(Range range) {
        const int64_t padding = call_.padding(), channels = layer_.in_channels;
        const int64_t top = layer_.transposed ? row_ / 2 : row_ * stride_ - padding;
        const int64_t left = range.begin * stride_ - padding;
        const int64_t columns = layer_.transposed ? range.size() : (range.size() - 1) * stride_ + layer_.kernel;
        const bool is_inside = top >= 0 && left >= 0 && top + num_segments_ <= call_.h && left + columns <= call_.w;
        if (!is_inside) copy_patch(top, left, columns);
        Product product{.num_segments = num_segments_, .a_step = stride_ * channels, .depth = layer_.depth()};
        for (int64_t s = 0; s < num_segments_; ++s)
            product.a[static_cast<size_t>(s)] =
                is_inside ? call_.in.front().at(window_, top + s, left) : patch_ + s * columns * channels;
        return product;
    }

    void copy_patch(int64_t top, int64_t left, int64_t columns) {
        const int64_t channels = layer_.in_channels;
        std::fill_n(patch_, num_segments_ * columns * channels, 0.F);
        const int64_t begin = std::max<int64_t>(0, -left), end = std::min(columns, call_.w - left);
        for (int64_t s = 0; s < num_segments_; ++s) {
            const int64_t y = top + s;
            if (y < 0 || y >= call_.h) continue;
            const float* from = call_.in.front().at(window_, y, left + begin);
            std::copy_n(from, (end - begin) * channels, patch_ + (s * columns + begin) * channels);
        }
    }

    /// `pixel` counts from the first one that is computed.
    void finish(int64_t panel, int64_t pixel, const float* products) {
        const int64_t first = panel * network::kNativePanel, count = panel_columns(layer_, panel);
        const int64_t at = pixel * layer_.columns() + first;
        const float* bias = call_.bias + first;
        const float* summand = summand_ == nullptr ? nullptr : summand_ + at;
        float* out = out_ + at;
        int64_t c = 0;
        for (; c + kLanes <= count; c += kLanes) {
            const float* added = summand == nullptr ? nullptr : summand + c;
            const Vector value = finished(load(products + c) + load(bias + c), added, call_.relu);
            if (call_.streams)
                put<true>(value, out + c);
            else
                put<false>(value, out + c);
        }
        for (; c < count; ++c) {
            float value = products[c] + bias[c];
            if (summand != nullptr) value += summand[c];
            out[c] = call_.relu && value < 0 ? 0 : value;
        }
    }

    const ConvolutionCall& call_;
    const network::NativeConvolution& layer_;
    int64_t window_, row_;  // of the result
    Range pixels_;          // products of the row
    int64_t num_segments_, stride_;
    float* out_;  // the row, from the first pixel that is computed
    const float* summand_;
    float *products_, *patch_;
};

void direct(const ConvolutionCall& call, Range numbers, float* scratch) {
    for (int64_t number = numbers.begin; number < numbers.end; ++number) DirectRow(call, number, scratch).run();
    if (call.streams) hwy::FlushStream();
}

}  // namespace
}  // namespace pb::engine::native::HWY_NAMESPACE
