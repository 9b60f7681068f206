// SPDX-License-Identifier: Apache-2.0
//
// Text generation: a prompt of `isl` tokens is processed (prefill), then `osl` tokens follow one by
// one (decode) over a cache that grows. Either a fixed batch goes through both together, or a
// server keeps `concurrency` requests in flight and mixes the prefills of new ones into the decode
// steps of the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rooftile/provenance.h"
#include "rooftile/report.h"
#include "rooftile/request.h"

namespace rooftile {

struct GenerateRequest {
  Request step = {};  ///< model, GPU, formats, parallelism; its phase and sizes are not looked at
  std::int64_t isl = 1024;                 ///< tokens of the prompt
  std::int64_t osl = 1024;                 ///< tokens that are generated, the first one included
  std::optional<std::int64_t> batch = {};  ///< sequences that start and end together
  std::optional<std::int64_t> concurrency = {};  ///< requests in flight on a server
  bool disaggregated = false;                    ///< other GPUs process the prompts
};

/// A number with its 80 % interval, equal ends where none is stated.
struct Interval {
  double value = 0, low = 0, high = 0;
};

struct GenerateReport {
  GenerateRequest request;  ///< as resolved
  std::string model_name, gpu_name;
  std::int64_t gpus = 1;
  std::int64_t batch = 1;  ///< sequences in a decode step
  Interval ttft_ms;        ///< to the first token of a request
  Interval tpot_ms;        ///< between two tokens of a request
  Interval request_ms;     ///< from its arrival to its last token
  Interval tokens_per_s;   ///< generated, all requests together
  double tokens_per_s_per_gpu = 0;
  std::optional<double> energy_per_token_j;   ///< all GPUs at the limit of their boards
  std::optional<std::int64_t> largest_batch;  ///< that the memory holds at full length
  MemoryReport memory;                        ///< of the fullest GPU, at full length
  Report prefill, decode;                     ///< one prompt (or the batch); a step halfway
  ProvenanceReport provenance;
  std::vector<std::string> warnings;
};

}  // namespace rooftile
