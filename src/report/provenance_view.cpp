// SPDX-License-Identifier: Apache-2.0
#include "report/provenance_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "core/sha256.h"
#include "core/utf8.h"
#include "report/lines.h"

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

std::string program_text(const ProvenanceReport& provenance) {
  std::string text = fmt::format("from: rooftile {}", provenance.version);
  if (provenance.commit) text += " " + short_commit(*provenance.commit);
  return text;
}

std::vector<std::string> input_texts(const ProvenanceReport& provenance) {
  std::map<std::string, std::vector<const Input*>> kinds;
  for (const Input& input : provenance.inputs) kinds[input.kind].push_back(&input);
  std::vector<std::string> texts;
  for (const Input& input : provenance.inputs) {
    // A GPU's own architecture file, and a model's families, are in the JSON report.
    const bool follows = input.kind == "architecture" || input.kind == "family";
    if (follows && input.origin == "embedded") continue;
    const std::vector<const Input*>& alike = kinds[input.kind];
    if (alike.size() <= kMostFiles) {
      texts.push_back(file_text(input));
    } else if (alike.front() == &input) {
      std::string sums;
      for (const Input* one : alike) sums += one->sha256;
      texts.push_back(
          fmt::format("{} {} files:{}", alike.size(), input.kind, sha256(sums).substr(0, kShort)));
    }
  }
  return texts;
}

}  // namespace

std::string provenance_to_text(const ProvenanceReport& provenance, int width, bool color) {
  const std::vector<std::string> inputs = input_texts(provenance);
  std::string text = program_text(provenance) + (inputs.empty() ? "" : ",") + "\n";
  text += wrapped(fmt::format("{}", fmt::join(inputs, ", ")), width, 2, 2);
  text.pop_back();
  return dim(text, color) + "\n";
}

std::string provenance_to_line(const ProvenanceReport& provenance) {
  std::string text = program_text(provenance);
  for (const std::string& input : input_texts(provenance)) text += ", " + input;
  return text + "\n";
}

ProvenanceReport merged_provenance(std::span<const Report> reports) {
  std::vector<Input> inputs;
  for (const Report& report : reports) add_inputs(report.provenance.inputs, inputs);
  return make_provenance(inputs);
}

}  // namespace rooftile::report
