// SPDX-License-Identifier: Apache-2.0
//
// Rows of collectives, hosts, fused layers and gradients: how they are read, and what is fitted to
// them, from rows that known numbers made.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "aggregate/communication.h"
#include "calibration/conv_fit.h"
#include "calibration/evaluate.h"
#include "calibration/fit.h"
#include "calibration/fit_eager.h"
#include "calibration/fit_links.h"
#include "calibration/intervals.h"
#include "temporary_folder.h"

namespace rooftile::calibration {
namespace {

class Rows : public ::testing::Test {
 protected:
  Result<Dataset> read(const std::vector<std::pair<std::string, std::string>>& files) const {
    std::vector<std::string> paths;
    for (const auto& [name, text] : files) paths.push_back(folder.write(name, text));
    return read_datasets(paths, catalog);
  }

  /// All-reduces over 2 and 4 GPUs that take what `constants` say.
  std::string collectives(std::string_view gpu, const cost::LinkConstants& constants) const {
    std::string text = "op_name,nccl_dtype,num_gpus,message_size,latency\n";
    const auto spec = hardware::load_machine(catalog, gpu, std::nullopt).value().gpu;
    for (const std::int64_t gpus : {2, 4}) {
      const auto system = hardware::system_of(catalog, spec, gpus).value();
      const auto link =
          hardware::link_of(system, {.size = gpus, .stage = gpus, .total = gpus}).value();
      for (std::int64_t elements = 2048; elements <= (1 << 28); elements *= 2) {
        const Bytes bytes = Bytes::from_base(2.0 * static_cast<double>(elements));
        const double ms = to_ms(aggregate::all_reduce(bytes, gpus, link, constants).time);
        text += fmt::format("all_reduce,half,{},{},{:.9f}\n", gpus, elements, ms);
      }
    }
    return text;
  }

