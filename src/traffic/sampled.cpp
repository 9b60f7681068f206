// SPDX-License-Identifier: Apache-2.0
#include "traffic/sampled.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>

#include "core/integer.h"
#include "traffic/block_lru.h"
#include "traffic/closed.h"
#include "traffic/touched.h"

namespace rooftile::traffic {

namespace {

// Sample sizes: half of each costs 2.5 times less and doubles the error (tests/unit/traffic).
constexpr std::int64_t kSampledTiles = 24;                // per operand, for the L1 count
constexpr std::int64_t kSampledIterations = 36;           // per tile
constexpr std::int64_t kSampledWaves = 400;               // for the classes of SM slots
constexpr std::int64_t kReplayIterations = 54;            // measured per replayed slot
constexpr std::int64_t kLeastWarm = 10, kMostWarm = 160;  // iterations before measuring
constexpr std::int64_t kSlotsPerClass = 3;
constexpr std::int64_t kMaxSlots = 36;
constexpr double kWarmWaves = 24;  // replayed before measuring when the main loop is short

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// Golden-ratio sequence over [0, count): spread without the aliasing of a fixed step.
std::int64_t quasi_random(std::int64_t i, std::int64_t count) {
  const double u = real(i) * 0.6180339887498949;
  return static_cast<std::int64_t>((u - std::floor(u)) * real(count));
}

/// Sectors requested from L1 by one operand tile.
class L1Counter {
 public:
  L1Counter(const ImplicitGemm& g, const GatherView& view, std::int64_t rows)
      : g_(g), view_(view), rows_(rows) {}

  double count(std::int64_t tile, std::int64_t iteration, std::int64_t group) {
    requests_.clear();
    append_requests(g_, view_,
                    {.tile = tile,
                     .tile_rows = rows_,
                     .k_begin = iteration * g_.tile.k,
                     .k_end = std::min(g_.k, (iteration + 1) * g_.tile.k),
                     .group = group},
                    requests_);
    int sectors = 0;
    for (const LineRequest& request : requests_) sectors += std::popcount(request.sectors);
    return static_cast<double>(sectors);
  }

 private:
  const ImplicitGemm& g_;
  const GatherView& view_;
  std::int64_t rows_;
  std::vector<LineRequest> requests_;
};

/// One operand as the grid reads it.
struct OperandTiles {
  const GatherView& view;
  std::int64_t rows = 0;     ///< of a tile
  std::int64_t tiles = 0;    ///< along the operand's side of the grid
  std::int64_t reloads = 0;  ///< of each tile: the tiles of the other operand
};

double l1_bytes(const ImplicitGemm& g, const OperandTiles& operand) {
  const std::int64_t tiles = operand.tiles;
  L1Counter counter(g, operand.view, operand.rows);
  const std::int64_t full = g.iterations() - 1;
  const std::int64_t samples = std::min(full, kSampledIterations);
  double inner = 0;
  double inner_tiles = 0;
  double edge = 0;
  std::int64_t serial = 0;
  const std::vector<std::int64_t> sampled = spread(tiles, kSampledTiles);
  // Groups begin at different alignments: few samples are repeated for several groups.
  const std::int64_t per_round = std::ssize(sampled) * (samples + 1);
  const std::int64_t rounds = std::min(g.groups, kSampledTiles * 4 / per_round + 1);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (const std::int64_t tile : sampled) {
      const bool last = tile == tiles - 1 && tiles > 1;  // may be partial
      double sum = 0;
      for (std::int64_t i = 0; i < samples; ++i, ++serial) {
        sum += counter.count(tile, samples == full ? i : quasi_random(serial, full),
                             quasi_random(serial, g.groups));
      }
      const double mean = samples > 0 ? sum / real(samples) : 0.0;
      const double per_tile =
          mean * real(full) + counter.count(tile, full, quasi_random(serial, g.groups));
      ++serial;
      (last ? edge : inner) += per_tile / real(rounds);
      if (!last) inner_tiles += 1.0 / real(rounds);
    }
  }
  const double total = inner / inner_tiles * real(tiles > 1 ? tiles - 1 : 1) + edge;
  return total * real(g.access.sector_bytes * operand.reloads * g.groups);
}

struct SlotClass {
  std::int64_t count = 0;
  std::vector<std::int64_t> first_cta;
};

/// CTAs, distinct A tiles and distinct B tiles of an SM.
using ClassKey = std::array<std::int64_t, 3>;

std::int64_t distinct(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  return std::unique(values.begin(), values.end()) - values.begin();
}

std::map<ClassKey, SlotClass> classify_slots(const ImplicitGemm& g, const CacheMachine& machine) {
  std::map<ClassKey, SlotClass> classes;
  const std::int64_t total = g.ctas();
  const std::int64_t wave = machine.wave();
  std::vector<std::int64_t> a;
  std::vector<std::int64_t> b;
  for (const std::int64_t w : spread(ceil_div(total, wave), kSampledWaves)) {
    const std::int64_t first = w * wave;
    const std::int64_t count = std::min(wave, total - first);
    for (std::int64_t sm = 0; sm < std::min(count, machine.sm_count); ++sm) {
      a.clear();
      b.clear();
      for (std::int64_t i = sm; i < count; i += machine.sm_count) {
        const CtaIndex cta = cta_at(g, first + i, machine);
        a.push_back(cta.z * g.tiles_m() + cta.m);
        b.push_back(cta.z * g.tiles_n() + cta.n);
      }
      const auto ctas = static_cast<std::int64_t>(a.size());
      SlotClass& slots = classes[{ctas, distinct(a), distinct(b)}];
      ++slots.count;
      slots.first_cta.push_back(first + sm);
    }
  }
  return classes;
}

/// Sectors requested and missed per operand.
struct SlotSectors {
  double a_asked = 0, a_missed = 0, b_asked = 0, b_missed = 0;
};

/// Replays the CTAs of SM slots through one L1.
class SlotReplay {
 public:
  SlotReplay(const ImplicitGemm& g, const CacheMachine& machine)
      : g_(g),
        machine_(machine),
        cache_(machine.l1_bytes / g.access.line_bytes, machine.l1_ways, SetHash::Multiply) {}

