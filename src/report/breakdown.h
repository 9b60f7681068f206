// SPDX-License-Identifier: Apache-2.0
//
// What a time is made of, in the words of a report: terms with the rates and efficiencies that give
// them from FLOPs and bytes, so that a reader can compute the number again.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cost/estimate.h"
#include "hardware/machine.h"
#include "ops/kernel_work.h"
#include "rooftile/report.h"

namespace rooftile::report {

/// "fp32", "bf16_tensor"; empty where the machine states no rate for the kernel.
std::string rate_name(const ops::KernelWork& work, const hardware::Machine& machine);

/// Of `launches` launches of a kernel.
BreakdownReport make_breakdown(const ops::KernelWork& work, const cost::Estimate& estimate,
                               const hardware::Machine& machine, double launches);

/// Adds the rates that the efficiencies of a kernel refer to.
void add_rates(const ops::KernelWork& work, const hardware::Machine& machine,
               std::map<std::string, double>& rates);

/// Adds the members `terms_ms`, `efficiency`, `join` and `residual`.
void write_breakdown(const BreakdownReport& breakdown, nlohmann::ordered_json& json);

/// How the terms give the time: "joined with exponent 3, x 1.1, + launch".
std::string join_text(const BreakdownReport& breakdown);
/// The terms of a row in the order of the resources, each with its arithmetic.
nlohmann::ordered_json term_rows(const OperatorReport& op,
                                 const std::map<std::string, double>& rates);

}  // namespace rooftile::report
