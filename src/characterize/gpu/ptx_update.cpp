// SPDX-License-Identifier: Apache-2.0
//
// ERT's kernel, A[i] = f(A[i]), at the fixed point x * 0.5 + 0.5 = x of x = 1: four vectors per
// thread in registers, each element a chain of FMAs. The binary digits of `links` below 32 are
// blocks of 1, 2, 4, 8 and 16 links; the rest is a loop of 32 links, of which at least 97 % of the
// instructions are FMAs. Without links it does x * 1 + 0, which counts as ERT's one addition.
#include <string>

#include "characterize/gpu/kernel_names.h"
#include "characterize/gpu/ptx_writer.h"

namespace rooftile::characterize::gpu {

namespace {

struct Format {
  const char* name;
  const char* instruction;
  char kind;         ///< of its registers: r or d
  const char* half;  ///< 0.5, 1 and 0 as the instruction takes them
  const char* one;
};
constexpr Format kFormats[] = {
    {"update_fp64", "fma.rn.f64", 'd', "0x3FE0000000000000", "0x3FF0000000000000"},
    {"update_fp32", "fma.rn.f32", 'r', "0x3F000000", "0x3F800000"},
    {"update_fp16", "fma.rn.f16x2", 'r', "0x38003800", "0x3C003C00"},
    {"update_bf16", "fma.rn.bf16x2", 'r', "0x3F003F00", "0x3F803F80"}};

constexpr unsigned kX = 16;  // the first register of the elements
constexpr unsigned kHalf = 11, kOne = 12, kZero = 13;

void write_links(PtxWriter& out, const Format& f, unsigned chains, unsigned links, unsigned factor,
                 unsigned addend) {
  for (unsigned link = 0; link < links; ++link) {
    for (unsigned u = 0; u < chains; ++u) {
      out.line("{} %{}{}, %{}{}, %{}{}, %{}{};", f.instruction, f.kind, kX + u, f.kind, kX + u,
               f.kind, factor, f.kind, addend);
    }
  }
}

void write_chain(PtxWriter& out, const Format& f, unsigned chains) {
  out.line("setp.ne.u32 %p2, %r2, 0;");
  out.line("@%p2 bra SOME;");
  write_links(out, f, chains, 1, kOne, kZero);
  out.label("SOME");
  for (unsigned links = 1; links < kLinks; links *= 2) {
    out.line("and.b32 %r14, %r2, {};", links);
    out.line("setp.eq.u32 %p2, %r14, 0;");
    out.line("@%p2 bra AFTER{};", links);
    write_links(out, f, chains, links, kHalf, kHalf);
    out.label(fmt::format("AFTER{}", links));
  }
  out.line("shr.u32 %r14, %r2, 5;");
  out.line("setp.eq.u32 %p2, %r14, 0;");
  out.line("@%p2 bra STORE;");
  out.begin_loop("LINKS");
  write_links(out, f, chains, kLinks, kHalf, kHalf);
  out.line("sub.u32 %r14, %r14, 1;");
  out.line("setp.ne.u32 %p2, %r14, 0;");
  out.line("@%p2 bra LINKS;");
  out.label("STORE");
}

void write_update(PtxWriter& out, const Format& f) {
  const bool wide = f.kind == 'd';
  const unsigned per_vector = wide ? 2 : 4, chains = per_vector * kVectors;
  const char* type = wide ? "v2.b64" : "v4.b32";
  out.begin(f.name, kThreads, wide ? 16 : kX + chains, wide ? kX + chains : 16);
  out.line("mov.b{} %{}{}, {};", wide ? 64 : 32, f.kind, kHalf, f.half);
  out.line("mov.b{} %{}{}, {};", wide ? 64 : 32, f.kind, kOne, f.one);
  out.line("mov.b{} %{}{}, 0;", wide ? 64 : 32, f.kind, kZero);
  out.begin_stream(1);
  for (unsigned u = 0; u < kVectors; ++u) {
    out.line("ld.global.cg.{} {}, [%d4+{}];", type,
             register_list(f.kind, kX + per_vector * u, per_vector), u * kThreads * kVector);
  }
  write_chain(out, f, chains);
  for (unsigned u = 0; u < kVectors; ++u) {
    out.line("st.global.{} [%d4+{}], {};", type, u * kThreads * kVector,
             register_list(f.kind, kX + per_vector * u, per_vector));
  }
  out.end_stream(1);
  out.end();
}

}  // namespace

void write_update_kernels(PtxWriter& out) {
  for (const Format& f : kFormats) {
    const bool is_bf16 = std::string_view(f.name) == "update_bf16";
    if (is_bf16 && out.target() < ComputeCapability{8, 0}) continue;
    write_update(out, f);
  }
}

}  // namespace rooftile::characterize::gpu
