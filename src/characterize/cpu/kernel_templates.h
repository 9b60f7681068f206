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

/// What happens to kChains elements between their load and their store: one addition each,
template <typename Ops>
struct Add {
  using V = typename Ops::V;
  static V constant() { return Ops::zero(); }
  static void apply(V (&x)[kChains], const KernelArguments&, V zero, V) {
#pragma GCC unroll 12
    for (int u = 0; u < kChains; ++u) x[u] = Ops::add(x[u], zero);
  }
};

/// or `Links` dependent multiply-adds on each,
template <typename Ops, int Links>
struct Chain {
  static_assert(Links > 0, "a chain without links does nothing");
  using V = typename Ops::V;
  static V constant() { return Ops::half(); }
  static void apply(V (&x)[kChains], const KernelArguments&, V c1, V c2) {
#pragma GCC unroll 8
    for (int link = 0; link < Links; ++link) {
#pragma GCC unroll 12
      for (int u = 0; u < kChains; ++u) x[u] = Ops::fma(x[u], c1, c2);
    }
  }
};

/// or as many times eight of them as the arguments say.
template <typename Ops>
struct Eights {
  using V = typename Ops::V;
  static V constant() { return Ops::half(); }
  static void apply(V (&x)[kChains], const KernelArguments& k, V c1, V c2) {
    for (long long block = 0; block < k.blocks; ++block) Chain<Ops, 8>::apply(x, k, c1, c2);
  }
};

/// ERT's kernel with values at the fixed point x * 0.5 + 0.5 = x of x = 1 (integers: x + 0 * 0), so
/// that nothing overflows or becomes denormal however often it runs.
template <typename Ops, typename Work>
void update(const KernelArguments& k) {
  using V = typename Ops::V;
  const V c1 = hide(Work::constant()), c2 = hide(Work::constant());
  const long long n = k.bytes / static_cast<long long>(sizeof(V));
  for (long long pass = 0; pass < k.passes; ++pass) {
    V* a = static_cast<V*>(k.a);
    for (const V* end = a + n; a != end; a += kChains) {
      V x[kChains];
#pragma GCC unroll 12
      for (int u = 0; u < kChains; ++u) x[u] = a[u];
      Work::apply(x, k, c1, c2);
#pragma GCC unroll 12
      for (int u = 0; u < kChains; ++u) a[u] = x[u];
    }
    end_of_pass();
  }
}

template <typename Ops>
constexpr Kernel add_kernel() {
  if constexpr (requires(typename Ops::V v) { Ops::add(v, v); }) {
    return update<Ops, Add<Ops>>;
  } else {
    return nullptr;
  }
}

template <typename Ops>
constexpr UpdateKernels update_kernels() {
  return {.link = Ops::kLink,
          .add = add_kernel<Ops>(),
          .one = update<Ops, Chain<Ops, 1>>,
          .two = update<Ops, Chain<Ops, 2>>,
          .four = update<Ops, Chain<Ops, 4>>,
          .eights = update<Ops, Eights<Ops>>};
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
          .update_fp64 = update_kernels<Ops>(),
          .update_fp32 = {},
          .update_fp16 = {},
          .update_bf16 = {},
          .update_int8 = {}};
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
