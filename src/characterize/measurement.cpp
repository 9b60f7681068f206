// SPDX-License-Identifier: Apache-2.0
#include "characterize/measurement.h"

#include <fmt/format.h>

#include "core/text.h"

namespace rooftile::characterize {

namespace {

/// One row per pattern: what it is called, its accesses per element, and the arrays of its set.
struct PatternFacts {
  Pattern pattern;
  std::string_view name;
  std::int64_t accesses = 0, arrays = 1;
};
constexpr std::array kFacts{PatternFacts{Pattern::Load, "load", 1},
                            PatternFacts{Pattern::LoadL1, "load_l1", 1},
                            PatternFacts{Pattern::Store, "store", 1},
                            PatternFacts{Pattern::StoreNt, "store_nt", 1},
                            PatternFacts{Pattern::Copy, "copy", 2, 2},
                            PatternFacts{Pattern::CopyNt, "copy_nt", 2, 2},
                            PatternFacts{Pattern::Triad, "triad", 3, 3},
                            PatternFacts{Pattern::TriadNt, "triad_nt", 3, 3},
                            PatternFacts{Pattern::Update, "update", 2},
                            PatternFacts{Pattern::Shared, "shared", 1},
                            PatternFacts{Pattern::Mma, "mma"},
                            PatternFacts{Pattern::MmaSync, "mma_sync"},
                            PatternFacts{Pattern::MmaSparse, "mma_sparse"},
                            PatternFacts{Pattern::Chase, "chase"},
                            PatternFacts{Pattern::ChaseHost, "chase_host"},
                            PatternFacts{Pattern::ChasePeer, "chase_peer"},
                            PatternFacts{Pattern::Launch, "launch"},
                            PatternFacts{Pattern::LaunchWait, "launch_wait"},
                            PatternFacts{Pattern::CopyIn, "copy_in"},
                            PatternFacts{Pattern::CopyOut, "copy_out"},
                            PatternFacts{Pattern::CopyPeer, "copy_peer"},
                            PatternFacts{Pattern::CopyRing, "copy_ring"}};
static_assert(kFacts.size() == kAllPatterns.size(), "every pattern has a row");

const PatternFacts& facts_of(Pattern pattern) {
  for (const PatternFacts& row : kFacts) {
    if (row.pattern == pattern) return row;
  }
  return kFacts.front();
}

}  // namespace

std::string_view name_of(Pattern pattern) {
  return facts_of(pattern).name;
}

Result<Pattern> parse_pattern(std::string_view text) {
  std::array<std::string_view, kAllPatterns.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = name_of(kAllPatterns[i]);
    if (names[i] == text) return kAllPatterns[i];
  }
  return bad_input("", "unknown access pattern \"" + printable(text) + "\"",
                   did_you_mean(text, names, "one of"));
}

std::int64_t accesses_per_element(Pattern pattern) {
  return facts_of(pattern).accesses;
}

std::int64_t arrays_of(Pattern pattern) {
  return facts_of(pattern).arrays;
}

bool is_streaming(Pattern pattern) {
  return pattern != Pattern::Shared && accesses_per_element(pattern) > 0;
}

bool is_product(Pattern pattern) {
  return pattern == Pattern::Mma || pattern == Pattern::MmaSync || pattern == Pattern::MmaSparse;
}

bool is_link_copy(Pattern pattern) {
  return pattern == Pattern::CopyIn || pattern == Pattern::CopyOut ||
         pattern == Pattern::CopyPeer || pattern == Pattern::CopyRing;
}

bool is_chase(Pattern pattern) {
  return pattern == Pattern::Chase || pattern == Pattern::ChaseHost ||
         pattern == Pattern::ChasePeer;
}

bool is_stepping(Pattern pattern) {
  return is_chase(pattern) || pattern == Pattern::Launch || pattern == Pattern::LaunchWait;
}

std::vector<Sample> curve_over_sets(std::span<const Sample> samples, Pattern pattern) {
  std::vector<Sample> curve;
  for (const Sample& s : samples) {
    if (s.what.pattern != pattern) continue;
    if (pattern == Pattern::Update && s.what.flops_per_element != 1) continue;
    if (!curve.empty() && s.what.dtype != curve.front().what.dtype) continue;
    curve.push_back(s);
  }
  return curve;
}

BytesPerSecond bandwidth(const Sample& sample) {
  return sample.work.bytes / sample.time.fast;
}

FlopsPerSecond flop_rate(const Sample& sample) {
  return sample.work.flops / sample.time.fast;
}

Seconds step_time(const Sample& sample) {
  return sample.time.fast / static_cast<double>(sample.work.steps);
}

std::string describe(const Case& what) {
  std::string out = fmt::format("{} {}{}", name_of(what.pattern), name_of(what.dtype),
                                what.pipe == hardware::Pipe::Tensor ? "_tensor" : "");
  if (what.working_set > Bytes{}) {
    out += fmt::format(", {:.6g} KiB", what.working_set.base() / 1024.0);
  }
  if (what.flops_per_element > 0) out += fmt::format(", {} FLOP", what.flops_per_element);
  return out;
}

}  // namespace rooftile::characterize
