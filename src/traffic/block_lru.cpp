// SPDX-License-Identifier: Apache-2.0
#include "traffic/block_lru.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/integer.h"
#include "traffic/footprint.h"
#include "traffic/reuse_stack.h"
#include "traffic/touched.h"

namespace rooftile::traffic {

namespace {

constexpr double kStepsPerL2 = 4;              // the L2 holds at least this many steps of one wave
constexpr double kMaxCtaSteps = 2e5;           // CTAs x steps of a walk
constexpr std::int64_t kMaxTouches = 400'000;  // of blocks; more make them coarser
constexpr std::int64_t kProbeTouches = 20'000;
constexpr std::int64_t kMaxCtas = 200'000;  // walked; a longer grid is extrapolated along m
constexpr double kMaxStream = 24;           // of L2 that a filter gradient's walk streams through

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
  std::int64_t slices = 1;     ///< groups x parts of k, of the whole problem
  std::int64_t groups = 1;     ///< of the whole problem
  double lines = 0;            ///< bytes that the whole operand occupies
  double padding = 1;          ///< of what a part of k occupies: its runs end inside lines
  std::uint64_t key_bit = 0;   ///< tells the operands' blocks apart
  double again = 0;            ///< misses beyond the first, so far, in units of the whole operand
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

  /// The part of the grid for which `kMaxTouches` suffice, 1 when all of it was walked. The first
  /// touches tell when the others will be far too many.
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
        if (!limited || stack_.touches() <= kProbeTouches) continue;
        const double part = real(step + 1) / real(steps_);
        const double done = (real(first) + part * real(count)) / real(g_.ctas());
        const double suffices = done * real(kMaxTouches) / real(stack_.touches());
        if (stack_.touches() > kMaxTouches || suffices < 0.5) return std::min(suffices, 0.99);
      }
    }
    return 1;
  }

  [[nodiscard]] double a_again() const { return a_.again; }
  [[nodiscard]] double b_again() const { return b_.again; }

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
    const double share = 1 / real(operand.tiles * operand.slices * steps_);
    for (const std::int64_t tile : tiles) {
      const auto key = static_cast<std::uint64_t>(tile * steps_ + step) * 2 + operand.key_bit;
      touch_block(operand, key, share);
    }
  }

  void touch_block(Operand& operand, std::uint64_t key, double share) {
    const std::int64_t known = stack_.blocks();
    const double absent = stack_.touch(key, share * operand.lines * operand.padding);
    if (stack_.blocks() == known) operand.again += share * absent;
  }

  /// Forward and dgrad: the lanes of a wave's tiles, neighbours together, under the taps of a step.
  void touch_lanes_of_tiles(Operand& operand, const std::vector<std::int64_t>& tiles,
                            std::int64_t step) {
    for (std::size_t i = 0; i < tiles.size();) {
      const std::int64_t z = tiles[i] / operand.tiles;
      const std::int64_t first = tiles[i] % operand.tiles;
      std::int64_t count = 0;
      while (i < tiles.size() && first + count < operand.tiles &&
             tiles[i] == z * operand.tiles + first + count) {
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
        real(box.channels.end - box.channels.begin) / real(channels * images * operand.groups);
    const std::int64_t first = (group * channels + box.channels.begin) * images;
    for (const std::int64_t block : blocks_) {
      const double share = planes * footprint_->share(block);
      const auto key =
          static_cast<std::uint64_t>(first * footprint_->blocks_per_plane() + block) * 2 +
          operand.key_bit;
      touch_block(operand, key, share);
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

/// Bytes of the lines under runs of planes without taps over the bytes of the runs: counted on the
/// first rows, as the pitch of the planes decides where a run begins in its line.
double dense_padding(const ImplicitGemm& g, const GatherView& view) {
  constexpr std::int64_t kParts = 8, kRows = 32;
  const std::int64_t depth = g.iterations_per_split() * g.tile.k;
  const std::int64_t plane = view.lanes.rows * view.lanes.columns;
  double touched = 0;
  double needed = 0;
  for (const std::int64_t part : spread(g.split_k, kParts)) {
    const std::int64_t end = std::min(g.k, (part + 1) * depth);
    for (std::int64_t at = part * depth; at < end;) {
      const std::int64_t length = std::min(plane - at % plane, end - at);
      for (std::int64_t row = 0; row < std::min(kRows, view.cross.size()); ++row) {
        const std::int64_t first =
            (at / plane * view.lanes.image_stride + row * view.cross.channel_stride + at % plane) *
            g.element_bytes;
        const std::int64_t last = first + length * g.element_bytes - 1;
        const std::int64_t lines = last / g.access.line_bytes - first / g.access.line_bytes + 1;
        const std::int64_t bytes = length * g.element_bytes;
        touched += real(length == plane ? bytes : lines * g.access.line_bytes);
        needed += real(bytes);
      }
      at += length;
    }
  }
  return needed > 0 ? touched / needed : 1;
}

/// Bytes of the lines that a part of k touches over the bytes that it needs. A part takes a run of
/// each channel's plane; whole planes follow each other in memory and waste nothing.
double line_padding(const ImplicitGemm& g, const GatherView& view) {
  if (!view.lane_is_k || g.split_k == 1) return 1;
  if (!has_taps(view) && view.lanes.step_x == 1 && view.lanes.step_y == 1) {
    return dense_padding(g, view);
  }
  const std::int64_t lanes = g.iterations_per_split() * g.tile.k;
  const std::int64_t halo = (view.cross.rows - 1) * std::abs(view.cross.step_y);
  const double rows = real(lanes) / real(view.lanes.columns) * real(view.lanes.step_y);
  const double run = (rows + real(halo)) * real(view.width);
  if (run >= real(view.height * view.width)) return 1;
  // Parts that cross from one image to the next have two shorter runs.
  const double runs = 1 + real(lanes) / real(view.lanes.rows * view.lanes.columns);
  const double bytes = std::max(1.0, run / runs) * real(g.element_bytes);
  return 1 + real(g.access.line_bytes - g.element_bytes) / bytes;
}

/// Misses of sectors that two iterations share, over the misses of the walk. Where lanes walk k, an
/// iteration takes a piece of a line of each row, and the next one may need its last sector again.
/// It is gone when the lines under all CTAs exceed the L2.
class SharedSectors {
 public:
  SharedSectors(const ImplicitGemm& g, const CacheMachine& machine) {
    const WaveTiles wave = wave_tiles(g, machine, 0, std::min(machine.wave(), g.ctas()));
    const double lines = rows(g.a, wave.a, real(g.m) / real(g.tiles_m())) +
                         rows(g.b, wave.b, real(g.n) / real(g.tiles_n()));
    const ReuseStack cache(real(machine.l2_bytes), machine.l2_ways, 1);
    lost_ = cache.absent(lines * real(g.access.line_bytes));
  }
  /// `loads` of the whole operand by the grid, `bytes` in all.
  [[nodiscard]] double factor(const GatherView& view, double bytes, double loads,
                              double compulsory) const {
    if (!view.lane_is_k || has_taps(view)) return 1;
    return 1 + lost_ * std::max(0.0, bytes / loads / compulsory - 1);
  }

 private:
  static double rows(const GatherView& view, const std::vector<std::int64_t>& tiles, double each) {
    return view.lane_is_k ? real(std::ssize(tiles)) * each / real(view.cross.columns) : 0;
  }
  double lost_ = 0;
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
  std::int64_t groups = 1;  ///< walked, each with all of its parts of k
  std::int64_t parts = 1;   ///< of k, walked
  std::int64_t share = 1;   ///< of the SMs and of the L2: one of so many
  bool coarsest = false;
};

/// Groups share nothing, and parts of k little: of those that run one after another, the first few
/// waves stand for the others.
void leave_out_waves(const ImplicitGemm& g, const CacheMachine& machine, Resolution& resolution) {
  constexpr std::int64_t kLeastWaves = 8,
                         kLeastParts = 4;  // the next part meets the last one's halo
  const std::int64_t ctas = kLeastWaves * machine.wave();
  const std::int64_t plane = g.tiles_m() * g.tiles_n();
  resolution.groups = std::min(g.groups, ceil_div(ctas, plane * g.split_k));
  if (resolution.groups == 1 && g.a.lane_is_k && g.b.lane_is_k) {
    resolution.parts = std::min(g.split_k, std::max(kLeastParts, ceil_div(ctas, plane)));
  }
}

/// Half the groups or parts of k of a wave stand for all of them, with half the SMs and half the
/// L2: groups always, parts where they stream through rows of their own.
bool halve_wave(const ImplicitGemm& g, const GatherView& view, const CacheMachine& machine,
                Resolution& resolution) {
  const std::int64_t wave = machine.wave() / resolution.share;
  const std::int64_t plane = g.tiles_m() * g.tiles_n();
  if (machine.wave() % (resolution.share * 2) != 0) return false;
  if (resolution.groups % 2 == 0 && wave >= 2 * plane * resolution.parts) {
    resolution.groups /= 2;
    resolution.share *= 2;
    return true;
  }
  constexpr std::int64_t kLeastParts = 4;
  const std::int64_t halo = (view.cross.rows - 1) * std::abs(view.cross.step_y);
  const std::int64_t rows = g.iterations_per_split() * g.tile.k / view.lanes.columns;
  if (resolution.groups > 1 || !view.lane_is_k || resolution.parts % 2 != 0) return false;
  if (resolution.parts < kLeastParts || wave < kLeastParts * plane) return false;
  if (rows * view.lanes.step_y < 2 * halo) return false;
  resolution.parts /= 2;
  resolution.share *= 2;
  return true;
}

/// Half the touches. Blocks grow along rows up to a line, then the wave is thinned, then they grow
/// up to the lanes of a tile. Blocks of several rows come last: two rows of taps would fetch them
/// twice as a whole.
void coarsen(const ImplicitGemm& g, const GatherView& view, const CacheMachine& machine,
             Resolution& resolution) {
  constexpr std::int64_t kLineLanes = 32, kTileLanes = 128;
  BlockShape& shape = resolution.shape;
  if (shape.columns < std::min(view.width, kLineLanes)) {
    shape.columns *= 2;
  } else if (halve_wave(g, view, machine, resolution)) {
    return;
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

/// Misses of both operands beyond the first, in units of the whole operands of `g`.
std::pair<double, double> misses_again(const ImplicitGemm& g, const CacheMachine& machine,
                                       const Operand& a, const Operand& b) {
  const std::int64_t steps = step_count(g, machine, a, b);
  const GatherView& view = has_taps(a.view) ? a.view : b.view;
  Resolution resolution{.shape = {.rows = 1, .columns = g.access.sector_bytes / g.element_bytes},
                        .groups = g.groups,
                        .parts = g.split_k,
                        .coarsest = !has_taps(view)};
  leave_out_waves(g, machine, resolution);
  constexpr std::int64_t kMostBlocks = 1 << 18;  // of a plane
  const BlockShape& shape = resolution.shape;
  while (!resolution.coarsest &&
         ceil_div(view.height, shape.rows) * ceil_div(view.width, shape.columns) > kMostBlocks) {
    coarsen(g, view, machine, resolution);
  }
  while (true) {
    ImplicitGemm some = g;
    CacheMachine share = machine;
    some.groups = resolution.groups;
    some.split_k = resolution.parts;
    some.k = std::min(g.k, some.split_k * g.iterations_per_split() * g.tile.k);
    share.sm_count = std::max<std::int64_t>(1, machine.wave() / resolution.share);
    share.active_ctas = 1;
    share.l2_bytes = machine.l2_bytes / resolution.share;
    Walk walk(some, share, steps, a, b);
    const double done = walk.run(shape, !resolution.coarsest);
    const double scale = real(g.k) / real(some.k) * real(g.groups) / real(some.groups);
    if (done >= 1) return {walk.a_again() * scale, walk.b_again() * scale};
    for (double excess = 1 / done; excess > 1 && !resolution.coarsest; excess /= 2) {
      coarsen(g, view, machine, resolution);
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
    // Every wave must stream so much: a shorter one might find its gradient still in the L2.
    const double waves = std::ceil(real(g.ctas()) / real(machine.wave()));
    const double wanted = waves * kMaxStream * real(machine.l2_bytes) / lines * real(images);
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
                  .slices = g.groups * g.split_k,
                  .groups = g.groups,
                  .lines = a_lines / scale,
                  .padding = line_padding(g, g.a),
                  .key_bit = 0};
  const Operand b{.view = g.b,
                  .tiles = g.tiles_n(),
                  .tile_rows = g.tile.n,
                  .slices = g.groups * g.split_k,
                  .groups = g.groups,
                  .lines = both ? b_lines / scale : b_lines,
                  .padding = line_padding(g, g.b),
                  .key_bit = 1};
  const auto [a_again, b_again] = misses_again(g, machine, a, b);
  const SharedSectors shared(problem, machine);
  t.a.dram = t.compulsory_a * (1 + a_again) *
             shared.factor(problem.a, t.a.l1, real(problem.tiles_n()), t.compulsory_a);
  t.b.dram = t.compulsory_b * (1 + (both ? b_again : b_again * scale)) *
             shared.factor(problem.b, t.b.l1, real(problem.tiles_m()), t.compulsory_b);
}

}  // namespace rooftile::traffic