  void clear() { cache_.clear(); }

  struct Iterations {
    std::int64_t from = 0, to = 0;  ///< `to` is not run
  };

  /// Iterations of the slot whose first CTA is given; adds to `out` where there is one.
  void run(std::int64_t first_cta, Iterations range, SlotSectors* out) {
    const std::int64_t wave = machine_.wave();
    const std::int64_t end = std::min(g_.ctas(), first_cta / wave * wave + wave);
    for (std::int64_t i = range.from; i < range.to; ++i) {
      for (std::int64_t id = first_cta; id < end; id += machine_.sm_count) {
        const CtaIndex cta = cta_at(g_, id, machine_);
        const std::int64_t part = cta.z % g_.split_k * g_.iterations_per_split() + i;
        const std::int64_t k0 = part * g_.tile.k;
        if (k0 >= g_.k) continue;
        TileLoad load{.tile = cta.m,
                      .tile_rows = g_.tile.m,
                      .k_begin = k0,
                      .k_end = std::min(g_.k, k0 + g_.tile.k),
                      .group = cta.z / g_.split_k};
        const auto [a_asked, a_missed] = run_load(g_.a, load);
        load.tile = cta.n;
        load.tile_rows = g_.tile.n;
        const auto [b_asked, b_missed] = run_load(g_.b, load);
        if (out == nullptr) continue;
        out->a_asked += a_asked;
        out->a_missed += a_missed;
        out->b_asked += b_asked;
        out->b_missed += b_missed;
      }
    }
  }

 private:
  std::pair<int, int> run_load(const GatherView& view, const TileLoad& load) {
    requests_.clear();
    append_requests(g_, view, load, requests_);
    int asked = 0;
    int missed = 0;
    for (const LineRequest& request : requests_) {
      asked += std::popcount(request.sectors);
      missed += std::popcount(cache_.access(request.line, request.sectors));
    }
    return {asked, missed};
  }

