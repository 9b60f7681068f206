// SPDX-License-Identifier: Apache-2.0
//
// End to end: bytes -> reader -> default predictor -> every writer -> read back. The first byte
// says what the rest is: a model, or a GPU that a model is predicted on.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "catalogue.h"
#include "core/csv.h"
#include "memory_file.h"
#include "report/describe.h"
#include "report/writer.h"
#include "rooftile/report.h"
#include "rooftile/request.h"
#include "study/session.h"

namespace {

using namespace rooftile;

void check(const Report& report) {
  const auto number = [](double value) {
    if (!std::isfinite(value) || value < 0) std::abort();
  };
  number(report.latency.total_ms);
  if (report.latency.low_ms > report.latency.total_ms * (1 + 1e-9)) std::abort();
  if (report.latency.high_ms < report.latency.total_ms * (1 - 1e-9)) std::abort();
  const report::Document document = report::describe(report);
  const auto json = nlohmann::json::parse(report::write("json", document), nullptr, false);
  if (json.is_discarded()) std::abort();
  if (json["latency"]["total_ms"].get<double>() != report.latency.total_ms) std::abort();
  if (json["operators"].size() < report.operators.size()) std::abort();
  const std::string csv = report::write("csv", document);
  CsvReader reader = CsvReader::from_text(csv, "csv", {});
  std::size_t rows = 0;
  while (true) {
    const auto more = reader.next();
    if (!more) std::abort();
    if (!*more) break;
    ++rows;
  }
  if (rows < report.operators.size() + 1) std::abort();
  if (nlohmann::json::parse(report::write("trace", document), nullptr, false).is_discarded())
    std::abort();
  for (const char c : report::write("text", document, {.width = 80})) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // A user's file is read anew for every input, the rest is read once: the session keeps it.
  static fuzz::MemoryFile file;
  static const study::Session session(fuzz::small_catalogue());
  const std::string& path = file.holding(data + 1, size - 1);
  const bool gpu = data[0] % 2 == 1;
  Request request;
  request.model = gpu ? "gpt2" : path;
  request.gpu = gpu ? path : "v100-pcie-32gb";
  request.batch = 2;
  request.phase = data[0] % 4 < 2 ? "infer" : "train";
  const auto report = session.predict(request, fuzz::default_predictor());
  if (fuzz::explained(report)) check(*report);
  return 0;
}
