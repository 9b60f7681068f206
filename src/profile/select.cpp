// SPDX-License-Identifier: Apache-2.0
#include "profile/select.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <set>

#include "core/text.h"

namespace rooftile::profile {

namespace {

/// The C library's matcher: that of C++ recurses once per character, and names can be long.
class NamePattern {
 public:
  static Result<NamePattern> compile(const std::string& text) {
    NamePattern pattern;
    const int code = regcomp(&pattern.compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (code == 0) {
      pattern.ready_ = true;
      return pattern;
    }
    std::string reason(128, '\0');
    regerror(code, &pattern.compiled_, reason.data(), reason.size());
    reason.resize(std::min(reason.find('\0'), reason.size()));
    return usage_error(
        fmt::format("--kernel \"{}\" is not a regular expression: {}", printable(text), reason),
        "characters like ( [ * + ? have a meaning there; write \\( for (");
  }
  NamePattern(NamePattern&& other) noexcept
      : compiled_(other.compiled_), ready_(std::exchange(other.ready_, false)) {}
  NamePattern& operator=(NamePattern&&) = delete;
  NamePattern(const NamePattern&) = delete;
  NamePattern& operator=(const NamePattern&) = delete;
  ~NamePattern() {
    if (ready_) regfree(&compiled_);
  }

  [[nodiscard]] bool matches(const std::string& name) const {
    return regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  NamePattern() = default;
  regex_t compiled_{};
  bool ready_ = false;
};

std::string file_of(const RawProfile& profile) {
  return profile.files.empty() ? std::string() : profile.files.front();
}

Status by_name(RawProfile& profile, const std::string& text) {
  ROOFTILE_TRY(const NamePattern pattern, NamePattern::compile(text));
  std::vector<std::string> names;
  for (const KernelSeries& kernel : profile.kernels) names.push_back(kernel.name);
  std::erase_if(profile.kernels,
                [&](const KernelSeries& kernel) { return !pattern.matches(kernel.name); });
  if (!profile.kernels.empty()) return {};
  const std::vector<std::string_view> views(names.begin(), names.end());
  return bad_input(file_of(profile),
                   fmt::format("no kernel matches --kernel \"{}\"", printable(text)),
                   fmt::format("one of {} kernels: {}", names.size(), printable(names.front())));
}

tl::unexpected<Error> unlisted(const RawProfile& profile, const KernelSeries& kernel) {
  std::size_t listed = 0;
  for (const KernelSeries& one : profile.kernels) listed += one.launch_list.size();
  if (static_cast<std::int64_t>(listed) == kMaxLaunches) {
    return unsupported(
        file_of(profile),
        fmt::format("only the first {} launches of the export are known one by one", kMaxLaunches),
        "--kernel selects by name; record a shorter part of the run");
  }
  return unsupported(
      file_of(profile),
      fmt::format("the export does not list the launches of {} one by one", printable(kernel.name)),
      "--kernel selects by name; a trace or an export without --print-summary lists launches");
}

/// The places of all launches in the order of the export: kernel and index within it.
Result<std::vector<std::pair<std::size_t, std::size_t>>> launch_order(const RawProfile& profile) {
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (std::size_t k = 0; k < profile.kernels.size(); ++k) {
    const KernelSeries& kernel = profile.kernels[k];
    if (!lists_launches(kernel)) {
      return unlisted(profile, kernel);
    }
    for (std::size_t i = 0; i < kernel.launch_list.size(); ++i) order.emplace_back(k, i);
  }
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return profile.kernels[a.first].launch_list[a.second].ordinal <
           profile.kernels[b.first].launch_list[b.second].ordinal;
  });
  return order;
}

/// Nests of ranges that hold the name.
Result<std::set<std::uint32_t>> ranges_named(const RawProfile& profile, const std::string& name) {
  std::set<std::uint32_t> found;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < profile.ranges.size(); ++i) {
    for (const std::string& range : profile.ranges[i]) {
      names.insert(range);
      if (range == name) found.insert(static_cast<std::uint32_t>(i + 1));
    }
  }
  if (!found.empty()) return found;
  if (names.empty()) {
    return bad_input(file_of(profile),
                     "there are no annotations around the launches of this export",
                     "traces record them with record_function(), databases of Nsight Systems with "
                     "NVTX ranges");
  }
  constexpr std::size_t kShown = 12;
  std::vector<std::string_view> list(names.begin(), names.end());
  const std::size_t all = list.size();
  std::string hint = did_you_mean(name, list, "annotations here:");
  if (all > kShown && !hint.starts_with("did")) {
    list.resize(kShown);
    hint =
        fmt::format("{} and {} more", did_you_mean(name, list, "annotations here:"), all - kShown);
  }
  return bad_input(file_of(profile), fmt::format("no launch is inside \"{}\"", printable(name)),
                   hint);
}

Status by_launch(RawProfile& profile, const Selection& wanted) {
  ROOFTILE_TRY(const auto order, launch_order(profile));
  std::set<std::uint32_t> ranges;
  if (!wanted.annotation.empty()) {
    ROOFTILE_TRY(ranges, ranges_named(profile, wanted.annotation));
  }
  std::vector<std::vector<bool>> kept;
  for (const KernelSeries& kernel : profile.kernels) kept.emplace_back(kernel.launch_list.size());
  std::int64_t place = 0;
  bool timed = false;
  for (const auto& [k, i] : order) {
    const Launch& launch = profile.kernels[k].launch_list[i];
    timed = timed || launch.begin;
    if (!ranges.empty() && !ranges.contains(launch.range)) continue;
    if (wanted.from && !(launch.begin && *launch.begin >= *wanted.from)) continue;
    if (wanted.until && !(launch.begin && *launch.begin < *wanted.until)) continue;
    const std::int64_t at = place++;
    if (at < wanted.skip || (wanted.count && at - wanted.skip >= *wanted.count)) continue;
    kept[k][i] = true;
  }
  if ((wanted.from || wanted.until) && !timed) {
    return unsupported(file_of(profile), "the export does not say when launches began",
                       "a window of time needs a trace or a database");
  }
  for (std::size_t k = 0; k < profile.kernels.size(); ++k) {
    profile.kernels[k] = keep_launches(profile.kernels[k], kept[k]);
  }
  std::erase_if(profile.kernels, [](const KernelSeries& kernel) { return kernel.rows == 0; });
  if (!profile.kernels.empty()) return {};
  return bad_input(file_of(profile), fmt::format("no launch is left of {}", order.size()),
                   "--launch-skip, --launch-count, --annotation and --window leave nothing");
}

}  // namespace

RawProfile of_phase(const RawProfile& profile, TracePhase phase) {
  RawProfile part = profile;
  for (KernelSeries& kernel : part.kernels) {
    std::vector<bool> kept(kernel.launch_list.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      kept[i] = kernel.launch_list[i].phase == phase;
    }
    if (lists_launches(kernel)) {
      kernel = keep_launches(kernel, kept);
    } else if (phase != TracePhase::Unknown) {
      kernel.rows = 0;
      kernel.columns.clear();
    }
  }
  std::erase_if(part.kernels, [](const KernelSeries& kernel) { return kernel.launches() == 0; });
  return part;
}

Result<RawProfile> select(RawProfile profile, const Selection& selection) {
  if (profile.kernels.empty()) return profile;
  if (!selection.kernel.empty()) ROOFTILE_CHECK(by_name(profile, selection.kernel));
  if (selection.by_launch()) ROOFTILE_CHECK(by_launch(profile, selection));
  return profile;
}

}  // namespace rooftile::profile
