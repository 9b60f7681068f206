// SPDX-License-Identifier: Apache-2.0
#include "traffic/cache_sim.h"

#include <algorithm>
#include <bit>

namespace rooftile::traffic {

SectoredCache::SectoredCache(std::int64_t lines, std::int64_t ways, SetHash hash)
    : sets_(std::max<std::int64_t>(1, lines / ways)),
      ways_(ways),
      hash_(hash),
      tags_(static_cast<std::size_t>(sets_ * ways), -1),
      valid_(static_cast<std::size_t>(sets_ * ways), 0) {
}

std::int64_t SectoredCache::set_of(std::int64_t line) const {
  auto x = static_cast<std::uint64_t>(line);
  switch (hash_) {
    case SetHash::Multiply: x = (x * 0x9E3779B97F4A7C15ULL) >> 20U; break;  // Fibonacci
    case SetHash::Mix:  // the finalizer of SplitMix64
      x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
      x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
      x ^= x >> 31U;
      break;
  }
  return static_cast<std::int64_t>(x % static_cast<std::uint64_t>(sets_));
}

void SectoredCache::clear() {
  std::fill(tags_.begin(), tags_.end(), -1);
  std::fill(valid_.begin(), valid_.end(), std::uint8_t{0});
}

std::uint32_t SectoredCache::access(std::int64_t line, std::uint32_t sectors) {
  const std::int64_t first = set_of(line) * ways_;
  std::int64_t* tags = tags_.data() + first;
  std::uint8_t* valid = valid_.data() + first;
  std::int64_t way = 0;
  while (way < ways_ - 1 && tags[way] != line) ++way;
  const std::uint32_t present = tags[way] == line ? valid[way] : 0U;
  for (; way > 0; --way) {  // way 0 is the most recent
    tags[way] = tags[way - 1];
    valid[way] = valid[way - 1];
  }
  tags[0] = line;
  valid[0] = static_cast<std::uint8_t>(present | sectors);
  return sectors & ~present;
}

CtaIndex cta_at(const ImplicitGemm& g, std::int64_t id, const CacheMachine& machine) {
  const std::int64_t rows = g.tiles_m();
  const std::int64_t columns = g.tiles_n();
  const std::int64_t z = id / (rows * columns);
  const std::int64_t i = id % (rows * columns);
  switch (machine.order) {
    case CtaOrder::Column: return {.m = i % rows, .n = i / rows, .z = z};
    case CtaOrder::Row: return {.m = i / columns, .n = i % columns, .z = z};
    case CtaOrder::Swizzled: break;
  }
  const std::int64_t panel = machine.swizzle_rows * columns;
  const std::int64_t first = i / panel * machine.swizzle_rows;
  const std::int64_t height = std::min(machine.swizzle_rows, rows - first);
  return {.m = first + i % panel % height, .n = i % panel / height, .z = z};
}

double estimated_accesses(const ImplicitGemm& g) {
  // 32 contiguous lanes touch up to two lines of 128 B; k-contiguous rows, one per row.
  const double shorter = 128.0 / static_cast<double>(g.access.line_bytes);
  const double per_iteration = static_cast<double>(g.tile.m + g.tile.n) / 32.0 *
                               static_cast<double>(g.tile.k) * 4.0 * std::max(1.0, shorter);
  return static_cast<double>(g.ctas()) * static_cast<double>(g.iterations_per_split()) *
         per_iteration;
}

namespace {

/// The state of one simulation.
class Simulation {
 public:
  Simulation(const ImplicitGemm& problem, const CacheMachine& machine)
      : problem_(problem),
        machine_(machine),
        l1_(static_cast<std::size_t>(machine.sm_count),
            SectoredCache(machine.l1_bytes / problem.access.line_bytes, machine.l1_ways,
                          SetHash::Multiply)),
        l2_(machine.l2_bytes / problem.access.line_bytes, machine.l2_ways, SetHash::Mix) {}

  /// One main-loop iteration of the CTAs [first, first + count).
  void run_iteration(std::int64_t first, std::int64_t count, std::int64_t iteration) {
    const ImplicitGemm& g = problem_;
    for (std::int64_t sm = 0; sm < std::min(count, machine_.sm_count); ++sm) {
      SectoredCache& cache = l1_[static_cast<std::size_t>(sm)];
      for (std::int64_t i = sm; i < count; i += machine_.sm_count) {
        const CtaIndex cta = cta_at(g, first + i, machine_);
        const std::int64_t part = cta.z % g.split_k * g.iterations_per_split() + iteration;
        const std::int64_t k0 = part * g.tile.k;
        if (k0 >= g.k) continue;
        TileLoad load{.tile = cta.m,
                      .tile_rows = g.tile.m,
                      .k_begin = k0,
                      .k_end = std::min(g.k, k0 + g.tile.k),
                      .group = cta.z / g.split_k};
        run_load(g.a, load, cache, traffic_.a);
        load.tile = cta.n;
        load.tile_rows = g.tile.n;
        run_load(g.b, load, cache, traffic_.b);
      }
    }
  }

  [[nodiscard]] const SimulatedTraffic& traffic() const { return traffic_; }

 private:
  void run_load(const GatherView& view, const TileLoad& load, SectoredCache& cache,
                OperandTraffic& operand) {
    requests_.clear();
    append_requests(problem_, view, load, requests_);
    int asked = 0;
    int missed_l1 = 0;
    int missed_l2 = 0;
    for (const LineRequest& request : requests_) {
      asked += std::popcount(request.sectors);
      if (const std::uint32_t miss = cache.access(request.line, request.sectors)) {
        missed_l1 += std::popcount(miss);
        missed_l2 += std::popcount(l2_.access(request.line, miss));
      }
    }
    traffic_.accesses += static_cast<std::int64_t>(requests_.size());
    const auto sector = static_cast<double>(problem_.access.sector_bytes);
    operand.l1 += asked * sector;
    operand.l2 += missed_l1 * sector;
    operand.dram += missed_l2 * sector;
  }

  const ImplicitGemm& problem_;
  const CacheMachine& machine_;
  std::vector<SectoredCache> l1_;
  SectoredCache l2_;
  std::vector<LineRequest> requests_;
  SimulatedTraffic traffic_;
};

}  // namespace

Result<SimulatedTraffic> simulate(const ImplicitGemm& problem, const CacheMachine& machine,
                                  const Progress& progress) {
  Simulation simulation(problem, machine);
  const std::int64_t total = problem.ctas();
  const std::int64_t iterations = problem.iterations_per_split();
  constexpr std::int64_t kReportEvery = 16;  // iterations
  for (std::int64_t first = 0; first < total; first += machine.wave()) {
    const std::int64_t count = std::min(machine.wave(), total - first);
    for (std::int64_t i = 0; i < iterations; ++i) {
      simulation.run_iteration(first, count, i);
      if (!progress || i % kReportEvery != 0) continue;
      const double wave_done = static_cast<double>(i) / static_cast<double>(iterations);
      const double done = (static_cast<double>(first) + wave_done * static_cast<double>(count)) /
                          static_cast<double>(total);
      if (!progress({.fraction = done, .note = "simulating caches"})) {
        return bad_input({}, "the simulation was stopped", "its counts are not complete");
      }
    }
  }
  return simulation.traffic();
}

}  // namespace rooftile::traffic
