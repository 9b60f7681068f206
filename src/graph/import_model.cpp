// SPDX-License-Identifier: Apache-2.0
#include "graph/import_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "core/json.h"
#include "core/provenance.h"
#include "core/text.h"
#include "graph/family/config_scope.h"
#include "graph/import/importer.h"

namespace rooftile::graph {

namespace {

// The import formats; a new one is a file in import/ and a line here.
constexpr std::array kImporters{
    Importer{.format = "Hugging Face config.json",
             .expects = "\"model_type\"",
             .recognizes = is_hf_config,
             .import = import_hf_config},
    Importer{.format = "native graph",
             .expects = "\"rooftile_graph\"",
             .recognizes = is_native_graph,
             .import = import_native_graph},
};

constexpr std::string_view kFolder = "models/";
constexpr std::string_view kExtension = ".json";

/// "GPT2_Large" and "gpt2-large" are one name.
std::string normalized(std::string_view name) {
  std::string text = to_lower(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

/// models/gpt2_large.json -> gpt2-large
std::string name_of_file(std::string_view relative) {
  relative.remove_prefix(kFolder.size());
  return normalized(relative.substr(0, relative.size() - kExtension.size()));
}

std::vector<std::string> model_files(const Catalog& catalog) {
  std::vector<std::string> files = catalog.list(kFolder);
  std::erase_if(files, [](const std::string& file) { return !file.ends_with(kExtension); });
  return files;
}

/// What a shipped file says about itself in its "rooftile" object.
struct Card {
  std::vector<std::string> aliases;
  std::string description;
};

Result<Card> read_card(const JsonView& document) {
  Card card;
  const auto object = document.find("rooftile");
  if (!object) return card;
  constexpr std::array<std::string_view, 2> kKeys{"aliases", "description"};
  ROOFTILE_CHECK(object->expect_keys(kKeys));
  if (const auto text = object->find("description")) {
    ROOFTILE_TRY(card.description, text->string());
  }
  if (const auto list = object->find("aliases")) {
    ROOFTILE_TRY(const auto elements, list->elements());
    for (const JsonView& element : elements) {
      ROOFTILE_TRY(std::string alias, element.string());
      card.aliases.push_back(std::move(alias));
    }
  }
  return card;
}

Result<Graph> import_document(const ModelSource& source, std::string model,
                              const ImportOptions& options) {
  const JsonView& root = source.document;
  for (const Importer& importer : kImporters) {
    if (!importer.recognizes(root)) continue;
    ROOFTILE_TRY(Graph graph, importer.import(source, options));
    graph.name = std::move(model);
    graph.step = options.step;
    graph.dtype = options.dtype;
    graph.batch = options.batch;
    ROOFTILE_CHECK(validate(graph));
    return graph;
  }
  std::vector<std::string> formats;
  for (const Importer& importer : kImporters) {
    formats.push_back(fmt::format("{} (has {})", importer.format, importer.expects));
  }
  return root.error("this is not a known model format",
                    fmt::format("known formats: {}", fmt::join(formats, ", ")));
}

/// Python writes numbers that JSON does not have: NaN, Infinity and -Infinity become null, which is
/// "not given". Only outside strings.
std::string without_python_numbers(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      out.append(text.substr(i, 2));
      i += 2;
      continue;
    }
    if (c == '"') quoted = !quoted;
    std::size_t skip = 0;
    if (!quoted) {
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        if (skip == 0 && text.substr(i).starts_with(word)) skip = word.size();
      }
    }
    if (skip > 0) {
      out += "null";
      i += skip;
    } else {
      out += c;
      ++i;
    }
  }
  return out;
}

/// A model's file; what Python writes and JSON does not know is read too.
Result<JsonDocument> parse_model(std::string_view text, const std::string& name) {
  auto document = JsonDocument::parse(text, name);
  const bool python =
      text.find("Infinity") != std::string_view::npos || text.find("NaN") != std::string_view::npos;
  if (document || !python) return document;
  auto again = JsonDocument::parse(without_python_numbers(text), name);
  return again ? std::move(again) : std::move(document);
}

bool looks_like_path(std::string_view model) {
  std::error_code failure;
  const std::filesystem::path path(model);
  return model.find('/') != std::string_view::npos || model.ends_with(kExtension) ||
         std::filesystem::is_regular_file(path, failure) ||
         std::filesystem::is_regular_file(path / "config.json", failure);
}

/// A catalogue file that answers to a name, and the one of an earlier layer that it hides.
class Found {
 public:
  explicit Found(const Catalog& catalog) : catalog_(&catalog) {}
  void add(const std::string& file) {
    if (file_.empty()) {
      file_ = file;
    } else if (catalog_->layer(file) != catalog_->layer(file_)) {  // the user's own comes first
      const bool wins = catalog_->layer(file) > catalog_->layer(file_);
      hidden_ = catalog_->name_of(wins ? file_ : file);
      if (!wins) return;
      file_ = file;
      rival_.clear();
    } else if (file != file_) {
      rival_ = catalog_->name_of(file);
    }
  }
  [[nodiscard]] bool empty() const { return file_.empty(); }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] Result<Catalog::File> read() const {
    if (!rival_.empty())
      return bad_input(rival_,
                       fmt::format("answers to the same name as {}", catalog_->name_of(file_)),
                       "rename one of them, or give the path of the one that is meant");
    ROOFTILE_TRY(Catalog::File file, catalog_->read(file_));
    if (file.replaces.empty()) file.replaces = hidden_;
    return file;
  }

