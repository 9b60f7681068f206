// SPDX-License-Identifier: Apache-2.0
#include "traffic/block_lru.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "traffic/footprint.h"
#include "traffic/reuse_stack.h"
#include "traffic/touched.h"

namespace rooftile::traffic {

namespace {

constexpr double kStepsPerL2 = 4;              // the L2 holds at least this many steps of one wave
constexpr double kMaxCtaSteps = 2e5;           // CTAs x steps of a walk
constexpr std::int64_t kMaxTouches = 200'000;  // of blocks; more make them coarser
constexpr std::int64_t kMaxCtas = 200'000;     // walked; a longer grid is extrapolated along m
constexpr double kMaxStream = 24;  // of L2 that a filter gradient's walk streams through

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// Distinct A and B tiles of the CTAs of one wave, as z * tiles + tile, ascending.
struct WaveTiles {
  std::vector<std::int64_t> a, b;
};

WaveTiles wave_tiles(const ImplicitGemm& g, const CacheMachine& machine, std::int64_t first,
                     std::int64_t count) {
  WaveTiles tiles;
  for (std::int64_t i = first; i < first + count; ++i) {
    const CtaIndex cta = cta_at(g, i, machine);
    tiles.a.push_back(cta.z * g.tiles_m() + cta.m);
    tiles.b.push_back(cta.z * g.tiles_n() + cta.n);
  }
  for (std::vector<std::int64_t>* list : {&tiles.a, &tiles.b}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  return tiles;
}

/// Taps overlap: the operand's tiles and parts of k share pixels.
bool has_taps(const GatherView& view) {
  return view.cross.rows * view.cross.columns > 1;
}

/// One operand of the walk.
struct Operand {
  const GatherView& view;
  std::int64_t tiles = 1;      ///< along its side of the grid
  std::int64_t tile_rows = 1;  ///< CtaTile::m or n
  std::int64_t parts = 1;      ///< of k, of the whole problem
  double lines = 0;            ///< bytes that the whole operand occupies
  std::uint64_t key_bit = 0;   ///< tells the operands' blocks apart
  double misses = 0;           ///< so far, in units of the whole operand
};

/// Channels whose blocks are touched together, and the rows of taps that touch them.
struct TapBox {
  Range channels, taps;
};

/// Steps of k that all CTAs take together.
class Walk {
 public:
  Walk(const ImplicitGemm& g, const CacheMachine& machine, std::int64_t steps, const Operand& a,
       const Operand& b)
      : g_(g),
        machine_(machine),
        steps_(steps),
        a_(a),
        b_(b),
        stack_(real(machine.l2_bytes), machine.l2_ways,
               steps * ceil_div(g.ctas(), machine.wave())) {}

  /// The part of the grid that was walked before `kMaxTouches` were spent, 1 when all of it was.
  double run(const BlockShape& shape, bool limited) {
    if (has_taps(a_.view)) footprint_.emplace(a_.view, shape);
    if (has_taps(b_.view)) footprint_.emplace(b_.view, shape);
    for (std::int64_t first = 0; first < g_.ctas(); first += machine_.wave()) {
      const std::int64_t count = std::min(machine_.wave(), g_.ctas() - first);
      const WaveTiles wave = wave_tiles(g_, machine_, first, count);
      for (std::int64_t step = 0; step < steps_; ++step) {
        stack_.begin_step();
        touch(a_, wave.a, step);
        touch(b_, wave.b, step);
        if (!limited || stack_.touches() <= kMaxTouches) continue;
        const double part = real(step + 1) / real(steps_);
        return (real(first) + part * real(count)) / real(g_.ctas());
      }
    }
    return 1;
  }

  [[nodiscard]] double a_misses() const { return a_.misses; }
  [[nodiscard]] double b_misses() const { return b_.misses; }
  [[nodiscard]] std::int64_t touches() const { return stack_.touches(); }

 private:
  void touch(Operand& operand, const std::vector<std::int64_t>& tiles, std::int64_t step) {
    if (!has_taps(operand.view)) {
      touch_tiles(operand, tiles, step);
    } else if (operand.view.lane_is_k) {
      touch_taps_of_tiles(operand, tiles, step);
    } else {
      touch_lanes_of_tiles(operand, tiles, step);
    }
  }

  void touch_tiles(Operand& operand, const std::vector<std::int64_t>& tiles, std::int64_t step) {
    const double share = 1 / real(operand.tiles * g_.groups * operand.parts * steps_);
    for (const std::int64_t tile : tiles) {
      const auto key = static_cast<std::uint64_t>(tile * steps_ + step) * 2 + operand.key_bit;
      operand.misses += share * stack_.touch(key, share * operand.lines);
    }
  }

  /// Forward and dgrad: the lanes of a wave's tiles, neighbours together, under the taps of a step.
  void touch_lanes_of_tiles(Operand& operand, const std::vector<std::int64_t>& tiles,
                            std::int64_t step) {
    for (std::size_t i = 0; i < tiles.size();) {
      const std::int64_t z = tiles[i] / operand.tiles;
      const std::int64_t first = tiles[i] % operand.tiles;
      std::int64_t count = 0;
      while (i < tiles.size() && tiles[i] == z * operand.tiles + first + count) {
        ++i;
        ++count;
      }
      const Range lanes{first * operand.tile_rows,
                        std::min(operand.view.lanes.size(), (first + count) * operand.tile_rows)};
      touch_box(operand, z / g_.split_k, lanes, box_of_step(operand.view, z % g_.split_k, step));
    }
  }

  /// Whole channels per step, or, when the steps are more than the channels, rows of taps.
  [[nodiscard]] TapBox box_of_step(const GatherView& view, std::int64_t part,
                                   std::int64_t step) const {
    const std::int64_t taps = view.cross.rows * view.cross.columns;
    const std::int64_t depth = g_.iterations_per_split() * g_.tile.k;
    const std::int64_t begin = std::min(g_.k, part * depth) / taps;
    const std::int64_t end = ceil_div(std::min(g_.k, (part + 1) * depth), taps);
    const std::int64_t channels = end - begin;
    if (steps_ <= channels) {
      return {
          .channels = {begin + channels * step / steps_, begin + channels * (step + 1) / steps_},
          .taps = {0, view.cross.rows}};
    }
    const std::int64_t pieces = channels * view.cross.rows;
    const std::int64_t from = pieces * step / steps_;
    const std::int64_t to = pieces * (step + 1) / steps_;
    if (from == to) return {};
    const std::int64_t channel = from / view.cross.rows;
    const std::int64_t row = from % view.cross.rows;
    return {.channels = {begin + channel, begin + channel + 1},
            .taps = {row, std::min(view.cross.rows, row + to - from)}};
  }

  /// Filter gradient: each tile of taps and channels over the lanes (pixels) of its part of k.
  void touch_taps_of_tiles(Operand& operand, const std::vector<std::int64_t>& tiles,
                           std::int64_t step) {
    const CrossGrid& cross = operand.view.cross;
    const std::int64_t window = cross.rows * cross.columns;
    for (const std::int64_t index : tiles) {
      const std::int64_t z = index / operand.tiles;
      const Range lanes = lanes_of_step(z % g_.split_k, step);
      if (lanes.begin >= lanes.end) continue;
      const std::int64_t begin = index % operand.tiles * operand.tile_rows;
      const std::int64_t end = std::min(g_.n, begin + operand.tile_rows);
      // A channel at either end of the tile may have the rest of its taps in the next tile.
      for (std::int64_t at = begin; at < end;) {
        const std::int64_t channel = at / window;
        std::int64_t next = std::min(end, (channel + 1) * window);
        TapBox box{.channels = {channel, channel + 1},
                   .taps = {at % window / cross.columns, (next - 1) % window / cross.columns + 1}};
        if (at % window == 0 && end - at >= window) {
          box = {.channels = {channel, end / window}, .taps = {0, cross.rows}};
          next = end / window * window;
        }
        touch_box(operand, z / g_.split_k, lanes, box);
        at = next;
      }
    }
  }

  [[nodiscard]] Range lanes_of_step(std::int64_t part, std::int64_t step) const {
    const std::int64_t iterations = g_.iterations_per_split();
    const std::int64_t first = part * iterations;
    return {std::min(g_.k, (first + iterations * step / steps_) * g_.tile.k),
            std::min(g_.k, (first + iterations * (step + 1) / steps_) * g_.tile.k)};
  }

  void touch_box(Operand& operand, std::int64_t group, const Range& lanes, const TapBox& box) {
    if (box.channels.begin >= box.channels.end) return;
    blocks_.clear();
    footprint_->collect(lanes, box.taps, blocks_);
    const std::int64_t channels = operand.view.cross.channels;
    const std::int64_t images = operand.view.lanes.images;
    const double planes =
        real(box.channels.end - box.channels.begin) / real(channels * images * g_.groups);
    const std::int64_t first = (group * channels + box.channels.begin) * images;
    for (const std::int64_t block : blocks_) {
      const double share = planes * footprint_->share(block);
      const auto key =
          static_cast<std::uint64_t>(first * footprint_->blocks_per_plane() + block) * 2 +
          operand.key_bit;
      operand.misses += share * stack_.touch(key, share * operand.lines);
    }
  }

  const ImplicitGemm& g_;
  const CacheMachine& machine_;
  std::int64_t steps_;
  Operand a_, b_;
  ReuseStack stack_;
  std::optional<Footprint> footprint_;  ///< at most one operand has taps
  std::vector<std::int64_t> blocks_;
};

/// Steps of k such that the L2 holds several of the first wave.
std::int64_t step_count(const ImplicitGemm& g, const CacheMachine& machine, const Operand& a,
                        const Operand& b) {
  const std::int64_t count = std::min(machine.wave(), g.ctas());
  const WaveTiles first = wave_tiles(g, machine, 0, count);
  const double slices = real(g.groups * g.split_k);
  const double widest = (real(std::ssize(first.a)) * a.lines / real(a.tiles) +
                         real(std::ssize(first.b)) * b.lines / real(b.tiles)) /
                        slices;
  const double ctas = std::ceil(real(g.ctas()) / real(count)) * real(count);
  const double wanted =
      std::min(kStepsPerL2 * widest / real(machine.l2_bytes), kMaxCtaSteps / ctas);
  std::int64_t steps = 1;
  while (real(steps) < wanted && steps * 2 <= g.iterations_per_split()) steps *= 2;
  return steps;
}

/// What a walk looks at.
struct Resolution {
  BlockShape shape;
  std::int64_t parts = 1;  ///< one of so many parts of k is walked
  bool coarsest = false;
};

/// Half the touches. Blocks grow along rows up to the lanes of a tile. Then every second part of k
/// of a filter gradient is left out with its share of the SMs and of the L2, as the parts stream
/// through images of their own. Blocks of several rows come last: two rows of taps would fetch
/// them twice as a whole.
void coarsen(const ImplicitGemm& g, const GatherView& view, Resolution& resolution) {
  constexpr std::int64_t kLineLanes = 32, kTileLanes = 128, kLeastParts = 2;
  BlockShape& shape = resolution.shape;
  const std::int64_t parts = g.split_k / resolution.parts;
  if (shape.columns < std::min(view.width, kLineLanes)) {
    shape.columns *= 2;
  } else if (view.lane_is_k && parts % 2 == 0 && parts > kLeastParts) {
    resolution.parts *= 2;
  } else if (shape.columns < std::min(view.width, kTileLanes)) {
    shape.columns *= 2;
  } else if (shape.rows < view.height) {
    shape.rows *= 2;
  } else if (shape.columns < view.width) {
    shape.columns *= 2;
  } else {
    resolution.coarsest = true;
  }
}

/// Misses of both operands, in units of the whole operands of `g`.
std::pair<double, double> walk_misses(const ImplicitGemm& g, const CacheMachine& machine,
                                      const Operand& a, const Operand& b) {
  const std::int64_t steps = step_count(g, machine, a, b);
  const GatherView& view = has_taps(a.view) ? a.view : b.view;
  Resolution resolution{.shape = {.rows = 1, .columns = g.access.sector_bytes / g.element_bytes},
                        .coarsest = !has_taps(view)};
  constexpr std::int64_t kMostBlocks = 1 << 18;  // of a plane
  const BlockShape& shape = resolution.shape;
  while (!resolution.coarsest &&
         ceil_div(view.height, shape.rows) * ceil_div(view.width, shape.columns) > kMostBlocks) {
    coarsen(g, view, resolution);
  }
  while (true) {
    ImplicitGemm some = g;
    CacheMachine share = machine;
    some.split_k = g.split_k / resolution.parts;
    some.k = std::min(g.k, some.split_k * g.iterations_per_split() * g.tile.k);
    share.sm_count = std::max<std::int64_t>(1, machine.wave() / resolution.parts);
    share.active_ctas = 1;
    share.l2_bytes = machine.l2_bytes / resolution.parts;
    Walk walk(some, share, steps, a, b);
    const double done = walk.run(shape, !resolution.coarsest);
    const double parts = real(g.k) / real(some.k);
    if (done >= 1) return {walk.a_misses() * parts, walk.b_misses() * parts};
    for (double excess = 1 / done; excess > 1 && !resolution.coarsest; excess /= 2) {
      coarsen(g, view, resolution);
    }
  }
}

/// The beginning of a problem that repeats itself.
struct Beginning {
  ImplicitGemm problem;
  double scale = 1;  ///< whole over walked
};

/// A long grid repeats itself along m; a filter gradient along the images, once the walk streams
/// through the L2 many times.
Beginning beginning_of(const ImplicitGemm& problem, const CacheMachine& machine, double lines) {
  Beginning out{.problem = problem};
  ImplicitGemm& g = out.problem;
  if (g.a.lane_is_k && g.b.lane_is_k && has_taps(g.b)) {
    const std::int64_t images = g.b.lanes.images;
    const double wanted = kMaxStream * real(machine.l2_bytes) / lines * real(images);
    const std::int64_t walked = std::max<std::int64_t>(1, std::llround(std::ceil(wanted)));
    if (walked >= images) return out;
    out.scale = real(images) / real(walked);
    g.k = g.k / images * walked;
    g.a.lanes.images = g.b.lanes.images = walked;
    return out;
  }
  if (g.ctas() <= kMaxCtas) return out;
  const std::int64_t columns = g.tiles_n() * g.groups * g.split_k;
  const std::int64_t rows = std::max<std::int64_t>(machine.wave(), kMaxCtas / columns);
  if (rows >= g.tiles_m()) return out;
  out.scale = real(g.tiles_m()) / real(rows);
  g.m = rows * g.tile.m;
  return out;
}

}  // namespace

void model_dram(const ImplicitGemm& problem, const CacheMachine& machine, ReadTraffic& t) {
  const double a_lines = touched_bytes(problem.a, problem.element_bytes, problem.access.line_bytes);
  const double b_lines = touched_bytes(problem.b, problem.element_bytes, problem.access.line_bytes);
  t.a.dram = t.compulsory_a;
  t.b.dram = t.compulsory_b;
  if (a_lines + b_lines <= 0.5 * real(machine.l2_bytes)) return;

  const auto [g, scale] = beginning_of(problem, machine, a_lines + b_lines);
  const bool both = g.k < problem.k;  // a shorter k takes from both operands, a shorter m from A
  const Operand a{.view = g.a,
                  .tiles = g.tiles_m(),
                  .tile_rows = g.tile.m,
                  .parts = g.split_k,
                  .lines = a_lines / scale,
                  .key_bit = 0};
  const Operand b{.view = g.b,
                  .tiles = g.tiles_n(),
                  .tile_rows = g.tile.n,
                  .parts = g.split_k,
                  .lines = both ? b_lines / scale : b_lines,
                  .key_bit = 1};
  const auto [a_misses, b_misses] = walk_misses(g, machine, a, b);
  t.a.dram = t.compulsory_a * a_misses;
  const double again = std::max(0.0, b_misses - 1);
  t.b.dram = t.compulsory_b * (both ? b_misses : b_misses - again + again * scale);
}

}  // namespace rooftile::traffic
