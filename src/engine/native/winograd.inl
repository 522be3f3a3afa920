// A 3x3 convolution by Winograd's method, block of tiles by block of tiles: transform the operands of a block, multiply
// them with the weights panel by panel, transform each panel of products into pixels. A block stays in the second-level
// cache throughout; while it is multiplied, the pixels of the next one are fetched.
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

/// The tiles of the rows and columns to compute, row by row over all windows.
struct TileRows {
    explicit TileRows(const ConvolutionCall& call)
        : first_row(call.rows.begin),
          first_column(call.columns.begin),
          tile(call.layer.winograd.tile),
          rows(ceil_div(call.rows.size(), tile)),
          columns(ceil_div(call.columns.size(), tile)),
          count(call.n * rows * columns) {}
    /// From tile `index` to the end of its row.
    [[nodiscard]] int64_t left_in_row(int64_t index) const { return columns - index % columns; }
    int64_t first_row, first_column, tile, rows, columns, count;
};

/// Top left pixel of a tile of the result.
struct TileCorner {
    TileCorner(const TileRows& tiles, int64_t index)
        : window(index / (tiles.rows * tiles.columns)),
          row(tiles.first_row + index / tiles.columns % tiles.rows * tiles.tile),
          column(tiles.first_column + index % tiles.columns * tiles.tile) {}
    int64_t window, row, column;
};

/// Fetches the operands of tiles into the second-level cache, a few lines at a call.
class Prefetch {
  public:
    Prefetch(const ConvolutionCall& call, const TileRows& tiles, Range range, int64_t num_calls)
        : call_(call),
          tiles_(tiles),
          range_(range),
          patch_(network::winograd_patch(tiles.tile)),
          map_(call.in.begin()) {
        const int64_t lines = range.size() * patch_ * tiles.tile * call.layer.in_channels / kLine;
        lines_per_call_ = ceil_div(lines, std::max<int64_t>(1, num_calls));
        if (range_.size() > 0) find_place();
    }

    void advance() {
        for (int64_t i = 0; i < lines_per_call_ && range_.begin < range_.end; ++i) {
            hwy::Prefetch(row_begin_ + offset_);
            offset_ += kLine;
            if (offset_ < tiles_.tile * map_->channels) continue;
            offset_ = 0;
            row_begin_ += map_->row_floats;
            if (++row_ < patch_) continue;
            row_ = 0;
            next_map();
            if (range_.begin < range_.end) find_place();
        }
    }

  private:
    static constexpr int64_t kLine = 16;  // floats of a cache line

    /// The next map of the tile, or the first one of the next tile.
    void next_map() {
        if (++map_ != call_.in.end()) return;
        map_ = call_.in.begin();
        ++range_.begin;
    }

    /// The columns on the left of a tile were fetched with its neighbour. Only addresses inside the map are computed.
    void find_place() {
        const TileCorner corner(tiles_, range_.begin);
        const int64_t place =
            std::min(map_->place(std::max(corner.row - 1, map_->first)), std::max<int64_t>(0, map_->places - patch_));
        const int64_t held = map_->row_floats / map_->channels;  // columns
        const int64_t column =
            std::clamp<int64_t>(corner.column + 1 - map_->first_column, 0, std::max<int64_t>(0, held - tiles_.tile));
        row_begin_ = map_->values + (corner.window * map_->places + place) * map_->row_floats + column * map_->channels;
    }

    const ConvolutionCall& call_;
    const TileRows& tiles_;
    Range range_;
    int64_t patch_, lines_per_call_ = 0;
    std::vector<MapRows<const float>>::const_iterator map_;
    const float* row_begin_ = nullptr;
    int64_t row_ = 0, offset_ = 0;
};

/// Winograd's method with operands of fp32.
template <int kPixels>
struct Fp32Operands {
    static constexpr int kTile = kPixels;
    using Kernel = Fp32Product;
    static void transform(PatchPlace place, int64_t channels) {
        for (int64_t tile = 0; tile < place.num_tiles; ++tile) {
            transform_patch<kTile>(place, channels);
            place.in += kTile * place.column_step;
            place.out += place.tile_step;
        }
    }
};

