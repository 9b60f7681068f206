// SPDX-License-Identifier: Apache-2.0
#include "graph/family/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "core/text.h"
#include "graph/family/quantized_modules.h"

namespace rooftile::graph {

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr std::size_t kMaxPatterns = 20'000;

/// Bytes per weight with a scale of `scale` bytes for every `group` weights.
constexpr double grouped(double bytes, double scale, double group) {
  return bytes + scale / group;
}

struct NamedFormat {
  std::string_view name;
  double bytes;
  std::optional<DType> compute;
};

// Scales: FP8 one FP32 per 128 x 128 block; int8 and int4 an FP16 scale (and a 4-bit zero point)
// per 128; NVFP4 an 8-bit scale per 16, MXFP4 an 8-bit exponent per 32.
constexpr std::array kFormats{
    NamedFormat{"fp8", grouped(1, 4, 128 * 128), DType::Fp8E4m3},
    NamedFormat{"fp8_e4m3", grouped(1, 4, 128 * 128), DType::Fp8E4m3},
    NamedFormat{"fp8_weight_only", grouped(1, 4, 128 * 128), std::nullopt},
    NamedFormat{"int8", grouped(1, 2, 128), std::nullopt},
    NamedFormat{"w8a8", grouped(1, 4, 4096), DType::Int8},
    NamedFormat{"int4", grouped(0.5, 2.5, 128), std::nullopt},
    NamedFormat{"nvfp4", grouped(0.5, 1, 16), DType::Fp4},
    NamedFormat{"fp4", grouped(0.5, 1, 16), DType::Fp4},
    NamedFormat{"nvfp4_weight_only", grouped(0.5, 1, 16), std::nullopt},
    NamedFormat{"mxfp4", grouped(0.5, 1, 32), std::nullopt},
};

/// Which weights have which format.
struct Rule {
  std::vector<ModulePattern> patterns;
  std::optional<ops::WeightFormat> format;  ///< nothing: the model's own
};

struct Scheme {
  std::optional<ops::WeightFormat> format;  ///< of linear layers that no rule is about
  std::vector<Rule> rules;
  std::optional<DType> cache;
  std::string words;    ///< "fp8", for the note
  std::string unknown;  ///< the method, when nothing is known about it
};

Status read_patterns(const JsonView& view, Rule& rule) {
  if (!view.is_array()) return {};
  ROOFTILE_TRY(const auto elements, view.elements());
  if (elements.size() > kMaxPatterns) return view.error("the list of modules is too long");
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(const std::string text, element.string());
    rule.patterns.push_back(parse_module_pattern(text));
  }
  return {};
}

Status read_exclusions(const JsonView& view, Scheme& scheme) {
  Rule rule;
  for (const std::string_view key : {"modules_to_not_convert", "ignored_layers", "ignore",
                                     "exclude_modules", "exclude", "llm_int8_skip_modules"}) {
    if (const auto list = view.find(key)) ROOFTILE_CHECK(read_patterns(*list, rule));
  }
  scheme.rules.push_back(std::move(rule));
  return {};
}

Result<double> number_or(const JsonView& view, std::string_view key, double fallback) {
  const auto field = view.find(key);
  if (!field || !field->is_number()) return fallback;
  ROOFTILE_TRY(const double number, field->number());
  return number;
}

Result<std::string> text_or_nothing(const JsonView& view, std::string_view key) {
  const auto field = view.find(key);
  if (!field || !field->is_string()) return std::string{};
  ROOFTILE_TRY(const std::string text, field->string());
  return to_lower(text);
}

std::optional<ops::WeightFormat> format_named(std::string_view name) {
  for (const NamedFormat& known : kFormats) {
    if (known.name == name) {
      return ops::WeightFormat{.bytes = known.bytes, .compute = known.compute};
    }
  }
  return std::nullopt;
}

