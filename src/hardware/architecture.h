// SPDX-License-Identifier: Apache-2.0
//
// What is the same for all GPUs of one instruction set: what an SM does per clock and holds, how it
// asks its caches, which library kernels run on it, how a profiler counts. One value, loaded from
// one sourced JSON file, data/architectures/<isa>.json (docs/format/architecture.md), so a new
// generation is data: no code asks which instruction set it is on. A file of the user's own in an
// overlay folder counts like one that is compiled in. load_gpu() (hardware/load.h) attaches it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "core/units.h"
#include "hardware/rate_key.h"
#include "rooftile/provenance.h"

namespace rooftile::hardware {

/// One SM (compute unit, Xe core) of the full-rate parts.
struct ArchitectureSm {
  std::int64_t warp_size = 32;  ///< threads of one instruction, lanes of one request to a cache
  std::int64_t schedulers = 4;  ///< that issue one instruction per clock each
  std::optional<std::int64_t> max_threads, max_blocks;
  std::optional<std::int64_t> registers;  ///< 32-bit registers
  /// FLOP per clock: dense, tensor rates with FP32 accumulation.
  std::map<RateKey, double> flop_per_clock;
  std::optional<double> exponentials_per_clock;  ///< of the special-function units
};

/// How SMs ask their caches, where a GPU file states nothing else; and the L2 sizes of the known
/// dies, which are meant to catch slips and not to define a standard.
struct ArchitectureMemory {
  Bytes sector = Bytes::from_base(32);  ///< fetched at a time
  Bytes line = Bytes::from_base(128);   ///< under one tag
  std::optional<Bytes> l1;              ///< of one SM, for a kernel without shared memory
  struct Range {
    Bytes least, most;
  };
  std::optional<Range> l2;
};

/// How the usual library of fused attention cuts its work on this instruction set.
struct AttentionKernels {
  std::string family;         ///< kernels whose levels are fitted together: "flash2", "flash3"
  std::int64_t rows = 128;    ///< of queries in a tile, for heads wider than 64; up to 64 it is 128
  std::int64_t granule = 16;  ///< rows that one matrix instruction multiplies at least
  bool packs_groups = false;  ///< query heads that share keys stand side by side in a tile
  /// Numbers of the keys of one head that a part of a split cache holds at least; 0: 128 keys.
  std::int64_t split_numbers = 0;
  bool splits_windows = true;  ///< keys are split even where a window sees few of them
};

/// Which kernels the vendor's libraries run.
struct LibraryFacts {
  std::string kernel_family;        ///< whose FP32 matrix products run; the isa where not stated
  bool one_winograd_shape = false;  ///< one fused Winograd tile shape, not all that were shipped
  bool winograd_filter_gradient = true;  ///< Winograd is taken for filter gradients
  /// How 16- and 8-bit products feed the tensor units: "warp" (operands pass through registers) or
  /// "asynchronous" (they are read from shared memory behind the warps' backs); empty: not known.
  std::string tensor_family;
  std::int64_t cluster = 1;  ///< thread blocks of a 16- or 8-bit product that share their loads
  std::optional<AttentionKernels> attention;
};

enum class Profiler : std::uint8_t { Nvprof, NsightCompute, Rocprof };
/// As their commands are called: "nvprof", "ncu", "rocprofv3".
std::string_view name_of(Profiler tool);

/// How the vendor's profiler counts.
struct CounterFacts {
  Profiler tool = Profiler::NsightCompute;
  std::optional<double> tensor_instruction_flop;  ///< where all tensor instructions do the same
  std::optional<Bytes> request;                   ///< AMD: of an L1 access and of a request to L2
};

struct Architecture {
  std::string isa;   ///< compute capability "9.0" or "gfx90a"
  std::string name;  ///< "hopper"
  Vendor vendor = Vendor::Other;
  ArchitectureSm sm;
  ArchitectureMemory memory;
  LibraryFacts library;
  std::optional<CounterFacts> counters;  ///< nothing where no profiler of the vendor is known here
  std::string file;                      ///< where it was loaded from
  Input input;                           ///< the record of that file
};

/// `file` is what errors call the text.
Result<Architecture> parse_architecture(std::string_view text, std::string file);

/// architectures/<isa>.json of the catalogue. An error without a place when there is none.
Result<Architecture> load_architecture(const Catalog& catalog, std::string_view isa);

/// The instruction sets that have a file, sorted as text.
std::vector<std::string> architecture_names(const Catalog& catalog);
/// All of them in that order; the first bad file is the error.
Result<std::vector<Architecture>> list_architectures(const Catalog& catalog);

/// The architecture of a device that a profiler named, which need not have a file of its own: else
/// that of the newest compute capability that is not newer ("8.7" -> 8.6), or the oldest; of AMD's
/// names the one with the longest common beginning ("gfx940" -> gfx942). Nothing for other names.
Result<std::optional<Architecture>> nearest_architecture(const Catalog& catalog,
                                                         std::string_view isa);

/// FLOP per SM and clock of the full-rate parts of these instruction sets; nothing where the isa is
/// unknown or has no such rate.
std::optional<double> flop_per_clock(const std::vector<Architecture>& architectures,
                                     std::string_view isa, RateKey key);
/// The most that any of them does; of a rate that none has, the most of any rate of its pipe.
double widest_flop_per_clock(const std::vector<Architecture>& architectures, RateKey key);

/// By the form of the name: "gfx..." is AMD's, "9.0" a compute capability.
std::optional<Vendor> vendor_of_isa(std::string_view isa);

}  // namespace rooftile::hardware
