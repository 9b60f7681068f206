// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/attention_form.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/attained.h"
#include "ops/attention.h"

namespace rooftile::cost::learned {

namespace {

constexpr double kBlockKeys = 128;  // that a tile loads at a time: the unit of `block` and `load`
constexpr double kUsualHead = 128;  // whose loads `block` states

using P = AttentionParameters;
constexpr std::array kAttentionParameters{
    Parameter<P>{"products", &P::products, "1", "time of a block's products over the ideal one",
                 0.1, 100, 1.25, true},
    Parameter<P>{"exponentials", &P::exponentials, "1",
                 "time of a block's exponentials over the ideal one", 0.01, 100, 1, true},
    Parameter<P>{"tile", &P::tile, "s", "of an SM to begin and end a tile of queries", 0, 1e-3,
                 2e-6, true},
    Parameter<P>{"block", &P::block, "s", "of an SM to load 128 keys and values of 128 numbers", 0,
                 1e-3, 0.5e-6, true},
    Parameter<P>{"start", &P::start, "s", "of the shortest call, at 1410 MHz", 0, 1e-3, 12e-6,
                 true},
    Parameter<P>{"split", &P::split, "s", "of the reduction where the keys are split, at 1410 MHz",
                 0, 1e-3, 3e-6, true},
    Parameter<P>{"part", &P::part, "s", "of that reduction, more for every part, at 1410 MHz", 0,
                 1e-3, 0.1e-6, true},
    Parameter<P>{"memory", &P::memory, "1", "time over that of the bandwidth that products attain",
                 0.1, 100, 1, true},
    Parameter<P>{"cache", &P::cache, "s",
                 "of an operator benchmark of a serving engine: of one thread to write a byte of "
                 "new keys and values to the cache, element by element",
                 0, 1e-4, 0.4e-6, true},
    Parameter<P>{"join", &P::join, "1", "exponent that joins compute and memory", 1, 20, 3, false}};

const hardware::AttentionKernels& kernels_of(const hardware::GpuSpec& gpu) {
  static const hardware::AttentionKernels kUnknown;
  return gpu.arch.library.attention ? *gpu.arch.library.attention : kUnknown;
}

/// Tiles of one head, or of one group of heads whose queries stand side by side.
struct Tiling {
  double rows = 128;       ///< of a whole tile
  double used = 128;       ///< of them, rounded up to whole instructions
  double count = 1;        ///< per head or group
  double positions = 128;  ///< of the sequence in a tile
  double apart = 1;        ///< heads or groups, of all sequences
};

Tiling tile_queries(const ops::AttentionShape& s, const hardware::AttentionKernels& kernels) {
  constexpr std::int64_t kShortHead = 64;
  constexpr double kWorthPacking = 0.9;  // of the tiles without packing
  constexpr double kShortHeadRows = 128;
  const auto queries = static_cast<double>(s.queries);
  const double group = static_cast<double>(s.heads) / static_cast<double>(s.kv_heads);
  Tiling t;
  t.rows = s.head_dim <= kShortHead ? kShortHeadRows : static_cast<double>(kernels.rows);
  // A single query always shares the loads of its group, unless a window moves it.
  const bool may_pack = kernels.packs_groups || (s.queries == 1 && s.window == 0);
  const double packed = std::ceil(queries * group / t.rows);
  const bool packs = may_pack && packed < kWorthPacking * std::ceil(queries / t.rows) * group;
  const double lines = packs ? queries * group : queries;
  const auto granule = static_cast<double>(kernels.granule);
  t.count = std::ceil(lines / t.rows);
  t.used = std::min(t.rows, std::ceil(lines / granule) * granule);
  t.positions = packs ? t.rows / group : t.rows;
  t.apart = static_cast<double>(s.batch) * static_cast<double>(packs ? s.kv_heads : s.heads);
  return t;
}

/// Blocks of keys that the tiles of a head visit: a triangle of tiles under the causal mask until
/// the window is full, a band after that; half a block more where a tile ends inside one.
struct Blocks {
  double all = 1, longest = 1;
};
Blocks visited(const ops::AttentionShape& s, const Tiling& t) {
  const auto keys = static_cast<double>(s.keys);
  const double before = std::max(keys - static_cast<double>(s.queries), 0.0);
  const double window = s.window > 0 ? std::min(static_cast<double>(s.window), keys) : keys;
  const double most = std::min(keys, window + t.positions);
  double seen = t.count * most;
  if (s.causal) {
    const double first = before + t.positions;
    const double ramp = std::clamp(std::floor((window - before) / t.positions) + 1, 0.0, t.count);
    const double triangle = ramp * first + t.positions * ramp * (ramp - 1) / 2;
    seen = std::min(seen, triangle + (t.count - ramp) * (window + t.positions));
  }
  const double ends = (1 - std::min(t.positions, kBlockKeys) / kBlockKeys) / 2;
  return {.all = std::max(seen / kBlockKeys + t.count * ends, t.count),
          .longest = std::max(std::ceil(most / kBlockKeys), 1.0)};
}

/// Parts into which the keys of one query can be split.
double parts_of(const ops::AttentionShape& s, const hardware::AttentionKernels& kernels) {
  if (s.window > 0 && !kernels.splits_windows) return 1;
  const double seen = static_cast<double>(s.window > 0 ? std::min(s.window, s.keys) : s.keys);
  double least = kBlockKeys;
  if (kernels.split_numbers > 0) {
    const double head = std::exp2(std::ceil(std::log2(static_cast<double>(s.head_dim))));
    least = std::max(1.0, static_cast<double>(kernels.split_numbers) / head);
  }
  return std::ceil(seen / least);
}

}  // namespace

std::span<const Parameter<AttentionParameters>> parameters_of(const AttentionParameters& /*form*/) {
  return kAttentionParameters;
}

AttentionCut cut_attention(const Job& job, const ops::AttentionShape& shape, const Chip& chip,
                           const hardware::GpuSpec& gpu, const ClockConstants& clock) {
  constexpr double kUsualExponentials = 16;  // where the architecture's file states none
  const ops::KernelWork& work = job.work;
  const Tiling tiling = tile_queries(shape, kernels_of(gpu));
  const Blocks blocks = visited(shape, tiling);
  const double pairs = tiling.used * kBlockKeys;
  // FLOP of a pair: 4 per number of a head, more in a backward pass.
  const double pair_flop =
      work.flops.base() / (ops::attention_pairs(shape) * static_cast<double>(shape.batch) *
                           static_cast<double>(shape.heads));
  const double rate = gpu.arch.sm.exponentials_per_clock.value_or(kUsualExponentials) * chip.clock;
  const double streaming = chip.bandwidth * chip.products;  // what GPUs differ by tells nothing
  AttentionCut cut;
  cut.sms = chip.sms;
  cut.ctas = tiling.apart * tiling.count;
  cut.blocks = tiling.apart * blocks.all;
  cut.longest = blocks.longest;
  if (shape.queries == 1)
    cut.splits = std::clamp(std::floor(chip.sms / cut.ctas), 1.0, parts_of(shape, kernels_of(gpu)));
  cut.product_seconds = pairs * pair_flop * chip.sms / chip.peak *
                        tensor_slowdown(gpu, job.units, clock).value_or(1.0);
  cut.units = full_units(gpu, job.units);
  cut.exponential_seconds = pairs / rate;
  cut.head = static_cast<double>(shape.head_dim) / kUsualHead;
  cut.stream_seconds = work.moved().base() / streaming;
  const double new_bytes = 2.0 * static_cast<double>(shape.batch * shape.queries * shape.kv_heads) *
                           static_cast<double>(shape.head_dim) * size_of(work.dtype).base();
  cut.new_per_thread = new_bytes / (chip.sms * chip.threads);
  cut.new_seconds = 2 * new_bytes / streaming;
  cut.rows = static_cast<std::int64_t>(tiling.rows);
  cut.slower_clock = kReferenceClock / chip.clock;
  return cut;
}

Breakdown attention_time(const AttentionCut& cut, const AttentionParameters& p, bool resident) {
  const double fed = cut.product_seconds / cut.units * p.products +
                     cut.exponential_seconds * p.exponentials + cut.head * p.block;
  const double block = cut.units > 1 ? std::max(fed, cut.product_seconds) : fed;
  const double all = (cut.blocks * block + cut.ctas * cut.splits * p.tile) / cut.sms;
  const double longest = cut.longest / cut.splits * block + p.tile;
  Breakdown time{.join = p.join};
  time.of(Resource::Compute) = Seconds::from_base(std::max(all, longest));
  if (!resident) time.of(Resource::Dram) = Seconds::from_base(cut.stream_seconds * p.memory);
  const double reduction = cut.splits > 1 ? p.split + p.part * cut.splits : 0.0;
  time.of(Resource::Launch) = Seconds::from_base(cut.slower_clock * (p.start + reduction));
  return time;
}

double cache_seconds(const AttentionCut& cut, const AttentionParameters& p, bool resident) {
  return std::max(p.cache * cut.new_per_thread, resident ? 0.0 : cut.new_seconds);
}

const AttentionParameters& parameters_for(const AttentionModel& model,
                                          const hardware::GpuSpec& gpu) {
  const auto found = model.families.find(kernels_of(gpu).family);
  return found != model.families.end() ? found->second : model.common;
}

}  // namespace rooftile::cost::learned
