// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/dtype.h"
#include "core/hash.h"
#include "core/json.h"
#include "cost/learned/classes.h"
#include "cost/learned/weights.h"
#include "cost/learned/weights_check.h"
#include "hardware/gpu_spec.h"

namespace rooftile::cost::learned {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kRefit = "refit it with rooftile fit";

/// Ten to a hundred times more or less than any fit has given: from numbers inside, a prediction is
/// finite and positive; what lies outside is not a fit but a damaged file.
struct Limits {
  double low, high;
};
constexpr Limits kTime{0, 0.1};  // seconds that a call or a kernel adds
constexpr Limits kFloor{0, 10};  // seconds of the shortest call that was measured
constexpr Limits kSlowdown{0.1, 100};
constexpr Limits kLogSlowdown{-0.5, 1};
constexpr Limits kShare{0, 1};
constexpr Limits kFraction{0.02, 1.5};  // attained over the data sheet's
constexpr Limits kRow{0, 1e9};          // columns

// The fields of every part once, for writing and for reading, with the limits of their numbers.
template <typename Io, Listed Form>
void fields(Io& io, Form& form) {
  for (const Parameter<Form>& p : parameters_of(form))
    io(p.name, form.*p.value, Limits{p.low, p.high});
}
template <typename Io>
void fields(Io& io, Streaming& s) {
  io("measured", s.measured, kFraction), io("published", s.published, kFraction);
  io("sibling", s.sibling, kFraction), io("memory", s.memory, kFraction);
  fields(io, static_cast<AttainedShares&>(s));
}
template <typename Io>
void fields(Io& io, TimeModel& m) {
  io("constants", m.constants), io("architectures", m.architectures);
}
template <typename Io>
void fields(Io& io, LinkConstants& c) {
  io("fabric", c.fabric), io("pcie", c.pcie), io("shape", c.shape);
}
template <typename Io>
void fields(Io& io, Constants& c) {
  io("clock", c.clock), io("streaming", c.streaming), io("convolution", c.convolution);
  io("step", c.step), io("eager", c.eager), io("links", c.links);
  io("neighbours", c.neighbours), io("intervals", c.intervals);
}
template <typename Io>
void fields(Io& io, Origin& o) {
  io("rows", o.rows, {0, 1e12}), io("gpus", o.gpus), io("command", o.command);
}
template <typename Io>
void fields(Io& io, GemmParameters& p) {
  io("depth", p.depth, {0, 1e5}), io("latency", p.latency, kTime);
  io("more_waves", p.more_waves, {0, 1e3}), io("tail", p.tail, kShare);
  io("one_wave", p.one_wave, {0, 10}), io("two_waves", p.two_waves, {0, 10});
  io("small_tile", p.small_tile, kLogSlowdown), io("unaligned", p.unaligned, kLogSlowdown);
  io("aliased", p.aliased, kLogSlowdown), io("alias_from", p.alias_from, {0, 60});
  io("miss_mid", p.miss_mid, {-30, 30}), io("miss_width", p.miss_width, {1e-3, 30});
  io("reuse_mid", p.reuse_mid, {-30, 30}), io("reuse_width", p.reuse_width, {1e-3, 30});
  io("l2", p.l2, kFraction), io("dram", p.dram, kFraction), io("join", p.join, {1, 20});
  io("split", p.split, kTime), io("quantize_start", p.quantize_start, kTime);
  io("quantize_reach", p.quantize_reach, kTime), io("quantize_row", p.quantize_row, kTime);
  io("quantize_element", p.quantize_element, kTime), io("host", p.host, kTime);
  io("floor", p.floor, kFloor);
}
template <typename Io>
void fields(Io& io, BoardFactor& b) {
  io("factor", b.factor, kSlowdown), io("watt_per_tflop", b.watt_per_tflop, {0, 1e4});
}
template <typename Io>
void fields(Io& io, Plateau& p) {
  io("measured", p.measured, kSlowdown), io("boards", p.boards), io("kappa", p.kappa, kSlowdown);
  io("generic", p.generic, kSlowdown), io("load", p.load, {0, 100});
  io("tensor", p.tensor), io("above_ceiling", p.above_ceiling);
}
template <typename Io>
void fields(Io& io, Neighbours& n) {
  io("foreign", n.foreign, kShare), io("of", n.of);
}
template <typename Io>
void fields(Io& io, GemmModel& m) {
  io("parameters", m.parameters), io("tiles", m.tiles), io("tiles_of", m.tiles_of);
  io("split_k", m.split_k), io("clocked", m.clocked), io("plateau", m.plateau),
      io("neighbours", m.neighbours);
}
template <typename Io>
void fields(Io& io, PointwiseModel& m) {
  io("host", m.host, kTime), io("floor", m.floor, kFloor);
  io("flop_per_element", m.flop_per_element, {0, 1e5}), io("call", m.call, kTime);
}
template <typename Io>
void fields(Io& io, RowParameters& p) {
  io("floor", p.floor, kFloor), io("host", p.host, kTime), io("traffic", p.traffic, kSlowdown);
  io("mid", p.mid, {-100, 100}), io("width", p.width, {1e-3, 100});
  io("start", p.start, {0, 1e-3}), io("iteration", p.iteration, {0, 1e-3});
  io("norm", p.norm, {1, 100});
}
template <typename Io>
void fields(Io& io, RowModel& m) {
  constexpr Limits kThreads{32, 4096};
  io("parameters", m.parameters), io("block_short", m.block_short, kThreads);
  io("block_long", m.block_long, kThreads), io("short_row", m.short_row, kRow);
  io("resident_row", m.resident_row, kRow), io("reread", m.reread, {0, 10});
}
template <typename Io>
void fields(Io& io, ConvModel& m) {
  io("host", m.host, kTime);
}
template <typename Io>
void fields(Io& io, AttentionModel& m) {
  io("common", m.common), io("families", m.families);
}
template <typename Io>
void fields(Io& io, DeviceModel& m) {
  io("gemm", m.gemm), io("bmm", m.bmm), io("gemm_16bit", m.gemm_16bit);
  io("gemm_8bit", m.gemm_8bit), io("pointwise", m.pointwise), io("softmax", m.softmax);
  io("norm", m.norm), io("conv", m.conv), io("prefill", m.prefill), io("decode", m.decode);
  io("experts", m.experts);
}
template <typename Io>
void fields(Io& io, TrivialLine& t) {
  io("utilization", t.utilization, kFraction), io("overhead", t.overhead, kTime);
}
template <typename Io>
void fields(Io& io, Kin& k) {
  io("chips", k.chips), io("architectures", k.architectures), io("families", k.families);
  io("demand", k.demand, {1, 1e4});
}
template <typename Io>
void fields(Io& io, Range& r) {
  io("dimensions", r.dimensions, {0, 1e18}), io("vendors", r.vendors), io("dtypes", r.dtypes);
  io("kin", r.kin);
}
template <typename Io>
void fields(Io& io, Widths& w) {
  for (std::size_t i = 0; i < kFamiliarities; ++i) io(kFamiliarityNames[i], w.of[i], {0, 5});
}
template <typename Io>
void fields(Io& io, Weights& w) {
  io("name", w.name), io("families", w.families);
  io("constants", w.constants), io("origins", w.origins);
  io("ceilings", w.ceilings), io("models", w.models);
  io("trivial", w.trivial), io("intervals", w.intervals), io("ranges", w.ranges);
}

class Writer {
 public:
  template <typename T>
  void operator()(const char* key, T& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value) object_[key] = json_of(*value);
    } else {
      object_[key] = json_of(value);
    }
  }
  template <typename T>
  void operator()(const char* key, T& value, Limits /*of a reader*/) {
    (*this)(key, value);
  }
  [[nodiscard]] ordered_json take() { return std::move(object_); }

 private:
  static ordered_json json_of(double value) { return value; }
  static ordered_json json_of(bool value) { return value; }
  static ordered_json json_of(const std::string& value) { return value; }
  static ordered_json json_of(const std::vector<std::int64_t>& value) { return value; }
  static ordered_json json_of(const std::vector<std::string>& value) { return value; }
  template <std::size_t N>
  static ordered_json json_of(const std::array<double, N>& value) {
    return value;
  }
  static ordered_json json_of(const std::vector<GemmTile>& tiles) {
    ordered_json list = ordered_json::array();
    for (const GemmTile& tile : tiles) list.push_back({tile.along_n, tile.along_m});
    return list;
  }
  static ordered_json json_of(const std::vector<Neighbour>& list) {
    return encode_neighbours(list);
  }
  template <typename T>
  static ordered_json json_of(ByName<T>& map) {
    ordered_json object = ordered_json::object();
    for (auto& [key, value] : map) object[key] = json_of(value);
    return object;
  }
  template <typename T>
    requires requires(Writer& w, T& t) { fields(w, t); }
  static ordered_json json_of(T& value) {
    Writer writer;
    fields(writer, value);
    return writer.take();
  }

  ordered_json object_ = ordered_json::object();
};

