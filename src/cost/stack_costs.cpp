// SPDX-License-Identifier: Apache-2.0
#include "cost/stack_costs.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/provenance.h"

namespace rooftile::cost {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kStackCostFile = "predictors/default/stacks.json";
constexpr std::string_view kStandIn = "eager";

// name, member, unit, meaning, limits, start, fitted
constexpr std::array kStackParameters{
    Parameter<StackForm>{"gap", &StackForm::gap, "s",
                         "between two kernels that are launched one by one", 0, 1e-3, 3e-6, true},
    Parameter<StackForm>{"replay_gap", &StackForm::replay_gap, "s",
                         "between two kernels of a captured graph", 0, 1e-3, 1e-6, true},
    Parameter<StackForm>{"launch", &StackForm::launch, "s",
                         "of the host to launch one kernel, where launches are not captured", 0,
                         1e-2, 7e-6, true},
    Parameter<StackForm>{"sync", &StackForm::sync, "s",
                         "of the host behind a point where it waits for the device", 0, 1e-2, 2e-5,
                         true},
    Parameter<StackForm>{"step", &StackForm::step, "s",
                         "of a step in addition to its launches: scheduling, inputs", 0, 1, 0,
                         true},
    Parameter<StackForm>{"sequence", &StackForm::sequence, "s",
                         "of a step for each of its sequences that gets a token: sampling, output",
                         0, 1e-1, 0, true},
    Parameter<StackForm>{"spread", &StackForm::spread, "1",
                         "the host's time lies within time / spread and time * spread", 1, 10, 1.3,
                         true},
    Parameter<StackForm>{"prefill_share", &StackForm::prefill_share, "1",
                         "of the prefills that decode steps are mixed with, the part that shows", 0,
                         2, 0.8, true}};
constexpr std::array kOneShotParameters{
    Parameter<OneShotForm>{"efficiency", &OneShotForm::efficiency, "1",
                           "of the data sheet's link rate", 0.01, 1.5, 0.6, true},
    Parameter<OneShotForm>{"start", &OneShotForm::start, "s", "of the kernel", 0, 0.1, 3e-6, true},
    Parameter<OneShotForm>{"step", &OneShotForm::step, "s", "more for every GPU of the group", 0,
                           0.1, 1e-7, true},
    Parameter<OneShotForm>{"second", &OneShotForm::second, "s",
                           "of the second shot: sums are read instead of parts", 0, 0.1, 4e-6,
                           true},
    Parameter<OneShotForm>{"spread", &OneShotForm::spread, "1",
                           "the 80 % interval is time / spread to time * spread", 1, 100, 1.3,
                           true}};

template <Listed Form>
ordered_json form_json(const Form& form) {
  ordered_json json = ordered_json::object();
  for (const Parameter<Form>& p : parameters_of(form)) json[p.name] = form.*p.value;
  return json;
}

template <Listed Form>
ordered_json unit_json() {
  ordered_json json = ordered_json::object();
  for (const Parameter<Form>& p : parameters_of(Form())) json[p.name] = p.unit;
  return json;
}

/// All numbers of the list, and no others.
template <Listed Form>
Result<Form> read_form(const JsonView& object) {
  Form form;
  std::vector<std::string_view> keys;
  for (const Parameter<Form>& p : parameters_of(form)) {
    keys.emplace_back(p.name);
    ROOFTILE_TRY(const JsonView member, object.at(p.name));
    ROOFTILE_TRY(form.*p.value, member.number());
    if (!(form.*p.value >= p.low && form.*p.value <= p.high)) {
      return member.error(
          fmt::format("{} is outside {} to {} {}", form.*p.value, p.low, p.high, p.unit));
    }
  }
  ROOFTILE_CHECK(object.expect_keys(keys));
  return form;
}

Result<StackOrigin> read_origin(const JsonView& object) {
  static constexpr std::array<std::string_view, 3> kKeys{"rows", "gpus", "command"};
  constexpr std::int64_t kMostRows = 1'000'000'000;
  StackOrigin origin;
  ROOFTILE_CHECK(object.expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView rows, object.at("rows"));
  ROOFTILE_TRY(origin.rows, rows.integer(0, kMostRows));
  ROOFTILE_TRY(const JsonView gpus, object.at("gpus"));
  ROOFTILE_TRY(const auto elements, gpus.elements());
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(std::string gpu, element.string());
    origin.gpus.push_back(std::move(gpu));
  }
  ROOFTILE_TRY(const JsonView command, object.at("command"));
  ROOFTILE_TRY(origin.command, command.string());
  return origin;
}