  const ImplicitGemm& g_;
  const CacheMachine& machine_;
  SectoredCache cache_;
  std::vector<LineRequest> requests_;
};

/// Iterations that fill the L1 with what the next ones find there. Where k walks over pixels, a row
/// of taps finds those of the row before it as many output rows later as the taps are apart.
std::int64_t warm_iterations(const ImplicitGemm& g) {
  std::int64_t most = kLeastWarm;
  for (const GatherView* view : {&g.a, &g.b}) {
    if (!view->lane_is_k) continue;
    const std::int64_t rows = (view->cross.rows - 1) * std::abs(view->cross.step_y);
    const std::int64_t lanes = ceil_div(rows, view->lanes.step_y) * view->lanes.columns;
    most = std::max(most, kLeastWarm + lanes / g.tile.k);
  }
  return std::min(most, kMostWarm);
}

/// The sectors of `used` slots of a class, each after its L1 was warmed.
SlotSectors replay_class(const ImplicitGemm& g, const CacheMachine& machine, const SlotClass& slots,
                         std::int64_t used, std::int64_t warm_waves, SlotReplay& replay) {
  SlotSectors sum;
  const auto count = static_cast<std::int64_t>(slots.first_cta.size());
  const std::int64_t iterations = g.iterations_per_split();
  const std::int64_t warm = warm_iterations(g);
  const bool whole = iterations <= kReplayIterations + warm;
  const std::int64_t room = iterations - kReplayIterations - warm;
  for (std::int64_t i = 0; i < used; ++i) {
    const std::int64_t cta =
        slots.first_cta[static_cast<std::size_t>((2 * i + 1) * count / (2 * used))];
    replay.clear();
    if (whole) {
      for (std::int64_t back = std::min(warm_waves, cta / machine.wave()); back > 0; --back) {
        replay.run(cta - back * machine.wave(), {0, iterations}, nullptr);
      }
      replay.run(cta, {0, iterations}, &sum);
    } else {
      const std::int64_t from = warm + room * i / used;
      replay.run(cta, {from - warm, from}, nullptr);
      replay.run(cta, {from, from + kReplayIterations}, &sum);
    }
  }
  return sum;
}

/// Miss ratios of L1, weighted over the slot classes.
void model_l2(const ImplicitGemm& g, const CacheMachine& machine, ReadTraffic& t) {
  const std::int64_t iterations = g.iterations_per_split();
  const double slices = real(g.groups * g.split_k);
  const double slot_bytes =
      real(machine.active_ctas) *
      (t.compulsory_a / real(g.tiles_m()) + t.compulsory_b / real(g.tiles_n())) / slices;
  const auto warm_waves = static_cast<std::int64_t>(
      std::clamp(std::ceil(2.0 * real(machine.l1_bytes) / slot_bytes), 1.0, kWarmWaves));
  SlotReplay replay(g, machine);
  SlotSectors sum;
  for (const auto& [key, slots] : classify_slots(g, machine)) {
    const std::int64_t wanted =
        std::clamp(kReplayIterations * kSlotsPerClass / iterations, kSlotsPerClass, kMaxSlots);
    const std::int64_t used = std::min(static_cast<std::int64_t>(slots.first_cta.size()), wanted);
    const SlotSectors part = replay_class(g, machine, slots, used, warm_waves, replay);
    const double scale = real(slots.count) / real(used);
    sum.a_asked += part.a_asked * scale;
    sum.a_missed += part.a_missed * scale;
    sum.b_asked += part.b_asked * scale;
    sum.b_missed += part.b_missed * scale;
  }
  t.a.l2 = sum.a_asked > 0 ? t.a.l1 * sum.a_missed / sum.a_asked : 0.0;
  t.b.l2 = sum.b_asked > 0 ? t.b.l1 * sum.b_missed / sum.b_asked : 0.0;
}

}  // namespace

std::vector<std::int64_t> spread(std::int64_t count, std::int64_t limit) {
  std::vector<std::int64_t> out;
  const std::int64_t used = std::min(count, limit);
  for (std::int64_t i = 0; i < used; ++i) {
    out.push_back(count <= limit ? i : i * (count - 1) / (limit - 1));
  }
  return out;
}

ReadTraffic sampled_traffic(const ImplicitGemm& g, const CacheMachine& machine) {
  ReadTraffic t;
  t.compulsory_a = touched_bytes(g.a, g.element_bytes, g.access.sector_bytes);
  t.compulsory_b = touched_bytes(g.b, g.element_bytes, g.access.sector_bytes);
  t.a.l1 =
      l1_bytes(g, {.view = g.a, .rows = g.tile.m, .tiles = g.tiles_m(), .reloads = g.tiles_n()});
  t.b.l1 =
      l1_bytes(g, {.view = g.b, .rows = g.tile.n, .tiles = g.tiles_n(), .reloads = g.tiles_m()});
  model_l2(g, machine, t);
  t.a.l2 = std::clamp(t.a.l2, std::min(t.compulsory_a, t.a.l1), t.a.l1);
  t.b.l2 = std::clamp(t.b.l2, std::min(t.compulsory_b, t.b.l1), t.b.l1);
  model_dram(g, machine, t);
  t.a.dram = std::clamp(t.a.dram, std::min(t.compulsory_a, t.a.l2), t.a.l2);
  t.b.dram = std::clamp(t.b.dram, std::min(t.compulsory_b, t.b.l2), t.b.l2);
  const double output = real(g.output_elements * g.element_bytes);
  t.partial_sums = partial_sums(output, real(g.split_k));
  t.dram_written = output + t.partial_sums;
  return t;
}

}  // namespace rooftile::traffic
