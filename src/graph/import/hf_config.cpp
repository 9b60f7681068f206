// SPDX-License-Identifier: Apache-2.0
//
// Hugging Face config.json: the key "model_type" selects the family (data/families). Keys that a
// family does not read are ignored, as in the library itself, unless one looks like a misspelling;
// the keys it reads are checked. "architectures" and a dtype that the graph does not follow become
// notes of the graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "core/text.h"
#include "graph/family/config_scope.h"
#include "graph/family/quantization.h"
#include "graph/family/template.h"
#include "graph/import/importer.h"
#include "graph/import/transformer.h"

namespace rooftile::graph {

namespace {

/// What the file's "architectures" asks for.
enum class HfHead : std::uint8_t {
  Usual,       ///< the head that the family adds
  None,        ///< GPT2Model and the like: hidden states only
  EncoderOnly  ///< T5EncoderModel
};

/// How a family's classes are called: Llama + ForCausalLM.
struct HfClasses {
  std::string prefix, infer, train;
  [[nodiscard]] std::string run_by(Step step) const {
    return prefix + (step == Step::Train ? train : infer);
  }
};

Result<HfClasses> classes_of(const Family& family) {
  HfClasses classes;
  ROOFTILE_TRY(classes.prefix, family.text("prefix"));
  ROOFTILE_TRY(classes.infer, family.text("infer_class"));
  ROOFTILE_TRY(classes.train, family.text("train_class"));
  if (classes.infer.empty()) classes.infer = "ForCausalLM";
  if (classes.train.empty()) classes.train = classes.infer;
  return classes;
}

/// The first of "architectures", which is what the library loads; empty when there is none.
Result<std::string> architecture_of(const JsonView& document) {
  const auto field = document.find("architectures");
  if (!field) return std::string{};
  ROOFTILE_TRY(const auto names, field->elements());
  if (names.empty()) return std::string{};
  return names.front().string();
}

/// Reads the head from the class name. A bare model has no loss, so it does not train.
Result<HfHead> read_head(const JsonView& document, const HfClasses& classes,
                         const std::string& name, Step step) {
  HfHead head = HfHead::Usual;
  if (name == classes.prefix + "Model") head = HfHead::None;
  if (name == classes.prefix + "EncoderModel") head = HfHead::EncoderOnly;
  if (head != HfHead::Usual && step == Step::Train) {
    ROOFTILE_TRY(const JsonView field, document.at("architectures"));
    return field.unsupported(fmt::format("{} has no head to train", name),
                             fmt::format("name {}, or use infer", classes.run_by(Step::Train)));
  }
  return head;
}

/// The file's own dtype, at its top or in the section of the language model.
Result<std::optional<std::pair<std::string, std::string>>> stated_dtype(const JsonView& document) {
  std::vector<JsonView> places{document};
  for (const std::string_view section : {"text_config", "llm_config"}) {
    if (const auto inner = document.find(section)) places.push_back(*inner);
  }
  for (const JsonView& place : places) {
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      const auto field = place.find(key);
      if (!field) continue;
      ROOFTILE_TRY(std::string text, field->string());
      if (text.starts_with("torch.")) text.erase(0, 6);
      return std::optional(std::pair(std::string(key), std::move(text)));
    }
  }
  return std::optional<std::pair<std::string, std::string>>();
}

/// What the file says and the graph does not follow.
Result<std::vector<std::string>> notes_on(const JsonView& document, const HfClasses& classes,
                                          const std::string& architecture, HfHead head,
                                          const ImportOptions& options) {
  std::vector<std::string> notes;
  const std::string runs = classes.run_by(options.step);
  // The old name of T5ForConditionalGeneration is still in published files.
  const bool same = architecture == runs || architecture == "T5WithLMHeadModel";
  if (!architecture.empty() && head == HfHead::Usual && !same) {
    notes.push_back(fmt::format("architecture: the file names {}, the graph of this step is {}",
                                printable(architecture), runs));
  }
  ROOFTILE_TRY(const auto stated, stated_dtype(document));
  if (stated) {
    const auto dtype = parse_dtype(stated->second);
    if (stated->second != "auto" && !(dtype && *dtype == options.dtype)) {
      notes.push_back(fmt::format("dtype: the file's {} is {}, the prediction is for {}",
                                  stated->first, printable(stated->second),
                                  name_of(options.dtype)));
    }
  }
  return notes;
}

/// The names that the request gives to a template.
void bind_step(ConfigScope& scope, const ImportOptions& options, HfHead head) {
  const auto is = [&](Step step) { return Value(options.step == step); };
  scope.bind("train", is(Step::Train));
  scope.bind("infer", is(Step::Infer));
  scope.bind("prefill", is(Step::Prefill));
  scope.bind("decode", is(Step::Decode));
  scope.bind("loss", Value(options.step == Step::Train && options.loss));
  scope.bind("flash", Value(options.attention == AttentionKind::Flash));
  scope.bind("logits", Value(head == HfHead::Usual));
  scope.bind("encoder_only", Value(head == HfHead::EncoderOnly));
  scope.bind("requested", Value(options.sequence));
}

void bind_tokens(ConfigScope& scope, const TokenCounts& tokens) {
  scope.bind("batch", Value(tokens.batch));
  scope.bind("queries", Value(tokens.queries));
  scope.bind("keys", Value(tokens.keys));
  scope.bind("cached", Value(tokens.cached));
}

/// "{heads} heads do not divide a width of {width}"
Result<std::string> filled_in(const JsonView& view, const ConfigScope& scope) {
  ROOFTILE_TRY(const std::string text, view.string());
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at);
    out += text.substr(at, open - at);
    if (open == std::string::npos) break;
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) return view.error("\"{\" without \"}\"");
    ROOFTILE_TRY(const Value value,
                 scope.value_of(std::string_view(text).substr(open + 1, close - open - 1)));
    out += value.printed();
    at = close + 1;
  }
  return out;
}