  testing::TemporaryFolder folder;
  Catalog catalog = Catalog::embedded();
};

constexpr cost::LinkConstants kTruth{
    .fabric = {.efficiency = 0.7, .start = 8e-6, .step = 2e-6, .ramp = 2e6, .spread = 1.2},
    .pcie = {.efficiency = 0.5, .start = 12e-6, .step = 1e-6, .ramp = 4e5, .spread = 1.2},
    .shape = {.ramp_exponent = 0.4, .network_spread = 1.5}};

TEST_F(Rows, LinksAreFoundAgain) {
  const auto data = read({{"nccl_h100_sxm.csv", collectives("h100-sxm", kTruth)},
                          {"nccl_l40s.csv", collectives("l40s", kTruth)}});
  ASSERT_TRUE(data) << to_string(data.error());
  EXPECT_EQ(data->collectives.size(), 2U * 2 * 18);
  const auto fitted = fit_links(*data, std::nullopt);
  ASSERT_TRUE(fitted);
  for (const Collective& row : data->collectives) {
    const double time =
        aggregate::all_reduce(row.bytes, row.gpus, row.link, fitted->constants).time.base();
    EXPECT_NEAR(time / row.measured, 1.0, 0.03) << row.gpus << " x " << row.bytes.base();
  }
  EXPECT_NEAR(fitted->constants.fabric.efficiency, 0.7, 0.03);
  EXPECT_NEAR(fitted->constants.pcie.efficiency, 0.5, 0.03);
  EXPECT_EQ(fitted->seen.gpus, (std::vector<std::uint32_t>{0, 1}));
}

TEST_F(Rows, ALeftOutKindOfLinkTakesTheOther) {
  const auto data = read({{"nccl_h100_sxm.csv", collectives("h100-sxm", kTruth)},
                          {"nccl_l40s.csv", collectives("l40s", kTruth)}});
  ASSERT_TRUE(data) << to_string(data.error());
  const auto without = fit_links(*data, 1);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->constants.pcie.efficiency, without->constants.fabric.efficiency);
  EXPECT_EQ(without->seen.gpus, std::vector<std::uint32_t>{0});
}

TEST_F(Rows, TheHostIsTheMedianOfCallsThatLaunchNothing) {
  // 30 calls of 8 us on one GPU and 10 of 16 us on another: median 8, 80 % lie within a factor
  // of 2.
  std::string text = "device,case,node,target,input_shapes,output_shape,fw_ms,bw_ms,acc_ms\n";
  for (int i = 0; i < 40; ++i) {
    text += fmt::format("{},x,size_{},size,\"[[1, 2]]\",\"(1,)\",{},0,0\n",
                        i < 30 ? "Tesla V100-PCIE-32GB" : "Tesla T4", i, i < 30 ? 0.008 : 0.016);
  }
  text += "Tesla T4,x,add,add,\"[[16, 512]]\",\"(16, 512)\",0.5,0,0\n";
  const auto data = read({{"nodes.csv", text}});
  ASSERT_TRUE(data) << to_string(data.error());
  EXPECT_EQ(data->host_calls.size(), 40U) << "a node with a tensor is not one of them";
  const auto host = fit_host(*data, std::nullopt);
  ASSERT_TRUE(host);
  EXPECT_NEAR(host->launch, 8e-6, 1e-12);
  EXPECT_NEAR(host->spread, 2.0, 1e-9);
  EXPECT_NEAR(fit_host(*data, 1)->spread, 1.0, 1e-9);
}

// T4 streams at 0.75 x 320 GB/s = 240 GB/s in this test. 24e6 elements are 96 MB: 400 us of a
// tensor. Dropout of 1 ms is 2.5 tensors, and 2 ms backward are 5; a copy of 1 ms takes 2.5 tensors
// where 2 are moved. What is small, not copied or not of training says nothing, nor do tensors of
// less than half of the largest.
TEST_F(Rows, TracedNodesSayWhatEagerKernelsMove) {
  const auto data = read({{"nodes.csv",
                           "device,case,node,target,input_shapes,output_shape,fw_ms,bw_ms,acc_ms\n"
                           "Tesla T4,gpt-train-512-8,a,h.0.dropout,x,\"(24000, 1000)\",1.0,2.0,0\n"
                           "Tesla T4,gpt-train-512-8,a,h.0.dropout,x,\"(24, 1000)\",0.7,0.7,0\n"
                           "Tesla T4,gpt-train-512-8,a,h.0.dropout,x,\"(8000, 1000)\",9,9,0\n"
                           "Tesla T4,gpt-inf-512-8,a,h.0.dropout,x,\"(24000, 1000)\",0.01,0,0\n"
                           "Tesla T4,gpt-inf-512-8,b,contiguous,x,\"(24000, 1000)\",1.0,0,0\n"
                           "Tesla T4,gpt-inf-512-8,c,contiguous,x,\"(24000, 1000)\",0.01,0,0\n"
                           "Tesla T4,gpt-inf-512-8,d,size,x,\"(1,)\",0.01,0,0\n"}});
  ASSERT_TRUE(data) << to_string(data.error());
  cost::Constants others = cost::starting_constants();
  others.streaming.measured["t4"] = 0.75;
  others.step.host_launch = 0;
  const auto eager = fit_eager(*data, std::nullopt, others);
  ASSERT_TRUE(eager);
  for (const char* vendor : {"nvidia", "any"}) {
    const cost::EagerConstants& moved = eager->constants.at(vendor);
    EXPECT_NEAR(moved.dropout, 2.5, 1e-9);
    EXPECT_NEAR(moved.dropout_backward, 5, 1e-9);
    EXPECT_NEAR(moved.strided_copy, 0.8, 1e-9);
    EXPECT_EQ(moved.where, cost::starting<cost::EagerConstants>().where);
  }
  EXPECT_FALSE(eager->constants.contains("amd"));
  EXPECT_EQ(eager->seen.rows, 5);
  EXPECT_FALSE(fit_eager(*data, 0, others)) << "left out";
}

TEST_F(Rows, DeepBenchIsUpToThreeCallsPerLine) {
  const auto data = read(
      {{"conv.csv",
        "gpu,dtype,n,c,h,w,k,r,s,pad_h,pad_w,stride_h,stride_w,fwd_ms,bwd_data_ms,bwd_filter_ms,"
        "fwd_algorithm\n"
        "P100,fp32,16,64,56,56,64,3,3,1,1,1,1,1.0,1.2,,IMPLICIT_PRECOMP_GEMM\n"
        "P100,fp16,16,64,56,56,64,3,3,1,1,1,1,1.0,1.2,1.4,IMPLICIT_PRECOMP_GEMM\n"}});
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_EQ(data->samples.size(), 2U);
  EXPECT_EQ(data->skipped, 1);
  EXPECT_EQ(std::get<ops::ConvShape>(data->samples[1].work.shape).pass,
            ops::ConvPass::DataGradient);
  EXPECT_EQ(data->campaigns[data->samples[1].campaign], "deepbench dgrad");
  const Campaigns campaigns = campaigns_of(*data);
  ASSERT_EQ(campaigns.deepbench.rows.size(), 1U);
  EXPECT_TRUE(campaigns.deepbench.rows[0].implicit);
  EXPECT_NEAR(campaigns.deepbench.rows[0].data->seconds, 1.2e-3, 1e-12);
  EXPECT_FALSE(campaigns.deepbench.rows[0].filter);
}

TEST_F(Rows, ExpertsAreALayerOfSeveralKernels) {
  const std::string header =
      "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
      "moe_ep_size,distribution,latency\n";
  const auto data =
      read({{"moe_h100_sxm.csv", header + "x,bfloat16,128,4096,2048,2,8,1,1,balanced,0.4\n"
                                          "x,bfloat16,128,4096,2048,2,8,1,1,power_law_1.2,0.5\n"
                                          "x,nvfp4,128,4096,2048,2,8,1,1,balanced,0.3\n"}});
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_EQ(data->layers.size(), 2U);
  EXPECT_EQ(data->layers[0].kernels.size(), 4U);
  EXPECT_EQ(data->layers[1].campaign, "bf16 power law");
  EXPECT_EQ(data->skipped, 1);
  const auto predictor = cost::make_predictor("", catalog).value();
  const Evaluation evaluation = evaluate(*data, *predictor, {});
  ASSERT_EQ(evaluation.others.size(), 2U);
  EXPECT_GT(evaluation.others[0].predicted, evaluation.others[0].bound);
  EXPECT_EQ(evaluation.summary.front().group, "moe");
}

TEST_F(Rows, ExpertsByFormatAndSpread) {
  const std::string header =
      "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
      "moe_ep_size,distribution,latency\n";
  const auto data =
      read({{"moe_h100_sxm.csv", header + "x,bfloat16,4,4096,2048,2,64,1,1,power_law_1.2,0.4\n"
                                          "x,bfloat16,4,4096,2048,2,64,1,2,power_law_1.2,0.4\n"
                                          "x,int4_wo,4,4096,2048,2,64,1,1,balanced,0.4\n"
                                          "x,fp8_block,4,4096,2048,2,64,1,1,balanced,0.3\n"}});
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_EQ(data->layers.size(), 3U);
  EXPECT_EQ(data->skipped, 1);  // which experts share a GPU is not known
  // Of the law's 64 quantiles five are rounded to a token or more, of 8 slots.
  const auto& spread = std::get<ops::GemmShape>(data->layers[0].kernels.front().shape);
  EXPECT_EQ(std::pair(spread.batch, spread.m), std::pair(std::int64_t{5}, std::int64_t{2}));
  // 8 experts of 4096 x 4096 weights at 4 bits and a 16-bit scale for 128, multiplied in BF16.
  const ops::KernelWork& int4 = data->layers[1].kernels.front();
  EXPECT_EQ(int4.compute, DType::Bf16);
  EXPECT_NEAR(int4.read.base(), 8.0 * 4096 * 4096 * 0.515625 + 8 * 4096 * 2, 1);
  EXPECT_EQ(data->layers[2].campaign, "fp8_block");
  EXPECT_EQ(data->layers[2].kernels.front().compute, DType::Fp8E4m3);
}

TEST_F(Rows, SustainedRowsAreScoredApartAndNotFitted) {
  const auto data = read({{"gemm_h200_sxm.csv",
                           "kernel_source,gemm_dtype,m,n,k,latency,power_w,power_limit_w\n"
                           "x,bfloat16,4096,4096,4096,0.3,690,700\n"},
                          {"grouped_gemm_a100_pcie.csv",
                           "groups,m,n,k,stage,dtype,out_dtype,efficiency,time_us\n"
                           "40,616,3072,5120,fwd,bf16,bf16,0.63,3935\n"},
                          {"attention_a100_pcie.csv",
                           "pass,batch,seq_len,heads,kv_heads,qk_head_dim,v_head_dim,qkv_"
                           "contiguous,efficiency,time_us\n"
                           "fwd,1,4096,32,8,128,128,True,1.1,778.3\n"
                           "bwd,1,4096,32,8,128,128,True,1.1,2000\n"}});
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_EQ(data->samples.size(), 3U);
  EXPECT_NEAR(data->samples[1].measured, 3.935e-3, 1e-9);
  EXPECT_EQ(std::get<ops::GemmShape>(data->samples[1].work.shape).batch, 40);
  EXPECT_TRUE(samples_without(*data, std::nullopt).empty());
  const auto predictor = cost::make_predictor("", catalog).value();
  for (const ErrorSummary& group : evaluate(*data, *predictor, {}).summary)
    EXPECT_TRUE(group.group.ends_with("/sustained")) << group.group;
}

TEST_F(Rows, ExpertsOfAGpuAreThoseOfItsCampaign) {
  const std::string header =
      "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
      "moe_ep_size,distribution,latency\n";
  std::string text = header;
  for (const char* source : {"vllm_x", "sglang_x"})
    for (const int gpus : {1, 4, 8})
      text += fmt::format("{},bfloat16,128,4096,2048,4,64,1,{},balanced,9\n", source, gpus);
  const auto data = read({{"moe_a100_sxm.csv", text}});
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_EQ(data->layers.size(), 6U);
  // 128 x 4 slots on 64 experts: all of them, 16 and 8 on a GPU. vLLM: 512, 128, 64 slots; SGLang:
  // 512, 512 and half of them.
  const std::pair<std::int64_t, std::int64_t> expected[] = {{64, 8}, {16, 8},  {8, 8},
                                                            {64, 8}, {16, 32}, {8, 32}};
  for (std::size_t i = 0; i < 6; ++i) {
    const auto& shape = std::get<ops::GemmShape>(data->layers[i].kernels.front().shape);
    EXPECT_EQ(std::pair(shape.batch, shape.m), expected[i]) << i;
  }
}

TEST_F(Rows, ExpertsWriteZerosForOtherGpusAndMayHaveNoGate) {
  const std::string header =
      "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
      "moe_ep_size,distribution,latency\n";
  const auto data =
      read({{"moe_h100_sxm.csv",
             header + "vllm_triton,bfloat16,128,2688,1856,6,128,1,4,balanced,9\n"
                      "sglang_triton,bfloat16,128,2688,1856,6,128,1,4,balanced,9\n"}});
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_EQ(data->layers.size(), 2U);
  const auto& plain = data->layers[0].kernels;
  ASSERT_EQ(plain.size(), 5U);
  EXPECT_EQ(std::get<ops::GemmShape>(plain[0].shape).n, 1856);
  // Three quarters of 128 x 6 slots, 1856 + 2688 columns of two bytes.
  EXPECT_NEAR(plain[1].written.base(), 576.0 * 4544 * 2, 0.5);
  const auto& gated = data->layers[1].kernels;
  ASSERT_EQ(gated.size(), 4U);
  EXPECT_EQ(std::get<ops::GemmShape>(gated[0].shape).n, 2 * 1856);
}

TEST_F(Rows, ADeviceColumnNamesTheGpuWhereTheFileDoesNot) {
  const auto data = read({{"x.csv",
                           "device,op_name,nccl_dtype,num_gpus,message_size,latency\n"
                           "h200-sxm,all_reduce,half,2,4096,0.02\n"
                           "h200-sxm,all_reduce,int8,2,4096,0.02\n"}});
  ASSERT_TRUE(data) << to_string(data.error());
  ASSERT_EQ(data->collectives.size(), 1U);
  EXPECT_EQ(data->machines[data->collectives[0].gpu].gpu.id, "h200-sxm");
  EXPECT_EQ(data->skipped, 1);
}

TEST_F(Rows, ErrorsNameFileLineAndColumn) {
  const std::string nccl = "op_name,nccl_dtype,num_gpus,message_size,latency\n";
  const std::string moe =
      "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,"
      "distribution,latency\n";
  const std::tuple<const char*, std::string, const char*> cases[] = {
      {"nccl_h100_sxm.csv", nccl + "all_reduce,half,1,4096,0.1\n", "nccl_h100_sxm.csv:2:3"},
      {"nccl_h100_sxm.csv", nccl + "all_reduce,half,2,-1,0.1\n", "nccl_h100_sxm.csv:2:4"},
      {"nccl_h100_sxm.csv", nccl + "all_reduce,half,2,4096,0\n", "nccl_h100_sxm.csv:2:5"},
      {"moe_h100_sxm.csv", moe + "fp8,128,4096,2048,2,8,1,0,balanced,0.4\n",
       "moe_h100_sxm.csv:2:8"},
      {"moe_h100_sxm.csv", moe + "fp8,128,4096,2048,2,8,1,16,balanced,0.4\n",
       "moe_h100_sxm.csv:2"}};
  for (const auto& [name, text, where] : cases) {
    const auto data = read({{name, text}});
    ASSERT_FALSE(data) << where;
    EXPECT_NE(data.error().where.find(where), std::string::npos) << data.error().where;
  }
}

/// Convolutions of three GPUs, links and host calls: enough to fit each of the constants.
std::string small_convolutions() {
  std::string text =
      "gpu,dtype,n,c,h,w,k,r,s,pad_h,pad_w,stride_h,stride_w,fwd_ms,bwd_data_ms,bwd_filter_ms,"
      "fwd_algorithm\n";
  const std::pair<const char*, double> gpus[] = {{"P100", 8e12}, {"M40", 5e12}, {"TitanXp", 9e12}};
  for (const auto& [gpu, rate] : gpus) {
    for (int i = 0; i < 26; ++i) {
      const int c = 32 + 16 * (i % 5), k = 64 + 32 * (i % 3), h = 14 + 7 * (i % 4);
      const double ms = 2e3 * 32 * h * h * c * k * 25 / rate + 0.02;
      text += fmt::format("{},fp32,32,{},{},{},{},5,5,2,2,1,1,{:.5f},{:.5f},{:.5f},IMPLICIT\n", gpu,
                          c, h, h, k, ms, ms * 1.1, ms * 1.2);
    }
  }
  return text;
}

TEST_F(Rows, EverythingIsFittedLeftOutAndReproduced) {
  std::string nodes = "device,case,node,target,input_shapes,output_shape,fw_ms,bw_ms,acc_ms\n";
  for (int i = 0; i < 30; ++i) nodes += "M40,x,size,size,[],\"(1,)\",0.008,0,0\n";
  for (int i = 0; i < 30; ++i) nodes += "P100,x,size,size,[],\"(1,)\",0.006,0,0\n";
  const auto data = read({{"conv.csv", small_convolutions()},
                          {"nodes.csv", nodes},
                          {"nccl_h100_sxm.csv", collectives("h100-sxm", kTruth)}});
  ASSERT_TRUE(data) << to_string(data.error());
  FitOptions options;
  options.threads = 1;
  options.command = "a test";
  const auto fits = fit(*data, catalog, options);
  ASSERT_TRUE(fits) << to_string(fits.error());
  const auto& all = *fits->all;
  EXPECT_EQ(all.origins.at("convolution").rows, 3 * 26 * 3);
  EXPECT_EQ(all.origins.at("convolution").command, "a test");
  EXPECT_EQ(all.origins.at("links").gpus, std::vector<std::string>{"h100-sxm"});
  for (std::size_t i = 0; i < fits->without.size(); ++i) {
    const std::string& id = data->machines[i].gpu.id;
    for (const char* part : {"convolution", "step"}) {
      const auto& gpus = fits->without[i].origins.at(part).gpus;
      EXPECT_EQ(std::find(gpus.begin(), gpus.end(), id), gpus.end()) << part << " " << id;
    }
  }
  const auto& m40 = fits->without[1].constants;  // the file's second GPU
  EXPECT_EQ(data->machines[1].gpu.id, "m40");
  EXPECT_NEAR(m40.step.host_launch, 6e-6, 1e-12);
  EXPECT_NE(m40.convolution.constants.prologue, all.constants.convolution.constants.prologue);
  // Nothing is left without the only GPU with links: the catalogue's stay, and that is said.
  EXPECT_TRUE(std::any_of(fits->notes.begin(), fits->notes.end(), [](const std::string& note) {
    return note.starts_with("links: no rows");
  }));

  // Stopped after the first task, and continued with more threads: the same bytes.
  options.checkpoint = folder.file("checkpoint.json");
  options.progress = [](const ProgressState& state) { return state.fraction <= 0; };
  EXPECT_FALSE(fit(*data, catalog, options));
  options.progress = {};
  options.threads = 3;
  const auto again = fit(*data, catalog, options);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(to_json(*again->all), to_json(all));
}

/// Errors of two classes on three GPUs: equal on each, so one operator tells the other's.
TEST_F(Rows, ErrorsOfAGpuGoTogether) {
  std::string text = "op,device,latency_ms,b,h\n";
  for (const char* device : {"Tesla V100-PCIE-32GB", "Tesla T4", "Tesla P4"}) {
    text += fmt::format("softmax,{0},1,1024,1024\nln,{0},1,1024,1024\n", device);
  }
  const auto data = read({{"rows.csv", text}});
  ASSERT_TRUE(data) << to_string(data.error());
  std::vector<Case> cases;
  const double factors[] = {1.2, 0.9, 1.1};
  for (std::size_t i = 0; i < 6; ++i) {
    Case& row = cases.emplace_back();
    row.sample = i, row.measured = 1, row.predicted = factors[i / 2];
  }
  EXPECT_NEAR(error_correlation(*data, cases, std::nullopt).value(), 1.0, 1e-9);
  EXPECT_FALSE(error_correlation(*data, cases, 0)) << "two GPUs say nothing";
  // Opposite errors of the two classes: nothing is common.
  for (std::size_t i = 0; i < 6; i += 2) cases[i].predicted = 1 / cases[i].predicted;
  EXPECT_EQ(error_correlation(*data, cases, std::nullopt).value(), 0.0);
}

}  // namespace
}  // namespace rooftile::calibration
