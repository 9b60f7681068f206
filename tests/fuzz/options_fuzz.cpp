// SPDX-License-Identifier: Apache-2.0
//
// Words of the command line, one per line: what they mean, or a usage error with a reason.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "catalogue.h"
#include "core/text.h"
#include "memory_file.h"
#include "rooftile/scale.h"
#include "rooftile/traffic.h"
#include "study/options.h"
#include "study/session.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rooftile;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto lines = split(text, '\n');
  const auto word = [&lines](std::size_t i) {
    return i < lines.size() ? std::string(lines[i]) : std::string();
  };
  static const study::Session session(fuzz::small_catalogue());
  Request step;
  step.gpu = "v100-pcie-32gb";
  step.phase = word(0);
  step.dtype = word(1);
  step.attention = word(2);
  step.fusion = word(3);
  step.stack = word(8).empty() ? "eager" : word(8);
  step.optimizer = word(4);
  step.batch = parse_int(word(5)).value_or(1);
  step.dp = parse_int(word(6)).value_or(1);
  step.microbatches = parse_int(word(7)).value_or(1);
  if (const auto options = study::parse_step_options(step, session);
      fuzz::explained(options) && options->import.batch < 1)
    std::abort();

  // One small layer: the grammar of the options is what is tried.
  const ops::ConvShape layer{.n = 1, .c = 8, .h = 8, .w = 8, .k = 8, .r = 3, .s = 3};
  TrafficRequest traffic;
  traffic.step.gpu = step.gpu;
  traffic.conv = layer;
  traffic.tile = word(0);
  traffic.order = word(1);
  traffic.traffic_model = word(2);
  (void)fuzz::explained(session.traffic(traffic));
  ScaleRequest scale;
  scale.step.gpu = step.gpu;
  scale.conv = layer;
  scale.set = {word(0), word(1)};
  scale.cost = {word(2)};
  (void)fuzz::explained(session.scale(scale));
  return 0;
}