Status check_units(const JsonView& root) {
  ROOFTILE_TRY(const JsonView units, root.at("units"));
  const ordered_json expected{{"stack", unit_json<StackForm>()},
                              {"one_shot", unit_json<OneShotForm>()}};
  for (const auto& [form, names] : expected.items()) {
    ROOFTILE_TRY(const JsonView object, units.at(form));
    for (const auto& [name, unit] : names.items()) {
      ROOFTILE_TRY(const JsonView member, object.at(name));
      ROOFTILE_TRY(const std::string text, member.string());
      if (text != unit.get<std::string>())
        return member.error(fmt::format("must be \"{}\"", unit.get<std::string>()));
    }
  }
  return {};
}

}  // namespace

std::span<const Parameter<StackForm>> parameters_of(const StackForm& /*form*/) {
  return kStackParameters;
}
std::span<const Parameter<OneShotForm>> parameters_of(const OneShotForm& /*form*/) {
  return kOneShotParameters;
}

const StackForm& StackCosts::of(std::string_view stack) const {
  const auto own = stacks.find(stack);
  return own != stacks.end() ? own->second : stacks.find(kStandIn)->second;
}

std::string to_json(const StackCosts& costs) {
  ordered_json json{
      {"schema", 1},
      {"units", {{"stack", unit_json<StackForm>()}, {"one_shot", unit_json<OneShotForm>()}}},
      {"stacks", ordered_json::object()},
      {"one_shot", form_json(costs.one_shot)},
      {"origins", ordered_json::object()}};
  for (const auto& [name, form] : costs.stacks) json["stacks"][name] = form_json(form);
  for (const auto& [name, origin] : costs.origins) {
    json["origins"][name] = {
        {"rows", origin.rows}, {"gpus", origin.gpus}, {"command", origin.command}};
  }
  return json.dump(1) + "\n";
}

Result<StackCosts> parse_stack_costs(std::string_view text, const std::string& file) {
  static constexpr std::array<std::string_view, 5> kKeys{"schema", "units", "stacks", "one_shot",
                                                         "origins"};
  ROOFTILE_TRY(const JsonDocument document,
               JsonDocument::parse(text, file, {.max_depth = 8, .max_bytes = 1 << 20}));
  const JsonView root = document.root();
  ROOFTILE_CHECK(root.expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView schema, root.at("schema"));
  ROOFTILE_CHECK(schema.integer(1, 1));
  ROOFTILE_CHECK(check_units(root));
  StackCosts costs;
  ROOFTILE_TRY(const JsonView stacks, root.at("stacks"));
  ROOFTILE_TRY(const auto members, stacks.members());
  for (const auto& [name, member] : members) {
    ROOFTILE_TRY(costs.stacks[name], read_form<StackForm>(member));
  }
  if (!costs.stacks.contains(kStandIn)) {
    return stacks.error(fmt::format("has no \"{}\"", kStandIn),
                        "other stacks take its numbers where they have none");
  }
  ROOFTILE_TRY(const JsonView one_shot, root.at("one_shot"));
  ROOFTILE_TRY(costs.one_shot, read_form<OneShotForm>(one_shot));
  ROOFTILE_TRY(const JsonView origins, root.at("origins"));
  ROOFTILE_TRY(const auto parts, origins.members());
  for (const auto& [name, member] : parts) {
    ROOFTILE_TRY(costs.origins[name], read_origin(member));
  }
  return costs;
}

Result<StackCosts> read_stack_costs(const Catalog& catalog) {
  ROOFTILE_TRY(const Catalog::File file, catalog.read(kStackCostFile));
  ROOFTILE_TRY(StackCosts costs, parse_stack_costs(file.content, file.name));
  costs.input = make_input("calibration", "stacks", file);
  return costs;
}

}  // namespace rooftile::cost