/// What a family demands of a configuration beyond the types of its keys.
Status run_checks(const ConfigScope& scope) {
  constexpr std::array<std::string_view, 6> kKeys{"require", "when", "at",
                                                  "message", "hint", "unsupported"};
  ROOFTILE_TRY(const auto checks, scope.family().all("checks"));
  for (const JsonView& check : checks) {
    ROOFTILE_CHECK(check.expect_keys(kKeys));
    if (const auto condition = check.find("when")) {
      ROOFTILE_TRY(const bool applies, scope.truth(*condition));
      if (!applies) continue;
    }
    ROOFTILE_TRY(const JsonView requirement, check.at("require"));
    ROOFTILE_TRY(const bool holds, scope.truth(requirement));
    if (holds) continue;
    ROOFTILE_TRY(const JsonView message_field, check.at("message"));
    ROOFTILE_TRY(std::string message, filled_in(message_field, scope));
    std::string hint;
    if (const auto field = check.find("hint")) {
      ROOFTILE_TRY(hint, filled_in(*field, scope));
    }
    const auto at = check.find("at");
    ROOFTILE_TRY(const std::string place, at ? at->string() : Result<std::string>(std::string{}));
    const JsonView where = scope.place_of(place);
    if (check.find("unsupported")) return where.unsupported(std::move(message), std::move(hint));
    return where.error(std::move(message), std::move(hint));
  }
  return {};
}

Status check_phase(const ConfigScope& scope, Step step) {
  const auto field = scope.family().find("phases");
  if (!field) return {};
  ROOFTILE_TRY(const auto phases, field->elements());
  std::vector<std::string> names;
  for (const JsonView& phase : phases) {
    ROOFTILE_TRY(std::string name, phase.string());
    if (name == name_of(step)) return {};
    names.push_back(std::move(name));
  }
  return scope.config().unsupported(fmt::format("an encoder has no {} phase", name_of(step)),
                                    fmt::format("use {}", fmt::join(names, " or ")));
}

/// Tokens of the request, within the model's positions; an image decides its own.
Result<TokenCounts> read_tokens(const ConfigScope& scope, ImportOptions options) {
  std::int64_t longest = 0;
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (const auto field = scope.family().find("positions")) {
    ROOFTILE_TRY(longest, scope.integer(*field, 0, kMost));
  }
  if (const auto field = scope.family().find("tokens")) {
    ROOFTILE_TRY(options.sequence, scope.integer(*field, 1, kMost));
  }
  return token_counts(options, longest, scope.config().where());
}

Status check_limits(const ConfigScope& scope, const TokenCounts& tokens) {
  const auto limits = scope.family().find("limits");
  if (!limits) return {};
  const auto read = [&](std::string_view key, std::int64_t fallback) -> Result<std::int64_t> {
    const auto field = limits->find(key);
    return field ? scope.integer(*field, 0, Shape::kMaxElements) : Result<std::int64_t>(fallback);
  };
  StepSizes sizes;
  ROOFTILE_TRY(sizes.heads, read("heads", 1));
  ROOFTILE_TRY(sizes.keys, read("keys", tokens.keys));
  ROOFTILE_TRY(sizes.widest, read("widest", 1));
  ROOFTILE_TRY(sizes.copies, read("copies", 1));
  sizes.copies = std::max<std::int64_t>(sizes.copies, 1);
  return check_step_sizes(tokens, sizes, scope.config().where());
}

}  // namespace

bool is_hf_config(const JsonView& document) {
  const bool sizes = document.find("hidden_size") && document.find("num_hidden_layers");
  return document.find("model_type") || document.find("architectures") || sizes;
}

