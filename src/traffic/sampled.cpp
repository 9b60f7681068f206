// SPDX-License-Identifier: Apache-2.0
#include "traffic/sampled.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
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
constexpr std::int64_t kL1Samples = 864;        // iterations of tiles per operand, for the L1 count
constexpr std::int64_t kSampledTiles = 216;     // that they are of; more where tiles are short
constexpr std::int64_t kSampledWaves = 400;     // for the classes of SM slots
constexpr std::int64_t kReplayIterations = 54;  // measured per replayed slot
constexpr std::int64_t kLeastWarm = 10, kMostWarm = 160;  // iterations before measuring
constexpr std::int64_t kSlotsPerClass = 3;
constexpr std::int64_t kMaxSlots = 36;
constexpr double kWarmWaves = 24;  // at most, replayed before the measured one
// Line requests to spend on replays, at least.
constexpr double kReplayRequests = 4e5;
// A layer of so many is simulated: replays and the walk of the L2 would take about as long.
constexpr double kWholeRequests = 8e5;
constexpr std::int64_t kLeastSms = 3;  // that are replayed from the first wave to the last

/// Additive recurrence over [0, count): spread without the aliasing of a fixed step. Tiles,
/// iterations and groups that are drawn together need steps of their own.
constexpr double kTileStep = 0.6180339887498949, kIterationStep = 0.7548776662466927;
std::int64_t quasi_random(std::int64_t i, std::int64_t count, double step = kTileStep) {
  const double u = real(i) * step;
  return static_cast<std::int64_t>((u - std::floor(u)) * real(count));
}

/// What the SMs request of L1.
struct Requests {
  double sectors = 0, lines = 0;
  Requests& operator+=(const Requests& other) {
    sectors += other.sectors;
    lines += other.lines;
    return *this;
  }
  Requests operator*(double factor) const { return {sectors * factor, lines * factor}; }
};

/// Sectors requested from L1 by one operand tile.
class L1Counter {
 public:
  L1Counter(const ImplicitGemm& g, const GatherView& view, std::int64_t rows)
      : g_(g), view_(view), rows_(rows) {}

  Requests count(std::int64_t tile, std::int64_t iteration, std::int64_t group) {
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
    return {.sectors = static_cast<double>(sectors), .lines = real(std::ssize(requests_))};
  }

 private:
  const ImplicitGemm& g_;
  const GatherView& view_;
  std::int64_t rows_;
  std::vector<LineRequest> requests_;
};

/// The last tile and others without a fixed step: rows that a strided dgrad skips come at one.
std::vector<std::int64_t> sampled_tiles(std::int64_t tiles, std::int64_t limit) {
  if (tiles <= limit) return spread(tiles, limit);
  std::vector<std::int64_t> sampled;
  for (std::int64_t i = 1; i < limit; ++i) sampled.push_back(quasi_random(i, tiles - 1));
  sampled.push_back(tiles - 1);
  return sampled;
}

/// One operand as the grid reads it.
struct OperandTiles {
  const GatherView& view;
  std::int64_t rows = 0;     ///< of a tile
  std::int64_t tiles = 0;    ///< along the operand's side of the grid
  std::int64_t reloads = 0;  ///< of each tile: the tiles of the other operand
};

Requests l1_requests(const ImplicitGemm& g, const OperandTiles& operand) {
  const std::int64_t tiles = operand.tiles;
  L1Counter counter(g, operand.view, operand.rows);
  const std::int64_t full = g.iterations() - 1;
  // Tiles differ more than their iterations: whole tiles of a strided dgrad may have no value.
  const std::int64_t most = std::max(kSampledTiles, kL1Samples / (full + 1));
  const std::vector<std::int64_t> sampled = sampled_tiles(tiles, most);
  const std::int64_t samples = std::min(full, kL1Samples / std::ssize(sampled));
  Requests inner;
  Requests edge;
  double inner_tiles = 0;
  std::int64_t serial = 0;
  // Groups begin at different alignments: few samples are repeated for several groups.
  const std::int64_t per_round = std::ssize(sampled) * (samples + 1);
  constexpr std::int64_t kFewSamples = 96;
  const std::int64_t rounds = std::min(g.groups, kFewSamples / per_round + 1);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (const std::int64_t tile : sampled) {
      const bool last = tile == tiles - 1 && tiles > 1;  // may be partial
      Requests per_tile;
      for (std::int64_t i = 0; i < samples; ++i, ++serial) {
        per_tile +=
            counter.count(tile, samples == full ? i : quasi_random(serial, full, kIterationStep),
                          quasi_random(serial, g.groups));
      }
      if (samples > 0) per_tile = per_tile * (real(full) / real(samples));
      per_tile += counter.count(tile, full, quasi_random(serial, g.groups));
      ++serial;
      (last ? edge : inner) += per_tile * (1 / real(rounds));
      if (!last) inner_tiles += 1.0 / real(rounds);
    }
  }
  Requests total = inner * (real(tiles > 1 ? tiles - 1 : 1) / inner_tiles);
  total += edge;
  return total * real(operand.reloads * g.groups);
}