 private:
  const Catalog* catalog_;
  std::string file_, hidden_;
  std::string rival_;  ///< of the same layer: nothing says which one is meant
};

/// The catalogue file of a built-in model by name or alias.
Result<Found> find_builtin(const Catalog& catalog, std::string_view model) {
  const std::string wanted = normalized(model);
  const std::vector<std::string> files = model_files(catalog);
  Found found(catalog);
  for (const std::string& file : files) {
    if (name_of_file(file) == wanted) found.add(file);
  }
  if (!found.empty()) return found;
  for (const std::string& file : files) {
    ROOFTILE_TRY(const Catalog::File content, catalog.read(file));
    ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(content.content, content.name));
    ROOFTILE_TRY(const Card card, read_card(document.root()));
    for (const std::string& alias : card.aliases) {
      if (normalized(alias) == wanted) found.add(file);
    }
  }
  return found;
}

tl::unexpected<Error> unknown_model(const Catalog& catalog, std::string_view model) {
  const std::vector<std::string> files = model_files(catalog);
  std::vector<std::string> names;
  for (const std::string& file : files) names.push_back(name_of_file(file));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string wanted = normalized(model);
  const auto near = nearest(wanted, views);
  return bad_input({}, fmt::format("unknown model \"{}\"", printable(model)),
                   near ? fmt::format("did you mean \"{}\"?", *near)
                        : "`rooftile models` lists the built-in ones; a model can also be the "
                          "path of a Hugging Face config.json");
}

}  // namespace

std::string_view name_of(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::Eager: return "eager";
    case AttentionKind::Flash: return "flash";
  }
  return "?";
}

Result<AttentionKind> parse_attention(std::string_view text) {
  if (text == "eager") return AttentionKind::Eager;
  if (text == "flash") return AttentionKind::Flash;
  return bad_input({}, fmt::format("unknown attention \"{}\"", printable(text)), "eager or flash");
}

Result<Graph> import_text(std::string_view text, const std::string& name,
                          const ImportOptions& options) {
  const Catalog catalog = Catalog::embedded();
  Families families(catalog);
  return import_text(text, name, options, families);
}

Result<Graph> import_text(std::string_view text, const std::string& name,
                          const ImportOptions& options, Families& families) {
  ROOFTILE_TRY(const JsonDocument document, parse_model(text, name));
  const JsonView root = document.root();
  std::shared_ptr<const Family> family;
  if (is_hf_config(root)) {
    ROOFTILE_TRY(family, family_of(root, families));
  }
  return import_document({.document = root, .quantization = {}, .family = family.get()}, name,
                         options);
}

namespace {

constexpr std::string_view kConfigFile = "config.json";
/// Where a model of several parts describes the one that works on tokens.
constexpr std::array<std::string_view, 5> kLanguageSections{
    "text_config", "llm_config", "language_config", "lm_config", "thinker_config/text_config"};
constexpr std::string_view kQuantizationFile = "hf_quant_config.json";
constexpr std::string_view kQuantizationExtension = ".hf_quant.json";

/// meta-llama/Llama-3.1-8B: what may be a name of the catalogue although it has a '/'.
bool is_repository_name(std::string_view model) {
  return std::count(model.begin(), model.end(), '/') == 1 && model.front() != '/' &&
         model.front() != '.' && !model.ends_with('/') && !model.ends_with(kExtension);
}

/// The folder's config.json, or the path itself.
Result<std::string> config_path(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) return path;
  const std::filesystem::path config = std::filesystem::path(path) / kConfigFile;
  if (std::filesystem::is_regular_file(config, failure)) return config.string();
  return bad_input(path, "this folder has no config.json",
                   "give the folder of a Hugging Face model, or a file");
}

/// The file that says how the model next to it is quantized: hf_quant_config.json for config.json,
/// NAME.hf_quant.json for NAME.json.
std::string quantization_of(const std::string& path) {
  const std::filesystem::path config(path);
  std::filesystem::path beside = config.parent_path() / kQuantizationFile;
  if (config.filename() != kConfigFile)
    beside = config.parent_path() / (config.stem().string() + std::string(kQuantizationExtension));
  std::error_code failure;
  return std::filesystem::is_regular_file(beside, failure) ? beside.string() : std::string();
}

}  // namespace

Status Model::read_quantization(const std::string& path) {
  if (path.empty()) return {};
  ROOFTILE_TRY(const Catalog::File file, Catalog::read_path(path));
  ROOFTILE_TRY(quantization_, JsonDocument::parse(file.content, path));
  inputs_.push_back(make_input("quantization", path, file));
  return {};
}

