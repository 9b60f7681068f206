// SPDX-License-Identifier: Apache-2.0
#include "calibration/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "calibration/plausible.h"
#include "calibration/rules.h"
#include "calibration/selection.h"
#include "core/number_of.h"
#include "cost/learned/classes.h"

namespace rooftile::calibration {

namespace {

using cost::learned::class_of;

constexpr double kNoteworthy = 1.1;  // campaigns of one GPU whose levels differ by more

class Inspector {
 public:
  explicit Inspector(const Dataset& dataset) : dataset_(dataset) {}

  Inspection run() {
    for (const Sample& s : dataset_.samples) visit(s);
    for (auto& [key, facts] : groups_) {
      if (facts.duplicates > 0) facts.duplicate_spread /= static_cast<double>(facts.duplicates);
      result_.groups.push_back(facts);
    }
    const Samples all = samples_without(dataset_, std::nullopt);
    std::map<std::string, Samples> by_class;
    for (const Sample* s : all) by_class[std::string(class_of(s->work))].push_back(s);
    for (const auto& [name, samples] : by_class) {
      result_.ranges[name] = range_of(dataset_, samples);
      for (const Disagreement& d : slower_campaigns(dataset_, samples, kNoteworthy)) {
        const bool dropped = is_product(name) && d.ratio > kContradiction;
        result_.notes.push_back(
            fmt::format("{} on {}: campaign \"{}\" has {:.2f} times the level (time over roofline) "
                        "of another one{}",
                        name, dataset_.machines[d.gpu].gpu.id, dataset_.campaigns[d.campaign],
                        d.ratio, dropped ? "; fits leave it out" : ""));
      }
    }
    for (std::string& warning : warnings_of(dataset_)) result_.notes.push_back(std::move(warning));
    if (dataset_.skipped > 0)
      result_.notes.push_back(fmt::format("skipped, as their dtypes are not modelled: {}",
                                          number_of(dataset_.skipped, "row")));
    return std::move(result_);
  }

 private:
  void visit(const Sample& s) {
    const auto name = class_of(s.work);
    GroupFacts& facts = groups_[{std::string(name), s.gpu, s.campaign}];
    if (facts.rows == 0) {
      facts.name = name;
      facts.gpu = dataset_.machines[s.gpu].gpu.id;
      facts.campaign = dataset_.campaigns[s.campaign];
      facts.shortest = s.measured;
    }
    ++facts.rows;
    facts.shortest = std::min(facts.shortest, s.measured);
    facts.longest = std::max(facts.longest, s.measured);
    if (const double lower = bound_of(dataset_, s); s.measured < lower) {
      ++facts.below_bound;
      suspect(s, fmt::format("{:.4g} ms is {:.2f} times faster than the bound", s.measured * 1e3,
                             lower / s.measured));
    }
    const std::string shape = fmt::format("{}/{}/{}/{}/{}", s.gpu, s.campaign, s.work.op,
                                          name_of(s.work.dtype), shape_text(s.work.shape));
    const auto [it, added] = first_.try_emplace(shape, s.measured);
    if (added) return;
    ++facts.duplicates;
    const double spread = std::fabs(s.measured / it->second - 1);
    facts.duplicate_spread += spread;
    if (spread > 0.5)
      suspect(s, fmt::format("the same kernel took {:.4g} ms and {:.4g} ms", it->second * 1e3,
                             s.measured * 1e3));
  }

  void suspect(const Sample& s, std::string reason) {
    constexpr std::size_t kShown = 20;
    ++result_.suspicious_rows;
    if (result_.suspicious.size() >= kShown) return;
    result_.suspicious.push_back({.where = fmt::format("{}:{}", dataset_.files[s.file], s.line),
                                  .reason = std::move(reason)});
  }

  const Dataset& dataset_;
  Inspection result_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, GroupFacts> groups_;
  std::map<std::string, double> first_;
};

}  // namespace

Inspection inspect(const Dataset& dataset) {
  return Inspector(dataset).run();
}

}  // namespace rooftile::calibration
