// SPDX-License-Identifier: Apache-2.0
#include "execution/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/json.h"
#include "core/provenance.h"
#include "core/text.h"
#include "execution/fuse.h"
#include "execution/merge.h"

namespace rooftile::execution {

namespace {

constexpr std::string_view kStackFolder = "stacks/";
constexpr std::string_view kStackExtension = ".json";
constexpr std::size_t kMostStackBytes = 1 << 16;

struct FusionWord {
  std::string_view word;
  bool Fusions::* flag;
};
constexpr std::array kFusionWords{
    FusionWord{"vector", &Fusions::vector}, FusionWord{"linear", &Fusions::linear},
    FusionWord{"rotary", &Fusions::rotary}, FusionWord{"norm", &Fusions::norm}};

constexpr std::array kExecutions{std::pair{std::string_view("eager"), Execution::Eager},
                                 std::pair{std::string_view("compiled"), Execution::Compiled}};
constexpr std::array kAllReduces{std::pair{std::string_view("library"), AllReduce::Library},
                                 std::pair{std::string_view("one_shot"), AllReduce::OneShot}};

/// The value of a word of `table`; others are errors that name the nearest.
template <typename T, std::size_t N>
Result<T> word_of(const JsonView& member,
                  const std::array<std::pair<std::string_view, T>, N>& table) {
  ROOFTILE_TRY(const std::string text, member.string());
  std::vector<std::string_view> known;
  for (const auto& [word, value] : table) {
    if (text == word) return value;
    known.push_back(word);
  }
  return member.error(fmt::format("unknown word \"{}\"", printable(text)),
                      did_you_mean(text, known, "it is one of"));
}

Result<std::vector<std::string>> texts(const JsonView& root, std::string_view key) {
  std::vector<std::string> list;
  const auto member = root.find(key);
  if (!member) return list;
  ROOFTILE_TRY(const auto elements, member->elements());
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(std::string text, element.string());
    if (trim(text).empty()) return element.error("is empty");
    list.push_back(std::move(text));
  }
  return list;
}

Status read_fusions(const JsonView& member, Fusions& fusions) {
  ROOFTILE_TRY(const auto elements, member.elements());
  std::vector<std::string_view> known;
  for (const FusionWord& word : kFusionWords) known.push_back(word.word);
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(const std::string text, element.string());
    const auto* const word = std::find_if(kFusionWords.begin(), kFusionWords.end(),
                                          [&](const FusionWord& w) { return w.word == text; });
    if (word == kFusionWords.end()) {
      return element.error(fmt::format("unknown fusion \"{}\"", printable(text)),
                           did_you_mean(text, known, "fusions are"));
    }
    fusions.*(word->flag) = true;
  }
  return {};
}

Status read_captured(const JsonView& member, std::vector<graph::Step>& captured) {
  ROOFTILE_TRY(const auto elements, member.elements());
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(const std::string text, element.string());
    const auto step = graph::parse_step(text);
    if (!step) return element.error(step.error().message, step.error().hint);
    captured.push_back(*step);
  }
  return {};
}

Result<graph::AttentionKind> attention_kind(const JsonView& member) {
  ROOFTILE_TRY(const std::string text, member.string());
  const auto kind = graph::parse_attention(text);
  if (!kind) return member.error(kind.error().message, kind.error().hint);
  return *kind;
}

Status read_kernels(const JsonView& root, Stack& stack) {
  ROOFTILE_TRY(const JsonView execution, root.at("kernels"));
  ROOFTILE_TRY(stack.execution, word_of(execution, kExecutions));
  ROOFTILE_TRY(const JsonView attention, root.at("attention"));
  ROOFTILE_TRY(stack.attention, attention_kind(attention));
  if (const auto by_phase = root.find("attention_by_phase")) {
    ROOFTILE_TRY(const auto members, by_phase->members());
    for (const auto& [phase, member] : members) {
      const auto step = graph::parse_step(phase);
      if (!step) return member.error(step.error().message, step.error().hint);
      ROOFTILE_TRY(const graph::AttentionKind kind, attention_kind(member));
      stack.attention_by_phase.emplace_back(*step, kind);
    }
  }
  if (const auto fusions = root.find("fusions")) {
    ROOFTILE_CHECK(read_fusions(*fusions, stack.fusions));
  }
  if (const auto captured = root.find("captured")) {
    ROOFTILE_CHECK(read_captured(*captured, stack.captured));
  }
  if (const auto all_reduce = root.find("all_reduce")) {
    ROOFTILE_TRY(stack.all_reduce, word_of(*all_reduce, kAllReduces));
  }
  return {};
}

