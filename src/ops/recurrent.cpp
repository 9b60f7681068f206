// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent.h"

#include <fmt/format.h>

#include <array>

#include "core/text.h"

namespace rooftile::ops {

std::string_view name_of(StateRule rule) {
  switch (rule) {
    case StateRule::Decay: return "decay";
    case StateRule::Delta: return "delta";
    case StateRule::Selective: return "selective";
  }
  return "?";
}

Result<StateRule> parse_state_rule(std::string_view text) {
  constexpr std::array kRules{StateRule::Decay, StateRule::Delta, StateRule::Selective};
  std::array<std::string_view, kRules.size()> names;
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    names[i] = name_of(kRules[i]);
    if (names[i] == text) return kRules[i];
  }
  return bad_input({}, fmt::format("unknown rule of a state \"{}\"", printable(text)),
                   did_you_mean(text, names, "rules:"));
}

Status ShortConv::check() const {
  ROOFTILE_CHECK(check_sizes("filters of a short convolution", {channels, kernel}));
  return check_sizes("short convolution", {batch, tokens, channels, kernel});
}

void ShortConv::forward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t n = batch * tokens * channels;
  const std::int64_t kept = from_state ? batch * channels * (kernel - 1) : 0;
  kernels.push_back(
      vector_kernel(context.precision, {.op = kName,
                                        .kind = KernelClass::Pointwise,
                                        .shape = {.rows = batch * tokens, .columns = channels},
                                        .flop_per_element = 2.0 * static_cast<double>(kernel),
                                        .read = n + kept + parameters(),
                                        .written = n + kept}));
  kernels.back().cold = bytes_of(kept + parameters(), context.precision.storage);
}

void ShortConv::backward(const LowerContext& context, KernelList& kernels) const {
  forward(context, kernels);  // the gradient of the input: the mirrored filter
  forward(context, kernels);  // that of the filter: products summed over the tokens
}

void ShortConv::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, parameters()));
}

Status ChunkedScan::check() const {
  ROOFTILE_CHECK(check_sizes("chunk of a scan", {chunk, groups, state}));
  ROOFTILE_CHECK(check_sizes("states of a scan", {batch, chunks(), heads, head_dim, state}));
  ROOFTILE_CHECK(check_sizes("scores of a scan", {batch, tokens, heads, chunk_tokens()}));
  ROOFTILE_CHECK(check_sizes("keys of a scan", {batch, tokens, heads, state}));
  ROOFTILE_CHECK(check_sizes("values of a scan", {batch, tokens, heads, head_dim}));
  if (heads % groups == 0) return {};
  return bad_input({}, fmt::format("{} heads cannot share {} groups of keys evenly", heads, groups),
                   "the number of heads must be a multiple of the number of groups");
}

namespace {

/// Collects the kernels of a scan; all products have one matrix per chunk and head (or group).
class ScanKernels {
 public:
  ScanKernels(const LowerContext& context, const ChunkedScan& op, KernelList& kernels)
      : precision_(context.precision), op_(op), kernels_(kernels) {}

  KernelWork& product(std::string_view name, std::int64_t each, std::int64_t m, std::int64_t n,
                      std::int64_t k) {
    kernels_.push_back(
        gemm_kernel(precision_, name,
                    {.batch = op_.batch * op_.chunks() * each, .m = m, .n = n, .k = k}, false));
    kernels_.back().kind = KernelClass::BatchedGemm;
    return kernels_.back();
  }

  /// From chunk to chunk: every state is read, decayed, added to and written.
  void pass_states() {
    const std::int64_t columns = op_.chunks() * op_.head_dim * op_.state;
    const std::int64_t rows = op_.batch * op_.heads;
    kernels_.push_back(vector_kernel(precision_, {.op = "state_passing",
                                                  .kind = KernelClass::Pointwise,
                                                  .shape = {.rows = rows, .columns = columns},
                                                  .flop_per_element = 2.0,
                                                  .read = rows * columns,
                                                  .written = rows * columns}));
  }

  [[nodiscard]] double matrices() const {
    return static_cast<double>(op_.batch * op_.chunks() * op_.heads);
  }