/// Weights of `bits` bits with an FP16 scale and a zero point per group, expanded before products.
Result<ops::WeightFormat> weight_only(const JsonView& view, double bits, double group) {
  if (!(bits >= 1 && bits <= 16)) {
    return view.unsupported(fmt::format("weights of {} bits are not supported", bits),
                            "1 to 16 bits are supported");
  }
  const double shared_by = group > 0 ? group : 4096;  // -1: one scale per row
  return ops::WeightFormat{.bytes = grouped(bits / 8, 2 + bits / 8, shared_by)};
}

/// The product format of activations that are quantized too.
std::optional<DType> product_format(double bits, std::string_view type) {
  if (bits == 8) return type == "float" ? DType::Fp8E4m3 : DType::Int8;
  if (bits == 4 && type == "float") return DType::Fp4;
  return std::nullopt;
}

/// compressed-tensors: groups of targets, each with the format of weights and activations.
Status read_groups(const JsonView& view, Scheme& scheme) {
  const auto groups = view.find("config_groups");
  if (!groups || !groups->is_object()) return {};
  ROOFTILE_TRY(const auto members, groups->members());
  if (members.empty()) return {};
  const JsonView& group = members.front().second;
  const auto weights = group.find("weights");
  if (!weights) return {};
  ROOFTILE_TRY(const double bits, number_or(*weights, "num_bits", 8));
  ROOFTILE_TRY(const double size, number_or(*weights, "group_size", 0));
  ROOFTILE_TRY(const std::string type, text_or_nothing(*weights, "type"));
  ROOFTILE_TRY(scheme.format, weight_only(view, bits, size));
  if (type == "float" && bits == 4) scheme.format = format_named("nvfp4_weight_only");
  scheme.words = fmt::format("{}{}", type == "float" ? "fp" : "int", bits);
  const auto activations = group.find("input_activations");
  if (!activations) return {};
  ROOFTILE_TRY(const double act_bits, number_or(*activations, "num_bits", 16));
  ROOFTILE_TRY(const std::string act_type, text_or_nothing(*activations, "type"));
  scheme.format->compute = product_format(act_bits, act_type);
  return {};
}

/// NVIDIA's names: FP8, NVFP4, W4A16_AWQ, INT8_SQ, MIXED_PRECISION.
std::optional<ops::WeightFormat> format_of_algorithm(std::string_view name) {
  if (name.starts_with("fp8")) return format_named("fp8");
  if (name.starts_with("nvfp4") || name.starts_with("w4a4")) return format_named("nvfp4");
  if (name.starts_with("w4a16")) return format_named("int4");
  if (name.starts_with("w4a8")) {
    return ops::WeightFormat{.bytes = grouped(0.5, 2, 128), .compute = DType::Fp8E4m3};
  }
  if (name.starts_with("w8a16")) return format_named("int8");
  if (name.starts_with("int8") || name.starts_with("w8a8")) return format_named("w8a8");
  return std::nullopt;
}

Status read_algorithm(const JsonView& view, const std::string& name, Scheme& scheme) {
  scheme.words = name;
  if (const auto layers = view.find("quantized_layers"); layers && layers->is_object()) {
    ROOFTILE_TRY(const auto members, layers->members());
    if (members.size() > kMaxPatterns) return layers->error("too many modules");
    std::map<std::string, std::vector<ModulePattern>> by_algorithm;
    for (const auto& [module, entry] : members) {
      ROOFTILE_TRY(const std::string algorithm, text_or_nothing(entry, "quant_algo"));
      by_algorithm[algorithm].push_back(parse_module_pattern(module));
    }
    for (auto& [algorithm, patterns] : by_algorithm) {
      scheme.rules.push_back(
          {.patterns = std::move(patterns), .format = format_of_algorithm(algorithm)});
    }
    return {};
  }
  scheme.format = format_of_algorithm(name);
  if (!scheme.format) scheme.unknown = name;
  return {};
}

