// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/file.h"
#include "core/hash.h"
#include "core/json.h"
#include "cost/neusight/neusight.h"

namespace rooftile::cost::neusight {

namespace {

constexpr std::size_t kMaxEntries = 200000, kMaxDevices = 1000;

/// What a number may be; a prediction from numbers inside their limits is finite.
struct Limits {
  double low, high;
};
constexpr Limits kLog2{-200, 200};         // means of the features
constexpr Limits kDeviation{1e-3, 1e3};    // in octaves
constexpr Limits kNetwork{-1e4, 1e4};      // weights and biases
constexpr Limits kSize{0, 1e12};           // of shapes and data sheets
constexpr std::int64_t kMaxSide = 4096;    // of a product's tile
constexpr std::int64_t kMaxRow = 1 << 20;  // elements of a vector kernel's tile

Result<double> number(const JsonView& view, Limits limits) {
  ROOFTILE_TRY(const double value, view.number());
  if (value >= limits.low && value <= limits.high) return value;
  return view.error(fmt::format("{} is not in [{}, {}]", value, limits.low, limits.high),
                    "refit it with rooftile fit --form neusight");
}

std::string numbers(const auto& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

/// One class per line: the numbers are not for reading, but a diff should show which class changed.
std::string class_json(const ClassModel& model) {
  std::string text = fmt::format(
      "{{\"mean\":{},\"deviation\":{},\"least_utilization\":{},\"widths\":{},"
      "\"values\":{},\"devices\":[",
      numbers(model.mean), numbers(model.deviation), model.least_utilization,
      numbers(model.network.widths), numbers(model.network.values));
  for (std::size_t i = 0; i < model.tiles.devices.size(); ++i)
    text += (i > 0 ? "," : "") + numbers(model.tiles.devices[i]);
  text += "],\"tiles\":[";
  for (std::size_t i = 0; i < model.tiles.entries.size(); ++i) {
    const TileEntry& e = model.tiles.entries[i];
    text += fmt::format("{}[{},{},{},{}]", i > 0 ? "," : "", e.device, fmt::join(e.shape, ","),
                        e.tile.m, e.tile.n);
  }
  return text + "]}";
}

Result<std::vector<double>> read_numbers(const JsonView& parent, std::string_view key,
                                         std::size_t count, Limits limits) {
  ROOFTILE_TRY(const auto view, parent.at(key));
  ROOFTILE_TRY(const auto elements, view.elements());
  if (elements.size() != count)
    return view.error(fmt::format("needs {} numbers, has {}", count, elements.size()),
                      "refit it with rooftile fit --form neusight");
  std::vector<double> values;
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(values.emplace_back(), number(element, limits));
  }
  return values;
}

template <std::size_t N>
Status read_array(const JsonView& parent, std::string_view key, std::array<double, N>& values,
                  Limits limits) {
  ROOFTILE_TRY(const auto read, read_numbers(parent, key, N, limits));
  std::copy(read.begin(), read.end(), values.begin());
  return {};
}

Status read_network(const JsonView& view, Network& network) {
  ROOFTILE_TRY(const auto widths_view, view.at("widths"));
  ROOFTILE_TRY(const auto widths, widths_view.elements());
  for (const JsonView& width : widths) {
    ROOFTILE_TRY(const auto value, width.integer(1, static_cast<std::int64_t>(kMaxWidth)));
    network.widths.push_back(static_cast<std::size_t>(value));
  }
  if (!valid_widths(network.widths))
    return widths_view.error(
        fmt::format("a network has {} inputs, {} outputs and at most {} layers", kFeatures,
                    kOutputs, kMaxLayers));
  ROOFTILE_TRY(const auto values,
               read_numbers(view, "values", value_count(network.widths), kNetwork));
  network.values.assign(values.begin(), values.end());
  return {};
}

Status read_tiles(const JsonView& view, bool product, TileTable& table) {
  ROOFTILE_TRY(const auto devices_view, view.at("devices"));
  ROOFTILE_TRY(const auto devices, devices_view.elements());
  ROOFTILE_TRY(const auto tiles_view, view.at("tiles"));
  ROOFTILE_TRY(const auto tiles, tiles_view.elements());
  if (devices.size() > kMaxDevices) return devices_view.error("too many devices");
  if (tiles.size() > kMaxEntries) return tiles_view.error("too many tiles");
  for (const JsonView& device : devices) {
    ROOFTILE_TRY(const auto fields, device.elements());
    DeviceNumbers& numbers_of = table.devices.emplace_back();
    if (fields.size() != numbers_of.size())
      return device.error(fmt::format("a device has {} numbers", numbers_of.size()));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      ROOFTILE_TRY(numbers_of[i], number(fields[i], kSize));
    }
  }
  constexpr std::size_t kFields = 7;
  for (const JsonView& tile : tiles) {
    ROOFTILE_TRY(const auto fields, tile.elements());
    if (fields.size() != kFields)
      return tile.error(fmt::format("a tile has {} numbers: device, shape, sides", kFields));
    TileEntry& entry = table.entries.emplace_back();
    const auto last = static_cast<std::int64_t>(devices.size()) - 1;
    ROOFTILE_TRY(const auto device, fields[0].integer(0, last));
    entry.device = static_cast<std::size_t>(device);
    for (std::size_t i = 0; i < entry.shape.size(); ++i) {
      ROOFTILE_TRY(entry.shape[i], number(fields[i + 1], kSize));
    }
    ROOFTILE_TRY(entry.tile.m, fields[5].integer(1, product ? kMaxSide : 1));
    ROOFTILE_TRY(entry.tile.n, fields[6].integer(1, product ? kMaxSide : kMaxRow));
  }
  return {};
}

Status read_class(const JsonView& view, bool product, ClassModel& model) {
  constexpr std::array<std::string_view, 7> kKeys{
      "mean", "deviation", "least_utilization", "widths", "values", "devices", "tiles"};
  ROOFTILE_CHECK(view.expect_keys(kKeys));
  ROOFTILE_CHECK(read_array(view, "mean", model.mean, kLog2));
  ROOFTILE_CHECK(read_array(view, "deviation", model.deviation, kDeviation));
  ROOFTILE_TRY(const auto least, view.at("least_utilization"));
  ROOFTILE_TRY(model.least_utilization, number(least, {kLeastUtilization, 1}));
  ROOFTILE_CHECK(read_network(view, model.network));
  return read_tiles(view, product, model.tiles);
}

}  // namespace

