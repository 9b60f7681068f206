// SPDX-License-Identifier: Apache-2.0
//
// Measured steps: bytes -> table -> default predictor -> evaluation -> every writer.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "calibration/labels.h"
#include "catalogue.h"
#include "memory_file.h"
#include "report/describe.h"
#include "report/writer.h"
#include "study/session.h"
#include "temporary_folder.h"

namespace {

/// One small model, "tiny".
constexpr const char* kModel =
    R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128,
        "vocab_size": 512})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rooftile::fuzz::MemoryFile file;
  static const rooftile::testing::TemporaryFolder models;
  static const std::string tiny = models.write("tiny.json", kModel);
  const auto predictors = [](const rooftile::hardware::GpuSpec&) {
    return rooftile::calibration::LabelPredictors{.main = &rooftile::fuzz::default_predictor()};
  };
  static const rooftile::study::Session session(rooftile::fuzz::small_catalogue());
  const auto evaluation = rooftile::calibration::evaluate_labels(
      file.holding(data, size), models.path().string(), rooftile::fuzz::small_catalogue(),
      predictors,
      [](const rooftile::Request& request, const rooftile::cost::Predictor& predictor) {
        return session.predict(request, predictor);
      },
      {});
  if (!rooftile::fuzz::explained(evaluation)) return 0;
  const auto document = rooftile::report::describe(*evaluation);
  if (nlohmann::json::parse(rooftile::report::write("json", document)).is_discarded()) std::abort();
  if (rooftile::report::write("csv", document).empty()) std::abort();
  return 0;
}