Status read_cache_format(const JsonView& view, Scheme& scheme) {
  ROOFTILE_TRY(const std::string name, text_or_nothing(view, "kv_cache_quant_algo"));
  if (name.starts_with("fp8")) scheme.cache = DType::Fp8E4m3;
  if (name.starts_with("int8")) scheme.cache = DType::Int8;
  if (name.starts_with("nvfp4") || name.starts_with("fp4")) scheme.cache = DType::Fp4;
  if (const auto cache = view.find("kv_cache_scheme"); cache && cache->is_object()) {
    ROOFTILE_TRY(const double bits, number_or(*cache, "num_bits", 16));
    ROOFTILE_TRY(const std::string type, text_or_nothing(*cache, "type"));
    scheme.cache = product_format(bits, type);
  }
  return {};
}

/// The methods that say their bits in a key of their own.
Status read_bits(const JsonView& view, const std::string& method, Scheme& scheme) {
  double bits = 4;
  for (const std::string_view key : {"bits", "w_bit", "nbits", "weight_bits"}) {
    ROOFTILE_TRY(bits, number_or(view, key, bits));
  }
  if (method == "bitsandbytes") {
    const auto eight = view.find("load_in_8bit");
    if (eight && eight->is_boolean() && *eight->boolean()) bits = 8;
  }
  if (method == "eetq") bits = 8;
  ROOFTILE_TRY(const double group,
               number_or(view, "group_size", method == "bitsandbytes" ? 64.0 : 128.0));
  ROOFTILE_TRY(scheme.format, weight_only(view, bits, group));
  scheme.words = fmt::format("int{} ({})", bits, method);
  return {};
}

Status read_fp8(const JsonView& view, Scheme& scheme) {
  scheme.format = format_named("fp8");
  scheme.words = "fp8";
  const auto block = view.find("weight_block_size");
  if (!block || !block->is_array()) return {};
  double weights = 1;
  ROOFTILE_TRY(const auto sides, block->elements());
  for (const JsonView& side : sides) {
    ROOFTILE_TRY(const std::int64_t size, side.integer(1, 1 << 20));
    weights *= static_cast<double>(size);
  }
  scheme.format->bytes = grouped(1, 4, weights);
  return {};
}

/// AMD Quark: one tensor type each for weights, inputs and the cache, of all layers.
Status read_quark(const JsonView& view, Scheme& scheme) {
  const auto all = view.find("global_quant_config");
  const auto weights = all && all->is_object() ? all->find("weight") : std::nullopt;
  if (!weights || !weights->is_object()) return read_groups(view, scheme);
  ROOFTILE_TRY(const std::string type, text_or_nothing(*weights, "dtype"));
  ROOFTILE_TRY(const double group, number_or(*weights, "group_size", -1));
  if (type.starts_with("fp8")) scheme.format = format_named("fp8");
  if (type == "fp4" || type == "mxfp4") scheme.format = format_named("mxfp4");
  for (const auto& [name, bits] : {std::pair("int4", 4.0), std::pair("int8", 8.0)}) {
    if (!type.ends_with(name)) continue;
    ROOFTILE_TRY(scheme.format, weight_only(view, bits, group));
  }
  scheme.words = type + " (quark)";
  const auto inputs = all->find("input_tensors");
  if (!scheme.format || !inputs || !inputs->is_object()) return {};
  ROOFTILE_TRY(const std::string input, text_or_nothing(*inputs, "dtype"));
  if (input == "int8") scheme.format->compute = DType::Int8;
  if (input == "fp4" || input == "mxfp4") scheme.format->compute = DType::Fp4;
  return {};
}

/// torchao: a name ("int4_weight_only") or a class (Float8DynamicActivationFloat8WeightConfig).
Status read_torchao(const JsonView& view, Scheme& scheme) {
  ROOFTILE_TRY(std::string name, text_or_nothing(view, "quant_type"));
  const auto types = view.find("quant_type");
  if (const auto all = types && types->is_object() ? types->find("default") : std::nullopt;
      all && all->is_object()) {
    ROOFTILE_TRY(name, text_or_nothing(*all, "_type"));
  }
  scheme.words = name + " (torchao)";
  std::erase(name, '_');
  const bool weights_only = has(name, "weightonly");
  if (has(name, "float8")) {
    scheme.format = weights_only ? ops::WeightFormat{.bytes = 1.0} : format_named("fp8");
  } else if (has(name, "int4")) {
    scheme.format = format_named("int4");
  } else if (has(name, "int8")) {
    scheme.format = format_named(weights_only ? "int8" : "w8a8");
  }
  return {};
}

