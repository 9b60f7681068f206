// SPDX-License-Identifier: Apache-2.0
//
// Text of one PTX kernel after the other, and the parts that several kernels are made of. Registers
// are untyped: %r 32 bits, %d 64 bits, %p predicates; %r0 to %r9 and %d0 to %d9 have a meaning.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "characterize/gpu/ptx.h"

namespace rooftile::characterize::gpu {

class PtxWriter {
 public:
  explicit PtxWriter(ComputeCapability target) : target_(target) {}

  [[nodiscard]] ComputeCapability target() const { return target_; }
  [[nodiscard]] const std::string& text() const { return text_; }

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  ";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void label(std::string_view name) { text_ += fmt::format("{}:\n", name); }

  /// The head of a kernel of `threads` threads per block. Then are set: %d0, %d1, %d2 a, b, c as
  /// global addresses; %r0 n, %r1 passes, %r2 links; %r3 thread, %r4 block, %r5 blocks; %d3 links
  /// in 64 bits.
  void begin(std::string_view name, unsigned threads, unsigned registers32, unsigned registers64);
  void end() { text_ += "  ret;\n}\n\n"; }

  /// ptxas must not unroll it: what is in the loop is what is counted.
  void begin_loop(std::string_view name) {
    label(name);
    line(".pragma \"nounroll\";");
  }

  /// passes times the body: `label` begins it. %r6 counts.
  void begin_passes() {
    line("mov.b32 %r6, 0;");
    line("setp.ge.u32 %p0, %r6, %r1;");
    line("@%p0 bra DONE;");
    begin_loop("PASS");
  }
  void end_passes() {
    line("add.u32 %r6, %r6, 1;");
    line("setp.lt.u32 %p0, %r6, %r1;");
    line("@%p0 bra PASS;");
    label("DONE");
  }

  /// Streams go chunk by chunk: a block takes 16 KiB of each array at a time, its threads side by
  /// side, four vectors each. %d4.. are the thread's pointers into a, b and c; %d8 the distance
  /// from one chunk of the block to the next.
  void begin_stream(unsigned arrays);
  void end_stream(unsigned arrays);

  /// Folds the four words %r{at}.. into %r7 (and %r8): what was loaded is used.
  void fold(unsigned at) {
    line("lop3.b32 %r7, %r{}, %r{}, %r7, 0x96;", at, at + 1);
    line("lop3.b32 %r8, %r{}, %r{}, %r8, 0x96;", at + 2, at + 3);
  }
  /// Stores %r7 ^ %r8 to b under a condition that is never true, but only the host knows.
  void sink() {
    line("xor.b32 %r7, %r7, %r8;");
    line("setp.ne.u32 %p0, %r2, 0x7fffffff;");
    line("@%p0 bra END;");
    line("st.global.b32 [%d1], %r7;");
    label("END");
  }

 private:
  ComputeCapability target_;
  std::string text_;
};

/// "{%r12, %r13, %r14, %r15}" for (12, 4); `kind` is r or d.
std::string register_list(char kind, unsigned first, unsigned count);

void write_memory_kernels(PtxWriter& out);
void write_update_kernels(PtxWriter& out);
void write_warp_products(PtxWriter& out);
void write_group_products(PtxWriter& out);
void write_tensor_memory_products(PtxWriter& out);

}  // namespace rooftile::characterize::gpu