JsonView Model::language() const {
  const JsonView root = document_.root();
  return section_.empty() ? root : find_path(root, section_).value_or(root);
}

Status Model::find_family(const Catalog& catalog) {
  const JsonView root = document_.root();
  if (!is_hf_config(root)) return {};
  Families families(catalog);
  auto family = family_of(root, families);
  // A wrapper of a language model that is known, with an encoder that is not.
  for (const std::string_view section : kLanguageSections) {
    if (family) break;
    const auto inner = find_path(root, section);
    if (family.error().code != ErrorCode::Unsupported || !inner || !inner->is_object() ||
        !inner->find("model_type")) {
      continue;
    }
    auto known = family_of(*inner, families);
    if (!known) continue;
    section_ = section;
    family = std::move(known);
  }
  ROOFTILE_TRY(family_, std::move(family));
  inputs_.insert(inputs_.end(), family_->inputs().begin(), family_->inputs().end());
  ROOFTILE_TRY(dtype_, config_dtype(language()));
  if (!dtype_) {
    ROOFTILE_TRY(dtype_, config_dtype(root));
  }
  ROOFTILE_TRY(const std::string input, family_->text("input"));
  is_language_ = input.empty() || input == "tokens";
  return {};
}

Result<Model> Model::open(const Catalog& catalog, std::string_view model) {
  std::error_code failure;
  const bool exists = std::filesystem::exists(std::filesystem::path(model), failure);
  if (looks_like_path(model) && (exists || !is_repository_name(model))) {
    const std::string given(model);
    if (to_lower(given).ends_with(".onnx")) {
      ROOFTILE_CHECK(Catalog::read_path(given));
      return unsupported(given, "ONNX files are not read",
                         "give the model's Hugging Face config.json, or describe it as a native "
                         "graph (docs/format/graph.md)");
    }
    ROOFTILE_TRY(const std::string path, config_path(given));
    ROOFTILE_TRY(const Catalog::File file, Catalog::read_path(path));
    ROOFTILE_TRY(JsonDocument document, parse_model(file.content, path));
    Model opened(std::move(document), given);
    opened.inputs_.push_back(make_input("model", opened.name_, file));
    ROOFTILE_CHECK(opened.read_quantization(quantization_of(path)));
    ROOFTILE_CHECK(opened.find_family(catalog));
    return opened;
  }
  ROOFTILE_TRY(const Found found, find_builtin(catalog, model));
  if (found.empty()) return unknown_model(catalog, model);
  ROOFTILE_TRY(const Catalog::File file, found.read());
  ROOFTILE_TRY(JsonDocument document, JsonDocument::parse(file.content, file.name));
  Model opened(std::move(document), name_of_file(found.file()));
  opened.inputs_.push_back(make_input("model", opened.name_, file));
  ROOFTILE_CHECK(opened.find_family(catalog));
  return opened;
}

Result<Graph> Model::import(const ImportOptions& options) const {
  const JsonView view = language();
  ModelSource source{.document = view, .quantization = {}, .family = family_.get()};
  if (quantization_) {
    source.quantization = quantization_->root();
  } else if (!section_.empty()) {
    source.quantization = document_.root().find("quantization_config");
  }
  ROOFTILE_TRY(Graph graph, import_document(source, name_, options));
  if (!section_.empty()) {
    graph.notes.push_back(
        fmt::format("model_type: this is the {} alone ({}), the model around it is not known; an "
                    "encoder next to it is neither counted nor run",
                    section_, family_->name()));
  }
  graph.inputs = inputs_;
  return graph;
}

Result<Graph> import_model(const Catalog& catalog, std::string_view model,
                           const ImportOptions& options) {
  ROOFTILE_TRY(const Model opened, Model::open(catalog, model));
  return opened.import(options);
}

Result<std::vector<ModelSummary>> list_models(const Catalog& catalog) {
  std::map<std::string, Found> files;  // by name: a user's file hides the built-in one
  for (const std::string& file : model_files(catalog)) {
    files.try_emplace(name_of_file(file), catalog).first->second.add(file);
  }
  std::vector<ModelSummary> models;
  Families families(catalog);
  for (const auto& [name, file] : files) {
    ROOFTILE_TRY(const Catalog::File content, file.read());
    ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(content.content, content.name));
    ROOFTILE_TRY(Card card, read_card(document.root()));
    ImportOptions options;
    options.step = Step::Train;  // with all heads that carry parameters
    const JsonView root = document.root();
    std::shared_ptr<const Family> family;
    if (is_hf_config(root)) {
      ROOFTILE_TRY(family, family_of(root, families));
    }
    ROOFTILE_TRY(const Graph graph,
                 import_document({.document = root, .quantization = {}, .family = family.get()},
                                 name, options));
    models.push_back({.name = graph.name,
                      .family = graph.family,
                      .parameters = graph.parameters + graph.idle_parameters,
                      .aliases = std::move(card.aliases),
                      .description = std::move(card.description),
                      .input = make_input("model", name, content)});
  }
  return models;
}

}  // namespace rooftile::graph
