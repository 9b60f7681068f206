// SPDX-License-Identifier: Apache-2.0
//
// The one door of the library. A Session opens the catalogue once and keeps what it has read of it:
// GPUs, models, the calibration of the predictors. Answers are pure functions of their requests and
// of those files: deterministic, no GPU, no network (characterize alone measures).
//
//   const rooftile::Session session;
//   const auto report = session.predict({.model = "gpt2-large", .gpu = "h100-sxm"});
//   if (report) std::printf("%.2f ms\n", report->latency.total_ms);
//
// Threads: all studies are const and may be called from several threads at once on one Session;
// copies are cheap and share what was read. Files: what belongs to the catalogue is read once per
// Session; a path in a request is read anew by every call. Exceptions: none leaves a Session. Long
// studies take a Progress (progress.h), which may stop them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rooftile/calibrate.h"
#include "rooftile/characterize.h"
#include "rooftile/evaluate.h"
#include "rooftile/fit.h"
#include "rooftile/kernel.h"
#include "rooftile/progress.h"
#include "rooftile/report.h"
#include "rooftile/request.h"
#include "rooftile/roofline.h"
#include "rooftile/scale.h"
#include "rooftile/traffic.h"

namespace rooftile {

/// Why there is no answer. The code is the exit code the command line would give: 1 bad input,
/// 2 usage, 3 unsupported content, 70 internal.
struct Failure {
  int code = 1;
  std::string where;
  std::string message;
  std::string hint;
};

/// A result, or why there is none.
template <typename T>
class Answer {
 public:
  Answer(T value) : content_(std::move(value)) {}
  Answer(Failure failure) : content_(std::move(failure)) {}

  explicit operator bool() const { return content_.index() == 0; }
  /// Only where there is one.
  [[nodiscard]] const T& operator*() const { return *std::get_if<0>(&content_); }
  [[nodiscard]] const T* operator->() const { return std::get_if<0>(&content_); }
  /// Only where there is no result.
  [[nodiscard]] const Failure& failure() const { return *std::get_if<1>(&content_); }

 private:
  std::variant<T, Failure> content_;
};

class Session {
 public:
  /// The embedded catalogue, overlaid by the folders in ROOFTILE_CATALOG and then by `catalog`. A
  /// folder that cannot be read is the failure of every study.
  explicit Session(const std::vector<std::string>& catalog = {});

  /// Time and memory of one step; request.catalog must be empty or what the Session has.
  [[nodiscard]] Answer<Report> predict(const Request& request) const;
  /// The same step on each of `gpus`; request.gpu is not looked at.
  [[nodiscard]] Answer<std::vector<Report>> compare(const Request& request,
                                                    const std::vector<std::string>& gpus) const;
  [[nodiscard]] Answer<KernelsReport> kernel(const KernelRequest& request) const;
  [[nodiscard]] Answer<TrafficReport> traffic(const TrafficRequest& request,
                                              const Progress& progress = {}) const;
  [[nodiscard]] Answer<ScaleReport> scale(const ScaleRequest& request,
                                          const Progress& progress = {}) const;
  [[nodiscard]] Answer<RooflineReport> roofline(const RooflineRequest& request) const;
  /// Measures this machine: seconds to tens of minutes.
  [[nodiscard]] Answer<CharacterizeReport> characterize(const CharacterizeRequest& request,
                                                        const Progress& progress = {}) const;
  /// A machine file from what was measured on a GPU; seconds.
  [[nodiscard]] Answer<CalibrateReport> calibrate(const CalibrateRequest& request) const;
  /// What to measure for it.
  [[nodiscard]] Answer<SuggestReport> suggest(const SuggestRequest& request) const;
  /// A predictor from measured kernels: minutes.
  [[nodiscard]] Answer<FitReport> fit(const FitRequest& request,
                                      const Progress& progress = {}) const;
  /// The measured kernels of a fit, without one; form, seed and threads are not looked at.
  [[nodiscard]] Answer<InspectReport> inspect(const FitRequest& request) const;
  /// Predictions against measurements; minutes where predictors are fitted anew.
  [[nodiscard]] Answer<EvaluateReport> evaluate(const EvaluateRequest& request,
                                                const Progress& progress = {}) const;

 private:
  struct Inside;
  std::shared_ptr<const Inside> inside_;
};

}  // namespace rooftile