/// Reads a JSON object field by field; keeps the first error.
class Reader {
 public:
  explicit Reader(JsonView view) : view_(std::move(view)) {}
  template <typename T>
  void operator()(const char* key, T& value) {
    keys_.emplace_back(key);
    if (!status_) return;
    if constexpr (requires { value.has_value(); }) {
      if (const auto member = view_.find(key)) status_ = read(*member, value.emplace());
    } else {
      auto member = view_.at(key);
      status_ = member ? read(*member, value) : Status(tl::unexpected(member.error()));
    }
  }
  /// A number, or several, each within its limits.
  template <typename T>
  void operator()(const char* key, T& value, Limits limits) {
    keys_.emplace_back(key);
    if (!status_) return;
    auto member = view_.at(key);
    status_ = member ? read(*member, value, limits) : Status(tl::unexpected(member.error()));
  }
  [[nodiscard]] Status finish() const {
    ROOFTILE_CHECK(status_);
    return view_.expect_keys(keys_);
  }

 private:
  static Status read(const JsonView& view, double& value, Limits limits) {
    ROOFTILE_TRY(value, view.number());
    if (value >= limits.low && value <= limits.high) return {};
    return view.error(fmt::format("{} is not in [{}, {}]", value, limits.low, limits.high),
                      std::string(kRefit));
  }
  template <std::size_t N>
  static Status read(const JsonView& view, std::array<double, N>& value, Limits limits) {
    ROOFTILE_TRY(const auto elements, view.elements());
    if (elements.size() != N) return view.error(fmt::format("needs {} numbers", N));
    for (std::size_t i = 0; i < N; ++i) ROOFTILE_CHECK(read(elements[i], value[i], limits));
    return {};
  }
  template <typename T>
  static Status read(const JsonView& view, ByName<T>& value, Limits limits) {
    ROOFTILE_TRY(const auto members, view.members());
    for (const auto& [key, member] : members) ROOFTILE_CHECK(read(member, value[key], limits));
    return {};
  }
  static Status read(const JsonView& view, bool& value) {
    ROOFTILE_TRY(value, view.boolean());
    return {};
  }
  static Status read(const JsonView& view, std::string& value) {
    ROOFTILE_TRY(value, view.string());
    return {};
  }
  static Status read(const JsonView& view, std::int64_t& value) {
    constexpr std::int64_t kMostParts = 64;
    ROOFTILE_TRY(value, view.integer(1, kMostParts));
    return {};
  }
  static Status read(const JsonView& view, GemmTile& tile) {
    constexpr std::int64_t kMostSide = 4096;
    ROOFTILE_TRY(const auto sides, view.elements());
    if (sides.size() != 2) return view.error("a tile has two sides");
    ROOFTILE_TRY(tile.along_n, sides[0].integer(1, kMostSide));
    ROOFTILE_TRY(tile.along_m, sides[1].integer(1, kMostSide));
    return {};
  }
  static Status read(const JsonView& view, std::vector<Neighbour>& value) {
    ROOFTILE_TRY(const auto text, view.string());
    auto list = decode_neighbours(text);
    if (!list) return view.error("is not a sorted list of shapes and residuals");
    value = std::move(*list);
    return {};
  }
  template <typename T>
  static Status read(const JsonView& view, std::vector<T>& value) {
    ROOFTILE_TRY(const auto elements, view.elements());
    value.clear();
    for (const JsonView& element : elements) ROOFTILE_CHECK(read(element, value.emplace_back()));
    return {};
  }
  template <typename T>
  static Status read(const JsonView& view, ByName<T>& value) {
    ROOFTILE_TRY(const auto members, view.members());
    for (const auto& [key, member] : members) ROOFTILE_CHECK(read(member, value[key]));
    return {};
  }
  template <typename T>
    requires requires(Reader& r, T& t) { fields(r, t); }
  static Status read(const JsonView& view, T& value) {
    Reader reader(view);
    fields(reader, value);
    return reader.finish();
  }

