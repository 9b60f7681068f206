// SPDX-License-Identifier: Apache-2.0
#include "study/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "report/describe.h"
#include "report/request_json.h"
#include "report/writer.h"
#include "study/predict.h"

namespace rooftile::study {

namespace {

using report::ReplayDifference;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr JsonLimits kLimits{.max_depth = 16, .max_bytes = kMostBytes};

/// What a report computes; the rest says how, or is words.
constexpr std::array<std::string_view, 8> kResults{"latency",  "parts",  "bound",    "flops",
                                                   "limiters", "memory", "parallel", "operators"};

Result<std::string> text_or(const JsonView& object, std::string_view key) {
  const auto member = object.find(key);
  return member ? member->string() : std::string();
}

Result<Input> read_input(const JsonView& object) {
  Input input;
  ROOFTILE_TRY(input.kind, text_or(object, "kind"));
  ROOFTILE_TRY(input.name, text_or(object, "name"));
  ROOFTILE_TRY(input.origin, text_or(object, "origin"));
  ROOFTILE_TRY(input.sha256, text_or(object, "sha256"));
  ROOFTILE_TRY(input.file, text_or(object, "file"));
  ROOFTILE_TRY(input.replaces, text_or(object, "replaces"));
  return input;
}

Result<ProvenanceReport> read_provenance(const JsonView& object) {
  ProvenanceReport provenance;
  ROOFTILE_TRY(const JsonView version, object.at("version"));
  ROOFTILE_TRY(provenance.version, version.string());
  if (const auto commit = object.find("commit")) {
    ROOFTILE_TRY(provenance.commit, commit->string());
  }
  ROOFTILE_TRY(const JsonView inputs, object.at("inputs"));
  ROOFTILE_TRY(const auto elements, inputs.elements());
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(Input input, read_input(element));
    provenance.inputs.push_back(std::move(input));
  }
  return provenance;
}

/// A leaf as JSON; empty for null, objects and arrays.
std::string leaf(const JsonView& view) {
  if (const auto number = view.number()) return fmt::to_string(*number);
  if (const auto word = view.string()) return fmt::format("\"{}\"", *word);
  if (const auto flag = view.boolean()) return *flag ? "true" : "false";
  return {};
}

void compare(const JsonView& then, const std::optional<JsonView>& now,
             std::vector<ReplayDifference>& differences);

void compare_members(const JsonView& then, const JsonView& now,
                     std::vector<ReplayDifference>& differences) {
  const auto members = then.members();
  if (!members) return;
  for (const auto& [key, member] : *members) compare(member, now.find(key), differences);
}

void compare_elements(const JsonView& then, const JsonView& now,
                      std::vector<ReplayDifference>& differences) {
  const auto before = then.elements();
  const auto after = now.elements();
  if (!before || !after) return;
  if (before->size() != after->size()) {
    differences.push_back({.pointer = then.pointer(),
                           .then = fmt::format("{} entries", before->size()),
                           .now = fmt::format("{} entries", after->size())});
    return;
  }
  for (std::size_t i = 0; i < before->size(); ++i) {
    compare((*before)[i], (*after)[i], differences);
  }
}

void compare(const JsonView& then, const std::optional<JsonView>& now,
             std::vector<ReplayDifference>& differences) {
  if (now && then.is_object() && now->is_object()) return compare_members(then, *now, differences);
  if (now && then.is_array() && now->is_array()) return compare_elements(then, *now, differences);
  const std::string before = leaf(then);
  const std::string after = now ? leaf(*now) : std::string();
  const bool same_kind =
      !now || (then.is_object() == now->is_object() && then.is_array() == now->is_array());
  if (before == after && same_kind) return;
  differences.push_back({.pointer = then.pointer(), .then = before, .now = after});
}

/// "embedded", "file ./x.json"
std::string place(const Input& input) {
  return input.origin == "embedded" || input.file.empty()
             ? input.origin
             : fmt::format("{} {}", input.origin, input.file);
}

std::string sum_text(const Input& input) {
  return input.sha256.empty() ? "no file" : input.sha256.substr(0, 12);
}

/// What stands in `theirs` where `input` stands in `ours`: what is called the same, else one of its
/// kind that `ours` does not have.
std::vector<Input>::const_iterator counterpart(const Input& input, const ProvenanceReport& ours,
                                               const ProvenanceReport& theirs) {
  const auto find = [](const ProvenanceReport& where, const auto& matches) {
    return std::find_if(where.inputs.begin(), where.inputs.end(), matches);
  };
  const auto same = [](const Input& a, const Input& b) {
    return a.kind == b.kind && a.name == b.name;
  };
  const auto equal = find(theirs, [&](const Input& one) { return same(one, input); });
  if (equal != theirs.inputs.end()) return equal;
  return find(theirs, [&](const Input& one) {
    return one.kind == input.kind &&
           find(ours, [&](const Input& own) { return same(own, one); }) == ours.inputs.end();
  });
}

std::vector<std::string> changes_of(const ProvenanceReport& then, const ProvenanceReport& now) {
  std::vector<std::string> changes;
  if (then.version != now.version) {
    changes.push_back(fmt::format("version {} then, {} now", then.version, now.version));
  }
  if (then.commit != now.commit) {
    changes.push_back(fmt::format("commit {} then, {} now", then.commit.value_or("unknown"),
                                  now.commit.value_or("unknown")));
  }
  for (const Input& before : then.inputs) {
    const auto after = counterpart(before, then, now);
    if (after == now.inputs.end()) {
      changes.push_back(fmt::format("{} {} then, none now", before.kind, before.name));
      continue;
    }
    if (before.name != after->name || place(before) != place(*after)) {
      changes.push_back(fmt::format("{} {} ({}) then, {} ({}) now", before.kind, before.name,
                                    place(before), after->name, place(*after)));
    }
    if (before.sha256 != after->sha256) {
      changes.push_back(fmt::format("{} {}: SHA-256 {} then, {} now", before.kind, after->name,
                                    sum_text(before), sum_text(*after)));
    }
  }
  for (const Input& after : now.inputs) {
    if (counterpart(after, now, then) == then.inputs.end()) {
      changes.push_back(fmt::format("{} none then, {} now", after.kind, after.name));
    }
  }
  return changes;
}

/// The report asks for what cannot be had: its fault, not the command line's.
tl::unexpected<Error> in_report(Error error, const std::string& file) {
  if (error.code == ErrorCode::Usage) error.code = ErrorCode::BadInput;
  if (error.where.empty()) {
    error.where = file + ":/request";
  } else {
    error.message += fmt::format(" (needed by {})", file);
  }
  if (error.hint.empty()) {
    error.hint = "a replay reads the files that the report names: run it where the report was made";
  }
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<RecordedReport> parse_report(std::string_view text, const std::string& file) {
  ROOFTILE_TRY(JsonDocument document, JsonDocument::parse(text, file, kLimits));
  const JsonView root = document.root();
  const auto schema = root.find("schema");
  const auto request = root.find("request");
  const auto latency = root.find("latency");
  if (!schema || !request || !latency) {
    return root.error("is not a report of a prediction",
                      "rooftile predict MODEL --gpu GPU -o report.json writes one");
  }
  ROOFTILE_TRY(const std::int64_t version, schema->integer(0, 1 << 20));
  if (version != 1) {
    return schema->unsupported(fmt::format("schema {} is not supported", version),
                               "this version reads schema 1 (docs/format/report.md)");
  }
  ROOFTILE_TRY(Request asked, report::read_request(*request));
  ROOFTILE_TRY(const JsonView total, latency->at("total_ms"));
  ROOFTILE_TRY(const double total_ms, total.number());
  std::optional<ProvenanceReport> provenance;
  if (const auto object = root.find("provenance")) {
    ROOFTILE_TRY(provenance, read_provenance(*object));
  }
  return RecordedReport{.file = file,
                        .document = std::move(document),
                        .request = std::move(asked),
                        .total_ms = total_ms,
                        .provenance = std::move(provenance)};
}

Result<RecordedReport> load_report(const std::string& path) {
  ROOFTILE_TRY(const Catalog::File file, Catalog::read_path(path, kMostBytes));
  return parse_report(file.content, path);
}

std::vector<ReplayDifference> compare_results(const JsonView& then, const JsonView& now) {
  std::vector<ReplayDifference> differences;
  for (const std::string_view key : kResults) {
    if (const auto member = then.find(key)) compare(*member, now.find(key), differences);
  }
  return differences;
}

Result<Catalog> replay_catalog(const RecordedReport& recorded,
                               const std::vector<std::string>& folders) {
  Catalog catalog = Catalog::embedded();
  for (const std::string& folder : folders) ROOFTILE_CHECK(catalog.overlay(folder));
  if (!folders.empty()) return catalog;
  for (const std::string& folder : recorded.request.catalog) {
    if (Status added = catalog.overlay(folder); !added) {
      Error error = added.error();
      error.hint = "the report was made with this overlay: name its present folder with --catalog";
      return in_report(std::move(error), recorded.file);
    }
  }
  return catalog;
}

Result<report::ReplayReport> replay(const RecordedReport& recorded, const Session& session) {
  auto again = session.predict(recorded.request);
  if (!again) return in_report(again.error(), recorded.file);
  // Through text, as the report went: what is compared is what a reader sees.
  ROOFTILE_TRY(
      const JsonDocument now,
      JsonDocument::parse(report::write("json", report::describe(*again)), "replay", kLimits));
  report::ReplayReport result;
  result.file = recorded.file;
  result.then_ms = recorded.total_ms;
  result.now_ms = again->latency.total_ms;
  result.differences = compare_results(recorded.document.root(), now.root());
  result.provenance = again->provenance;
  result.warnings = again->warnings;
  if (recorded.provenance) {
    result.changes = changes_of(*recorded.provenance, again->provenance);
  } else {
    result.changes.emplace_back("the report does not say which version and which files it is from");
  }
  return result;
}

}  // namespace rooftile::study