struct SlotClass {
  std::int64_t count = 0;
  std::vector<std::int64_t> first_cta;
};

/// CTAs, distinct A tiles and distinct B tiles of an SM, and its CTAs at partial tiles.
using ClassKey = std::array<std::int64_t, 4>;

/// CTAs of a partial tile are a class of their own where they are not few.
bool is_partial(const ImplicitGemm& g, const CtaIndex& cta) {
  constexpr std::int64_t kFewTiles = 4;
  const bool m = g.m % g.tile.m != 0 && g.tiles_m() <= kFewTiles && cta.m == g.tiles_m() - 1;
  const bool n = g.n % g.tile.n != 0 && g.tiles_n() <= kFewTiles && cta.n == g.tiles_n() - 1;
  return m || n;
}

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
      std::int64_t partial = 0;
      for (std::int64_t i = sm; i < count; i += machine.sm_count) {
        const CtaIndex cta = cta_at(g, first + i, machine);
        a.push_back(cta.z * g.tiles_m() + cta.m);
        b.push_back(cta.z * g.tiles_n() + cta.n);
        partial += is_partial(g, cta) ? 1 : 0;
      }
      const auto ctas = static_cast<std::int64_t>(a.size());
      SlotClass& slots = classes[{ctas, distinct(a), distinct(b), partial}];
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

/// How the slots of a class are replayed.
struct Window {
  std::int64_t iterations = 0;  ///< measured
  std::int64_t warm = 0;        ///< iterations before them
  std::int64_t warm_waves = 0;  ///< whole waves before them; then all iterations are measured
  [[nodiscard]] std::int64_t cost() const { return warm + iterations * (1 + warm_waves); }
};

/// Whole waves where the main loop is short, and where the L1 still holds what a wave before it
/// left there.
Window window_of(const ImplicitGemm& g, const CacheMachine& machine, const ReadTraffic& t,
                 const std::map<ClassKey, SlotClass>& classes) {
  const std::int64_t iterations = g.iterations_per_split();
  const std::int64_t warm = warm_iterations(g);
  std::int64_t slots = 0;
  std::int64_t a_tiles = 0;
  std::int64_t b_tiles = 0;
  for (const auto& [key, some] : classes) {
    slots += some.count;
    a_tiles += some.count * key[1];
    b_tiles += some.count * key[2];
  }
  const double slot_bytes = (real(a_tiles) * t.compulsory_a / real(g.tiles_m()) +
                             real(b_tiles) * t.compulsory_b / real(g.tiles_n())) /
                            real(g.groups * g.split_k * slots);
  const double waves = 2.0 * real(machine.l1_bytes) / slot_bytes;
  if (iterations > kReplayIterations + warm && waves < 1) {
    return {.iterations = kReplayIterations, .warm = warm};
  }
  return {.iterations = iterations,
          .warm_waves = static_cast<std::int64_t>(std::clamp(std::ceil(waves), 1.0, kWarmWaves))};
}

/// The sectors of `used` slots of a class, each after its L1 was warmed.
SlotSectors replay_class(const ImplicitGemm& g, const CacheMachine& machine, const SlotClass& slots,
                         std::int64_t used, const Window& window, SlotReplay& replay) {
  SlotSectors sum;
  const std::int64_t count = std::ssize(slots.first_cta);
  const std::int64_t room = g.iterations_per_split() - window.iterations - window.warm;
  for (std::int64_t i = 0; i < used; ++i) {
    const std::int64_t slot = used == count ? i : quasi_random(i + 1, count);
    const std::int64_t cta = slots.first_cta[static_cast<std::size_t>(slot)];
    replay.clear();
    for (std::int64_t back = std::min(window.warm_waves, cta / machine.wave()); back > 0; --back) {
      replay.run(cta - back * machine.wave(), {0, window.iterations}, nullptr);
    }
    const std::int64_t from = window.warm + room * i / used;
    replay.run(cta, {from - window.warm, from}, nullptr);
    replay.run(cta, {from, from + window.iterations}, &sum);
  }
  return sum;
}

/// SMs from their first wave to their last.
SlotSectors replay_sms(const ImplicitGemm& g, const CacheMachine& machine, std::int64_t sms,
                       SlotReplay& replay) {
  SlotSectors sum;
  for (const std::int64_t sm : spread(std::min(machine.sm_count, g.ctas()), sms)) {
    replay.clear();
    for (std::int64_t first = sm; first < g.ctas(); first += machine.wave()) {
      replay.run(first, {0, g.iterations_per_split()}, &sum);
    }
  }
  return sum;
}

