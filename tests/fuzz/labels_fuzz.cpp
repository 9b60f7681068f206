// SPDX-License-Identifier: Apache-2.0
//
// Measured steps: bytes -> table -> default predictor -> evaluation -> every writer.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "app/labels.h"
#include "catalogue.h"
#include "memory_file.h"
#include "report/label_view.h"

namespace {

/// A folder with one small model, "tiny"; gone at the end.
class Models {
 public:
  Models() : folder_((std::filesystem::temp_directory_path() / "rooftile-XXXXXX").string()) {
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    std::ofstream(folder_ + "/tiny.json")
        << R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128,)"
        << R"( "vocab_size": 512})";
  }
  Models(const Models&) = delete;
  Models& operator=(const Models&) = delete;
  ~Models() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rooftile::fuzz::MemoryFile file;
  static const Models models;
  const auto predictors = [](const rooftile::hardware::GpuSpec&) {
    return rooftile::app::LabelPredictors{.main = &rooftile::fuzz::default_predictor()};
  };
  const auto evaluation = rooftile::app::evaluate_labels(
      file.holding(data, size), models.folder(), rooftile::fuzz::small_catalogue(), predictors);
  if (!rooftile::fuzz::explained(evaluation)) return 0;
  if (nlohmann::json::parse(rooftile::report::labels_to_json(*evaluation)).is_discarded())
    std::abort();
  if (rooftile::report::labels_to_csv(*evaluation).empty()) std::abort();
  return 0;
}
