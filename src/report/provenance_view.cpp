// SPDX-License-Identifier: Apache-2.0
#include "report/provenance_view.h"

#include <fmt/format.h>

#include <map>

#include "core/sha256.h"
#include "core/utf8.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

constexpr std::size_t kShort = 12;  // digits: enough to tell files and commits apart by eye
constexpr std::size_t kMostFiles = 6;

/// "3f0c1d2e4b5a-dirty"
std::string short_commit(const std::string& commit) {
  const std::size_t mark = commit.find('-');
  return commit.substr(0, kShort) + (mark == std::string::npos ? "" : commit.substr(mark));
}

std::string file_text(const Input& input) {
  std::string text = fmt::format("{} {} {}", input.kind, visible(input.name), input.origin);
  if (!input.sha256.empty()) text += ":" + input.sha256.substr(0, kShort);
  return text;
}

}  // namespace

std::string provenance_to_text(const ProvenanceReport& provenance, bool color) {
  std::map<std::string, std::vector<const Input*>> kinds;
  for (const Input& input : provenance.inputs) kinds[input.kind].push_back(&input);
  std::string text = fmt::format("from: rooftile {}", provenance.version);
  if (provenance.commit) text += " " + short_commit(*provenance.commit);
  for (const Input& input : provenance.inputs) {
    // One line: a GPU's own architecture file is in the JSON report.
    if (input.kind == "architecture" && input.origin == "embedded") continue;
    const std::vector<const Input*>& alike = kinds[input.kind];
    if (alike.size() <= kMostFiles) {
      text += ", " + file_text(input);
    } else if (alike.front() == &input) {
      std::string sums;
      for (const Input* one : alike) sums += one->sha256;
      text +=
          fmt::format(", {} {} files:{}", alike.size(), input.kind, sha256(sums).substr(0, kShort));
    }
  }
  return dim(text, color) + "\n";
}

ProvenanceReport merged_provenance(std::span<const Report> reports) {
  std::vector<Input> inputs;
  for (const Report& report : reports) add_inputs(report.provenance.inputs, inputs);
  return make_provenance(inputs);
}

}  // namespace rooftile::report