namespace {

/// Old files have no model_type; the class says it: the family with the longest matching prefix.
Result<std::shared_ptr<const Family>> family_of_class(const std::string& name, Families& families) {
  std::shared_ptr<const Family> best;
  std::string longest;
  for (const std::string& file : families.names()) {
    ROOFTILE_TRY(const auto family, families.load(file));
    ROOFTILE_TRY(const std::string prefix, family->text("prefix"));
    if (family->model_types().empty() || prefix.size() <= longest.size()) continue;
    if (!name.starts_with(prefix)) continue;
    best = family;
    longest = prefix;
  }
  return best;
}

/// Files of 2019 say neither type nor class: the longest type in the file's own name, as
/// transformers itself reads them ("roberta-base.json", "roberta-base/config.json").
Result<std::shared_ptr<const Family>> family_of_file(const JsonView& document, Families& families) {
  const std::filesystem::path path(document.where().substr(0, document.where().rfind(':')));
  const std::string name =
      to_lower((path.parent_path().filename() / path.filename()).generic_string());
  ROOFTILE_TRY(const auto types, families.model_types());
  std::string longest;
  for (const std::string_view type : types) {
    if (type.size() > longest.size() && name.find(type) != std::string::npos) longest = type;
  }
  if (!longest.empty()) return families.find(longest);
  return document.unsupported("has neither \"model_type\" nor \"architectures\"",
                              "add \"model_type\", as in \"model_type\": \"bert\"");
}

/// The likeliest relative: a misspelling, or the longest common beginning of at least four letters.
std::optional<std::string_view> nearest_start(std::string_view text,
                                              const std::vector<std::string_view>& names) {
  if (const auto near = nearest(text, names)) return near;
  std::size_t longest = 3;
  std::optional<std::string_view> best;
  for (const std::string_view name : names) {
    const auto differ = std::mismatch(text.begin(), text.end(), name.begin(), name.end());
    const auto common = static_cast<std::size_t>(differ.first - text.begin());
    if (common <= longest) continue;
    longest = common;
    best = name;
  }
  return best;
}

constexpr std::string_view kWayOn =
    "a family is a data file, docs/howto/add_a_family.md shows how to add one";

}  // namespace

Result<std::shared_ptr<const Family>> family_of(const JsonView& document, Families& families) {
  const auto field = document.find("model_type");
  if (!field && !document.find("architectures")) return family_of_file(document, families);
  if (!field) {
    ROOFTILE_TRY(const std::string name, architecture_of(document));
    ROOFTILE_TRY(auto family, family_of_class(name, families));
    if (family) return family;
    ROOFTILE_TRY(const JsonView place, document.at("architectures"));
    return place.unsupported(fmt::format("no family has the class \"{}\"", printable(name)),
                             fmt::format("add \"model_type\"; {}", kWayOn));
  }
  ROOFTILE_TRY(const std::string type, field->string());
  ROOFTILE_TRY(auto family, families.find(type));
  if (family) return family;
  ROOFTILE_TRY(const auto types, families.model_types());
  const std::vector<std::string_view> names(types.begin(), types.end());
  const auto near = nearest_start(type, names);
  return field->unsupported(
      fmt::format("unsupported model_type \"{}\"", printable(type)),
      near ? fmt::format("the nearest supported one is \"{}\"; {}", *near, kWayOn)
           : fmt::format("supported: {}; {}", fmt::join(names, ", "), kWayOn));
}

Result<Graph> import_hf_config(const ModelSource& source, const ImportOptions& options) {
  const JsonView& document = source.document;
  const Family& family = *source.family;
  ROOFTILE_TRY(const HfClasses classes, classes_of(family));
  ROOFTILE_TRY(const std::string architecture, architecture_of(document));
  ROOFTILE_TRY(const HfHead head, read_head(document, classes, architecture, options.step));
  ConfigScope scope(document, family);
  const auto type = document.find("model_type");
  ROOFTILE_TRY(std::string model_type,
               type ? type->string() : Result<std::string>(family.model_types().front()));
  scope.bind("model_type", Value(model_type));
  scope.bind("architecture", Value(architecture));
  bind_step(scope, options, head);
  ROOFTILE_CHECK(scope.check_spelling());
  ROOFTILE_CHECK(scope.read_all());
  ROOFTILE_CHECK(run_checks(scope));
  ROOFTILE_CHECK(check_phase(scope, options.step));
  ROOFTILE_TRY(const TokenCounts tokens, read_tokens(scope, options));
  bind_tokens(scope, tokens);
  ROOFTILE_CHECK(check_limits(scope, tokens));
  std::string model = document.where();
  if (model.ends_with(":/")) model.resize(model.size() - 2);
  ROOFTILE_TRY(BuiltTemplate built, build_template(scope, options, model));
  Graph graph = std::move(built.graph);
  graph.sequence = tokens.queries;
  graph.context = tokens.keys - tokens.queries;
  if (!type && architecture.empty())
    graph.notes.push_back(
        fmt::format("model_type: missing from the file; its name says {}", model_type));
  graph.family = std::move(model_type);
  ROOFTILE_TRY(std::vector<std::string> notes,
               notes_on(document, classes, architecture, head, options));
  graph.notes.insert(graph.notes.begin(), notes.begin(), notes.end());
  ROOFTILE_CHECK(apply_quantization(graph, built.layers, source, options));
  for (std::string& note : scope.sizes().notes(classes.prefix + "Config")) {
    graph.notes.push_back(std::move(note));
  }
  return graph;
}

Result<std::optional<DType>> config_dtype(const JsonView& document) {
  ROOFTILE_TRY(const auto stated, stated_dtype(document));
  if (!stated) return std::optional<DType>();
  const auto dtype = parse_dtype(stated->second);
  return dtype ? std::optional(*dtype) : std::nullopt;
}

}  // namespace rooftile::graph
