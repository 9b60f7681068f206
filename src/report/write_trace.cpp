// SPDX-License-Identifier: Apache-2.0
//
// A timeline in the Trace Event Format, which Perfetto and chrome://tracing open: complete events
// ("X", microseconds) on one thread per track, metadata events ("M") that name process and threads.
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/provenance.h"
#include "report/json_text.h"
#include "report/writer.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr int kProcess = 1;

/// Microseconds in steps of 1/1024: times and their sums are exact in binary, so that no reader that
/// cuts them to nanoseconds, as Perfetto does, sees a slice begin before the end of the last one.
double microseconds(double ms) {
  return std::round(ms * 1e3 * 1024) / 1024;
}

ordered_json metadata(std::string_view what, std::size_t thread, ordered_json arguments) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", kProcess},
          {"tid", thread},
          {"args", std::move(arguments)}};
}

/// Threads count from 1, in the order of the tracks.
void add_names(const Document& document, const Timeline& timeline, ordered_json& events) {
  events.push_back(metadata("process_name", 0, {{"name", document.title}}));
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    events.push_back(metadata("thread_name", i + 1, {{"name", timeline.tracks[i]}}));
    events.push_back(metadata("thread_sort_index", i + 1, {{"sort_index", i}}));
  }
}

ordered_json event_of(const Slice& slice) {
  const double start = microseconds(slice.start_ms);
  ordered_json event{{"name", slice.name},
                     {"cat", slice.category},
                     {"ph", "X"},
                     {"ts", start},
                     {"dur", microseconds(slice.start_ms + slice.duration_ms) - start},
                     {"pid", kProcess},
                     {"tid", slice.track + 1}};
  if (slice.details.empty()) return event;
  ordered_json& arguments = event["args"] = ordered_json::object();
  for (const auto& [key, value] : slice.details) arguments[key] = value;
  return event;
}

std::string write_trace(const Document& document, const WriteOptions& /*options*/) {
  ordered_json events = ordered_json::array();
  const Timeline timeline = document.timeline ? document.timeline() : Timeline();
  add_names(document, timeline, events);
  for (const Slice& slice : timeline.slices) events.push_back(event_of(slice));
  ordered_json other{{"title", document.title}, {"subtitle", document.subtitle}};
  if (document.provenance) other["provenance"] = provenance_json(*document.provenance);
  return json_text({{"traceEvents", std::move(events)},
                    {"displayTimeUnit", "ms"},
                    {"otherData", std::move(other)}},
                   -1);
}

}  // namespace

Writer trace_writer() {
  return {.name = "trace",
          .endings = {".trace.json", ".json"},
          .needs = Needs::Timeline,
          .warnings = false,
          .make = write_trace};
}

}  // namespace rooftile::report
