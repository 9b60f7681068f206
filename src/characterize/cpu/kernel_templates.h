// SPDX-License-Identifier: Apache-2.0
//
// The kernels over one vector type. `Ops` gives the type, its arithmetic and its streaming store;
// the including file gives the instruction set. Everything has internal linkage (see kernels.h).
//
// The empty assembler statements keep the compiler from removing or merging accesses: after
// `keep(v)` the value must have been in a register, after `hide(v)` nothing is known about it.
#pragma once

#include "characterize/cpu/kernels.h"

#if defined(__x86_64__)
#define ROOFTILE_VECTOR_REGISTER "x"
#if defined(__AVX512F__)
#undef ROOFTILE_VECTOR_REGISTER
#define ROOFTILE_VECTOR_REGISTER "v"
#endif
#else
#define ROOFTILE_VECTOR_REGISTER "w"
#endif

namespace rooftile::characterize::cpu {
namespace {

constexpr int kStreamUnroll = 8;
/// Independent chains of the update kernel: 2 ports x 5 cycles need 10; 16 registers allow 12.
constexpr int kChains = 12;

template <typename V>
inline void keep(V v) {
  asm volatile("" : : ROOFTILE_VECTOR_REGISTER(v));
}
template <typename V>
inline V hide(V v) {
  asm volatile("" : "+" ROOFTILE_VECTOR_REGISTER(v));
  return v;
}
inline void end_of_pass() {
  asm volatile("" : : : "memory");
}

template <typename Ops>
void load(const KernelArguments& k) {
  using V = typename Ops::V;
  const long long n = k.bytes / static_cast<long long>(sizeof(V));
  for (long long pass = 0; pass < k.passes; ++pass) {
    const V* a = static_cast<const V*>(k.a);
    for (const V* end = a + n; a != end; a += kStreamUnroll) {
#pragma GCC unroll 8
      for (int u = 0; u < kStreamUnroll; ++u) keep(a[u]);
    }
    end_of_pass();
  }
}

template <typename Ops>
void store(const KernelArguments& k) {
  using V = typename Ops::V;
  const long long n = k.bytes / static_cast<long long>(sizeof(V));
  const V value = hide(Ops::one());
  for (long long pass = 0; pass < k.passes; ++pass) {
    V* a = static_cast<V*>(k.a);
    for (const V* end = a + n; a != end; a += kStreamUnroll) {
#pragma GCC unroll 8
      for (int u = 0; u < kStreamUnroll; ++u) a[u] = value;
      asm volatile("" : : : "memory");
    }
  }
}

template <typename Ops>
void store_nt(const KernelArguments& k) {
  using V = typename Ops::V;
  const long long n = k.bytes / static_cast<long long>(sizeof(V));
  const V value = hide(Ops::one());
  for (long long pass = 0; pass < k.passes; ++pass) {
    V* a = static_cast<V*>(k.a);
    for (const V* end = a + n; a != end; a += kStreamUnroll) {
#pragma GCC unroll 8
      for (int u = 0; u < kStreamUnroll; ++u) Ops::stream(a + u, value);
    }
    Ops::fence();
  }
}

template <typename Ops, bool Streaming>
void copy(const KernelArguments& k) {
  using V = typename Ops::V;
  const long long n = k.bytes / static_cast<long long>(sizeof(V));
  for (long long pass = 0; pass < k.passes; ++pass) {
    V* a = static_cast<V*>(k.a);
    const V* b = static_cast<const V*>(k.b);
    for (const V* end = a + n; a != end; a += kStreamUnroll, b += kStreamUnroll) {
#pragma GCC unroll 8
      for (int u = 0; u < kStreamUnroll; ++u) {
        const V value = hide(b[u]);
        if constexpr (Streaming) {
          Ops::stream(a + u, value);
        } else {
          a[u] = value;
        }
      }
    }
    if constexpr (Streaming) Ops::fence();
    end_of_pass();
  }
}

template <typename Ops, bool Streaming>
void triad(const KernelArguments& k) {
  using V = typename Ops::V;
  const long long n = k.bytes / static_cast<long long>(sizeof(V));
  const V factor = hide(Ops::half());
  for (long long pass = 0; pass < k.passes; ++pass) {
    V* a = static_cast<V*>(k.a);
    const V* b = static_cast<const V*>(k.b);
    const V* c = static_cast<const V*>(k.c);
    for (const V* end = a + n; a != end;
         a += kStreamUnroll, b += kStreamUnroll, c += kStreamUnroll) {
#pragma GCC unroll 8
      for (int u = 0; u < kStreamUnroll; ++u) {
        const V value = Ops::fma(c[u], factor, b[u]);
        if constexpr (Streaming) {
          Ops::stream(a + u, value);
        } else {
          a[u] = value;
        }
      }
    }
    if constexpr (Streaming) Ops::fence();
    end_of_pass();
  }
}

/// kChains values, `Links` dependent multiply-adds on each.
template <typename Ops, int Links>
inline void chain(typename Ops::V (&x)[kChains], typename Ops::V c1, typename Ops::V c2) {
#pragma GCC unroll 8
  for (int link = 0; link < Links; ++link) {
#pragma GCC unroll 12
    for (int u = 0; u < kChains; ++u) x[u] = Ops::fma(x[u], c1, c2);
  }
}

/// One pass with `Links` multiply-adds per element (0: one addition), or `blocks` times 8 of them.
template <typename Ops, int Links>
inline void update_pass(const KernelArguments& k, long long blocks, typename Ops::V c1,
                        typename Ops::V c2) {
  using V = typename Ops::V;
  const long long n = k.bytes / static_cast<long long>(sizeof(V));
  V* a = static_cast<V*>(k.a);
  for (const V* end = a + n; a != end; a += kChains) {
    V x[kChains];
#pragma GCC unroll 12
    for (int u = 0; u < kChains; ++u) x[u] = a[u];
    if constexpr (Links == 0) {
#pragma GCC unroll 12
      for (int u = 0; u < kChains; ++u) x[u] = Ops::add(x[u], c1);
    } else if constexpr (Links == 8) {
      for (long long block = 0; block < blocks; ++block) chain<Ops, 8>(x, c1, c2);
    } else {
      chain<Ops, Links>(x, c1, c2);
    }
#pragma GCC unroll 12
    for (int u = 0; u < kChains; ++u) a[u] = x[u];
  }
  end_of_pass();
}

/// ERT's kernel with values at the fixed point x * 0.5 + 0.5 = x of x = 1 (integers: x + 0 * 0), so
/// that nothing overflows or becomes denormal however often it runs.
template <typename Ops>
void update(const KernelArguments& k) {
  using V = typename Ops::V;
  const V zero = hide(Ops::zero());
  const V c1 = hide(Ops::half()), c2 = hide(Ops::half());
  const long long links = k.flops / 2;
  for (long long pass = 0; pass < k.passes; ++pass) {
    if (k.flops == 1) {
      if constexpr (Ops::kHasAdd) update_pass<Ops, 0>(k, 0, zero, zero);
    } else if (links == 1) {
      update_pass<Ops, 1>(k, 0, c1, c2);
    } else if (links == 2) {
      update_pass<Ops, 2>(k, 0, c1, c2);
    } else if (links == 4) {
      update_pass<Ops, 4>(k, 0, c1, c2);
    } else {
      update_pass<Ops, 8>(k, links / 8, c1, c2);
    }
  }
}

template <typename Ops>
constexpr KernelTable streaming_table(const char* isa) {
  using V = typename Ops::V;
  return {.isa = isa,
          .vector_bytes = sizeof(V),
          .granule = sizeof(V) * kChains * 2,  // a multiple of both unroll factors
          .load = load<Ops>,
          .store = store<Ops>,
          .store_nt = store_nt<Ops>,
          .copy = copy<Ops, false>,
          .copy_nt = copy<Ops, true>,
          .triad = triad<Ops, false>,
          .triad_nt = triad<Ops, true>,
          .update_fp64 = update<Ops>,
          .update_fp32 = nullptr,
          .update_fp16 = nullptr,
          .update_bf16 = nullptr,
          .update_int8 = nullptr,
          .has_add_bf16 = false};
}

/// A table with nothing but one update kernel, for the extensions of an instruction set.
template <typename Ops>
constexpr KernelTable extension_table(const char* isa) {
  using V = typename Ops::V;
  KernelTable table{};
  table.isa = isa;
  table.vector_bytes = sizeof(V);
  table.granule = sizeof(V) * kChains * 2;
  return table;
}

}  // namespace
}  // namespace rooftile::characterize::cpu