  JsonView view_;
  std::vector<std::string_view> keys_;
  Status status_;
};

constexpr std::string_view kFormat =
    "rooftile weights 3: gemm(tile x split-k, wave, latency, l2 reuse, quantize, neighbours) "
    "pointwise rows conv attention(tiles, blocks of keys, exponentials, families)";

/// The unit of every listed number, by form and name.
template <Listed Form>
ByName<std::string> units_of() {
  ByName<std::string> names;
  for (const Parameter<Form>& p : parameters_of(Form())) names[p.name] = p.unit;
  return names;
}

ByName<ByName<std::string>> units() {
  return {{"clock", units_of<ClockConstants>()},
          {"convolution", units_of<TimeConstants>()},
          {"intervals", units_of<IntervalConstants>()},
          {"neighbours", units_of<NeighbourConstants>()},
          {"step", units_of<StepConstants>()},
          {"eager", units_of<EagerConstants>()},
          {"link", units_of<LinkForm>()},
          {"link shape", units_of<LinkShape>()},
          {"streaming", units_of<AttainedShares>()}};
}

}  // namespace

std::size_t bucket_of(double seconds) {
  return static_cast<std::size_t>(
      std::upper_bound(kBucketEdges.begin(), kBucketEdges.end(), seconds) - kBucketEdges.begin());
}

