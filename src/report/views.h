// SPDX-License-Identifier: Apache-2.0
//
// A Report as bytes. Every view is a pure function of the report; none of them computes times.
//
//   gpt2-large, train, batch 4 x 1024 tokens, fp32, on NVIDIA H100 SXM5 80GB
//   step   162.9 ms or more (roofline bound, data-sheet peaks)
//     forward    54.0 ms  ######
//     backward  108.9 ms  ############
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rooftile/report.h"

namespace rooftile::report {

struct TextOptions {
  bool color = false;  ///< ANSI colours
  int width = 100;     ///< columns
  int top = 15;        ///< operators in the table; the rest is summed in one row
};

std::string to_text(const Report& report, const TextOptions& options);
std::string to_json(const Report& report);
/// One line per operator, in the order of execution.
std::string to_csv(const Report& report);
/// Chrome trace events (open in Perfetto): the step's kernels one after another.
std::string to_chrome_trace(const Report& report);

/// `rooftile compare`: one row per GPU.
std::string compare_to_text(std::span<const Report> reports, const TextOptions& options);
std::string compare_to_json(std::span<const Report> reports);
std::string compare_to_csv(std::span<const Report> reports);

}  // namespace rooftile::report
