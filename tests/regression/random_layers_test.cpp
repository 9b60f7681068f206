// SPDX-License-Identifier: Apache-2.0
//
// Bytes of random convolutions by every model of traffic, against a committed table. Agreement with
// the simulator is tested elsewhere, with tolerances; here a model may not change unnoticed.
#include "regression/table.h"
#include "traffic/closed.h"
#include "traffic/paper.h"
#include "traffic/random_layer.h"
#include "traffic/sampled.h"

namespace rooftile::traffic {
namespace {

constexpr int kSmall = 100, kLarge = 30;
/// Half of the layers on caches of another kind: AMD's lines are 64 bytes, without sectors.
constexpr Access kOther{.lanes = 64, .sector_bytes = 64, .line_bytes = 64};

void add_operands(const OperandTraffic& a, const OperandTraffic& b, std::vector<double>& out) {
  for (double OperandTraffic::* level :
       {&OperandTraffic::l1, &OperandTraffic::l2, &OperandTraffic::dram}) {
    out.push_back(a.*level + b.*level);
  }
}

/// Of the published forms: all of their quantities in one sum, each in its own unit.
double sum_of(const PaperForms& f) {
  return f.mli_ifmap + f.mli_ifmap_closed + f.mli_filter_unaligned + f.mli_filter + f.dist_v +
         f.dist_h + f.a_dist_v + f.a_dist_h + f.unique_paper + f.unique_closed + f.unique_reuse +
         f.unique_no_reuse;
}

std::vector<double> bytes_of(const RandomLayer& layer, bool simulated) {
  const ImplicitGemm problem = layer.problem();
  std::vector<double> out;
  const ReadTraffic sampled = sampled_traffic(problem, layer.machine, Counting::Sampled);
  add_operands(sampled.a, sampled.b, out);
  out.push_back(sampled.compulsory_a + sampled.compulsory_b);
  out.push_back(sampled.partial_sums + sampled.dram_written);
  const ReadBytes closed =
      closed_conv(layer.conv, layer.dtype, {.tile = layer.cut.tile, .split_k = layer.cut.split_k},
                  {.concurrent = layer.machine.wave(),
                   .sms = layer.machine.sm_count,
                   .l2_bytes = static_cast<double>(layer.machine.l2_bytes),
                   .access = layer.cut.access});
  out.insert(out.end(), {closed.l1, closed.l2, closed.dram, closed.least});
  const bool published = layer.conv.pass == ops::ConvPass::Forward && layer.conv.groups == 1 &&
                         layer.conv.dilation_h == 1 && layer.conv.dilation_w == 1;
  const PaperTraffic paper = published ? paper_traffic(layer.conv, layer.cut.tile) : PaperTraffic{};
  out.insert(out.end(), {paper.l1, paper.l2, paper.dram_read, paper.dram_written});
  out.push_back(published ? sum_of(paper_forms(layer.conv, layer.cut.tile)) : 0);
  if (simulated) {
    const auto truth = simulate(problem, layer.machine, {});
    EXPECT_TRUE(truth);
    if (truth) add_operands(truth->a, truth->b, out);
  } else {
    out.insert(out.end(), {0, 0, 0});
  }
  out.push_back(estimated_accesses(problem));
  return out;
}

TEST(RandomLayers, BytesOfEveryModel) {
  testing::Table now{
      .path = "tests/regression/random_layers.csv",
      .columns = {"layer", "sampled_l1", "sampled_l2", "sampled_dram", "compulsory", "written",
                  "closed_l1", "closed_l2", "closed_dram", "closed_least", "paper_l1", "paper_l2",
                  "paper_dram", "paper_written", "paper_forms", "simulated_l1", "simulated_l2",
                  "simulated_dram", "accesses"},
      .rows = {}};
  for (const LayerSize size : {LayerSize::Small, LayerSize::Large}) {
    const bool small = size == LayerSize::Small;
    RandomLayers layers(7, size);
    for (int i = 0; i < (small ? kSmall : kLarge); ++i) {
      RandomLayer layer = layers.next();
      if (i % 2 == 1) layer.cut.access = kOther;
      std::vector<std::string> row{ops::shape_text(layer.conv)};
      for (const double number : bytes_of(layer, small)) {
        row.push_back(testing::number_text(number));
      }
      now.rows.push_back(std::move(row));
    }
  }
  testing::compare_whole_table(now);
}

}  // namespace
}  // namespace rooftile::traffic
