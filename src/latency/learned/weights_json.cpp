// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/hash.h"
#include "core/json.h"
#include "latency/learned/weights.h"

namespace rooftile::latency::learned {

namespace {

using nlohmann::ordered_json;

// The fields of every part once, for writing and for reading.
template <typename Io>
void fields(Io& io, GemmParameters& p) {
  io("depth", p.depth), io("tail", p.tail), io("one_wave", p.one_wave);
  io("two_waves", p.two_waves), io("small_tile", p.small_tile), io("unaligned", p.unaligned);
  io("dram", p.dram), io("miss_mid", p.miss_mid), io("miss_width", p.miss_width);
  io("split", p.split), io("host", p.host), io("floor", p.floor);
}
template <typename Io>
void fields(Io& io, BoardFactor& b) {
  io("factor", b.factor), io("watt_per_tflop", b.watt_per_tflop);
}
template <typename Io>
void fields(Io& io, Plateau& p) {
  io("measured", p.measured), io("boards", p.boards), io("kappa", p.kappa);
  io("generic", p.generic), io("energy", p.energy), io("power_share", p.power_share);
  io("above_ceiling", p.above_ceiling);
}
template <typename Io>
void fields(Io& io, Neighbours& n) {
  io("foreign", n.foreign), io("of", n.of);
}
template <typename Io>
void fields(Io& io, GemmModel& m) {
  io("parameters", m.parameters), io("tiles", m.tiles), io("tiles_of", m.tiles_of);
  io("split_k", m.split_k), io("plateau", m.plateau), io("neighbours", m.neighbours);
}
template <typename Io>
void fields(Io& io, PointwiseModel& m) {
  io("host", m.host), io("floor", m.floor), io("flop_per_element", m.flop_per_element);
}
template <typename Io>
void fields(Io& io, RowParameters& p) {
  io("floor", p.floor), io("host", p.host), io("traffic", p.traffic), io("mid", p.mid);
  io("width", p.width), io("start", p.start), io("iteration", p.iteration), io("norm", p.norm);
}
template <typename Io>
void fields(Io& io, RowModel& m) {
  io("parameters", m.parameters), io("block_short", m.block_short);
  io("block_long", m.block_long), io("short_row", m.short_row);
  io("resident_row", m.resident_row), io("reread", m.reread);
}
template <typename Io>
void fields(Io& io, ConvModel& m) {
  io("host", m.host);
}
template <typename Io>
void fields(Io& io, AttentionModel& m) {
  io("compute", m.compute), io("memory", m.memory), io("host", m.host);
}
template <typename Io>
void fields(Io& io, DeviceModel& m) {
  io("gemm", m.gemm), io("bmm", m.bmm), io("gemm_16bit", m.gemm_16bit);
  io("gemm_8bit", m.gemm_8bit), io("pointwise", m.pointwise), io("softmax", m.softmax);
  io("norm", m.norm), io("conv", m.conv), io("prefill", m.prefill), io("decode", m.decode);
}
template <typename Io>
void fields(Io& io, Streaming& s) {
  io("measured", s.measured), io("published", s.published), io("sibling", s.sibling);
  io("memory", s.memory);
}
template <typename Io>
void fields(Io& io, TrivialLine& t) {
  io("utilization", t.utilization), io("overhead", t.overhead);
}
template <typename Io>
void fields(Io& io, Range& r) {
  io("dimensions", r.dimensions), io("vendors", r.vendors), io("dtypes", r.dtypes);
}
template <typename Io>
void fields(Io& io, Weights& w) {
  io("name", w.name), io("families", w.families), io("node_energy", w.node_energy);
  io("streaming", w.streaming), io("ceilings", w.ceilings), io("models", w.models);
  io("trivial", w.trivial), io("intervals", w.intervals), io("ranges", w.ranges);
}

/// Builds a JSON object field by field.
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
  [[nodiscard]] Status finish() const {
    ROOFTILE_CHECK(status_);
    return view_.expect_keys(keys_);
  }

