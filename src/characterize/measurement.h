// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of a characterization: a Case is one configuration of one micro-kernel, a Sample
// is what was measured for it. Every back end measures the same patterns:
//
//   load       s = A[i]              1 access     store, store_nt   A[i] = s           1 access
//   copy, _nt  B[i] = A[i]           2 accesses   triad, _nt        A[i] = B[i]+s*C[i] 3 accesses
//   update     A[i] = f(A[i])        2 accesses, flops_per_element FLOPs: the kernel of ERT
//   load_l1    each unit of a GPU reads a slice of its own through its L1; all others go past it
//   shared     loads from the scratchpad of a GPU  mma  products on the matrix units, no traffic
//   mma_sync   products of a warp where larger groups are faster  mma_sparse  2:4 sparse products
//   chase      a chain of dependent loads: latency  launch  an empty kernel: launch overhead
//   launch_wait  launching and waiting for it      copy_in, copy_out  between host and device
//   copy_peer  to another GPU    copy_ring  every GPU to the next one, all at the same time
//   chase_host, chase_peer  a chain in the memory of the host, of another GPU: link latency
//
// `_nt` is with non-temporal (streaming) stores. Bytes are those the program asks for, as STREAM,
// likwid-bench and ERT count them: lines that a store first brings into the cache are not counted.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "characterize/statistics.h"
#include "core/dtype.h"
#include "core/result.h"
#include "core/units.h"
#include "hardware/gpu_spec.h"

namespace rooftile::characterize {

enum class Pattern : std::uint8_t {
  Load,
  Store,
  StoreNt,
  Copy,
  CopyNt,
  Triad,
  TriadNt,
  Update,
  Shared,
  Mma,
  Chase,
  Launch,
  LoadL1,
  MmaSync,
  MmaSparse,
  LaunchWait,
  CopyIn,
  CopyOut,
  CopyPeer,
  CopyRing,
  ChaseHost,
  ChasePeer
};

inline constexpr std::array kAllPatterns{
    Pattern::LoadL1,    Pattern::Load,    Pattern::Store,      Pattern::StoreNt, Pattern::Copy,
    Pattern::CopyNt,    Pattern::Triad,   Pattern::TriadNt,    Pattern::Update,  Pattern::Shared,
    Pattern::Mma,       Pattern::MmaSync, Pattern::MmaSparse,  Pattern::Chase,   Pattern::ChaseHost,
    Pattern::ChasePeer, Pattern::Launch,  Pattern::LaunchWait, Pattern::CopyIn,  Pattern::CopyOut,
    Pattern::CopyPeer,  Pattern::CopyRing};

std::string_view name_of(Pattern pattern);
Result<Pattern> parse_pattern(std::string_view text);
/// Loads and stores per element, for the patterns that stream through memory; else 0.
std::int64_t accesses_per_element(Pattern pattern);
/// Arrays the working set is divided into: 1, 2 (copy) or 3 (triad).
std::int64_t arrays_of(Pattern pattern);
/// True for the patterns whose rate is a bandwidth that depends on the working set.
bool is_streaming(Pattern pattern);
/// Products on the matrix units, in any form.
bool is_product(Pattern pattern);
/// Copies over the links of a GPU.
bool is_link_copy(Pattern pattern);
/// What is measured is the time of a step: a dependent load, or a launch.
bool is_stepping(Pattern pattern);
/// True for chains of dependent loads.
bool is_chase(Pattern pattern);

struct Case {
  Pattern pattern = Pattern::Load;
  DType dtype = DType::Fp64;
  hardware::Pipe pipe = hardware::Pipe::Vector;
  Bytes working_set;                   ///< of all workers together; 0 for mma and launch
  std::int64_t flops_per_element = 0;  ///< update only

  bool operator==(const Case&) const = default;
};

/// What one pass of a prepared case does.
struct PassWork {
  Bytes bytes;
  Flops flops;
  std::int64_t steps = 0;  ///< chase: dependent loads; launch: launches
  bool operator==(const PassWork&) const = default;
};

struct Sample {
  Case what;
  PassWork work;            ///< of one pass
  std::int64_t passes = 0;  ///< per timed run
  TimeSummary time;         ///< of one pass
  bool converged = false;   ///< the confidence interval reached the wanted width

  bool operator==(const Sample&) const = default;
};

/// The curve of a streaming pattern over the working set: the samples in the number format that was
/// measured first, of update those with one FLOP per element: more may be bound by the arithmetic.
std::vector<Sample> curve_over_sets(std::span<const Sample> samples, Pattern pattern);

BytesPerSecond bandwidth(const Sample& sample);
FlopsPerSecond flop_rate(const Sample& sample);
/// Time per step of chase and launch.
Seconds step_time(const Sample& sample);

/// "update fp64, 64 KiB, 16 FLOP": for progress and messages.
std::string describe(const Case& what);

}  // namespace rooftile::characterize
