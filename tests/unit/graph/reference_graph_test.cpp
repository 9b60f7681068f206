// SPDX-License-Identifier: Apache-2.0
//
// Our FP32 eager graphs against the published operator graphs of [Lee25], kernel by kernel: the
// multiset of (phase, operator, dimensions). Where the published graph records work that the
// framework does not do, or misses work that it does, one named rule below corrects it; the rules
// and the evidence for each are listed in docs/theory/graphs.md. Everything else must be equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "core/csv.h"
#include "core/file.h"
#include "execution/launches.h"
#include "graph/import_model.h"
#include "shared_data.h"

namespace rooftile::graph {
namespace {

/// A Python literal: a number, a string, or a list or tuple of literals.
struct Literal {
  std::string text = {};
  std::int64_t number = 0;
  std::vector<Literal> items = {};
};

class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : text_(text) {}

  Literal parse() {
    skip();
    Literal value;
    const char c = text_[at_];
    if (c == '[' || c == '(' || c == '{') {
      const char close = c == '[' ? ']' : (c == '(' ? ')' : '}');
      ++at_;
      for (skip(); text_[at_] != close; skip()) value.items.push_back(parse());
      ++at_;
    } else if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      value.text = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
    } else if (text_.substr(at_, 5) == "set()") {
      at_ += 5;
    } else {
      std::size_t used = 0;
      value.number = std::stoll(std::string(text_.substr(at_, 20)), &used);
      at_ += used;
    }
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == ',')) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

std::int64_t product(const Literal& shape) {
  std::int64_t elements = 1;
  for (const Literal& size : shape.items) elements *= size.number;
  return elements;
}

struct Row {
  std::string name, op;
  Literal forward, backward, accumulate, inputs, output;
  std::vector<std::string> producers = {};
  bool gradient = false;  ///< depends on a parameter by differentiable operations
};

