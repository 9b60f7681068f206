// SPDX-License-Identifier: Apache-2.0
#include "traffic/block_lru.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <unordered_map>

namespace rooftile::traffic {

namespace {

constexpr double kChunksPerL2 = 6;   // the L2 holds at least this many chunks of k of one wave
constexpr double kMaxTouches = 2e5;  // of blocks, per capacity
constexpr std::int64_t kMaxCtas = 200'000;  // walked; a longer grid is extrapolated along m

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// Fully associative LRU over blocks of different sizes.
class BlockLru {
 public:
  explicit BlockLru(double capacity) : capacity_(capacity) {}

  /// True when the block was absent; it then occupies `bytes`.
  bool touch(std::int64_t key, double bytes) {
    if (const auto it = index_.find(key); it != index_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      return false;
    }
    order_.push_front({key, bytes});
    index_[key] = order_.begin();
    used_ += bytes;
    while (used_ > capacity_ && order_.size() > 1) {
      used_ -= order_.back().second;
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return true;
  }

 private:
  using Order = std::list<std::pair<std::int64_t, double>>;
  double capacity_;
  double used_ = 0;
  Order order_;
  std::unordered_map<std::int64_t, Order::iterator> index_;
};

/// Distinct A and B tiles of the CTAs of one wave, as z * tiles + tile.
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

/// Bytes fetched (sectors) and occupied (lines) by one tile over its part of k.
struct TileBytes {
  double sectors = 0, lines = 0;
};

struct OperandTiles {
  TileBytes a, b;
};

/// Tile loads that miss, in units of whole tiles.
struct Misses {
  double a = 0, b = 0;
};

/// Quantile of Gamma(ways) / ways at a normal z, after Wilson and Hilferty.
double capacity_quantile(std::int64_t ways, double z) {
  const double v = 1.0 / (9.0 * real(ways));
  const double root = 1.0 - v + z * std::sqrt(v);
  return root * root * root;
}

std::int64_t chunk_count(const ImplicitGemm& g, const CacheMachine& machine,
                         const OperandTiles& tiles, double capacity) {
  const double wave = real(machine.wave());
  const double waves = std::ceil(real(g.ctas()) / wave);
  const double widest = std::min(wave, real(g.ctas())) * tiles.a.lines + tiles.b.lines;
  const double wanted = std::min(kChunksPerL2 * widest / capacity, kMaxTouches / (waves * wave));
  std::int64_t chunks = 1;
  while (real(chunks) < wanted && chunks * 2 <= g.iterations_per_split()) chunks *= 2;
  return chunks;
}

Misses block_lru_misses(const ImplicitGemm& g, const CacheMachine& machine,
                        const OperandTiles& tiles, double capacity) {
  BlockLru lru(capacity);
  Misses misses;
  const std::int64_t chunks = chunk_count(g, machine, tiles, capacity);
  const double share = 1.0 / real(chunks);
  for (std::int64_t first = 0; first < g.ctas(); first += machine.wave()) {
    const WaveTiles wave =
        wave_tiles(g, machine, first, std::min(machine.wave(), g.ctas() - first));
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      for (const std::int64_t i : wave.a) {
        if (lru.touch((i * chunks + chunk) * 2, tiles.a.lines * share)) misses.a += share;
      }
      for (const std::int64_t i : wave.b) {
        if (lru.touch((i * chunks + chunk) * 2 + 1, tiles.b.lines * share)) misses.b += share;
      }
    }
  }
  return misses;
}

}  // namespace

void model_dram(const ImplicitGemm& problem, const CacheMachine& machine, ReadTraffic& t) {
  const double slices = real(problem.split_k * problem.groups);
  const double a_tiles = real(problem.tiles_m()) * slices;
  const double b_tiles = real(problem.tiles_n()) * slices;
  const double a_lines = touched_bytes(problem.a, problem.element_bytes, problem.access.line_bytes);
  const double b_lines = touched_bytes(problem.b, problem.element_bytes, problem.access.line_bytes);
  const auto l2 = real(machine.l2_bytes);
  t.a.dram = t.compulsory_a;
  t.b.dram = t.compulsory_b;
  if (a_lines + b_lines <= 0.5 * l2) return;

  const OperandTiles tiles{.a = {t.compulsory_a / a_tiles, a_lines / a_tiles},
                           .b = {t.compulsory_b / b_tiles, b_lines / b_tiles}};
  // A long grid repeats itself along m: walk the beginning of it and scale the misses.
  ImplicitGemm g = problem;
  double scale = 1.0;
  if (g.ctas() > kMaxCtas) {
    const std::int64_t columns = g.tiles_n() * g.groups * g.split_k;
    const std::int64_t rows = std::max<std::int64_t>(machine.wave(), kMaxCtas / columns);
    if (rows < g.tiles_m()) {
      scale = real(g.tiles_m()) / real(rows);
      g.m = rows * g.tile.m;
    }
  }
  const double b_once = real(g.tiles_n()) * slices;
  t.a.dram = t.b.dram = 0;
  // Middles of eighths of a normal distribution.
  constexpr std::array kEighths{-1.534, -0.887, -0.489, -0.157, 0.157, 0.489, 0.887, 1.534};
  for (const double z : kEighths) {
    const double capacity = l2 * capacity_quantile(machine.l2_ways, z);
    const Misses misses = block_lru_misses(g, machine, tiles, capacity);
    const double b_again = std::max(0.0, misses.b - b_once);
    t.a.dram += misses.a * scale * tiles.a.sectors / kEighths.size();
    t.b.dram += (misses.b - b_again + b_again * scale) * tiles.b.sectors / kEighths.size();
  }
}

}  // namespace rooftile::traffic