namespace {

std::string make_features_hash() {
  // FNV-1a over the format's name and every field name, in order: a renamed field changes it.
  Weights everything;
  DeviceModel model;
  model.gemm.emplace(), model.pointwise.emplace(), model.softmax.emplace(), model.conv.emplace();
  model.prefill.emplace();
  everything.models["x"] = model;
  everything.trivial["x"] = {};
  everything.ranges["x"] = {};
  everything.intervals["x"] = {};
  everything.origins["x"] = {};
  everything.constants.eager["x"] = {};
  Writer writer;
  fields(writer, everything);
  Fnv1a hash;
  hash.add_bytes(kFormat);
  const ordered_json flat = writer.take().flatten();
  for (const auto& [key, value] : flat.items()) hash.add_bytes(key);
  return fmt::format("{:016x}", hash.value());
}

}  // namespace

std::string features_hash() {
  static const std::string kHash = make_features_hash();  // the program has one
  return kHash;
}

std::string to_json(const Weights& weights) {
  Weights copy = weights;  // fields() is shared with reading and takes the value by reference
  Writer writer;
  fields(writer, copy);
  ordered_json json{{"schema", 1}, {"features", features_hash()}};
  json["units"] = units();
  json.update(writer.take());
  return json.dump(1) + "\n";
}

Result<Weights> parse_weights(std::string_view text, const std::string& file) {
  ROOFTILE_TRY(const auto document, JsonDocument::parse(text, file));
  const JsonView root = document.root();
  ROOFTILE_TRY(const auto schema_view, root.at("schema"));
  ROOFTILE_TRY(const auto schema, schema_view.integer(1, 1));
  ROOFTILE_TRY(const auto hash_view, root.at("features"));
  ROOFTILE_TRY(const auto hash, hash_view.string());
  if (hash != features_hash()) {
    return hash_view.error(
        fmt::format("the weights are for features {}, this program has {}", hash, features_hash()),
        "refit them with this version: rooftile fit");
  }
  Weights weights;
  Reader reader(root);
  auto ignored_schema = static_cast<double>(schema);
  std::string ignored_hash;
  reader("schema", ignored_schema, {1, 1}), reader("features", ignored_hash);
  ByName<ByName<std::string>> found_units;
  reader("units", found_units);
  fields(reader, weights);
  ROOFTILE_CHECK(reader.finish());
  if (found_units != units()) {
    return bad_input(file + ":/units", "are not those of this program", std::string(kRefit));
  }
  ROOFTILE_CHECK(check_weights(weights, file));
  return weights;
}

Result<Catalog::File> read_weights_file(const Catalog& catalog, std::string_view name) {
  if (name.find('/') == std::string_view::npos)
    return catalog.read(fmt::format("predictors/{}/weights.json", name));
  return Catalog::read_path(std::string(name) + "/weights.json");
}

Result<Weights> read_default(const Catalog& catalog) {
  ROOFTILE_TRY(const auto file, read_weights_file(catalog, "default"));
  return parse_weights(file.content, file.name);
}

}  // namespace rooftile::cost::learned
