// SPDX-License-Identifier: Apache-2.0
//
// The library's own door (include/rooftile/session.h): the Session of the command line, without its
// internal types and without exceptions.
#include <exception>
#include <optional>
#include <utility>

#include "report/describe.h"
#include "report/writer.h"
#include "roofline/chart.h"
#include "rooftile/rooftile.h"
#include "study/characterize.h"
#include "study/evaluate.h"
#include "study/fit.h"
#include "study/session.h"

namespace rooftile {

struct Session::Inside {
  explicit Inside(Result<study::Session> opened) : session(std::move(opened)) {}
  Result<study::Session> session;  ///< or why the catalogue could not be opened
};

namespace {

Failure failure_of(const Error& error) {
  return {.code = static_cast<int>(error.code),
          .where = error.where,
          .message = error.message,
          .hint = error.hint};
}

Failure failure_of(const std::exception& error) {  // out of memory and the like
  return failure_of(
      Error{.code = ErrorCode::Internal, .where = {}, .message = error.what(), .hint = {}});
}

/// What `study` gives; nothing is thrown across the boundary.
template <typename T, typename Study>
Answer<T> answer(const Result<study::Session>& session, const Study& study) {
  try {
    if (!session) return failure_of(session.error());
    Result<T> result = study(*session);
    if (!result) return failure_of(result.error());
    return *std::move(result);
  } catch (const std::exception& error) {
    return failure_of(error);
  }
}

/// The catalogue belongs to the Session: a request may repeat it, as reports do, but not change it.
Status check_catalog(const Request& request, const study::Session& session) {
  if (request.catalog.empty() || request.catalog == session.catalog().overlays()) return {};
  return usage_error("the request names other catalogue folders than its Session",
                     "give the folders to the constructor of the Session");
}

Result<study::Session> open_session(const std::vector<std::string>& catalog) {
  try {
    return study::Session::open(catalog);
  } catch (const std::exception& error) {
    return tl::unexpected(
        Error{.code = ErrorCode::Internal, .where = {}, .message = error.what(), .hint = {}});
  }
}

template <typename Quantity>
std::optional<double> number_of(const std::optional<Quantity>& quantity, double unit = 1) {
  if (!quantity) return std::nullopt;
  return quantity->base() / unit;
}

constexpr double kMillisecond = 1e-3;

KernelPoint point_of(const roofline::Point& point) {
  const profile::KernelRecord& record = point.record;
  KernelPoint out{.name = record.name,
                  .short_name = point.short_name,
                  .run = point.phase,
                  .launches = record.launches,
                  .time_ms = number_of(record.time, kMillisecond),
                  .flops = number_of(record.flops),
                  .l1_bytes = number_of(record.bytes_at(hardware::MemoryLevel::L1)),
                  .l2_bytes = number_of(record.bytes_at(hardware::MemoryLevel::L2)),
                  .dram_bytes = number_of(record.bytes_at(hardware::MemoryLevel::Dram)),
                  .limiter = point.limiter,
                  .bound_ms = number_of(point.bound, kMillisecond),
                  .fraction_of_roof = point.fraction_of_roof,
                  .launch_bound = point.launch_bound,
                  .predicted_ms = {},
                  .advice = point.advice};
  if (point.predicted) out.predicted_ms = point.predicted->time.base() / kMillisecond;
  return out;
}

RooflineReport report_of(const roofline::Chart& chart) {
  RooflineReport report;
  report.title = chart.title;
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    report.roofs.push_back({.name = roof.name,
                            .compute = false,
                            .per_second = roof.bandwidth.base(),
                            .source = roof.source});
  }
  for (const roofline::ComputeRoof& roof : chart.roofs.compute) {
    report.roofs.push_back({.name = hardware::name_of(roof.key),
                            .compute = true,
                            .per_second = roof.rate.base(),
                            .source = roof.source});
  }
  for (const roofline::Point& point : chart.points) report.kernels.push_back(point_of(point));
  report.provenance = chart.provenance;
  for (const profile::Warning& warning : chart.warnings) {
    report.warnings.push_back(warning.name + ": " + warning.message);
  }
  return report;
}

}  // namespace

Session::Session(const std::vector<std::string>& catalog)
    : inside_(std::make_shared<const Inside>(open_session(catalog))) {
}

Answer<Report> Session::predict(const Request& request) const {
  return answer<Report>(inside_->session, [&](const study::Session& session) -> Result<Report> {
    ROOFTILE_CHECK(check_catalog(request, session));
    return session.predict(request);
  });
}

Answer<std::vector<Report>> Session::compare(const Request& request,
                                             const std::vector<std::string>& gpus) const {
  using Reports = std::vector<Report>;
  return answer<Reports>(inside_->session, [&](const study::Session& session) -> Result<Reports> {
    ROOFTILE_CHECK(check_catalog(request, session));
    return session.compare(request, gpus);
  });
}

Answer<KernelsReport> Session::kernel(const KernelRequest& request) const {
  return answer<KernelsReport>(
      inside_->session, [&](const study::Session& session) { return session.kernel(request); });
}

Answer<TrafficReport> Session::traffic(const TrafficRequest& request,
                                       const Progress& progress) const {
  return answer<TrafficReport>(inside_->session, [&](const study::Session& session) {
    return session.traffic(request, progress);
  });
}

Answer<ScaleReport> Session::scale(const ScaleRequest& request, const Progress& progress) const {
  return answer<ScaleReport>(inside_->session, [&](const study::Session& session) {
    return session.scale(request, progress);
  });
}

Answer<RooflineReport> Session::roofline(const RooflineRequest& request) const {
  return answer<RooflineReport>(
      inside_->session, [&](const study::Session& session) -> Result<RooflineReport> {
        ROOFTILE_TRY(const roofline::Chart chart, session.roofline(request));
        return report_of(chart);
      });
}

Answer<CharacterizeReport> Session::characterize(const CharacterizeRequest& request,
                                                 const Progress& progress) const {
  using Answered = CharacterizeReport;
  return answer<Answered>(inside_->session, [&](const study::Session& session) -> Result<Answered> {
    ROOFTILE_TRY(const study::CharacterizeResult result,
                 session.characterize(request, progress, nullptr));
    return study::report_of(result);
  });
}

Answer<CalibrateReport> Session::calibrate(const CalibrateRequest& request) const {
  return answer<CalibrateReport>(
      inside_->session, [&](const study::Session& session) { return session.calibrate(request); });
}

Answer<SuggestReport> Session::suggest(const SuggestRequest& request) const {
  return answer<SuggestReport>(
      inside_->session, [&](const study::Session& session) { return session.suggest(request); });
}

Answer<FitReport> Session::fit(const FitRequest& request, const Progress& progress) const {
  return answer<FitReport>(
      inside_->session, [&](const study::Session& session) -> Result<FitReport> {
        ROOFTILE_TRY(const study::FitResult result, session.fit(request, progress));
        return study::report_of(result);
      });
}

Answer<InspectReport> Session::inspect(const FitRequest& request) const {
  return answer<InspectReport>(
      inside_->session, [&](const study::Session& session) -> Result<InspectReport> {
        ROOFTILE_TRY(const study::InspectResult result, session.inspect(request));
        return study::report_of(result);
      });
}

Answer<EvaluateReport> Session::evaluate(const EvaluateRequest& request,
                                         const Progress& progress) const {
  return answer<EvaluateReport>(inside_->session, [&](const study::Session& session) {
    return session.evaluate(request, progress);
  });
}

std::string to_json(const Report& report) {
  return report::write("json", report::describe(report));
}

}  // namespace rooftile
