// SPDX-License-Identifier: Apache-2.0
//
// Every study behind one door: the command line and the library (rooftile/session.h) have no other.
// A Session holds the catalogue and what was read of it. All members are const and may be called
// from several threads at once: what is read for the first time is kept under a lock, and nobody
// changes it afterwards. What a path names is not kept: files may change between two calls.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "rooftile/progress.h"

namespace rooftile {
struct CalibrateReport;
struct CalibrateRequest;
struct CharacterizeRequest;
struct EvaluateReport;
struct EvaluateRequest;
struct FitRequest;
struct GenerateReport;
struct GenerateRequest;
struct KernelRequest;
struct KernelsReport;
struct Report;
struct Request;
struct RooflineRequest;
struct ScaleReport;
struct ScaleRequest;
struct SuggestReport;
struct SuggestRequest;
struct TrafficReport;
struct TrafficRequest;
namespace calibration {
struct LabelEvaluation;
struct NodeEvaluation;
struct StepEvaluation;
struct ValidationTable;
}  // namespace calibration
namespace characterize::mpi {
class Session;
}
namespace cost {
class Predictor;
struct StackCosts;
}  // namespace cost
namespace execution {
struct Stack;
}
namespace graph {
class Model;
}
namespace hardware {
struct Machine;
}
namespace roofline {
struct Chart;
}
}  // namespace rooftile

