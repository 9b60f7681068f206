// SPDX-License-Identifier: Apache-2.0
//
// What the units of a core can do per cycle at most, by microarchitecture: the limit that a
// measured rate is compared with. A processor that is not in the table, or of which a column is
// not documented, has no limit of its own; then only the widest core that exists bounds the rate,
// and no "of limit" is shown. Hybrid processors count as unknown: their cores differ. So do those
// that can do what the model they state cannot: some virtual machines state any model.
//
// Sources, named in the table: Intel's Optimization Reference Manual (port tables) and Xeon
// Scalable technical overview (number of 512-bit units), AMD's Software Optimization Guides per
// family, uops.info; which model is which core: Linux, arch/x86/kernel/cpu/amd.c and
// arch/x86/include/asm/intel-family.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "characterize/cpu/kernels.h"
#include "core/units.h"

namespace rooftile::characterize::cpu {

/// Instructions that tell the generations of cores apart.
enum class Extension : std::uint8_t { Avx512, Avx512Bf16, Avx512Fp16, AvxVnni, Amx };

/// As CPUID tells it: extended family and model added as the vendors' manuals say.
struct ProcessorId {
  std::string vendor;  ///< "GenuineIntel", "AuthenticAMD"; empty where there is no CPUID
  std::int64_t family = 0, model = 0;
  bool hybrid = false;  ///< cores of several kinds
  std::string brand;    ///< "Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz"
  std::vector<Extension> extensions = {};
};

/// The processor this runs on.
ProcessorId this_processor(const std::string& brand);

/// "Zen 4"; nothing for a processor that is not in the table.
std::optional<std::string> core_name(const ProcessorId& id);

/// "AVX512-FP16, which Ice Lake does not have": why the stated model is not the core's.
std::optional<std::string> contradiction(const ProcessorId& id);

/// Links (kernels.h) on vectors of `vector_bytes` that one core starts per cycle.
std::optional<double> links_per_cycle(const ProcessorId& id, Link link, int vector_bytes);
/// The same of the widest core that exists, for every link and width.
double most_links_per_cycle();

/// What one core can load and store per cycle with vectors of `vector_bytes`, on the widest core.
BytesPerCycle most_loaded_per_cycle(int vector_bytes);
BytesPerCycle most_stored_per_cycle(int vector_bytes);

}  // namespace rooftile::characterize::cpu
