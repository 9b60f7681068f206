// SPDX-License-Identifier: Apache-2.0
#include "characterize/gpu/ptx.h"

#include <fmt/format.h>

#include <array>

#include "characterize/gpu/kernel_names.h"
#include "characterize/gpu/ptx_writer.h"

namespace rooftile::characterize::gpu {

namespace {

/// Targets with the PTX version that their instructions need. Those with an "a" run on exactly
/// their compute capability; the others on all later ones too.
struct KnownTarget {
  ComputeCapability of;
  const char* name;
  const char* version;
  bool only_this;
};
constexpr std::array kTargets{
    KnownTarget{{7, 0}, "sm_70", "6.4", false},   KnownTarget{{7, 5}, "sm_75", "6.5", false},
    KnownTarget{{8, 0}, "sm_80", "7.1", false},   KnownTarget{{8, 6}, "sm_86", "7.1", false},
    KnownTarget{{8, 9}, "sm_89", "8.4", false},   KnownTarget{{9, 0}, "sm_90a", "8.4", true},
    KnownTarget{{10, 0}, "sm_100a", "8.6", true}, KnownTarget{{10, 3}, "sm_103a", "8.8", true},
    KnownTarget{{12, 0}, "sm_120", "8.7", false}};

const KnownTarget* find_target(ComputeCapability of) {
  const KnownTarget* best = nullptr;
  for (const KnownTarget& known : kTargets) {
    if (known.of == of || (known.of < of && !known.only_this)) best = &known;
  }
  return best;
}

}  // namespace

std::string ptx_target(ComputeCapability of) {
  const KnownTarget* target = find_target(of);
  return target == nullptr ? "" : target->name;
}

std::string register_list(char kind, unsigned first, unsigned count) {
  std::string out = "{";
  for (unsigned i = 0; i < count; ++i) {
    out += fmt::format("{}%{}{}", i == 0 ? "" : ", ", kind, first + i);
  }
  return out + "}";
}

void PtxWriter::begin(std::string_view name, unsigned threads, unsigned registers32,
                      unsigned registers64) {
  text_ += fmt::format(
      ".visible .entry {}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .u32 "
      "passes, .param .u32 links)\n.maxntid {}, 1, 1\n{{\n",
      name, threads);
  line(".reg .pred %p<8>;");
  line(".reg .b32 %r<{}>;", registers32);
  line(".reg .b64 %d<{}>;", registers64);
  const std::array arrays{'a', 'b', 'c'};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    line("ld.param.u64 %d{}, [{}];", i, arrays[i]);
    line("cvta.to.global.u64 %d{}, %d{};", i, i);
  }
  line("ld.param.u32 %r0, [n];");
  line("ld.param.u32 %r1, [passes];");
  line("ld.param.u32 %r2, [links];");
  line("mov.u32 %r3, %tid.x;");
  line("mov.u32 %r4, %ctaid.x;");
  line("mov.u32 %r5, %nctaid.x;");
  line("cvt.u64.u32 %d3, %r2;");
}

void PtxWriter::begin_stream(unsigned arrays) {
  line("shr.u32 %r9, %r0, 10;  // chunks of 1024 vectors");
  line("mul.wide.u32 %d8, %r5, {};", kChunk);
  begin_passes();
  line("mul.wide.u32 %d7, %r4, {};", kChunk);
  line("mul.wide.u32 %d9, %r3, {};", kVector);
  line("add.u64 %d7, %d7, %d9;");
  for (unsigned i = 0; i < arrays; ++i) line("add.u64 %d{}, %d{}, %d7;", 4 + i, i);
  line("mov.b32 %r10, %r4;");
  line("setp.ge.u32 %p1, %r10, %r9;");
  line("@%p1 bra NEXT;");
  begin_loop("CHUNK");
}

void PtxWriter::end_stream(unsigned arrays) {
  for (unsigned i = 0; i < arrays; ++i) line("add.u64 %d{}, %d{}, %d8;", 4 + i, 4 + i);
  line("add.u32 %r10, %r10, %r5;");
  line("setp.lt.u32 %p1, %r10, %r9;");
  line("@%p1 bra CHUNK;");
  label("NEXT");
  end_passes();
}

std::string ptx_module(ComputeCapability of) {
  const KnownTarget* target = find_target(of);
  if (target == nullptr) return "";
  PtxWriter out(target->of);
  write_memory_kernels(out);
  write_update_kernels(out);
  write_warp_products(out);
  write_group_products(out);
  write_tensor_memory_products(out);
  return fmt::format(".version {}\n.target {}\n.address_size 64\n\n{}", target->version,
                     target->name, out.text());
}

}  // namespace rooftile::characterize::gpu
