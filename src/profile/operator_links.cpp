// SPDX-License-Identifier: Apache-2.0
#include "profile/operator_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/number_of.h"
#include "core/text.h"

namespace rooftile::profile {

namespace {

constexpr std::size_t kMostCalls = std::size_t{1} << 22;
constexpr std::size_t kMostSignatures = std::size_t{1} << 18;

/// Autograd names its nodes "AddmmBackward0" and wraps them; optimizers are annotated.
TracePhase phase_named(std::string_view name) {
  const auto has = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  if (has("Optimizer.step") || has("Optimizer.zero_grad")) return TracePhase::Optimizer;
  if (has("Backward") || has("autograd::") || has("_backward")) return TracePhase::Backward;
  return TracePhase::Forward;
}

/// One text per operator with its shapes and arguments.
std::string key_of(const TracedOperator& traced) {
  std::string key = traced.name;
  for (const TracedInput& input : traced.inputs) {
    key += '|';
    key += input.type;
    key += ';';
    key += input.text;
    for (const auto& dims : input.shapes) {
      key += '[';
      for (const std::int64_t size : dims) key += fmt::format("{},", size);
    }
  }
  return key;
}

/// Which of the two gradients a convolution's kernel computes, if its name says so.
std::optional<ops::ConvPass> gradient_named(std::string_view kernel) {
  const std::string name = to_lower(kernel);
  for (const std::string_view word : {"wgrad", "bwd_weight", "wrw", "backward_filter", "bwdwrw"}) {
    if (name.find(word) != std::string::npos) return ops::ConvPass::FilterGradient;
  }
  for (const std::string_view word : {"dgrad", "bwd_data", "_bwd_", "backward_data"}) {
    if (name.find(word) != std::string::npos) return ops::ConvPass::DataGradient;
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t OperatorLinks::signature_of(TracedOperator traced) {
  if (!is_known_operator(traced.name)) traced.inputs.clear();
  std::string key = key_of(traced);
  const auto found = index_.find(key);
  if (found != index_.end()) return found->second;
  if (signatures_.size() == kMostSignatures) return 0;
  const auto index = static_cast<std::uint32_t>(signatures_.size());
  signatures_.push_back({.name = traced.name,
                         .works = traced.inputs.empty() ? ops::KernelList{} : works_of(traced),
                         .phase = phase_named(traced.name)});
  index_.emplace(std::move(key), index);
  return index;
}

void OperatorLinks::add(const Thread& thread, const std::optional<Span>& span,
                        TracedOperator traced, std::optional<std::int64_t> external) {
  if (calls_.size() == kMostCalls) return;
  const auto id = static_cast<std::uint32_t>(calls_.size());
  calls_.push_back({.thread = thread,
                    .begin = span ? span->begin : 0,
                    .signature = signature_of(std::move(traced))});
  if (span) nesting_.add(thread, *span, id);
  if (external) by_external_.emplace(*external, id);
}

/// Innermost first.
std::vector<std::uint32_t> OperatorLinks::calls_around(const TimedLaunch& launch) const {
  if (launch.called) {
    auto around = nesting_.around(launch.thread, *launch.called);
    if (!around.empty()) return around;
  }
  if (!launch.external || launch.external == launch.correlation) return {};
  const auto found = by_external_.find(*launch.external);
  if (found == by_external_.end()) return {};
  const Call& call = calls_[found->second];
  auto around = nesting_.around(call.thread, call.begin);
  const auto own = std::find(around.begin(), around.end(), found->second);
  if (own == around.end()) return {found->second};
  around.erase(around.begin(), own);
  return around;
}

std::uint32_t OperatorLinks::work_index(std::uint32_t signature, std::size_t work,
                                        std::size_t launches, RawProfile& profile) {
  const auto [it, fresh] = works_.try_emplace({signature, work, launches}, 0U);
  if (fresh) {
    profile.works.push_back({.operation = signatures_[signature].name,
                             .work = signatures_[signature].works[work],
                             .share = 1.0 / static_cast<double>(launches)});
    it->second = static_cast<std::uint32_t>(profile.works.size());
  }
  return it->second;
}

/// The launches of one call: its works go to the kernels that took longest.
void OperatorLinks::assign(std::uint32_t signature, const std::vector<std::size_t>& launches,
                           std::vector<TimedLaunch>& all, RawProfile& profile) {
  const ops::KernelList& works = signatures_[signature].works;
  std::map<std::size_t, std::pair<std::int64_t, std::vector<std::size_t>>> kernels;
  for (const std::size_t i : launches) {
    auto& [time, list] = kernels[all[i].kernel];
    time += all[i].end - all[i].begin;
    list.push_back(i);
  }
  std::vector<std::pair<std::int64_t, std::size_t>> longest;
  for (const auto& [kernel, entry] : kernels) longest.emplace_back(-entry.first, kernel);
  std::sort(longest.begin(), longest.end());
  const std::size_t used = std::min(works.size(), longest.size());
  for (std::size_t i = 0; i < used; ++i) {
    const std::size_t kernel = longest[i].second;
    std::size_t work = i;
    const auto gradient = gradient_named(profile.kernels[kernel].name);
    for (std::size_t w = 0; gradient && w < works.size(); ++w) {
      const auto* conv = std::get_if<ops::ConvShape>(&works[w].shape);
      if (conv != nullptr && conv->pass == *gradient) work = w;
    }
    const std::vector<std::size_t>& list = kernels[kernel].second;
    for (const std::size_t at : list) {
      all[at].work = work_index(signature, work, list.size(), profile);
    }
  }
}

/// Launches that were called before the trace began.
void OperatorLinks::infer(std::vector<TimedLaunch>& launches, RawProfile& profile) {
  using Key = std::pair<std::size_t, std::optional<Dim3>>;
  std::map<Key, std::optional<std::uint32_t>> known;  ///< nothing: they differ
  for (const TimedLaunch& launch : launches) {
    if (!launch.called) continue;
    const auto [it, fresh] = known.try_emplace({launch.kernel, launch.grid}, launch.work);
    if (!fresh && it->second != launch.work) it->second.reset();
  }
  std::int64_t inferred = 0;
  for (TimedLaunch& launch : launches) {
    if (launch.called || launch.work != 0) continue;
    const auto it = known.find({launch.kernel, launch.grid});
    if (it == known.end() || it->second.value_or(0) == 0) continue;
    launch.work = *it->second;
    inferred += 1;
  }
  if (inferred == 0) return;
  profile.notes.push_back(fmt::format(
      "{} without a call in the trace: operators were inferred from launches of the same kernel "
      "and grid",
      number_of(inferred, "launch")));
}

void OperatorLinks::link(std::vector<TimedLaunch>& launches, RawProfile& profile) {
  nesting_.seal();
  std::map<std::uint32_t, std::vector<std::size_t>> groups;  ///< launches of each call
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const auto around = calls_around(launches[i]);
    bool owned = false;
    for (const std::uint32_t call : around) {
      const Signature& signature = signatures_[calls_[call].signature];
      launches[i].phase = std::max(launches[i].phase, signature.phase);
      if (owned || signature.works.empty()) continue;
      groups[call].push_back(i);
      owned = true;
    }
  }
  for (const auto& [call, members] : groups) {
    assign(calls_[call].signature, members, launches, profile);
  }
  infer(launches, profile);
}

}  // namespace rooftile::profile
