// SPDX-License-Identifier: Apache-2.0
#include "study/session.h"

#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "cost/predictor.h"
#include "cost/stack_costs.h"
#include "execution/stack.h"
#include "graph/import_model.h"
#include "hardware/machine.h"

namespace rooftile::study {

/// Values by the name that they were asked for; each is made once. Part of Session::Shelf, so not
/// in an anonymous namespace.
template <typename T>
class Kept {
 public:
  using Pointer = std::shared_ptr<const T>;

  /// The value of `name`; one that `make` gives is kept where `keeps` says so.
  template <typename Make, typename Keeps>
  Result<Pointer> get(std::string_view name, const Make& make, const Keeps& keeps) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = values_.find(name); known != values_.end()) return known->second;
    }
    ROOFTILE_TRY(Pointer made, make());  // without the lock: two threads may read a file twice
    if (!keeps(*made)) return made;
    const std::lock_guard lock(mutex_);
    return values_.try_emplace(std::string(name), std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Pointer, std::less<>> values_;
};

namespace {

bool of_catalogue(const Input& input) {
  return input.origin != "file";
}

}  // namespace

struct Session::Shelf {
  explicit Shelf(Catalog files) : catalog(std::move(files)) {}
  Catalog catalog;
  Kept<cost::Predictor> predictors;
  Kept<hardware::Machine> machines;
  Kept<graph::Model> models;
  Kept<execution::Stack> stacks;
  Kept<cost::StackCosts> costs;
};

Session::Session(Catalog catalog) : shelf_(std::make_unique<Shelf>(std::move(catalog))) {
}
Session::Session(Session&& other) noexcept = default;
Session& Session::operator=(Session&& other) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open(std::span<const std::string> folders) {
  ROOFTILE_TRY(Catalog catalog, Catalog::standard());
  for (const std::string& folder : folders) ROOFTILE_CHECK(catalog.overlay(folder));
  return Session(std::move(catalog));
}

const Catalog& Session::catalog() const {
  return shelf_->catalog;
}

Result<std::shared_ptr<const cost::Predictor>> Session::predictor(std::string_view name) const {
  return shelf_->predictors.get(
      name,
      [&]() -> Result<std::shared_ptr<const cost::Predictor>> {
        return cost::make_predictor(name, catalog());
      },
      [](const cost::Predictor& made) { return of_catalogue(made.input()); });
}

Result<std::shared_ptr<const hardware::Machine>> Session::machine(
    const std::string& gpu, const std::optional<std::string>& file) const {
  const auto load = [&]() -> Result<std::shared_ptr<const hardware::Machine>> {
    ROOFTILE_TRY(hardware::Machine machine, hardware::load_machine(catalog(), gpu, file));
    return std::make_shared<const hardware::Machine>(std::move(machine));
  };
  if (file) return load();
  return shelf_->machines.get(
      gpu, load, [](const hardware::Machine& made) { return of_catalogue(made.gpu.input); });
}

Result<std::shared_ptr<const graph::Model>> Session::model(std::string_view name) const {
  return shelf_->models.get(
      name,
      [&]() -> Result<std::shared_ptr<const graph::Model>> {
        ROOFTILE_TRY(graph::Model model, graph::Model::open(catalog(), name));
        return std::make_shared<const graph::Model>(std::move(model));
      },
      [](const graph::Model& made) { return of_catalogue(made.inputs().front()); });
}

Result<std::shared_ptr<const execution::Stack>> Session::stack(std::string_view name) const {
  return shelf_->stacks.get(
      name,
      [&]() -> Result<std::shared_ptr<const execution::Stack>> {
        ROOFTILE_TRY(execution::Stack stack, execution::load_stack(catalog(), name));
        return std::make_shared<const execution::Stack>(std::move(stack));
      },
      [](const execution::Stack& made) { return of_catalogue(made.input); });
}

Result<std::shared_ptr<const cost::StackCosts>> Session::stack_costs() const {
  return shelf_->costs.get(
      "",
      [&]() -> Result<std::shared_ptr<const cost::StackCosts>> {
        ROOFTILE_TRY(cost::StackCosts costs, cost::read_stack_costs(catalog()));
        return std::make_shared<const cost::StackCosts>(std::move(costs));
      },
      [](const cost::StackCosts& made) { return of_catalogue(made.input); });
}

}  // namespace rooftile::study