/// Which slots of each class are replayed.
struct SlotPlan {
  Window window;
  std::map<ClassKey, SlotClass> classes;
  std::map<ClassKey, std::int64_t> used;
  double requests = 0;  ///< that the replay takes
};

SlotPlan plan_slots(const ImplicitGemm& g, const CacheMachine& machine, const ReadTraffic& t,
                    double requests) {
  const std::int64_t iterations = g.iterations_per_split();
  SlotPlan plan;
  plan.classes = classify_slots(g, machine);
  plan.window = window_of(g, machine, t, plan.classes);
  double ctas = 0;
  for (const auto& [key, slots] : plan.classes) ctas += real(slots.count * key[0]);
  const double per_cta = requests / real(g.ctas() * iterations) * real(plan.window.cost());
  const std::int64_t least =
      std::clamp(kReplayIterations * kSlotsPerClass / iterations, kSlotsPerClass, kMaxSlots);
  for (const auto& [key, slots] : plan.classes) {
    const auto affordable =
        static_cast<std::int64_t>(kReplayRequests / per_cta * real(slots.count) / ctas);
    const std::int64_t used = std::min(std::ssize(slots.first_cta), std::max(least, affordable));
    plan.used[key] = used;
    plan.requests += per_cta * real(used * key[0]);
  }
  return plan;
}

SlotSectors replay_classes(const ImplicitGemm& g, const CacheMachine& machine, const SlotPlan& plan,
                           SlotReplay& replay) {
  SlotSectors sum;
  for (const auto& [key, slots] : plan.classes) {
    const std::int64_t used = plan.used.at(key);
    const SlotSectors part = replay_class(g, machine, slots, used, plan.window, replay);
    const double scale = real(slots.count) / real(used);
    sum.a_asked += part.a_asked * scale;
    sum.a_missed += part.a_missed * scale;
    sum.b_asked += part.b_asked * scale;
    sum.b_missed += part.b_missed * scale;
  }
  return sum;
}

/// Miss ratios of L1. Where warming the L1 for the slots takes as long as replaying a few SMs from
/// the first wave to the last, that is done: nothing is left to assume about their L1.
void model_l2(const ImplicitGemm& g, const CacheMachine& machine, double requests, ReadTraffic& t) {
  SlotReplay replay(g, machine);
  const std::int64_t busy = std::min(machine.sm_count, g.ctas());
  const SlotPlan plan = plan_slots(g, machine, t, requests);
  const auto sms = static_cast<std::int64_t>(std::max(kReplayRequests, plan.requests) * real(busy) /
                                             std::max(1.0, requests));
  const SlotSectors sum = sms >= std::min(busy, kLeastSms)
                              ? replay_sms(g, machine, sms, replay)
                              : replay_classes(g, machine, plan, replay);
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

ReadTraffic sampled_traffic(const ImplicitGemm& g, const CacheMachine& machine, Counting counting) {
  ReadTraffic t;
  t.compulsory_a = touched_bytes(g.a, g.element_bytes, g.access.sector_bytes);
  t.compulsory_b = touched_bytes(g.b, g.element_bytes, g.access.sector_bytes);
  const Requests a =
      l1_requests(g, {.view = g.a, .rows = g.tile.m, .tiles = g.tiles_m(), .reloads = g.tiles_n()});
  const Requests b =
      l1_requests(g, {.view = g.b, .rows = g.tile.n, .tiles = g.tiles_n(), .reloads = g.tiles_m()});
  t.counted_whole = counting == Counting::Adaptive && a.lines + b.lines <= kWholeRequests;
  if (t.counted_whole) {
    const auto counted = simulate(g, machine, {});
    assert(counted);  // nobody stops it
    t.a = counted->a;
    t.b = counted->b;
  } else {
    t.a.l1 = a.sectors * real(g.access.sector_bytes);
    t.b.l1 = b.sectors * real(g.access.sector_bytes);
    model_l2(g, machine, a.lines + b.lines, t);
    t.a.l2 = std::clamp(t.a.l2, std::min(t.compulsory_a, t.a.l1), t.a.l1);
    t.b.l2 = std::clamp(t.b.l2, std::min(t.compulsory_b, t.b.l1), t.b.l1);
    model_dram(g, machine, t);
    t.a.dram = std::clamp(t.a.dram, std::min(t.compulsory_a, t.a.l2), t.a.l2);
    t.b.dram = std::clamp(t.b.dram, std::min(t.compulsory_b, t.b.l2), t.b.l2);
  }
  const double output = real(g.output_elements * g.element_bytes);
  t.partial_sums = partial_sums(output, real(g.split_k));
  t.dram_written = output + t.partial_sums;
  return t;
}

}  // namespace rooftile::traffic