 private:
  static Status read(const JsonView& view, double& value) {
    ROOFTILE_TRY(value, view.number());
    if (!std::isfinite(value)) return view.error("is not a finite number");
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
    ROOFTILE_TRY(value, view.integer(1, 1 << 20));
    return {};
  }
  template <std::size_t N>
  static Status read(const JsonView& view, std::array<double, N>& value) {
    ROOFTILE_TRY(const auto elements, view.elements());
    if (elements.size() != N) return view.error(fmt::format("needs {} numbers", N));
    for (std::size_t i = 0; i < N; ++i) ROOFTILE_CHECK(read(elements[i], value[i]));
    return {};
  }
  static Status read(const JsonView& view, GemmTile& tile) {
    std::array<double, 2> sides{};
    ROOFTILE_CHECK(read(view, sides));
    if (!(sides[0] >= 1 && sides[1] >= 1 && sides[0] <= 4096 && sides[1] <= 4096))
      return view.error("a tile has two sides of 1 to 4096");
    tile = {static_cast<std::int64_t>(sides[0]), static_cast<std::int64_t>(sides[1])};
    return {};
  }
  static Status read(const JsonView& view, std::vector<Neighbour>& value) {
    ROOFTILE_TRY(const auto text, view.string());
    auto list = decode_neighbours(text);
    if (!list) return view.error("is no sorted list of shapes and residuals");
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
    "rooftile weights 2: gemm(tile x split-k, wave, p-norm 2.5, l2 miss, neighbours) pointwise "
    "rows "
    "conv attention";

Status check(const Weights& weights, const std::string& file) {
  const auto positive = [](const GemmModel& m) {
    return !m.tiles.empty() && !m.split_k.empty() && m.parameters.dram > 0 &&
           m.parameters.miss_width > 0 && m.plateau.generic > 0;
  };
  for (const auto& [name, model] : weights.models) {
    for (const auto* gemm : {&model.gemm, &model.bmm, &model.gemm_16bit, &model.gemm_8bit}) {
      if (*gemm && !positive(**gemm))
        return bad_input(fmt::format("{}:/models/{}", file, name),
                         "a GEMM model needs tiles, split_k and positive dram, miss_width, generic",
                         "refit it with rooftile fit");
    }
  }
  return {};
}

}  // namespace

std::size_t bucket_of(double seconds) {
  return static_cast<std::size_t>(
      std::upper_bound(kBucketEdges.begin(), kBucketEdges.end(), seconds) - kBucketEdges.begin());
}

std::string features_hash() {
  // FNV-1a over the format's name and every field name, in order: a renamed field changes it.
  Weights everything;
  DeviceModel model;
  model.gemm.emplace(), model.pointwise.emplace(), model.softmax.emplace(), model.conv.emplace();
  model.prefill.emplace();
  everything.models["x"] = model;
  everything.trivial["x"] = {};
  everything.ranges["x"] = {};
  Writer writer;
  fields(writer, everything);
  Fnv1a hash;
  hash.add_bytes(kFormat);
  const ordered_json flat = writer.take().flatten();
  for (const auto& [key, value] : flat.items()) hash.add_bytes(key);
  return fmt::format("{:016x}", hash.value());
}

std::string to_json(const Weights& weights) {
  Weights copy = weights;  // fields() is shared with reading and takes the value by reference
  Writer writer;
  fields(writer, copy);
  ordered_json json{{"schema", 1}, {"features", features_hash()}};
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
  double ignored_schema = static_cast<double>(schema);
  std::string ignored_hash;
  reader("schema", ignored_schema), reader("features", ignored_hash);
  fields(reader, weights);
  ROOFTILE_CHECK(reader.finish());
  ROOFTILE_CHECK(check(weights, file));
  return weights;
}

Result<Catalog::File> read_weights_file(const Catalog& catalog, std::string_view name) {
  if (name.find('/') == std::string_view::npos)
    return catalog.read(fmt::format("predictors/{}/weights.json", name));
  Catalog::File file;
  file.name = std::string(name) + "/weights.json";
  ROOFTILE_TRY(file.content, read_file(file.name));
  return file;
}

Result<Weights> load_weights(const Catalog& catalog, std::string_view name) {
  ROOFTILE_TRY(const auto file, read_weights_file(catalog, name));
  return parse_weights(file.content, file.name);
}

}  // namespace rooftile::latency::learned