bool goes_by(const Stack& stack, std::string_view wanted) {
  const std::string name = to_lower(wanted);
  return name == stack.id ||
         std::find(stack.aliases.begin(), stack.aliases.end(), name) != stack.aliases.end();
}

Result<Stack> parse_stack_file(const Catalog::File& file) {
  ROOFTILE_TRY(Stack stack, parse_stack(file.content, file.name));
  stack.input = make_input("stack", stack.id, file);
  return stack;
}

}  // namespace

bool Stack::captures(graph::Step step) const {
  return std::find(captured.begin(), captured.end(), step) != captured.end();
}

graph::AttentionKind Stack::attention_of(graph::Step step) const {
  for (const auto& [phase, kind] : attention_by_phase) {
    if (phase == step) return kind;
  }
  return attention;
}

Result<Stack> parse_stack(std::string_view text, const std::string& file) {
  static constexpr std::array<std::string_view, 11> kKeys{
      "schema",   "id",         "name",      "aliases",
      "kernels",  "fusions",    "attention", "attention_by_phase",
      "captured", "all_reduce", "sources"};
  Stack stack;
  ROOFTILE_TRY(const JsonDocument document,
               JsonDocument::parse(text, file, {.max_depth = 8, .max_bytes = kMostStackBytes}));
  const JsonView root = document.root();
  ROOFTILE_CHECK(root.expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView schema, root.at("schema"));
  ROOFTILE_CHECK(schema.integer(1, 1));
  for (const auto& [key, field] : {std::pair("id", &Stack::id), std::pair("name", &Stack::name)}) {
    ROOFTILE_TRY(const JsonView member, root.at(key));
    ROOFTILE_TRY(stack.*field, member.string());
    if (trim(stack.*field).empty()) return member.error("is empty");
  }
  ROOFTILE_TRY(stack.aliases, texts(root, "aliases"));
  ROOFTILE_CHECK(read_kernels(root, stack));
  ROOFTILE_TRY(stack.sources, texts(root, "sources"));
  if (stack.sources.empty()) {
    return root.error("\"sources\" is missing or empty", "say where the facts come from");
  }
  return stack;
}

Result<std::vector<Stack>> list_stacks(const Catalog& catalog) {
  std::vector<Stack> stacks;
  for (const std::string& name : catalog.list(kStackFolder)) {
    if (!name.ends_with(kStackExtension)) continue;
    ROOFTILE_TRY(const Catalog::File file, catalog.read(name));
    ROOFTILE_TRY(Stack stack, parse_stack_file(file));
    const auto same = std::find_if(stacks.begin(), stacks.end(),
                                   [&](const Stack& s) { return s.id == stack.id; });
    if (same != stacks.end()) {
      return bad_input(file.name, fmt::format("the id \"{}\" is used twice", stack.id),
                       "give the stack another id");
    }
    stacks.push_back(std::move(stack));
  }
  std::sort(stacks.begin(), stacks.end(),
            [](const Stack& a, const Stack& b) { return a.id < b.id; });
  return stacks;
}

Result<Stack> load_stack(const Catalog& catalog, std::string_view name_or_path) {
  if (name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(kStackExtension)) {
    ROOFTILE_TRY(const Catalog::File file,
                 Catalog::read_path(std::string(name_or_path), kMostStackBytes));
    return parse_stack_file(file);
  }
  ROOFTILE_TRY(std::vector<Stack> stacks, list_stacks(catalog));
  std::vector<std::string_view> known;
  for (Stack& stack : stacks) {
    if (goes_by(stack, name_or_path)) return std::move(stack);
    known.push_back(stack.id);
    known.insert(known.end(), stack.aliases.begin(), stack.aliases.end());
  }
  return usage_error(fmt::format("unknown stack \"{}\"", printable(std::string(name_or_path))),
                     did_you_mean(std::string(name_or_path), known, "stacks are"));
}

graph::Graph fused_by(const Stack& stack, const graph::Graph& graph) {
  const Fusions& f = stack.fusions;
  graph::Graph result = graph;
  if (f.vector) result = fuse(result);
  if (f.linear) result = merge_linear(result);
  if (f.rotary) result = merge_rotary(result);
  if (f.norm) result = carry_norms(result);
  return result;
}

}  // namespace rooftile::execution