std::vector<Row> read_rows(const std::string& path) {
  auto csv = CsvReader::open(path, {});
  EXPECT_TRUE(csv.has_value());
  std::vector<Row> rows;
  bool header = true;
  while (csv->next().value_or(false)) {
    if (std::exchange(header, false)) continue;
    const auto literal = [&](std::size_t i) { return LiteralParser((*csv)[i]).parse(); };
    Row row{.name = std::string((*csv)[0]),
            .op = std::string((*csv)[1]),
            .forward = literal(2),
            .backward = literal(3),
            .accumulate = literal(4),
            .inputs = literal(7),
            .output = literal(8)};
    for (const Literal& producer : literal(5).items) row.producers.push_back(producer.text);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Marks the rows through which a gradient flows: from parameters, through everything but
/// comparisons, indices, sizes and freshly made tensors.
void mark_gradients(std::vector<Row>& rows) {
  static const std::regex kNoGradient(
      "(size|dim|eq|ne|lt|le|argmax|one_hot|bool|count_nonzero|arange|ones|zeros|full|empty_like|"
      "uniform_|min|float|cumsum)(_.*)?|(input_ids|decoder_input_ids|.*attention_mask)");
  std::map<std::string, const Row*> by_name;
  for (Row& row : rows) {
    const bool parameter = row.op == "EMBEDDING" || row.op == "Linear" || row.op == "Weight" ||
                           row.op == "VECln" || row.name.find("embed") != std::string::npos ||
                           row.name.ends_with("_wpe");
    const bool size = row.name.starts_with("getattr") && product(row.output) == 1;
    row.gradient = parameter;
    for (const std::string& producer : row.producers) {
      const auto found = by_name.find(producer);
      if (found != by_name.end() && found->second->gradient) row.gradient = true;
    }
    const bool integer = std::regex_match(row.name, kNoGradient) && row.name.rfind("float", 0) != 0;
    if (!parameter && (size || integer)) row.gradient = false;
    by_name[row.name] = &row;
  }
}

using Counts = std::map<std::string, std::int64_t>;

/// "linear m n k", "bmm b m n k", "move elements" or "op rows columns".
std::string key_of(const Literal& record) {
  const std::string& op = record.items[0].text;
  const auto& sizes = record.items[1].items;
  const auto at = [&](std::size_t i) { return std::to_string(sizes[i].number); };
  if (op == "Linear") return "linear " + at(0) + " " + at(2) + " " + at(1);  // given as m k n
  if (op == "BMM") return "bmm " + at(0) + " " + at(1) + " " + at(3) + " " + at(2);
  if (op == "MEM") {
    std::int64_t largest = 0;
    for (const Literal& shape : sizes) largest = std::max(largest, product(shape));
    return "move " + std::to_string(largest);
  }
  return op.substr(3) + " " + at(0) + " " + at(1);  // VECmulu -> mulu
}

class Reference {
 public:
  Reference(std::string model, bool train) : model_(std::move(model)), train_(train) {}

  Counts read(const std::string& path) {
    std::vector<Row> rows = read_rows(path);
    mark_gradients(rows);
    for (const Row& row : rows) gradients_[row.name] = row.gradient;
    bool after_head = false;
    for (Row& row : rows) {
      // R8: the router's losses are not part of inference.
      if (after_head && !train_ && !row.forward.items.empty()) {
        ++rules_["R8 losses of the router in inference"];
        row.forward.items.clear();
      }
      after_head = after_head || (row.name == "lm_head" && model_.starts_with("switch"));
      take(row);
    }
    return counts_;
  }
  [[nodiscard]] const Counts& rules() const { return rules_; }

 private:
  void take(Row& row) {
    if (is_no_kernel(row)) return;
    relabel(row);
    for (const Literal& record : row.forward.items) ++counts_["forward " + key_of(record)];
    if (!row.gradient && !row.backward.items.empty()) {
      ++rules_["R3 constants have no gradient"];
    } else {
      take_backward(row);
    }
    take_accumulate(row);
  }

  bool is_no_kernel(const Row& row) {
    if (row.op == "getitem") {  // R1: a slice is a view unless it is indexed by a tensor
      const bool indexed = row.inputs.items.size() > 1 && product(row.inputs.items[1]) > 1;
      if (!indexed) ++rules_["R1 views"];
      return !indexed;
    }
    // R2: OPT's attention dropout has the probability 0 and returns its input.
    if (model_.starts_with("opt") && row.name == "dropout") {
      ++rules_["R2 dropout of probability 0"];
      return true;
    }
    return false;
  }

  /// R7: records that carry the wrong operator.
  void relabel(Row& row) {
    if (row.name.starts_with("matmul") && row.op == "Linear") {
      ++rules_["R7 batched products recorded as linear"];
      const std::int64_t batch =
          row.inputs.items[0].items[0].number * row.inputs.items[0].items[1].number;
      for (Literal* list : {&row.forward, &row.backward}) list->items.clear();
      const auto& a = row.inputs.items[0].items;
      const auto& b = row.inputs.items[1].items;
      add_bmm(row.forward, batch, a[2].number, a[3].number, b[3].number);
      if (train_) {
        add_bmm(row.backward, batch, a[2].number, b[3].number, a[3].number);
        add_bmm(row.backward, batch, a[3].number, a[2].number, b[3].number);
      }
      row.accumulate.items.clear();
    }
    if (row.name == "bert_pooler_activation") {
      ++rules_["R7 the pooler's tanh recorded as relu"];
      row.forward.items[0].items[0].text = "VECtanh";
      if (train_) {
        row.backward.items.push_back(row.backward.items[0]);
        row.backward.items[0].items[0].text = "VECmulu";
        row.backward.items[1].items[0].text = "VECaddu";
      }
    }
    if (row.op == "rsqrt") {
      ++rules_["R7 rsqrt recorded as a move"];
      const std::int64_t rows = product(row.output);
      for (Literal* list : {&row.forward, &row.backward}) {
        for (Literal& record : list->items) record = vector_record("VECrsqrt", rows, 1);
      }
    }
    if (row.name.ends_with("relative_attention_bias") && train_) {
      ++rules_["R7 the table of positions has 32 entries, not the vocabulary"];
      for (Literal& record : row.backward.items) record.items[1].items[0].items[0].number = 32;
      row.accumulate.items[0].items[1].items[1].number = 32 * 32;
    }
  }

  static Literal vector_record(const std::string& op, std::int64_t rows, std::int64_t columns) {
    Literal name{.text = op};
    Literal sizes{.items = {Literal{.number = rows}, Literal{.number = columns}}};
    return {.items = {name, sizes}};
  }
  static void add_bmm(Literal& list, std::int64_t b, std::int64_t m, std::int64_t k,
                      std::int64_t n) {
    Literal sizes{.items = {Literal{.number = b}, Literal{.number = m}, Literal{.number = k},
                            Literal{.number = n}}};
    list.items.push_back({.items = {Literal{.text = "BMM"}, sizes}});
  }

  std::int64_t gradient_inputs(const Row& row) const {
    return std::count_if(row.producers.begin(), row.producers.end(), [&](const std::string& name) {
      const auto found = gradients_.find(name);
      return found != gradients_.end() && found->second;
    });
  }

  void take_backward(const Row& row) {
    std::vector<std::string> keys;
    for (const Literal& record : row.backward.items) keys.push_back(key_of(record));
    if (row.op == "VECaddu" && !keys.empty()) {
      ++rules_["R4 adding a constant passes the gradient on"];
      keys.clear();
    }
    const bool one_sided = row.producers.size() > 1 && gradient_inputs(row) == 1;
    if (one_sided && row.op == "VECadd" && !keys.empty()) {
      ++rules_["R4 adding a constant passes the gradient on"];
      keys.clear();
    }
    if (one_sided && (row.op == "VECmul" || row.op == "VECdiv") && !keys.empty()) {
      ++rules_["R3 constants have no gradient"];
      keys.pop_back();
    }
    // R5: a copy is recorded as two moves of one tensor each, ours reads and writes in one kernel.
    if (keys.size() == 2 && keys[0] == keys[1] && keys[0].starts_with("move ")) {
      ++rules_["R5 one copy recorded as two moves"];
      keys.pop_back();
    }
    for (const std::string& key : keys) ++counts_["backward " + key];
  }

  void take_accumulate(const Row& row) {
    std::size_t records = row.accumulate.items.size();
    const bool no_bias = row.name == "lm_head" || model_.starts_with("switch");
    if (row.op == "Linear" && no_bias && records == 2) {
      ++rules_["R6 gradient of a bias that does not exist"];
      records = 1;
    }
    for (std::size_t i = 0; i < records; ++i) {
      ++counts_["accumulate " + key_of(row.accumulate.items[i])];
    }
  }

  std::string model_;
  bool train_;
  Counts counts_, rules_;
  std::map<std::string, bool> gradients_;
};

Counts ours(const Graph& graph) {
  // R8, R9: the loss over the logits and the lookups that the published graph leaves out.
  static const std::set<std::string> kOnlyOurs{"head/loss",
                                               "head/next_sentence_loss",
                                               "embedding/wpe",
                                               "embedding/token_type_embeddings",
                                               "embedding/position_embeddings",
                                               "embedding/embed_positions",
                                               "encoder_embedding/embed_tokens",
                                               "decoder_embedding/embed_tokens"};
  Counts counts;
  for (const execution::Launch& kernel :
       execution::launches(graph, execution::default_launch_options(graph))) {
    if (kOnlyOurs.contains(kernel.name)) continue;
    std::string key(name_of(kernel.phase));
    const ops::KernelWork& work = kernel.work;
    if (const auto* gemm = std::get_if<ops::GemmShape>(&work.shape)) {
      key += " " + work.op;
      if (work.op == "bmm") key += " " + std::to_string(gemm->batch);
      key += " " + std::to_string(gemm->m) + " " + std::to_string(gemm->n) + " " +
             std::to_string(gemm->k);
    } else {
      const auto& rows = std::get<ops::RowShape>(work.shape);
      const bool move =
          work.kind == ops::KernelClass::Move || work.kind == ops::KernelClass::Gather;
      key += move ? " move " + std::to_string(rows.rows * rows.columns)
                  : " " + work.op + " " + std::to_string(rows.rows) + " " +
                        std::to_string(rows.columns);
    }
    counts[key] += kernel.count;
  }
  return counts;
}

struct Case {
  std::string model;
  bool train;
  std::int64_t sequence, batch;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model;
}

class ReferenceGraph : public ::testing::TestWithParam<Case> {};

TEST_P(ReferenceGraph, SameKernels) {
  const Case& c = GetParam();
  const std::string file = "neusight/opgraphs/" + c.model + (c.train ? "-train-" : "-inf-") +
                           std::to_string(c.sequence) + "-" + std::to_string(c.batch) + ".csv";
  if (!rooftile::testing::has_shared_data(file))
    GTEST_SKIP() << file << " is absent; see ROOFTILE_DATA";
  ImportOptions options;
  options.step = c.train ? Step::Train : Step::Infer;
  options.batch = c.batch;
  options.sequence = c.sequence;
  const std::string config =
      (rooftile::testing::shared_data() / ("neusight/models/" + c.model + ".json")).string();
  auto graph = import_model(Catalog::embedded(), config, options);
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  for (Block& block : graph->blocks) {
    if (block.name == "layer") block.repeat = 1;  // one layer of these models was traced
  }
  Reference reference(c.model, c.train);
  const Counts expected = reference.read((rooftile::testing::shared_data() / file).string());
  const Counts actual = ours(*graph);
  std::string difference;
  for (const auto& [key, count] : expected) {
    const auto found = actual.find(key);
    const std::int64_t have = found == actual.end() ? 0 : found->second;
    if (have != count) {
      difference +=
          key + ": published " + std::to_string(count) + ", ours " + std::to_string(have) + "\n";
    }
  }
  for (const auto& [key, count] : actual) {
    // R8: torch.max over OPT's scores and its floor is in the measured nodes, not in the graphs; five
    // kernels are its gradient.
    const bool of_floor =
        std::ranges::any_of(std::array{"forward maximum ", "backward divu ", "backward eq ",
                                       "backward lt ", "backward masked_fill ", "backward where "},
                            [&](const char* start) { return key.starts_with(start); });
    if (of_floor && c.model.starts_with("opt")) continue;
    if (!expected.contains(key)) difference += key + ": ours only, " + std::to_string(count) + "\n";
  }
  EXPECT_EQ(difference, "");
  EXPECT_GT(expected.size(), 10U);
  for (const auto& [rule, records] : reference.rules()) {
    RecordProperty(rule.substr(0, 2), std::to_string(records));
    std::printf("  %-62s %5lld\n", rule.c_str(), static_cast<long long>(records));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Published, ReferenceGraph,
    ::testing::Values(Case{"bert_large", false, 512, 8}, Case{"bert_large", false, 512, 16},
                      Case{"bert_large", true, 512, 2}, Case{"bert_large", true, 512, 8},
                      Case{"gpt2_large", false, 1024, 4}, Case{"gpt2_large", false, 1024, 8},
                      Case{"gpt2_large", true, 1024, 1}, Case{"gpt2_large", true, 1024, 4},
                      Case{"gpt3_27", false, 2048, 2}, Case{"gpt3_27", false, 2048, 8},
                      Case{"gpt3_27", true, 2048, 1}, Case{"gpt3_27", true, 2048, 2},
                      Case{"gpt3_xl", false, 2048, 2}, Case{"gpt3_xl", false, 2048, 8},
                      Case{"gpt3_xl", true, 2048, 1}, Case{"gpt3_xl", true, 2048, 2},
                      Case{"opt_13", false, 2048, 2}, Case{"opt_13", false, 2048, 8},
                      Case{"opt_13", true, 2048, 1}, Case{"opt_13", true, 2048, 2},
                      Case{"switchxl4", false, 512, 1}, Case{"switchxl4", false, 512, 2},
                      Case{"switchxl4", true, 512, 1}, Case{"switchxl4", true, 512, 2}),
    [](const auto& test) {
      return test.param.model + (test.param.train ? "_train_" : "_infer_") +
             std::to_string(test.param.batch);
    });

}  // namespace
}  // namespace rooftile::graph