template <class Operands>
class WinogradBlock {
  public:
    WinogradBlock(const ConvolutionCall& call, const WinogradBlocks& blocks, float* scratch)
        : call_(call),
          blocks_(blocks),
          tiles_(call),
          depth_(call.layer.winograd.operand_floats(call.layer.in_channels)),
          row_floats_(depth_ + network::kWinogradSkew),
          max_tiles_(network::winograd_tiles(call.layer.in_channels, call.layer.winograd)),
          fetches_(call.layer.packed_weights() > kSecondLevelFloats),
          operands_(scratch),
          products_(operands_ + kProducts * max_tiles_ * row_floats_),
          patch_(products_ + kProducts * max_tiles_ * network::kNativePanel) {}

    void run(int64_t item) {
        const int64_t block = item / blocks_.num_groups;
        const Range range = tiles_of(block);
        const Range panels = shard(call_.layer.panels(), item % blocks_.num_groups, blocks_.num_groups);
        transform_operands(range);
        const Range next = block + 1 < blocks_.num_blocks ? tiles_of(block + 1) : Range{};
        Prefetch prefetch(call_, tiles_, next, panels.size() * kProducts * ceil_div(range.size(), kRows));
        for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
            multiply_panel(panel, range.size(), prefetch);
            for (int64_t tile = range.begin; tile < range.end; ++tile)
                transform_results(tile, tile - range.begin, panel);
        }
    }

  private:
    static constexpr int kTile = Operands::kTile;
    static constexpr int64_t kPatch = network::winograd_patch(kTile);
    static constexpr int64_t kProducts = network::winograd_products(kTile);
    static constexpr int64_t kSecondLevelFloats = int64_t{1} << 18;  // of the cache

    [[nodiscard]] Range tiles_of(int64_t block) const { return shard(tiles_.count, block, blocks_.num_blocks); }

    /// Those of all maps, side by side.
    void transform_operands(const Range& tiles) {
        float* out = operands_;
        for (const MapRows<const float>& map : call_.in) {
            for (Range rest = tiles; rest.size() > 0;)
                rest.begin += transform_operands(map, rest, out + (rest.begin - tiles.begin) * row_floats_);
            out += call_.layer.winograd.operand_floats(map.channels);
        }
    }

    /// The first of `tiles` and those beside it whose operands lie in memory in the same way. Returns how many.
    int64_t transform_operands(const MapRows<const float>& map, const Range& tiles, float* out) {
        const TileCorner corner(tiles_, tiles.begin);
        const int64_t row = corner.row - 1, column = corner.column - 1;
        PatchPlace patch{.column_step = map.channels,
                         .out = out,
                         .product_step = max_tiles_ * row_floats_,
                         .tile_step = row_floats_};
        const int64_t inside =
            std::min({tiles_inside(map, row, column), tiles.size(), tiles_.left_in_row(tiles.begin)});
        if (inside > 0) {
            patch.in = map.at(corner.window, row, column);
            patch.row_step = map.row_floats;
            patch.num_tiles = inside;
        } else {
            copy_patch(map, corner.window, row, column);
            patch.in = patch_;
            patch.row_step = kPatch * map.channels;
        }
        Operands::transform(patch, map.channels);
        return patch.num_tiles;
    }

    /// Tiles from the one whose operands begin here to the right whose operands are all inside the map.
    [[nodiscard]] int64_t tiles_inside(const MapRows<const float>& map, int64_t row, int64_t column) const {
        const bool rows_are = row >= 0 && row + kPatch <= call_.h && map.place(row) + kPatch <= map.places;
        const int64_t columns_right = call_.w - kPatch - column;
        return rows_are && column >= 0 && columns_right >= 0 ? columns_right / kTile + 1 : 0;
    }

    /// With zeros beyond the map.
    void copy_patch(const MapRows<const float>& map, int64_t window, int64_t row, int64_t column) {
        float* to = patch_;
        for (int64_t y = row; y < row + kPatch; ++y)
            for (int64_t x = column; x < column + kPatch; ++x, to += map.channels) {
                const bool is_inside = y >= 0 && y < call_.h && x >= 0 && x < call_.w;
                if (is_inside)
                    std::copy_n(map.at(window, y, x), map.channels, to);
                else
                    std::fill_n(to, map.channels, 0.F);
            }
    }

    void multiply_panel(int64_t panel, int64_t num_tiles, Prefetch& prefetch) {
        const float* weights = call_.weights + panel * kProducts * depth_ * network::kNativePanel;
        const int64_t groups = ceil_div(num_tiles, kRows), columns = panel_columns(call_.layer, panel);
        for (int64_t p = 0; p < kProducts; ++p, weights += depth_ * network::kNativePanel)
            for (int64_t column = 0; column < columns; column += kColumns) {
                const float* next = column + kColumns < columns ? weights + column + kColumns
                                    : p + 1 < kProducts         ? weights + depth_ * network::kNativePanel
                                                                : nullptr;
                for (int64_t group = 0; group < groups; ++group) {
                    const Range rows = shard(num_tiles, group, groups);
                    if (column == 0) prefetch.advance();
                    const Product product{
                        .a = {operands_ + (p * max_tiles_ + rows.begin) * row_floats_},
                        .a_step = row_floats_,
                        .depth = depth_,
                        .b = weights + column,
                        .c = products_ + (p * max_tiles_ + rows.begin) * network::kNativePanel + column,
                        .fetched = weights_to_fetch(next, group)};
                    multiply_rows(product, rows.size(), columns - column);
                }
            }
    }

    /// The share of a group of rows in `next`, which is multiplied next; null for none.
    [[nodiscard]] const float* weights_to_fetch(const float* next, int64_t group) const {
        if (!kFetchPays || !fetches_ || next == nullptr) return nullptr;
        const int64_t fetched = ceil_div(depth_, kRowsPerFetch), first = group * fetched;
        return first + fetched <= depth_ ? next + first * network::kNativePanel : nullptr;
    }

    void multiply_rows(const Product& product, int64_t count, int64_t columns) const {
        if constexpr (kFetchPays)
            if (fetches_) return multiply<FetchingProduct>(product, count, columns);
        multiply<typename Operands::Kernel>(product, count, columns);
    }

    void transform_results(int64_t tile, int64_t place, int64_t panel) const {
        const TileCorner corner(tiles_, tile);
        const int64_t channels = call_.layer.out_channels;
        const int64_t channel = panel * network::kNativePanel;
        const bool adds = call_.summand.values != nullptr;
        const TilePlace target{
            .products = products_ + place * network::kNativePanel,
            .product_step = max_tiles_ * network::kNativePanel,
            .bias = call_.bias + channel,
            .summand = adds ? call_.summand.at(corner.window, corner.row, corner.column) + channel : nullptr,
            .summand_row_step = call_.summand.row_floats,
            .out = call_.out.at(corner.window, corner.row, corner.column) + channel,
            .row_step = call_.out.row_floats,
            .column_step = channels,
            .channels = panel_columns(call_.layer, panel),
            .h = std::min<int64_t>(kTile, call_.h - corner.row),
            .w = std::min<int64_t>(kTile, call_.w - corner.column),
            .relu = call_.relu};
        if (target.h < kTile || target.w < kTile || target.channels % kLanes != 0)
            transform_tile<kTile, false, false>(target);
        else if (call_.streams)
            stream_tile<kTile>(target);
        else
            transform_tile<kTile, true, false>(target);
    }

    const ConvolutionCall& call_;
    const WinogradBlocks& blocks_;
    TileRows tiles_;
    int64_t depth_, row_floats_, max_tiles_;
    bool fetches_;  // weights, while it multiplies others
    float *operands_, *products_, *patch_;
};

template <class Operands>
void run_blocks(const ConvolutionCall& call, const WinogradBlocks& blocks, Range items, float* scratch) {
    WinogradBlock<Operands> block(call, blocks, scratch);
    for (int64_t item = items.begin; item < items.end; ++item) block.run(item);
    if (call.streams) hwy::FlushStream();
}

void winograd(const ConvolutionCall& call, const WinogradBlocks& blocks, Range items, float* scratch) {
    if (call.layer.winograd.tile == network::kSmallWinogradTile)
        run_blocks<Fp32Operands<network::kSmallWinogradTile>>(call, blocks, items, scratch);
    else
        run_blocks<Fp32Operands<network::kWinogradTile>>(call, blocks, items, scratch);
}

}  // namespace
}  // namespace pb::engine::native::HWY_NAMESPACE
