// SPDX-License-Identifier: Apache-2.0
#include "characterize/cpu/microarchitecture.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rooftile::characterize::cpu {

namespace {

/// Links per cycle of one core; absent: not documented, or the core has no such instruction.
struct Core {
  std::string_view name = {};
  std::span<const Extension> extensions = {};
  std::optional<double> mul_then_add = {};  ///< 128-bit pairs of a multiplication and an addition
  std::optional<double> fma_256 = {}, fma_512 = {};
  std::optional<double> fma_fp16_512 = {};
  std::optional<double> dot_bf16_512 = {};
  std::optional<double> dot_int8_256 = {}, dot_int8_512 = {};
  std::optional<double> madd_256 = {};  ///< vpmaddubsw, vpmaddwd and vpaddd
};

constexpr std::array kAvx512{Extension::Avx512};
constexpr std::array kAvx512Bf16{Extension::Avx512, Extension::Avx512Bf16};
constexpr std::array kAvx512VnniBf16{Extension::Avx512, Extension::Avx512Bf16, Extension::AvxVnni};
constexpr std::array kUpToAmx{Extension::Avx512, Extension::Avx512Bf16, Extension::Avx512Fp16,
                              Extension::AvxVnni, Extension::Amx};

// Intel: FMA, multiplication and addition on ports 0 and 1 up to 256 bits; with 512 bits these two
// are one unit, and the server cores have a second one on port 5 [Optimization Reference Manual,
// port tables]. VNNI and FP16 run where FMA does [uops.info].
constexpr Core kHaswell{.name = "Haswell", .mul_then_add = 1, .fma_256 = 2, .madd_256 = 0.5};
constexpr Core kSkylake{.name = "Skylake", .mul_then_add = 1, .fma_256 = 2, .madd_256 = 1};
constexpr Core kSkylakeServer{.name = "Skylake-SP",
                              .extensions = kAvx512Bf16,  // BF16: Cooper Lake
                              .mul_then_add = 1,
                              .fma_256 = 2,
                              .madd_256 = 1};
constexpr Core kSkylakeServer1{.name = "Skylake-SP",
                               .extensions = kAvx512Bf16,
                               .mul_then_add = 1,
                               .fma_256 = 2,
                               .fma_512 = 1,
                               .dot_int8_512 = 1,
                               .madd_256 = 1};
constexpr Core kSkylakeServer2{.name = "Skylake-SP",
                               .extensions = kAvx512Bf16,
                               .mul_then_add = 1,
                               .fma_256 = 2,
                               .fma_512 = 2,
                               .dot_int8_512 = 2,
                               .madd_256 = 1};
constexpr Core kIceLakeClient{.name = "Ice Lake",
                              .extensions = kAvx512,
                              .mul_then_add = 1,
                              .fma_256 = 2,
                              .fma_512 = 1,
                              .dot_int8_512 = 1,
                              .madd_256 = 1};
constexpr Core kIceLakeServer{.name = "Ice Lake-SP",
                              .extensions = kAvx512,
                              .mul_then_add = 1,
                              .fma_256 = 2,
                              .fma_512 = 2,
                              .dot_int8_512 = 2,
                              .madd_256 = 1};
// Golden Cove also adds on port 5, so three of multiplication and addition fit into a cycle. One
// vdpbf16ps per two cycles: measured on model CFh (BF16 is the business of AMX there).
constexpr Core kGoldenCoveServer{.name = "Sapphire Rapids",
                                 .extensions = kUpToAmx,
                                 .mul_then_add = 1.5,
                                 .fma_256 = 2,
                                 .fma_512 = 2,
                                 .fma_fp16_512 = 2,
                                 .dot_bf16_512 = 0.5,
                                 .dot_int8_256 = 2,
                                 .dot_int8_512 = 2,
                                 .madd_256 = 1};
constexpr Core kRedwoodCoveServer{.name = "Granite Rapids",
                                  .extensions = kUpToAmx,
                                  .mul_then_add = 1.5,
                                  .fma_256 = 2,
                                  .fma_512 = 2,
                                  .fma_fp16_512 = 2,
                                  .dot_int8_256 = 2,
                                  .dot_int8_512 = 2,
                                  .madd_256 = 1};

// AMD: two multiplying (FMA) and two adding pipes; 128 bits wide in Zen, 256 in Zen 2 to 4. Zen 4
// takes two cycles for 512 bits ("double pumped"); Zen 5 has pipes of 512 bits, but not in the
// mobile parts Strix Point and Krackan Point [Software Optimization Guides 55723, 56305, 56665,
// 57647, 58455, sections on the floating-point unit]. Integer products on two pipes since Zen 3.
constexpr Core kZen{.name = "Zen", .mul_then_add = 2, .fma_256 = 1};
constexpr Core kZen2{.name = "Zen 2", .mul_then_add = 2, .fma_256 = 2};
constexpr Core kZen3{.name = "Zen 3", .mul_then_add = 2, .fma_256 = 2, .madd_256 = 1};
constexpr Core kZen4{.name = "Zen 4",
                     .extensions = kAvx512Bf16,
                     .mul_then_add = 2,
                     .fma_256 = 2,
                     .fma_512 = 1,
                     .dot_int8_512 = 1,
                     .madd_256 = 1};
constexpr Core kZen5{.name = "Zen 5",
                     .extensions = kAvx512VnniBf16,
                     .mul_then_add = 2,
                     .fma_256 = 2,
                     .fma_512 = 2,
                     .dot_int8_256 = 2,
                     .dot_int8_512 = 2,
                     .madd_256 = 1};
constexpr Core kZen5Mobile{.name = "Zen 5, 256-bit",
                           .extensions = kAvx512VnniBf16,
                           .mul_then_add = 2,
                           .fma_256 = 2,
                           .fma_512 = 1,
                           .dot_int8_256 = 2,
                           .dot_int8_512 = 1,
                           .madd_256 = 1};

struct Models {
  std::string_view vendor;
  std::int64_t family, first, last;  ///< models, inclusive
  const Core* core;
};

constexpr std::string_view kIntel = "GenuineIntel";
constexpr std::string_view kAmd = "AuthenticAMD";

constexpr std::array kModels{
    Models{kIntel, 6, 0x3c, 0x3d, &kHaswell},  // 3d: Broadwell
    Models{kIntel, 6, 0x3f, 0x3f, &kHaswell},
    Models{kIntel, 6, 0x45, 0x47, &kHaswell},  // 47: Broadwell
    Models{kIntel, 6, 0x4f, 0x4f, &kHaswell},  // Broadwell-EP
    Models{kIntel, 6, 0x56, 0x56, &kHaswell},  // Broadwell-DE
    Models{kIntel, 6, 0x4e, 0x4e, &kSkylake},
    Models{kIntel, 6, 0x5e, 0x5e, &kSkylake},
    Models{kIntel, 6, 0x8e, 0x8e, &kSkylake},  // Kaby to Comet Lake
    Models{kIntel, 6, 0x9e, 0x9e, &kSkylake},
    Models{kIntel, 6, 0xa5, 0xa6, &kSkylake},
    Models{kIntel, 6, 0x55, 0x55, &kSkylakeServer},  // also Cascade and Cooper Lake
    Models{kIntel, 6, 0x6a, 0x6a, &kIceLakeServer},
    Models{kIntel, 6, 0x6c, 0x6c, &kIceLakeServer},
    Models{kIntel, 6, 0x7d, 0x7e, &kIceLakeClient},
    Models{kIntel, 6, 0x8c, 0x8d, &kIceLakeClient},  // Tiger Lake
    Models{kIntel, 6, 0xa7, 0xa7, &kIceLakeClient},  // Rocket Lake
    Models{kIntel, 6, 0x8f, 0x8f, &kGoldenCoveServer},
    Models{kIntel, 6, 0xcf, 0xcf, &kGoldenCoveServer},  // Emerald Rapids
    Models{kIntel, 6, 0xad, 0xae, &kRedwoodCoveServer},
    Models{kAmd, 0x17, 0x00, 0x2f, &kZen},
    Models{kAmd, 0x17, 0x50, 0x5f, &kZen},
    Models{kAmd, 0x17, 0x30, 0x4f, &kZen2},
    Models{kAmd, 0x17, 0x60, 0x7f, &kZen2},
    Models{kAmd, 0x17, 0x90, 0x91, &kZen2},
    Models{kAmd, 0x17, 0xa0, 0xaf, &kZen2},
    Models{kAmd, 0x19, 0x00, 0x0f, &kZen3},
    Models{kAmd, 0x19, 0x20, 0x5f, &kZen3},
    Models{kAmd, 0x19, 0x10, 0x1f, &kZen4},
    Models{kAmd, 0x19, 0x60, 0xaf, &kZen4},
    Models{kAmd, 0x1a, 0x00, 0x1f, &kZen5},
    Models{kAmd, 0x1a, 0x20, 0x2f, &kZen5Mobile},  // Strix Point
    Models{kAmd, 0x1a, 0x40, 0x4f, &kZen5},
    Models{kAmd, 0x1a, 0x60, 0x6f, &kZen5Mobile},  // Krackan Point
    Models{kAmd, 0x1a, 0x70, 0x7f, &kZen5},        // Strix Halo
};

/// Model 55h has one or two 512-bit units, which only the name tells: two in Platinum, Gold 6xxx,
/// Gold 5122 and 5222, one in the other Gold 5xxx, Silver and Bronze [Intel Xeon Scalable technical
/// overview; ark.intel.com]. Virtual machines often hide the name: then it is not known.
const Core* skylake_server(std::string_view brand) {
  const auto has = [brand](std::string_view word) {
    return brand.find(word) != std::string_view::npos;
  };
  if (has("Platinum") || has("Gold 6") || has("Gold 5122") || has("Gold 5222")) {
    return &kSkylakeServer2;
  }
  if (has("Gold 5") || has("Silver") || has("Bronze")) return &kSkylakeServer1;
  return &kSkylakeServer;
}

/// The core that the model number states.
const Core* stated_core(const ProcessorId& id) {
  if (id.hybrid) return nullptr;
  const auto* const found = std::find_if(kModels.begin(), kModels.end(), [&](const Models& m) {
    return m.vendor == id.vendor && m.family == id.family && m.first <= id.model &&
           id.model <= m.last;
  });
  if (found == kModels.end()) return nullptr;
  return found->core == &kSkylakeServer ? skylake_server(id.brand) : found->core;
}

std::string_view name_of(Extension extension) {
  switch (extension) {
    case Extension::Avx512: return "AVX-512";
    case Extension::Avx512Bf16: return "AVX512-BF16";
    case Extension::Avx512Fp16: return "AVX512-FP16";
    case Extension::AvxVnni: return "AVX-VNNI";
    case Extension::Amx: return "AMX";
  }
  return "";
}

/// The first instructions of the processor that a core does not have.
std::optional<Extension> missing_in(const Core& core, const ProcessorId& id) {
  for (const Extension has : id.extensions) {
    if (std::find(core.extensions.begin(), core.extensions.end(), has) == core.extensions.end()) {
      return has;
    }
  }
  return std::nullopt;
}

const Core* find_core(const ProcessorId& id) {
  const Core* core = stated_core(id);
  return core != nullptr && !missing_in(*core, id) ? core : nullptr;
}

std::optional<double> column(const Core& core, Link link, int vector_bytes) {
  const bool is_128 = vector_bytes == 16, is_256 = vector_bytes == 32, is_512 = vector_bytes == 64;
  switch (link) {
    case Link::MulThenAdd: return is_128 ? core.mul_then_add : std::nullopt;
    case Link::Fma: return is_512 ? core.fma_512 : is_256 ? core.fma_256 : std::nullopt;
    case Link::FmaFp16: return is_512 ? core.fma_fp16_512 : std::nullopt;
    case Link::DotBf16: return is_512 ? core.dot_bf16_512 : std::nullopt;
    case Link::DotInt8:
      return is_512 ? core.dot_int8_512 : is_256 ? core.dot_int8_256 : std::nullopt;
    case Link::MaddThenAdd: return is_256 ? core.madd_256 : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

ProcessorId this_processor(const std::string& brand) {
  ProcessorId id;
  id.brand = brand;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return id;
  for (const unsigned word : {b, d, c}) {
    for (unsigned byte = 0; byte < 4; ++byte) {
      id.vendor += static_cast<char>((word >> (8 * byte)) & 0xffU);
    }
  }
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return id;
  const unsigned family = (a >> 8U) & 0xfU;
  const unsigned model = (a >> 4U) & 0xfU;
  const bool extended = family == 0xf || family == 6;
  id.family = family == 0xf ? family + ((a >> 20U) & 0xffU) : family;
  id.model = extended ? model + (((a >> 16U) & 0xfU) << 4U) : model;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return id;
  const auto note = [&id](unsigned word, unsigned bit, Extension extension) {
    if (((word >> bit) & 1U) != 0) id.extensions.push_back(extension);
  };
  id.hybrid = ((d >> 15U) & 1U) != 0;
  note(b, 16, Extension::Avx512);
  note(d, 23, Extension::Avx512Fp16);
  note(d, 24, Extension::Amx);  // AMX-TILE
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return id;
  note(a, 4, Extension::AvxVnni);
  note(a, 5, Extension::Avx512Bf16);
#endif
  return id;
}

std::optional<std::string> core_name(const ProcessorId& id) {
  const Core* core = find_core(id);
  if (core == nullptr) return std::nullopt;
  return std::string(core->name);
}

std::optional<std::string> contradiction(const ProcessorId& id) {
  const Core* core = stated_core(id);
  if (core == nullptr) return std::nullopt;
  const auto missing = missing_in(*core, id);
  if (!missing) return std::nullopt;
  return fmt::format("{}, which {} does not have", name_of(*missing), core->name);
}

std::optional<double> links_per_cycle(const ProcessorId& id, Link link, int vector_bytes) {
  const Core* core = find_core(id);
  if (core == nullptr) return std::nullopt;
  return column(*core, link, vector_bytes);
}

// Two FMAs on every x86-64 core (four on Skymont, but of 128 bits only), six on the widest Arm core
// (Cortex-X925, 128 bits).
double most_links_per_cycle() {
#if defined(__aarch64__)
  return 6.0;
#else
  return 2.0;
#endif
}

// Three loads of 256 bits or two of 512 (Golden Cove, Zen 5), four of 128 (Cortex-X925).
BytesPerCycle most_loaded_per_cycle(int vector_bytes) {
  return BytesPerCycle::from_base(std::min(4 * vector_bytes, 128));
}

// Two stores of 256 bits or one of 512 (Golden Cove, Zen 5), two of 128 on Arm.
BytesPerCycle most_stored_per_cycle(int vector_bytes) {
  return BytesPerCycle::from_base(std::min(2 * vector_bytes, 64));
}

}  // namespace rooftile::characterize::cpu
