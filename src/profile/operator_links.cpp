// SPDX-License-Identifier: Apache-2.0
#include "profile/operator_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/number_of.h"
#include "core/text.h"
#include "profile/traced_arguments.h"

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
  if (traced.message) {
    const TracedMessage& m = *traced.message;
    key += fmt::format("|{};{};{};{};{}", m.name, m.type, m.in, m.out, m.gpus);
  }
  for (const std::int64_t size : traced.output) key += fmt::format(">{}", size);
  return key;
}

/// The first tensor of an operator.
std::vector<std::int64_t> first_shape(const TracedOperator& traced) {
  for (const TracedInput& input : traced.inputs) {
    if (!input.shapes.empty() && !input.shapes.front().empty()) return input.shapes.front();
  }
  return {};
}

/// How many filters an open convolution has.
std::int64_t filters_of(const TracedOperator& conv) {
  const bool known = conv.inputs.size() > 1 && !conv.inputs[1].shapes.empty() &&
                     !conv.inputs[1].shapes.front().empty();
  return known ? conv.inputs[1].shapes.front().front() : 0;
}

/// Changes of layout around a convolution, which can take longer than itself.
bool is_layout_helper(std::string_view kernel) {
  const std::string name = to_lower(kernel);
  constexpr std::array<std::string_view, 5> kWords{"transpose", "nchwtonhwc", "nhwctonchw",
                                                   "subtensorop", "tensor_transform"};
  return std::any_of(kWords.begin(), kWords.end(), [&name](std::string_view word) {
    return name.find(word) != std::string::npos;
  });
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

/// Traces call the type of a list of tensors "TensorList".
bool is_untyped_list(const TracedInput& input) {
  return !input.shapes.empty() && input.type.ends_with("List");
}

/// The type of a kernel's elements: the first that its template arguments name.
std::string_view element_named(std::string_view kernel) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kTypes{{
      {"BFloat16", "c10::BFloat16"},
      {"Half", "c10::Half"},
      {"__half", "c10::Half"},
      {"float", "float"},
      {"double", "double"},
      {"OpaqueType<1", "unsigned char"},
      {"OpaqueType<2", "c10::Half"},
      {"OpaqueType<4", "float"},
      {"OpaqueType<8", "double"},
  }};
  std::string_view found;
  std::size_t first = std::string_view::npos;
  for (const auto& [word, type] : kTypes) {
    const std::size_t at = kernel.find(word, std::min(kernel.find('<'), kernel.size()));
    if (at < first) {
      first = at;
      found = type;
    }
  }
  return found;
}

}  // namespace

std::uint32_t OperatorLinks::signature_of(TracedOperator traced) {
  if (!is_known_operator(traced.name)) traced.inputs.clear();
  std::string key = key_of(traced);
  const auto found = index_.find(key);
  if (found != index_.end()) return found->second;
  if (signatures_.size() == kMostSignatures) return 0;
  const auto index = static_cast<std::uint32_t>(signatures_.size());
  Signature one{
      .name = traced.name, .works = {}, .phase = phase_named(traced.name), .first = {}, .open = {}};
  if (traced.message || !traced.inputs.empty()) one.works = works_of(traced);
  one.first = first_shape(traced);
  one.untyped = one.works.kernels.empty() &&
                std::any_of(traced.inputs.begin(), traced.inputs.end(), is_untyped_list);
  if (one.untyped || (traced.message && traced.message->gpus == 0) || needs_output(traced)) {
    one.open = std::move(traced);
  }
  signatures_.push_back(std::move(one));
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
                             .work = signatures_[signature].works.kernels[work],
                             .share = 1.0 / static_cast<double>(launches),
                             .collective = signatures_[signature].works.collective});
    it->second = static_cast<std::uint32_t>(profile.works.size());
  }
  return it->second;
}

