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

Result<Graph> import_document(const JsonView& root, std::string model,
                              const ImportOptions& options) {
  for (const Importer& importer : kImporters) {
    if (!importer.recognizes(root)) continue;
    ROOFTILE_TRY(Graph graph, importer.import(root, options));
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

bool looks_like_path(std::string_view model) {
  std::error_code failure;
  return model.find('/') != std::string_view::npos || model.ends_with(kExtension) ||
         std::filesystem::is_regular_file(std::filesystem::path(model), failure);
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
  ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(text, name));
  return import_document(document.root(), name, options);
}

Result<Model> Model::open(const Catalog& catalog, std::string_view model) {
  if (looks_like_path(model)) {
    const std::string path(model);
    ROOFTILE_TRY(const Catalog::File file, Catalog::read_path(path));
    if (to_lower(path).ends_with(".onnx")) {
      return unsupported(path, "ONNX files are not read",
                         "give the model's Hugging Face config.json, or describe it as a native "
                         "graph (docs/format/graph.md)");
    }
    ROOFTILE_TRY(JsonDocument document, JsonDocument::parse(file.content, path));
    Model opened(std::move(document), path);
    opened.input_ = make_input("model", opened.name_, file);
    return opened;
  }
  ROOFTILE_TRY(const Found found, find_builtin(catalog, model));
  if (found.empty()) return unknown_model(catalog, model);
  ROOFTILE_TRY(const Catalog::File file, found.read());
  ROOFTILE_TRY(JsonDocument document, JsonDocument::parse(file.content, file.name));
  Model opened(std::move(document), name_of_file(found.file()));
  opened.input_ = make_input("model", opened.name_, file);
  return opened;
}

std::optional<DType> Model::dtype() const {
  for (const std::string_view key : {"dtype", "torch_dtype"}) {
    const auto stated = document_.root().find(key);
    const auto name = stated ? stated->string() : Result<std::string>(std::string());
    if (!name || name->empty()) continue;
    if (*name == "float32") return DType::Fp32;
    if (*name == "float16") return DType::Fp16;
    if (*name == "bfloat16") return DType::Bf16;
  }
  return std::nullopt;
}

bool Model::is_language() const {
  const auto type = document_.root().find("model_type");
  const auto name = type ? type->string() : Result<std::string>(std::string("vit"));
  return !name || *name != "vit";
}

Result<Graph> Model::import(const ImportOptions& options) const {
  ROOFTILE_TRY(Graph graph, import_document(document_.root(), name_, options));
  graph.input = input_;
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
  for (const auto& [name, file] : files) {
    ROOFTILE_TRY(const Catalog::File content, file.read());
    ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(content.content, content.name));
    ROOFTILE_TRY(Card card, read_card(document.root()));
    ImportOptions options;
    options.step = Step::Train;  // with all heads that carry parameters
    ROOFTILE_TRY(const Graph graph, import_document(document.root(), name, options));
    models.push_back({.name = graph.name,
                      .family = graph.family,
                      .parameters = graph.parameters,
                      .aliases = std::move(card.aliases),
                      .description = std::move(card.description),
                      .input = make_input("model", name, content)});
  }
  return models;
}

}  // namespace rooftile::graph