std::string features_hash() {
  // FNV-1a over what the numbers mean: another list of features or outputs is another hash.
  constexpr std::string_view kFormat =
      "neusight weights 1: log2 tile flop time, tile byte time, wave bytes / dram, wave bytes / "
      "l2; "
      "alpha, gamma, least utilization; devices gflop/s gb/s gb sms mb; tiles device b m n k "
      "tile_m tile_n";
  Fnv1a hash;
  hash.add_bytes(kFormat);
  return fmt::format("{:016x}", hash.value());
}

std::string to_json(const Weights& weights) {
  std::string text = fmt::format(
      "{{\"schema\":1,\"form\":\"neusight\",\"features\":\"{}\",\"classes\":{{", features_hash());
  bool first = true;
  for (const auto& [name, model] : weights.classes) {
    text += fmt::format("{}\n\"{}\":{}", first ? "" : ",", name, class_json(model));
    first = false;
  }
  return text + "\n}}\n";
}

Result<Weights> parse_weights(std::string_view text, std::string file) {
  ROOFTILE_TRY(const auto document, JsonDocument::parse(text, std::move(file)));
  const JsonView root = document.root();
  constexpr std::array<std::string_view, 4> kKeys{"schema", "form", "features", "classes"};
  ROOFTILE_CHECK(root.expect_keys(kKeys));
  ROOFTILE_TRY(const auto schema, root.at("schema"));
  ROOFTILE_CHECK(schema.integer(1, 1));
  ROOFTILE_TRY(const auto form_view, root.at("form"));
  ROOFTILE_TRY(const auto form, form_view.string());
  if (form != "neusight") return form_view.error("is not \"neusight\"");
  ROOFTILE_TRY(const auto hash_view, root.at("features"));
  ROOFTILE_TRY(const auto hash, hash_view.string());
  if (hash != features_hash()) {
    return hash_view.error(
        fmt::format("the weights are for features {}, this program has {}", hash, features_hash()),
        "refit them with this version: rooftile fit --form neusight");
  }
  ROOFTILE_TRY(const auto classes_view, root.at("classes"));
  ROOFTILE_TRY(const auto classes, classes_view.members());
  if (classes.empty()) return classes_view.error("is empty");
  Weights weights;
  for (const auto& [name, view] : classes) {
    const std::string_view kind = std::string_view(name).substr(name.find('/') + 1);
    if (std::find(kClasses.begin(), kClasses.end(), kind) == kClasses.end()) {
      return view.error("is not a vendor and a class of kernels", "for example \"nvidia/linear\"");
    }
    const bool product = kind == "linear" || kind == "bmm";
    ROOFTILE_CHECK(read_class(view, product, weights.classes[name]));
  }
  return weights;
}

}  // namespace rooftile::cost::neusight