/// The launches of one call: its works go to the kernels that took longest, each to the one that is
/// named after it, if there is one.
void OperatorLinks::assign(std::uint32_t signature, const std::vector<std::size_t>& launches,
                           std::vector<TimedLaunch>& all, RawProfile& profile) {
  const ops::KernelList& works = signatures_[signature].works.kernels;
  std::map<std::size_t, std::pair<std::int64_t, std::vector<std::size_t>>> kernels;
  for (const std::size_t i : launches) {
    auto& [time, list] = kernels[all[i].kernel];
    time += all[i].end - all[i].begin;
    list.push_back(i);
  }
  const bool conv = std::holds_alternative<ops::ConvShape>(works.front().shape);
  std::vector<std::tuple<bool, std::int64_t, std::size_t>> longest;
  for (const auto& [kernel, entry] : kernels) {
    const bool helper = conv && is_layout_helper(profile.kernels[kernel].name);
    longest.emplace_back(helper, -entry.first, kernel);
  }
  std::sort(longest.begin(), longest.end());
  std::vector<bool> taken(works.size(), false);
  for (const auto& [helper, time, kernel] : longest) {
    const bool begun = std::any_of(taken.begin(), taken.end(), [](bool one) { return one; });
    if (helper && begun) break;  // the other gradient was not asked for
    const auto gradient = conv ? gradient_named(profile.kernels[kernel].name) : std::nullopt;
    std::optional<std::size_t> work;
    for (std::size_t w = 0; w < works.size(); ++w) {
      const auto* shape = std::get_if<ops::ConvShape>(&works[w].shape);
      const bool fits =
          works.size() == 1 || !gradient || (shape != nullptr && shape->pass == *gradient);
      if (!work && !taken[w] && fits) work = w;
    }
    if (!work) continue;
    taken[*work] = true;
    const std::vector<std::size_t>& list = kernels[kernel].second;
    signatures_[signature].launches += static_cast<std::int64_t>(list.size());
    for (const std::size_t at : list) {
      all[at].work = work_index(signature, *work, list.size(), profile);
    }
    if (std::all_of(taken.begin(), taken.end(), [](bool one) { return one; })) break;
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

/// Collectives that do not name their group are those of all GPUs of the job.
void OperatorLinks::complete_groups() {
  for (Signature& one : signatures_) {
    if (!one.open || !one.open->message || world_ < 2) continue;
    one.open->message->gpus = world_;
    one.open->message->whole_world = true;
    one.works = works_of(*one.open);
  }
}

/// What a convolution returned: the image that the next operators of its thread begin with. The
/// operators that it calls itself begin with its input.
std::vector<std::int64_t> OperatorLinks::result_of(std::uint32_t call) const {
  constexpr std::size_t kNext = 12;
  const Call& conv = calls_[call];
  const Signature& own = signatures_[conv.signature];
  const std::vector<std::int64_t>& image = own.first;
  const std::int64_t channels = filters_of(*own.open);
  for (const std::uint32_t next : nesting_.from(conv.thread, conv.begin, kNext)) {
    const Signature& other = signatures_[calls_[next].signature];
    if (next == call || (is_convolution(other.name) && other.first == image)) continue;
    if (other.first.size() == image.size() && other.first[0] == image[0] &&
        other.first[1] == channels) {
      return other.first;
    }
  }
  return {};
}

void OperatorLinks::complete_convolutions() {
  for (std::uint32_t call = 0; call < calls_.size(); ++call) {
    const auto& open = signatures_[calls_[call].signature].open;
    if (!open || open->message || signatures_[calls_[call].signature].untyped) continue;
    TracedOperator traced = *open;
    traced.output = result_of(call);
    if (!traced.output.empty()) calls_[call].signature = signature_of(std::move(traced));
  }
}

/// The innermost call with a work. A library's own annotation knows its message, the call around it
/// the group as well.
std::optional<std::uint32_t> OperatorLinks::owner_of(TimedLaunch& launch) const {
  std::optional<std::uint32_t> owner;
  for (const std::uint32_t call : calls_around(launch)) {
    const Signature& signature = signatures_[calls_[call].signature];
    launch.phase = std::max(launch.phase, signature.phase);
    if (signature.works.kernels.empty() && !signature.untyped) continue;
    const bool better = owner && signature.works.collective && signature.works.assumed.empty() &&
                        !signatures_[calls_[*owner].signature].works.assumed.empty();
    if (!owner || better) owner = call;
  }
  return owner;
}

/// The same operator with the element type that one of its kernels names.
std::uint32_t OperatorLinks::typed(std::uint32_t signature, std::string_view kernel) {
  if (!signatures_[signature].untyped) return signature;
  const std::string_view type = element_named(kernel);
  if (type.empty()) return 0;
  TracedOperator traced = *signatures_[signature].open;
  for (TracedInput& input : traced.inputs) {
    if (is_untyped_list(input)) input.type = type;
  }
  return signature_of(std::move(traced));
}

void OperatorLinks::tell_assumptions(RawProfile& profile) const {
  std::map<std::string_view, std::int64_t> assumed;
  for (const Signature& one : signatures_) {
    if (one.launches > 0 && !one.works.assumed.empty()) assumed[one.works.assumed] += one.launches;
  }
  for (const auto& [what, launches] : assumed) {
    profile.notes.push_back(fmt::format("{} ({})", what, number_of(launches, "launch")));
  }
}

void OperatorLinks::link(std::vector<TimedLaunch>& launches, RawProfile& profile) {
  nesting_.seal();
  complete_groups();
  complete_convolutions();
  std::map<std::uint32_t, std::vector<std::size_t>> groups;  ///< launches of each call
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const auto owner = owner_of(launches[i]);
    if (owner) {
      groups[*owner].push_back(i);
    } else if (launches[i].stated != 0 &&
               !signatures_[launches[i].stated - 1].works.kernels.empty()) {
      assign(launches[i].stated - 1, {i}, launches, profile);
    }
  }
  for (const auto& [call, members] : groups) {
    const std::uint32_t signature =
        typed(calls_[call].signature, profile.kernels[launches[members.front()].kernel].name);
    if (!signatures_[signature].works.kernels.empty()) {
      assign(signature, members, launches, profile);
    }
  }
  infer(launches, profile);
  tell_assumptions(profile);
}

}  // namespace rooftile::profile
