// SPDX-License-Identifier: Apache-2.0
//
// What importers make of configuration files: parameters and work of a model, with the file's own
// numbers and with the defaults of its family where it states none.
#include "embedded_session.h"
#include "regression/table.h"
#include "regression/words.h"
#include "rooftile/report.h"
#include "temporary_folder.h"

namespace rooftile {
namespace {

/// "t5 num_layers=2 is_gated_act=true" as a configuration file, in which only that is stated.
std::string config_of(const std::string& words) {
  std::string text;
  for (const std::string_view word : split(words, ' ')) {
    const std::size_t at = word.find('=');
    if (at == std::string_view::npos) {
      text += fmt::format("{{\"model_type\": \"{}\"", word);
      continue;
    }
    const std::string_view value = word.substr(at + 1);
    const bool bare = parse_double(value) || value == "true" || value == "false";
    const std::string_view quote = bare ? "" : "\"";
    text += fmt::format(", \"{}\": {}{}{}", word.substr(0, at), quote, value, quote);
  }
  return text + "}";
}

Result<std::vector<std::string>> values_of(const std::string& config,
                                           const std::string& arguments) {
  const testing::TemporaryFolder folder;
  ROOFTILE_TRY(Request request, testing::request_of("MODEL --gpu h100-sxm " + arguments));
  request.model = folder.write("config.json", config_of(config));
  request.predictor = "bound";
  ROOFTILE_TRY(const Report report, testing::embedded_session().predict(request));
  std::int64_t launches = 0;
  double bytes = 0;
  for (const OperatorReport& op : report.operators) {
    launches += op.count;
    bytes += op.traffic.dram;
  }
  return std::vector<std::string>{std::to_string(report.parameters),
                                  testing::number_text(report.flops),
                                  testing::number_text(bytes),
                                  std::to_string(launches),
                                  testing::number_text(report.memory.total_bytes),
                                  testing::number_text(report.memory.activations_bytes),
                                  testing::number_text(report.memory.kv_cache_bytes)};
}

TEST(Models, OfConfigurations) {
  testing::compare_table("tests/regression/models.csv", 2, [](const std::vector<std::string>& row) {
    return values_of(row[0], row[1]);
  });
}

}  // namespace
}  // namespace rooftile