 private:
  const Precision& precision_;
  const ChunkedScan& op_;
  KernelList& kernels_;
};

/// Mamba 2 (state-space duality): scores of a chunk per group, the states that the chunks add, the
/// states passed on, and results from the chunk's scores and the state before it.
void decay_scan(const ChunkedScan& op, ScanKernels& scan) {
  const std::int64_t q = op.chunk_tokens();
  scan.product("scan_scores", op.groups, q, q, op.state);
  scan.product("chunk_state", op.heads, op.head_dim, op.state, q);
  scan.pass_states();
  scan.product("chunk_scan", op.heads, q, op.head_dim, q + op.state);
}

/// Gated delta net: the keys' products with each other are solved for, which takes a third of a
/// product of that size; the solution corrects keys and values; then states and results as above.
void delta_scan(const ChunkedScan& op, ScanKernels& scan) {
  const std::int64_t q = op.chunk_tokens();
  const auto chunk = static_cast<double>(q);
  const double matrices = scan.matrices();
  scan.product("delta_scores", op.heads, q, q, op.state);
  scan.product("delta_solve", op.heads, q, q, q).flops =
      Flops::from_base(matrices * chunk * chunk * chunk / 3.0);
  scan.product("delta_apply", op.heads, q, op.state + op.head_dim, q);
  scan.product("delta_state", op.heads, q, op.head_dim, 2 * op.state);
  scan.product("delta_output", op.heads, q, op.head_dim, q + op.state).flops +=
      Flops::from_base(2.0 * matrices * chunk * chunk * static_cast<double>(op.state));
}

/// Mamba 1: one kernel over the tokens, all arithmetic on vectors: about 9 FLOP per state element.
KernelWork selective_scan(const LowerContext& context, const ChunkedScan& op) {
  constexpr double kFlopPerState = 9.0;
  const std::int64_t n = op.batch * op.tokens * op.heads * op.head_dim;
  const std::int64_t keys = 2 * op.batch * op.tokens * op.groups * op.state;
  return vector_kernel(context.precision,
                       {.op = "selective_scan",
                        .kind = KernelClass::Pointwise,
                        .shape = {.rows = op.batch * op.heads * op.head_dim, .columns = op.tokens},
                        .flop_per_element = kFlopPerState * static_cast<double>(op.state),
                        .read = 3 * n + keys,  // values, steps, gates
                        .written = n});
}

}  // namespace

void ChunkedScan::forward(const LowerContext& context, KernelList& kernels) const {
  ScanKernels scan(context, *this, kernels);
  switch (rule) {
    case StateRule::Decay: decay_scan(*this, scan); return;
    case StateRule::Delta: delta_scan(*this, scan); return;
    case StateRule::Selective: kernels.push_back(selective_scan(context, *this)); return;
  }
}

void ChunkedScan::backward(const LowerContext& context, KernelList& kernels) const {
  forward(context, kernels);  // every product has two gradients, each as large
  forward(context, kernels);
}

Status StateUpdate::check() const {
  return check_sizes("state", {batch, heads, head_dim, state});
}

void StateUpdate::forward(const LowerContext& context, KernelList& kernels) const {
  // Decay, key x value, sum, and the product with the query; the delta rule reads the state once
  // more for the key.
  const double flop = rule == StateRule::Delta ? 8.0 : 6.0;
  const std::int64_t vectors = batch * heads * (2 * head_dim + 2 * state);
  KernelWork work = vector_kernel(context.precision,
                                  {.op = kName,
                                   .kind = KernelClass::Pointwise,
                                   .shape = {.rows = batch * heads, .columns = head_dim * state},
                                   .flop_per_element = flop,
                                   .read = vectors,
                                   .written = batch * heads * head_dim});
  const Bytes states = bytes_of(batch * elements(), DType::Fp32);
  work.read += states;
  work.written += states;
  work.cold = states;
  kernels.push_back(std::move(work));
}

void StateUpdate::backward(const LowerContext& context, KernelList& kernels) const {
  forward(context, kernels);
  forward(context, kernels);
}

}  // namespace rooftile::ops
