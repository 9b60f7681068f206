// SPDX-License-Identifier: Apache-2.0
//
// What a GPU is, on paper: one value, loaded from one sourced JSON file (docs/format/gpu.md).
// Absent fields are std::nullopt, never 0 and never a neighbour's value. Rates are dense and, for
// floating-point tensor rates, with FP32 accumulation. What other people measured on the part is
// in `measured`; ceilings taken with `rooftile characterize` come in a file of their own
// (hardware/ceilings.h). Machine (hardware/machine.h) says which of them a model uses.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "hardware/architecture.h"
#include "hardware/memory_type.h"
#include "hardware/rate_key.h"
#include "rooftile/provenance.h"

namespace rooftile::hardware {

struct Clocks {
  std::optional<Hertz> base;
  Hertz boost;                  ///< the clock the vector peaks are quoted at
  std::optional<Hertz> tensor;  ///< the clock the tensor peaks are quoted at, where documented
};

/// One streaming multiprocessor (compute unit, Xe core).
struct SmSpec {
  std::int64_t count = 0;
  std::int64_t fp32_lanes = 0;  ///< FMA lanes; 2 FLOP per lane and clock
  std::int64_t warp_size = 32;
  std::optional<std::int64_t> max_threads, max_warps, max_blocks;
  std::optional<std::int64_t> registers;  ///< 32-bit registers
  std::optional<Bytes> shared;            ///< shared memory (LDS) that CTAs can use
  std::optional<Bytes> shared_per_block;
  /// 32 banks of 4 bytes per clock on every NVIDIA part since Kepler.
  BytesPerCycle shared_bandwidth = BytesPerCycle::from_base(128);
  std::map<RateKey, double> flop_per_clock;  ///< of one SM, where documented
};

struct MemorySpec {
  std::optional<Bytes> size;                      ///< L1: per SM; the others: whole GPU
  std::optional<BytesPerSecond> bandwidth;        ///< whole GPU, read; data sheet
  std::optional<BytesPerCycle> bandwidth_per_sm;  ///< L1: per SM and clock
  std::optional<Bytes> line, sector;
  std::optional<Cycles> latency;  ///< load-to-use, at MeasuredSpec::latency_clock
};

struct L1Spec : MemorySpec {
  bool includes_shared = false;  ///< `size` is one array that shared memory is carved from
};

struct DramSpec : MemorySpec {
  std::string type;                 ///< "HBM3", "GDDR6"
  std::optional<MemoryType> known;  ///< what is known of the type; nothing where it is unknown
  std::string type_hint;            ///< the nearest known name, where it is unknown
  std::optional<std::int64_t> bus_bits;
  std::optional<double> gbit_per_pin;  ///< data rate per pin, Gbit/s
};

struct LinkSpec {
  std::string name;                  ///< "NVLink4 18 links x 25 GB/s", "PCIe 5.0 x16"
  BytesPerSecond per_direction;      ///< sum over the links, one direction
  std::optional<std::int64_t> gpus;  ///< how many GPUs it can join: 2 for a bridge
};

/// Published measurements of what the part sustains; by whom is in `sources`.
struct MeasuredSpec {
  std::optional<BytesPerSecond> dram_read, dram_write, dram_copy, l2_read;
  std::optional<BytesPerCycle> l1_per_sm;
  std::optional<Hertz> latency_clock;      ///< the clock the latencies were counted at
  std::map<RateKey, FlopsPerSecond> rate;  ///< e.g. best GEMM seen per dtype
  /// "l2_read" -> id of the GPU it was measured on, where that is another board with the same SM
  /// (l1_per_sm) or the same chip and L2.
  std::map<std::string, std::string, std::less<>> sibling;
};

struct GpuSpec {
  std::string name;                  ///< vendor's full name, form factor and memory size included
  std::string id;                    ///< the short name people type, "h100-sxm"
  std::vector<std::string> aliases;  ///< other names, also those found in measured data
  Vendor vendor = Vendor::Other;
  std::string architecture;            ///< "hopper"
  std::string chip;                    ///< "GH100"
  std::string isa;                     ///< compute capability "9.0" or "gfx90a"
  Architecture arch;                   ///< what all GPUs of that instruction set share
  std::optional<std::string> process;  ///< "TSMC 4N"
  std::optional<std::int64_t> year;
  std::int64_t devices = 1;  ///< that software sees; all numbers are of all of them together
  Clocks clock;
  SmSpec sm;
  L1Spec l1;
  MemorySpec l2;
  std::optional<MemorySpec> last_level;  ///< memory-side cache (Infinity Cache)
  DramSpec dram;
  std::map<RateKey, FlopsPerSecond> peak;
  /// Where accumulating in FP16 is faster than the rate in `peak` (GeForce).
  std::map<RateKey, FlopsPerSecond> peak_fp16_accumulate;
  MeasuredSpec measured;
  std::optional<LinkSpec> interconnect, pcie;
  std::optional<double> power_watt;
  std::vector<std::pair<std::string, std::string>> sources;  ///< JSON pointer -> where it is from
  std::vector<std::string> doubts;
  std::map<std::string, std::string> lint_allow;  ///< "rule" or "rule:/pointer" -> reason
  std::string file;                               ///< where it was loaded from
  Input input;                                    ///< the record of that file
};

}  // namespace rooftile::hardware