Result<Scheme> read_scheme(const JsonView& view) {
  Scheme scheme;
  ROOFTILE_TRY(const std::string method, text_or_nothing(view, "quant_method"));
  ROOFTILE_TRY(const std::string algorithm, text_or_nothing(view, "quant_algo"));
  ROOFTILE_CHECK(read_exclusions(view, scheme));
  ROOFTILE_CHECK(read_cache_format(view, scheme));
  constexpr std::array<std::string_view, 9> kWithBits{
      "gptq",        "awq",       "bitsandbytes", "hqq", "eetq", "auto-round", "intel/auto-round",
      "gptq_marlin", "awq_marlin"};
  if (!algorithm.empty()) {
    ROOFTILE_CHECK(read_algorithm(view, algorithm, scheme));
  } else if (method == "fp8" || method == "fbgemm_fp8") {
    ROOFTILE_CHECK(read_fp8(view, scheme));
  } else if (method == "compressed-tensors" || method == "modelopt") {
    ROOFTILE_CHECK(read_groups(view, scheme));
    if (!scheme.format) scheme.unknown = method;
  } else if (method == "quark") {
    ROOFTILE_CHECK(read_quark(view, scheme));
    if (!scheme.format) scheme.unknown = method;
  } else if (method == "torchao") {
    ROOFTILE_CHECK(read_torchao(view, scheme));
    if (!scheme.format) scheme.unknown = method;
  } else if (method == "mxfp4") {
    scheme.format = format_named("mxfp4");
    scheme.words = "mxfp4";
  } else if (std::find(kWithBits.begin(), kWithBits.end(), method) != kWithBits.end()) {
    ROOFTILE_CHECK(read_bits(view, method, scheme));
  } else {
    scheme.unknown = method.empty() ? "(not named)" : method;
  }
  return scheme;
}

/// What a file that names single modules leaves as they were: in the FP8 of the model that it was
/// made from, where the config.json still says so. What it excludes is left as it was, too.
Status read_left_as_they_were(const ModelSource& source, Scheme& scheme) {
  const auto config = source.document.find("quantization_config");
  if (!config || !config->is_object() || scheme.format || !scheme.unknown.empty()) return {};
  ROOFTILE_TRY(const std::string method, text_or_nothing(*config, "quant_method"));
  if (method != "fp8") return {};
  const std::string words = scheme.words;
  ROOFTILE_CHECK(read_fp8(*config, scheme));
  scheme.words = words + " and fp8";
  std::erase_if(scheme.rules, [](const Rule& rule) { return !rule.format; });
  return {};
}

/// "expert_dtype": the experts of a model that is otherwise in FP8.
Status read_expert_dtype(const ModelSource& source, Scheme& scheme) {
  ROOFTILE_TRY(const std::string name, text_or_nothing(source.document, "expert_dtype"));
  if (name != "fp4") return {};
  scheme.rules.push_back(
      {.patterns = {ModulePattern{.roles = kExpertsModule, .layer = {}, .module = {}}},
       .format = ops::WeightFormat{.bytes = grouped(0.5, 1, 32), .compute = DType::Fp8E4m3}});
  scheme.words += " with experts in fp4";
  return {};
}