namespace rooftile::study {

/// Measured steps to be compared with.
struct StepsRequest {
  std::string file;
  std::string predictor = {};
  bool left_out = false;  ///< each GPU with costs of the stacks that have not seen it
};

/// Traced nodes to be compared with, of the models `models`/NAME.json.
struct NodesRequest {
  std::string file, models;
  std::string predictor = {};
};

/// Measured steps and all-reduces to fit the costs of software stacks to.
struct FitStacksRequest {
  std::vector<std::string> files;
  std::string predictor = {};
  std::string command = {};  ///< for the origins
};

struct CalibrateEvaluation;
struct CalibrateEvaluationRequest;
struct CharacterizeResult;
struct FitResult;
struct InspectResult;
struct KernelEvaluation;
struct TileEvaluation;

class Session {
 public:
  explicit Session(Catalog catalog);
  /// The standard catalogue, overlaid by `folders`.
  static Result<Session> open(std::span<const std::string> folders);
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// Model and machine in, time and memory of a step out (predict.cpp).
  [[nodiscard]] Result<Report> predict(const Request& request) const;
  /// The same with a predictor at hand (one fitted without a GPU, say); request.predictor is not
  /// looked at.
  [[nodiscard]] Result<Report> predict(const Request& request,
                                       const cost::Predictor& predictor) const;
  /// The same with other costs of the software stacks than the catalogue's.
  [[nodiscard]] Result<Report> predict(const Request& request, const cost::Predictor& predictor,
                                       const cost::StackCosts& costs) const;
  /// The same on a machine at hand (one that is being calibrated, say); request.gpu and
  /// request.machine are not looked at.
  [[nodiscard]] Result<Report> predict(const Request& request, const hardware::Machine& machine,
                                       const cost::Predictor& predictor,
                                       const cost::StackCosts& costs) const;
  /// Prompts in, tokens out (generate.cpp).
  [[nodiscard]] Result<GenerateReport> generate(const GenerateRequest& request) const;
  [[nodiscard]] Result<GenerateReport> generate(const GenerateRequest& request,
                                                const cost::Predictor& predictor,
                                                const cost::StackCosts& costs) const;
  /// Whole steps against measured ones (steps.cpp).
  [[nodiscard]] Result<calibration::StepEvaluation> evaluate_steps(const StepsRequest& request,
                                                                   const Progress& progress) const;
  /// What the software stacks cost, fitted to measured steps and all-reduces (fit_stacks.h).
  [[nodiscard]] Result<cost::StackCosts> fit_stacks(const FitStacksRequest& request,
                                                    const Progress& progress) const;
  /// Kernels of our graphs against traced nodes (nodes.cpp).
  [[nodiscard]] Result<calibration::NodeEvaluation> evaluate_nodes(const NodesRequest& request,
                                                                   const Progress& progress) const;
  /// The same step on each of `gpus`; request.gpu is not looked at.
  [[nodiscard]] Result<std::vector<Report>> compare(const Request& request,
                                                    std::span<const std::string> gpus) const;
  /// An operator can be several kernels (a backward pass often is); each gets its report.
  [[nodiscard]] Result<KernelsReport> kernel(const KernelRequest& request) const;
  [[nodiscard]] Result<TrafficReport> traffic(const TrafficRequest& request,
                                              const Progress& progress = {}) const;
  [[nodiscard]] Result<ScaleReport> scale(const ScaleRequest& request,
                                          const Progress& progress = {}) const;
  [[nodiscard]] Result<roofline::Chart> roofline(const RooflineRequest& request,
                                                 const Progress& progress = {}) const;
  /// The kernels of a prediction as points under the roofs of their machine.
  [[nodiscard]] Result<roofline::Chart> chart(const Report& report) const;
  /// Ceilings of this machine, or of all ranks of a job (`ranks`, else null): characterize.h.
  [[nodiscard]] Result<CharacterizeResult> characterize(const CharacterizeRequest& request,
                                                        const Progress& progress,
                                                        characterize::mpi::Session* ranks) const;
  /// A machine file from what was measured on the machine, and what to measure (calibrate.cpp).
  [[nodiscard]] Result<CalibrateReport> calibrate(const CalibrateRequest& request) const;
  [[nodiscard]] Result<SuggestReport> suggest(const SuggestRequest& request) const;
  /// A predictor from measured kernels, and a look at them without a fit: fit.h.
  [[nodiscard]] Result<FitResult> fit(const FitRequest& request, const Progress& progress) const;
  [[nodiscard]] Result<InspectResult> inspect(const FitRequest& request) const;
  /// Predictions against measurements (evaluate.h): one function per subject, and all of them by
  /// request.subject.
  [[nodiscard]] Result<KernelEvaluation> evaluate_kernels(const EvaluateRequest& request,
                                                          const Progress& progress) const;
  [[nodiscard]] Result<calibration::LabelEvaluation> evaluate_labels(
      const EvaluateRequest& request, const Progress& progress) const;
  [[nodiscard]] Result<calibration::ValidationTable> evaluate_traffic(
      const EvaluateRequest& request, const Progress& progress) const;
  [[nodiscard]] Result<TileEvaluation> evaluate_tiles(const EvaluateRequest& request,
                                                      const Progress& progress) const;
  /// What calibrating with a few rows gains (evaluate_calibrate.cpp).
  [[nodiscard]] Result<CalibrateEvaluation> evaluate_calibrate(
      const CalibrateEvaluationRequest& request, const Progress& progress) const;
  [[nodiscard]] Result<EvaluateReport> evaluate(const EvaluateRequest& request,
                                                const Progress& progress) const;

  // What the studies stand on.
  [[nodiscard]] const Catalog& catalog() const;
  /// `name` empty takes the default (cost/predictor.h).
  [[nodiscard]] Result<std::shared_ptr<const cost::Predictor>> predictor(
      std::string_view name) const;
  /// The GPU by name or path, with the ceilings of a file where one is given (hardware/machine.h).
  [[nodiscard]] Result<std::shared_ptr<const hardware::Machine>> machine(
      const std::string& gpu, const std::optional<std::string>& file) const;
  [[nodiscard]] Result<std::shared_ptr<const graph::Model>> model(std::string_view name) const;
  /// A software stack by name, alias or path (execution/stack.h), and what all of them cost.
  [[nodiscard]] Result<std::shared_ptr<const execution::Stack>> stack(std::string_view name) const;
  [[nodiscard]] Result<std::shared_ptr<const cost::StackCosts>> stack_costs() const;

 private:
  struct Shelf;
  std::unique_ptr<Shelf> shelf_;
};

}  // namespace rooftile::study
