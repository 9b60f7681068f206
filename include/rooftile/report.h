// SPDX-License-Identifier: Apache-2.0
//
// The answer: totals, phases, operators, memory, warnings. Plain values with the unit in the name;
// the JSON report (docs/format/report.md) has the same names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rooftile/provenance.h"
#include "rooftile/request.h"

namespace rooftile {

struct TrafficBytes {
  double l1 = 0, l2 = 0, dram = 0;
};

/// How a time comes about:
///
///   term    = FLOPs or bytes / (rate x efficiency), where there is a rate of it (Report::rates)
///   on-chip = max(compute, shared, l1, l2, link, latency)
///   time    = (on-chip^join + dram^join)^(1 / join) x residual + launch + host
///
/// Terms overlap, so they do not add up to the time. Efficiencies are above 1 where a kernel does
/// less than the FLOPs or bytes that are shown: Winograd's products, a bound whose bytes may be in
/// L2 already.
struct BreakdownReport {
  std::map<std::string, double> terms_ms;  ///< those above 0, by resource
  std::map<std::string, double> efficiency;
  std::optional<double> join;  ///< none: the larger of the two
  double residual = 1;         ///< what measured kernels took beyond the terms
};

/// One operator, grouped over the layers in which it repeats. With a pipeline times, bytes and
/// FLOPs are those of a mean GPU: all launches / stages.
struct OperatorReport {
  std::string name;         ///< node in the model: "h.attn.c_attn"
  std::string op;           ///< "linear", "softmax", ...
  std::string phase;        ///< forward | backward | accumulate | optimizer
  std::int64_t count = 0;   ///< launches in the step, of all stages of a replica
  std::int64_t layers = 1;  ///< how often its block of the model repeats
  std::string shape;
  std::string dtype;
  /// All launches together; low and high are the 80 % interval, equal where none is stated.
  double latency_ms = 0, low_ms = 0, high_ms = 0;
  double hidden_ms = 0;  ///< of the latency: communication while kernels run
  double bound_ms = 0;
  std::string limiter;        ///< the largest term: compute | shared | l1 | l2 | dram | link | ...
  BreakdownReport breakdown;  ///< of the latency
  TrafficBytes traffic;
  double flops = 0;
  std::string rate;       ///< the compute roof it runs under: "fp32", "bf16_tensor"
  std::string algorithm;  ///< of a convolution where the predictor chose one: "winograd_fused"
  std::string tile;
  double waves = 0;
  double wave_factor = 1;  ///< loss to the last, partly filled wave; not part of the bound
  std::string provenance;  ///< measured | learned | analytical | bound
  bool extrapolated = false;
};

struct LatencyReport {
  double total_ms = 0, low_ms = 0, high_ms = 0;  ///< low equals high where no interval is stated
  /// The passes, with the time in which a GPU waits in them for its host or for other stages. With
  /// `exposed_communication_ms` they add up to the total.
  double forward_ms = 0, backward_ms = 0, optimizer_ms = 0;
  double communication_ms = 0;          ///< of a mean GPU, hidden or not
  double exposed_communication_ms = 0;  ///< of it, what no kernel hides
};

/// The step in the units in which people compare; absent where it has no such unit.
struct ThroughputReport {
  std::optional<double> tokens_per_s, tokens_per_s_per_gpu;  ///< processed or generated
  std::optional<double> images_per_s;
  /// FLOPs of the step / (time x the data sheet's rate of its dtype), all GPUs.
  std::optional<double> mfu;
  /// Inference: weights and cache, read once / (time x the data sheet's DRAM bandwidth).
  std::optional<double> mbu;
  std::optional<double> energy_per_token_j;  ///< all GPUs at the limit of their boards
};

/// A part of the step on a mean GPU; all of them add up to the total.
struct PartReport {
  /// kernels | communication | hidden communication (negative) | host (the GPU waits for it) | idle
  /// (the GPU waits for other stages); the first two are the sum of the operators
  std::string name;
  double latency_ms = 0;
  double share = 0;  ///< of the total
};

struct MemoryReport {
  double weights_bytes = 0, gradients_bytes = 0, optimizer_bytes = 0, activations_bytes = 0;
  double kv_cache_bytes = 0, total_bytes = 0;
  std::optional<double> capacity_bytes;
  std::optional<bool> fits;
};

/// How several GPUs share the step.
struct ParallelReport {
  std::int64_t gpus = 1, dp = 1, tp = 1, pp = 1, ep = 1, microbatches = 1;
  std::string system;  ///< "NVIDIA DGX A100 640GB", or "4 x NVIDIA ..." without a system
  std::string data_link, tensor_link, pipeline_link;  ///< empty where there is no such group
  double idle_fraction = 0;                           ///< of a mean GPU: the pipeline's bubble
};

struct Report {
  Request request;         ///< as resolved: defaults filled in
  std::string model_name;  ///< "gpt2-large"
  std::string gpu_name;    ///< "NVIDIA H100 SXM5 80GB"
  std::string predictor;
  std::vector<std::string> assumed;  ///< what the request left open, and what was chosen
  std::string roofs;  ///< where the ceilings are from: "datasheet", "measured (FILE)"
  std::int64_t parameters = 0;
  LatencyReport latency;
  ThroughputReport throughput;
  double bound_total_ms = 0;
  double flops = 0;
  std::vector<PartReport> parts;                ///< all five, also those of no time
  std::map<std::string, double> limiter_share;  ///< fraction of the time per limiter
  std::optional<ParallelReport> parallel;       ///< more than one GPU or micro-batch
  MemoryReport memory;                          ///< of the fullest GPU
  std::vector<OperatorReport> operators;        ///< in the order of execution
  /// FLOP/s by `OperatorReport::rate`, bytes/s of "l1", "l2" and "dram" where they are known.
  std::map<std::string, double> rates;
  ProvenanceReport provenance;
  std::vector<std::string> warnings;
};

}  // namespace rooftile
