// SPDX-License-Identifier: Apache-2.0
//
// Messages between GPUs as a trace states them: what the call of the library or its kernel says of
// elements, type and group.
#include <algorithm>

#include "profile/traced_arguments.h"

namespace rooftile::profile {

namespace {

/// Elements of the whole message; a gathered result and a scattered input count with all parts.
double whole_of(const TracedMessage& message, ops::CollectiveKind kind) {
  const auto n = static_cast<double>(message.gpus);
  switch (kind) {
    case ops::CollectiveKind::AllGather: return std::max(message.out, message.in * n);
    case ops::CollectiveKind::ReduceScatter: return std::max(message.in, message.out * n);
    case ops::CollectiveKind::AllToAll: return message.in;
    case ops::CollectiveKind::AllReduce:
    case ops::CollectiveKind::Broadcast:
    case ops::CollectiveKind::Send: break;
  }
  return std::max(message.in, message.out);
}

}  // namespace

TracedWorks message_work(const TracedMessage& message) {
  constexpr double kMostElements = 1e15;
  constexpr std::int64_t kMostGpus = 1 << 20;
  const auto kind = ops::collective_named(message.name);
  const auto dtype = traced_dtype(message.type);
  if (!kind || !dtype || message.gpus < 2 || message.gpus > kMostGpus) return {};
  const double elements = whole_of(message, *kind);
  if (!(elements >= 1.0 && elements < kMostElements)) return {};
  const auto n = static_cast<double>(message.gpus);
  const double own = elements / n;  ///< of one GPU, where parts are told apart
  const bool gathers = *kind == ops::CollectiveKind::AllGather;
  const bool scatters = *kind == ops::CollectiveKind::ReduceScatter;
  const bool sums = scatters || *kind == ops::CollectiveKind::AllReduce;
  const auto columns = static_cast<std::int64_t>(elements);
  ops::KernelWork work = ops::vector_kernel(
      {.storage = *dtype, .vector_compute = DType::Fp32},
      {.op = ops::name_of(*kind),
       .kind = ops::KernelClass::Move,
       .shape = {.rows = 1, .columns = columns},
       .flop_per_element = sums ? (n - 1) / n : 0.0,  // each GPU sums its part of n operands
       .read = columns,
       .written = columns});
  work.read = size_of(*dtype) * (gathers ? own : elements);
  work.written = size_of(*dtype) * (scatters ? own : elements);
  TracedWorks out{.kernels = {work}};
  out.collective =
      ops::Collective{.kind = *kind, .bytes = size_of(*dtype) * elements, .gpus = message.gpus};
  if (message.whole_world) {
    out.assumed = "collectives that do not name their group are assumed to include all GPUs";
  }
  return out;
}

}  // namespace rooftile::profile