/// The file's own scheme; hf_quant_config.json is the more complete one where both are there.
Result<std::optional<Scheme>> scheme_of(const ModelSource& source) {
  if (source.quantization) {
    const JsonView inner = source.quantization->find("quantization").value_or(*source.quantization);
    ROOFTILE_TRY(Scheme scheme, read_scheme(inner));
    ROOFTILE_CHECK(read_left_as_they_were(source, scheme));
    return std::optional(std::move(scheme));
  }
  std::vector<JsonView> places{source.document};
  for (const std::string_view section : {"text_config", "llm_config"}) {
    if (const auto inner = source.document.find(section)) places.push_back(*inner);
  }
  for (const JsonView& place : places) {
    const auto field = place.find("quantization_config");
    if (!field || !field->is_object()) continue;
    ROOFTILE_TRY(Scheme scheme, read_scheme(*field));
    ROOFTILE_CHECK(read_left_as_they_were(source, scheme));
    ROOFTILE_CHECK(read_expert_dtype(source, scheme));
    return std::optional(std::move(scheme));
  }
  return std::optional<Scheme>();
}

void set_formats(Graph& graph, const Scheme& scheme,
                 const std::map<std::string, std::vector<std::int64_t>>& layers) {
  for (Block& block : graph.blocks) {
    const auto known = layers.find(block.name);
    const std::vector<std::int64_t> own =
        known == layers.end() ? std::vector<std::int64_t>{} : known->second;
    for (Node& node : block.nodes) {
      if (!ops::holds_matrix(node.op) || std::holds_alternative<ops::Conv2d>(node.op)) continue;
      const ModuleRoles role = module_role(block.name, node.name);
      if (role == kLogitsModule || role == kRouterModule) continue;
      node.weights = scheme.format;
      for (const Rule& rule : scheme.rules) {
        if (covers(rule.patterns, role, node.name, own)) node.weights = rule.format;
      }
    }
  }
}

double quantized_share(const Graph& graph) {
  double all = 0;
  double narrow = 0;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      const auto own = static_cast<double>(ops::parameters_of(node.op) - node.shared_parameters) *
                       static_cast<double>(node.count) * static_cast<double>(block.repeat);
      all += own;
      if (node.weights) narrow += own;
    }
  }
  return all > 0 ? narrow / all : 0;
}

}  // namespace

Result<std::optional<ops::WeightFormat>> parse_weight_format(std::string_view text) {
  const std::string name = to_lower(text);
  if (name == "none") return std::optional<ops::WeightFormat>();
  if (auto format = format_named(name)) return format;
  std::vector<std::string_view> names{"none"};
  for (const NamedFormat& known : kFormats) names.push_back(known.name);
  return bad_input({}, fmt::format("unknown format of weights \"{}\"", printable(text)),
                   did_you_mean(name, names, "formats:"));
}

Status apply_quantization(Graph& graph,
                          const std::map<std::string, std::vector<std::int64_t>>& layers,
                          const ModelSource& source, const ImportOptions& options) {
  ROOFTILE_TRY(std::optional<Scheme> scheme, scheme_of(source));
  if (options.weight_format) {
    Scheme asked;
    ROOFTILE_TRY(asked.format, parse_weight_format(*options.weight_format));
    asked.words = *options.weight_format;
    if (scheme) asked.cache = scheme->cache;
    scheme = std::move(asked);
  }
  graph.kv_dtype = options.kv_dtype;
  if (!scheme) return {};
  const std::string_view own = name_of(options.dtype);
  if (options.step == Step::Train) {
    graph.notes.push_back(
        fmt::format("quantization: training keeps the weights in {}, whatever the file says", own));
    return {};
  }
  if (!scheme->unknown.empty()) {
    graph.notes.push_back(
        fmt::format("quantization: unknown method \"{}\", weights are counted in {}",
                    printable(scheme->unknown), own));
    return {};
  }
  if (!graph.kv_dtype && graph.kv_cache) graph.kv_dtype = scheme->cache;
  set_formats(graph, *scheme, layers);
  const double share = quantized_share(graph);
  if (share > 0) {
    graph.notes.push_back(fmt::format("quantization: {:.0f} % of the weights are {}, the others {}",
                                      100 * share, scheme->words, own));
  }
  if (graph.kv_dtype && !options.kv_dtype) {
    graph.notes.push_back(
        fmt::format("quantization: the key/value cache is {}", name_of(*graph.kv_dtype)));
  }
  return {};
}

}  // namespace rooftile::graph
