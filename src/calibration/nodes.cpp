// SPDX-License-Identifier: Apache-2.0
#include "calibration/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/csv.h"
#include "core/text.h"

namespace rooftile::calibration {

namespace {

struct KindWord {
  std::string_view word, kind;
};

// Functions, by a part of what Python prints for them; the first that is found counts.
constexpr std::array kFunctions{KindWord{"addmm", "linear"},     KindWord{"bmm", "bmm"},
                                KindWord{"matmul", "bmm"},       KindWord{"softmax", "softmax"},
                                KindWord{"dropout", "dropout"},  KindWord{"embedding", "embedding"},
                                KindWord{"gelu", "gelu"},        KindWord{"relu", "relu"},
                                KindWord{"tanh", "tanh"},        KindWord{"pow", "pow"},
                                KindWord{"where", "where"},      KindWord{"max", "max"},
                                KindWord{"truediv", "div"},      KindWord{" mul", "mul"},
                                KindWord{" add", "add"},         KindWord{" sub", "add"},
                                KindWord{"contiguous", "move"},  KindWord{"reshape", "move"},
                                KindWord{"masked_fill", "where"}};

// Modules, by a part of their path.
constexpr std::array kModules{KindWord{"dropout", "dropout"},      KindWord{"norm", "layernorm"},
                              KindWord{".ln_", "layernorm"},       KindWord{"embed", "embedding"},
                              KindWord{".wte", "embedding"},       KindWord{".wpe", "embedding"},
                              KindWord{"activation", "activation"}};

constexpr std::array kOperators{
    KindWord{"ln", "layernorm"}, KindWord{"addu", "add"},        KindWord{"mulu", "mul"},
    KindWord{"divu", "div"},     KindWord{"powu", "pow"},        KindWord{"sub", "add"},
    KindWord{"subu", "add"},     KindWord{"contiguous", "move"}, KindWord{"cat", "move"},
    KindWord{"maximum", "max"},  KindWord{"maxu", "max"}};

bool is_module(std::string_view target) {
  return target.find('<') == std::string_view::npos &&
         (target.find('.') != std::string_view::npos || target == "lm_head");
}

/// "gpt2_large-train-1024-4"
Status read_case(const std::string& where, TracedStep& step) {
  const auto parts = split(step.name, '-');
  const auto number = [&](std::size_t i) {
    return i < parts.size() ? parse_int(parts[i]) : std::nullopt;
  };
  if (parts.size() != 4 || (parts[1] != "inf" && parts[1] != "train") || !number(2) || !number(3) ||
      *number(2) < 1 || *number(3) < 1) {
    return bad_input(where, fmt::format("\"{}\" is not a case", printable(step.name)),
                     "cases are MODEL-inf|train-SEQUENCE-BATCH");
  }
  step.model = std::string(parts[0]);
  step.mode = std::string(parts[1]);
  step.sequence = *number(2);
  step.batch = *number(3);
  return {};
}

/// The traced layer goes from its first module to the next module that is of no layer.
void mark_layer(TracedStep& step) {
  bool inside = false;
  for (TracedNode& node : step.nodes) {
    if (is_module(node.target)) inside = node.target.find(".0.") != std::string::npos;
    node.in_layer = inside;
  }
}

}  // namespace

std::int64_t elements_of(std::string_view text) {
  std::int64_t elements = 1;
  bool any = false;
  for (const std::string_view part : split(text, ',')) {
    std::string digits;
    for (const char c : part) {
      if (c >= '0' && c <= '9') digits += c;
    }
    if (digits.empty()) continue;
    const auto size = parse_int(digits);
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (!size || *size < 1 || *size > kMost || elements > kMost / *size) return 0;
    elements *= *size;
    any = true;
  }
  return any ? elements : 0;
}

std::string kind_of_target(std::string_view target) {
  if (is_module(target)) {
    const std::string path = to_lower(target);
    for (const KindWord& word : kModules) {
      if (path.find(word.word) != std::string::npos) return std::string(word.kind);
    }
    return "linear";
  }
  for (const KindWord& word : kFunctions) {
    if (target.find(word.word) != std::string_view::npos) return std::string(word.kind);
  }
  return {};
}

std::string kind_of_operator(std::string_view op) {
  for (const KindWord& word : kOperators) {
    if (op == word.word) return std::string(word.kind);
  }
  return std::string(op);
}

Result<std::vector<TracedStep>> read_nodes(const std::string& file) {
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(file, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  ROOFTILE_TRY(const std::size_t device, header.column("device"));
  ROOFTILE_TRY(const std::size_t name, header.column("case"));
  ROOFTILE_TRY(const std::size_t node, header.column("node"));
  ROOFTILE_TRY(const std::size_t target, header.column("target"));
  ROOFTILE_TRY(const std::size_t shape, header.column("output_shape"));
  std::array<std::size_t, 3> times{};
  for (std::size_t i = 0; i < times.size(); ++i) {
    ROOFTILE_TRY(times[i], header.column(std::array{"fw_ms", "bw_ms", "acc_ms"}[i]));
  }
  std::vector<TracedStep> steps;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    const std::string on(trim(csv[device])), of(trim(csv[name]));
    if (steps.empty() || steps.back().device != on || steps.back().name != of) {
      TracedStep step;
      step.device = on;
      step.name = of;
      ROOFTILE_CHECK(read_case(csv.where(name), step));
      steps.push_back(std::move(step));
    }
    TracedNode traced;
    traced.name = std::string(csv[node]);
    traced.target = std::string(csv[target]);
    traced.kind = kind_of_target(traced.target);
    traced.elements = elements_of(csv[shape]);
    for (const std::size_t column : times) {
      ROOFTILE_TRY(const double ms, csv.number(column));
      if (!(ms >= 0)) return bad_input(csv.where(column), "a time must not be negative");
      traced.ms += ms;
    }
    steps.back().nodes.push_back(std::move(traced));
  }
  if (steps.empty()) return bad_input(file, "no rows", "expected one traced node per line");
  for (TracedStep& step : steps) mark_layer(step);
  return steps;
}

}  // namespace rooftile::calibration
