// SPDX-License-Identifier: Apache-2.0
//
// How far `predict`, the base of `scale` and the sum of `traffic` are apart for the same step. The
// table holds the gaps as they are; none may grow. A smaller gap is written down with
// tools/update_predictions, and holds from then on.
#include <algorithm>
#include <cmath>

#include "regression/table.h"
#include "regression/words.h"
#include "study/predict.h"
#include "study/scale.h"
#include "study/traffic.h"

namespace rooftile {
namespace {

constexpr const char* kGaps = "tests/regression/agreement.csv";
/// Of a gap: the last digit of the table, and what compilers do to sums.
constexpr double kSlack = 2e-4;

/// |log| of the ratio: 0.1 is about 10 % apart, in either direction.
double gap(double one, double other) {
  return std::abs(std::log(one / other));
}

/// Half of what the shares differ by in sum: 0 where the same resources limit, 1 where no two do.
double share_gap(const std::map<std::string, double>& one,
                 const std::map<std::string, double>& other) {
  std::map<std::string, double> difference = one;
  for (const auto& [name, share] : other) difference[name] -= share;
  double sum = 0;
  for (const auto& [name, share] : difference) sum += std::abs(share);
  return sum / 2;
}

struct Gaps {
  double scale = 0, traffic = 0, scale_limiters = 0;
};

Result<Gaps> gaps_of(const std::string& arguments, const cost::Predictor& predictor) {
  static const Catalog kCatalog = Catalog::embedded();
  ROOFTILE_TRY(const Request request, testing::request_of(arguments));
  ROOFTILE_TRY(const Report report, study::predict_with(request, kCatalog, predictor));
  study::ScaleRequest scale_request;
  scale_request.step = request;
  ROOFTILE_TRY(const auto scaled, study::scale(scale_request, kCatalog, {}));
  study::TrafficRequest traffic_request;
  traffic_request.step = request;
  ROOFTILE_TRY(const auto traffic, study::traffic(traffic_request, kCatalog, {}));
  double traffic_ms = traffic.host_ms;
  for (const report::LayerTraffic& layer : traffic.layers) {
    traffic_ms += layer.latency_ms * static_cast<double>(layer.count);
  }
  const report::ScaleVariant& base = scaled.steps.front().base;
  return Gaps{.scale = gap(base.time_ms, report.latency.total_ms),
              .traffic = gap(traffic_ms, report.latency.total_ms),
              .scale_limiters = share_gap(base.share, report.limiter_share)};
}

TEST(Agreement, GapsBetweenCommandsOnlyShrink) {
  auto table = testing::read_table(kGaps);
  ASSERT_TRUE(table) << to_string(table.error());
  const auto predictor = cost::make_predictor("", Catalog::embedded());
  ASSERT_TRUE(predictor) << to_string(predictor.error());
  EXPECT_GE(table->rows.size(), 12U);
  for (auto& row : table->rows) {
    const auto gaps = gaps_of(row[0], **predictor);
    ASSERT_TRUE(gaps) << row[0] << "\n" << to_string(gaps.error());
    const std::array<double, 3> now{gaps->scale, gaps->traffic, gaps->scale_limiters};
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto before = parse_double(row[i + 1]);
      if (testing::rewrites()) {
        row[i + 1] = fmt::format("{:.4f}", std::min(before.value_or(now[i]), now[i]));
      } else {
        ASSERT_TRUE(before) << row[0];
        EXPECT_LE(now[i], *before + kSlack)
            << row[0] << ": " << table->columns[i + 1]
            << " grew\nhint: the commands must not drift apart; if a better forecast moved away "
            << "from the others, edit the row of " << kGaps << " and say so in CHANGELOG.md";
      }
    }
  }
  if (!testing::rewrites()) return;
  const Status written = testing::write_table(*table);
  EXPECT_TRUE(written) << to_string(written.error());
}

}  // namespace
}  // namespace rooftile
