// SPDX-License-Identifier: Apache-2.0
//
// From the name of a model to its graph. A model is a built-in name (data/models through the
// catalogue), or the path of a file; the importer is chosen by the file's content from one table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/catalog.h"
#include "core/dtype.h"
#include "core/json.h"
#include "core/result.h"
#include "graph/graph.h"

namespace rooftile::graph {

class Family;
class Families;

enum class AttentionKind : std::uint8_t {
  Eager,  ///< scores are written to memory: two batched products, scaling, mask, softmax
  Flash   ///< one fused kernel
};
/// eager flash
std::string_view name_of(AttentionKind kind);
Result<AttentionKind> parse_attention(std::string_view text);

struct ImportOptions {
  Step step = Step::Infer;
  std::int64_t batch = 1;
  /// Tokens per sequence (train, infer, prefill); for images it is ignored. 0 = the model's own
  /// default: its longest sequence, at most 1024.
  std::int64_t sequence = 0;
  /// Decode: tokens already in the cache of each sequence. 0 = as `sequence`, less the new token
  /// where the model has no further position.
  std::int64_t context = 0;
  DType dtype = DType::Fp32;
  AttentionKind attention = AttentionKind::Eager;
  bool loss = true;  ///< training: cross entropy over the logits
  /// Formats that replace those of the file: of the key/value cache, and of the weights of products
  /// (graph/family/quantization.h). "none" leaves the weights in the dtype.
  std::optional<DType> kv_dtype = {};
  std::optional<std::string> weight_format = {};
};

/// A model's file, read and parsed: graphs for different batches and sequences come from one.
class Model {
 public:
  /// Unknown names suggest the nearest built-in one.
  static Result<Model> open(const Catalog& catalog, std::string_view model);

  /// A graph, validated.
  [[nodiscard]] Result<Graph> import(const ImportOptions& options) const;
  /// The model's file first, then those that it was read with.
  [[nodiscard]] const std::vector<Input>& inputs() const { return inputs_; }
  /// The dtype that a config.json states, where it does.
  [[nodiscard]] std::optional<DType> dtype() const { return dtype_; }
  /// A language model: what works on tokens, not on images.
  [[nodiscard]] bool is_language() const { return is_language_; }

 private:
  Model(JsonDocument document, std::string name)
      : document_(std::move(document)), name_(std::move(name)) {}
  Status read_quantization(const std::string& path);
  Status find_family(const Catalog& catalog);
  /// The document, or the part of it that the family is of.
  [[nodiscard]] JsonView language() const;

  JsonDocument document_;
  std::optional<JsonDocument> quantization_;  ///< of the file next to a config.json
  std::shared_ptr<const Family> family_;      ///< of a config.json
  std::string section_;  ///< of a model whose own type is not known: its language model
  std::string name_;     ///< of its graphs
  std::vector<Input> inputs_;
  std::optional<DType> dtype_;
  bool is_language_ = false;
};

/// Model::open() and import() for a single graph.
Result<Graph> import_model(const Catalog& catalog, std::string_view model,
                           const ImportOptions& options);

/// The same from a document in memory; `name` is what errors call it, and the families are those
/// that are built in.
Result<Graph> import_text(std::string_view text, const std::string& name,
                          const ImportOptions& options);
Result<Graph> import_text(std::string_view text, const std::string& name,
                          const ImportOptions& options, Families& families);

struct ModelSummary {
  std::string name;    ///< as `import_model` takes it: "gpt2-large"
  std::string family;  ///< "gpt2", "llama", "cnn", ...
  std::int64_t parameters = 0;
  std::vector<std::string> aliases;
  std::string description;
  Input input;  ///< the record of its file
};

/// All built-in models, sorted by name.
Result<std::vector<ModelSummary>> list_models(const Catalog& catalog);

}  // namespace rooftile::graph
