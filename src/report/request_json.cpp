// SPDX-License-Identifier: Apache-2.0
#include "report/request_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

/// Calls `visit(key, field)` for every field. A field of Request that is not listed here does not
/// compile: it would be lost in a report.
template <typename RequestOrConst, typename Visit>
void visit_fields(RequestOrConst& request, const Visit& visit) {
  auto& [model, gpu, machine, phase, batch, sequence, context, dtype, kv_dtype, weight_dtype, stack,
         attention, fusion, optimizer, recompute, dp, tp, pp, ep, microbatches, system, predictor,
         catalog] = request;
  visit("model", model);
  visit("gpu", gpu);
  visit("phase", phase);
  visit("batch", batch);
  visit("dtype", dtype);
  visit("kv_dtype", kv_dtype);
  visit("weight_dtype", weight_dtype);
  visit("stack", stack);
  visit("attention", attention);
  visit("fusion", fusion);
  visit("optimizer", optimizer);
  visit("recompute", recompute);
  visit("predictor", predictor);
  visit("seq", sequence);
  visit("context", context);
  visit("machine", machine);
  visit("dp", dp);
  visit("tp", tp);
  visit("pp", pp);
  visit("ep", ep);
  visit("microbatches", microbatches);
  visit("system", system);
  visit("catalog", catalog);
}

/// Absent fields leave no key.
struct FieldWriter {
  ordered_json& json;

  template <typename T>
  void operator()(const char* key, const T& value) const {
    json[key] = value;
  }
  template <typename T>
  void operator()(const char* key, const std::optional<T>& value) const {
    if (value) json[key] = *value;
  }
  void operator()(const char* key, const std::vector<std::string>& values) const {
    if (!values.empty()) json[key] = values;
  }
};

Status read(const JsonView& view, std::string& value) {
  ROOFTILE_TRY(value, view.string());
  return {};
}
Status read(const JsonView& view, bool& value) {
  ROOFTILE_TRY(value, view.boolean());
  return {};
}
Status read(const JsonView& view, std::int64_t& value) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;  // what a double of JSON holds exactly
  ROOFTILE_TRY(value, view.integer(-kMost, kMost));
  return {};
}
template <typename T>
Status read(const JsonView& view, std::optional<T>& value) {
  return read(view, value.emplace());
}
Status read(const JsonView& view, std::vector<std::string>& values) {
  ROOFTILE_TRY(const auto elements, view.elements());
  for (const JsonView& element : elements) ROOFTILE_CHECK(read(element, values.emplace_back()));
  return {};
}

}  // namespace

ordered_json request_json(const Request& request) {
  ordered_json json = ordered_json::object();
  visit_fields(request, FieldWriter{json});
  return json;
}

Result<Request> read_request(const JsonView& object) {
  std::vector<std::string_view> keys;
  Request request;
  Status status;
  visit_fields(request, [&](std::string_view key, auto& field) {
    keys.push_back(key);
    if (const auto member = object.find(key); member && status) status = read(*member, field);
  });
  ROOFTILE_CHECK(object.expect_keys(keys));
  ROOFTILE_CHECK(status);
  for (const std::string_view key : {"model", "gpu"}) ROOFTILE_CHECK(object.at(key));
  return request;
}

}  // namespace rooftile::report
