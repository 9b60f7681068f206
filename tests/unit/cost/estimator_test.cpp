// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cost/predictor.h"
#include "ops/any_op.h"

namespace rooftile::cost {
namespace {

class Estimators : public ::testing::TestWithParam<std::string_view> {};

/// What an estimator has looked up for one kernel must not reach another.
TEST_P(Estimators, SayWhatThePredictorSays) {
  const Catalog catalog = Catalog::embedded();
  const auto predictor = make_predictor(GetParam(), catalog).value();
  for (const char* gpu : {"h100-sxm", "v100-pcie-32gb", "mi210", "b200"}) {
    const auto here = hardware::load_machine(catalog, gpu, std::nullopt).value();
    Estimator on = predictor->on(here);
    for (const DType dtype : {DType::Fp32, DType::Bf16, DType::Fp16, DType::Fp32}) {
      ops::KernelList works;
      const ops::LowerContext context{.precision = ops::precision_of(dtype)};
      ops::forward(ops::Linear{.rows = 512, .in = 768, .out = 768}, context, works);
      ops::forward(ops::BatchedMatmul{.batch = 12, .m = 512, .n = 512, .k = 64}, context, works);
      ops::forward(ops::Softmax{.shape = {6144, 512}}, context, works);
      ops::forward(ops::LayerNorm{.shape = {512, 768}}, context, works);
      ops::forward(ops::FusedAttention{.shape = {.heads = 12, .queries = 512, .keys = 512}},
                   context, works);
      for (const ops::KernelWork& work : works) {
        const auto job = bind(work, here);
        const auto same = on.bind(work);
        ASSERT_EQ(job.has_value(), same.has_value()) << gpu << " " << work.op;
        if (!job) continue;
        const Estimate alone = predictor->estimate(*job, here);
        const Estimate listed = on.estimate(*same);
        EXPECT_EQ(listed.time, alone.time) << gpu << " " << work.op;
        EXPECT_EQ(listed.low, alone.low) << gpu << " " << work.op;
        EXPECT_EQ(listed.high, alone.high) << gpu << " " << work.op;
        EXPECT_EQ(listed.extrapolated, alone.extrapolated) << gpu << " " << work.op;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllPredictors, Estimators, ::testing::ValuesIn(predictor_names()));

}  // namespace
}  // namespace rooftile::cost
