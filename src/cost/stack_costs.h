// SPDX-License-Identifier: Apache-2.0
//
// What software stacks (execution/stack.h) cost beyond the kernels that they launch: fitted numbers
// per stack, and the curve of the all-reduce that serving engines bring along. They are one file
// next to the weights of the default predictor, data/predictors/default/stacks.json, and hold for
// every predictor: a host does not know how kernels were timed.
//
//   all-reduce in one shot    start + step n + min((n - 1) b, 2 (n - 1) / n b + second) / (e link)
//
// where the second member reads sums instead of parts (two shots, `second` as a time).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "cost/parameter.h"
#include "rooftile/provenance.h"

namespace rooftile::cost {

struct StackForm {
  double gap = 0, replay_gap = 0, launch = 0, sync = 0, step = 0, sequence = 0, spread = 1,
         prefill_share = 1;
};
std::span<const Parameter<StackForm>> parameters_of(const StackForm& form);

struct OneShotForm {
  double efficiency = 1, start = 0, step = 0, second = 0, spread = 1;
};
std::span<const Parameter<OneShotForm>> parameters_of(const OneShotForm& form);

/// What a part of the file was fitted on.
struct StackOrigin {
  std::int64_t rows = 0;
  std::vector<std::string> gpus;
  std::string command;
  bool operator==(const StackOrigin&) const = default;
};

struct StackCosts {
  std::map<std::string, StackForm, std::less<>> stacks;  ///< by Stack::id
  OneShotForm one_shot;
  std::map<std::string, StackOrigin, std::less<>> origins;  ///< by stack, and "one_shot"
  Input input;

  /// A stack of the user's own costs what "eager" does until it is measured.
  [[nodiscard]] const StackForm& of(std::string_view stack) const;
};

std::string to_json(const StackCosts& costs);
Result<StackCosts> parse_stack_costs(std::string_view text, const std::string& file);
/// predictors/default/stacks.json of the catalogue.
Result<StackCosts> read_stack_costs(const Catalog& catalog);

}  // namespace rooftile::cost
