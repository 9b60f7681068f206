// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "calibration/evaluate.h"
#include "calibration/inspect.h"
#include "calibration/intervals.h"
#include "calibration/least_squares.h"
#include "calibration/rules.h"
#include "calibration/task_pool.h"
#include "temporary_folder.h"

namespace rooftile::calibration {
namespace {

class FitFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    return folder.write(name, text);
  }

  /// Products on three GPUs whose time is 2 m n k / peak * 1.2 + 30 us; the first GPU takes twice
  /// as long for one n.
  std::string products(int slow_n = 0) const {
    std::string text = "op,device,set,latency_ms,b,m,n,k\n";
    const std::pair<const char*, double> gpus[] = {{"Tesla V100-PCIE-32GB", 14.13e12},
                                                   {"NVIDIA A100-PCIE-40GB", 19.5e12},
                                                   {"Tesla P100-PCIE-16GB", 9.3e12}};
    for (const auto& [device, peak] : gpus) {
      for (int i = 0; i < 60; ++i) {
        const int m = 256 + 128 * (i % 12), n = 512 + 256 * (i % 7), k = 256 + 320 * (i % 5);
        const double slow = n == slow_n && peak == gpus[0].second ? 2 : 1;
        const double ms = slow * 2.0 * m * n * k / peak * 1.2e3 + 0.03;
        text += fmt::format("linear,{},train,{:.6f},1,{},{},{}\n", device, ms, m, n, k);
      }
    }
    return write("linear.csv", text);
  }

  Result<Dataset> read(const std::string& path) const {
    const std::vector<std::string> paths{path};
    return read_datasets(paths, catalog);
  }

  testing::TemporaryFolder folder;
  Catalog catalog = Catalog::embedded();
};

TEST(LeastSquares, FindsAnExponentialWithAnOutlier) {
  // y = 3 exp(-0.5 t), one point ten times too high: soft L1 shrugs it off.
  LeastSquares problem;
  problem.shared = 2;
  problem.start = {0.0, 0.0};
  problem.spread = {1, 1};
  problem.group.assign(20, 0);
  problem.residuals = [](std::span<const double> x, std::span<double> r) {
    for (std::size_t i = 0; i < r.size(); ++i) {
      const double t = 0.25 * static_cast<double>(i);
      const double y = (i == 7 ? 10.0 : 1.0) * 3.0 * std::exp(-0.5 * t);
      r[i] = x[0] + x[1] * t - std::log(y);
    }
  };
  const auto result = minimize(problem);
  EXPECT_NEAR(std::exp(result.x[0]), 3.0, 0.05);
  EXPECT_NEAR(result.x[1], -0.5, 0.01);
}

TEST(LeastSquares, SolvesASystem) {
  // [4 2; 2 3] x = [10; 9] has x = [1.5; 2].
  std::vector<double> a{4, 2, 2, 3};
  std::vector<double> b{10, 9};
  ASSERT_TRUE(solve_symmetric(a, b));
  EXPECT_NEAR(b[0], 1.5, 1e-12);
  EXPECT_NEAR(b[1], 2.0, 1e-12);
  std::vector<double> singular{1, 1, 1, 1};
  EXPECT_FALSE(solve_symmetric(singular, b));
}

TEST(Dataset, ReadsTilesFromKernelNames) {
  const auto nvidia = tile_in_name("ampere_sgemm_128x64_nn");
  ASSERT_TRUE(nvidia);
  EXPECT_EQ(*nvidia, (cost::learned::GemmTile{.along_n = 128, .along_m = 64}));
  EXPECT_EQ(*tile_in_name("Cijk_Alik_Bljk_SB_MT64x32x16_GSU1"),
            (cost::learned::GemmTile{.along_n = 64, .along_m = 32}));
  EXPECT_FALSE(tile_in_name("vectorized_elementwise_kernel"));
}

TEST_F(FitFiles, ErrorsNameFileLineAndColumn) {
  const std::string head = "op,device,set,latency_ms,b,m,n,k\n";
  const auto bad_number = read(write("a.csv", head + "linear,Tesla T4,train,0.1,1,64,sixty,64\n"));
  ASSERT_FALSE(bad_number);
  EXPECT_NE(bad_number.error().where.find("a.csv:2"), std::string::npos)
      << bad_number.error().where;
  const auto bad_gpu = read(write("b.csv", head + "linear,Tesla T5000,train,0.1,1,64,64,64\n"));
  ASSERT_FALSE(bad_gpu);
  EXPECT_NE(bad_gpu.error().where.find("b.csv:2"), std::string::npos);
  const auto bad_op = read(write("c.csv", head + "fourier,Tesla T4,train,0.1,1,64,64,64\n"));
  ASSERT_FALSE(bad_op);
  EXPECT_NE(bad_op.error().message.find("fourier"), std::string::npos);
  const auto bad_time = read(write("d.csv", head + "linear,Tesla T4,train,-0.1,1,64,64,64\n"));
  ASSERT_FALSE(bad_time);
  EXPECT_NE(bad_time.error().message.find("not a kernel time"), std::string::npos);
  const auto layout = read(write("e.csv", "a,b,c\n1,2,3\n"));
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, ErrorCode::Unsupported);
  const auto zero = read(write("f.csv", head + "linear,Tesla T4,train,0.1,1,0,64,64\n"));
  EXPECT_FALSE(zero);
  const auto huge =
      read(write("g.csv", head + "linear,Tesla T4,train,0.1,1,4000000000000,4000000000000,64\n"));
  EXPECT_FALSE(huge);
}

TEST_F(FitFiles, ErrorsOfSizesNameTheirColumn) {
  const std::string head = "op,device,set,latency_ms,b,m,n,k\n";
  const auto zero = read(write("a.csv", head + "linear,Tesla T4,train,0.1,1,64,0,64\n"));
  ASSERT_FALSE(zero);
  EXPECT_NE(to_string(zero.error()).find("a.csv:2:7: n is 0"), std::string::npos)
      << to_string(zero.error());
  const auto missing = read(write("b.csv",
                                  "op,device,latency_ms,m,n,k\n"
                                  "linear,Tesla T4,0.1,64,64,64\n"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("\"b\""), std::string::npos);
  EXPECT_EQ(missing.error().hint.find("did you mean"), std::string::npos) << missing.error().hint;
}

TEST_F(FitFiles, GridsAreOptionalAndNamesAreTrimmed) {
  const auto dataset = read(write("e.csv",
                                  "op,device,latency_ms,b,h,grid_x,grid_y,grid_z\n"
                                  " add ,Tesla T4 ,0.1,64,64,4,2,1\n"
                                  "add,Tesla T4,0.1,64,64,,,\n"
                                  "add,Tesla T4,0.1,64,64,nan,NaN,nan\n"));
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  ASSERT_EQ(dataset->samples.size(), 3U);
  EXPECT_EQ(dataset->samples[0].work.op, "add");
  EXPECT_EQ(dataset->samples[0].blocks, 8);
  EXPECT_FALSE(dataset->samples[1].blocks);
  EXPECT_FALSE(dataset->samples[2].blocks);
  EXPECT_EQ(dataset->machines.size(), 1U);
}

TEST_F(FitFiles, TooFewRowsAreRefused) {
  const auto dataset = read(write("linear.csv",
                                  "op,device,set,latency_ms,b,m,n,k\n"
                                  "linear,Tesla T4,train,0.1,1,64,64,64\n"
                                  "linear,Tesla P4,train,0.3,1,64,64,64\n"));
  ASSERT_TRUE(dataset);
  const auto refused = fit(*dataset, catalog, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("nvidia/linear 2"), std::string::npos)
      << refused.error().message;
}

TEST_F(FitFiles, SkippedRowsAreCounted) {
  std::string text = "kernel_source,gemm_dtype,m,n,k,latency\nx,fp8_block,64,64,64,0.01\n";
  text += "x,bfloat16,64,4096,4096,0.02\n";
  const auto dataset = read(write("gemm_h100_sxm.csv", text));
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  const auto predictor = cost::make_predictor("trivial", catalog);
  ASSERT_TRUE(predictor);
  const Evaluation evaluation = evaluate(*dataset, **predictor, {});
  EXPECT_EQ(evaluation.skipped, 1);
  ASSERT_EQ(evaluation.cases.size(), 1U);
  EXPECT_FALSE(evaluation.summary.front().coverage);  // the baseline states no interval
}

TEST_F(FitFiles, ReadsLowPrecisionFilesByTheirName) {
  const auto dataset = read(write("gemm_h100_sxm.csv",
                                  "kernel_source,gemm_dtype,m,n,k,latency\n"
                                  "x,bfloat16,64,4096,4096,0.02\nx,fp8_block,64,64,64,0.01\n"));
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  EXPECT_EQ(dataset->machines.front().gpu.id, "h100-sxm");
  EXPECT_EQ(dataset->samples.size(), 1U);
  EXPECT_EQ(dataset->skipped, 1);
  EXPECT_EQ(dataset->samples.front().work.dtype, DType::Bf16);
}

TEST_F(FitFiles, TheResultDoesNotDependOnThreads) {
  const auto dataset = read(products());
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  FitOptions one;
  one.threads = 1;
  FitOptions four;
  four.threads = 4;
  const auto a = fit(*dataset, catalog, one);
  const auto b = fit(*dataset, catalog, four);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(to_json(*a->all), to_json(*b->all));
  ASSERT_EQ(a->without.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(to_json(a->without[i]), to_json(b->without[i]));
  // Nothing of the left-out GPU remains.
  EXPECT_FALSE(a->without[0].models.at("nvidia").gemm->plateau.measured.contains("v100-pcie-32gb"));
  // What the data say nothing about is that of the default predictor.
  EXPECT_TRUE(std::any_of(a->inputs.begin(), a->inputs.end(), [](const Input& input) {
    return input.kind == "predictor" && input.file == "catalog:predictors/default/weights.json";
  }));
}

TEST_F(FitFiles, AStoppedFitContinuesToTheSameResult) {
  const auto dataset = read(products());
  ASSERT_TRUE(dataset);
  FitOptions whole;
  whole.threads = 1;
  const auto expected = fit(*dataset, catalog, whole);
  ASSERT_TRUE(expected);
  FitOptions stopped = whole;
  stopped.checkpoint = folder.file("checkpoint.json");
  stopped.progress = [](const ProgressState& state) { return state.fraction <= 0; };
  EXPECT_FALSE(fit(*dataset, catalog, stopped));
  ASSERT_TRUE(std::filesystem::exists(*stopped.checkpoint));
  FitOptions resumed = stopped;
  resumed.progress = {};
  const auto result = fit(*dataset, catalog, resumed);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(to_json(*result->all), to_json(*expected->all));
}

TEST_F(FitFiles, ACheckpointIsOfItsDataOnly) {
  const auto key = [this](const std::string& rows, const Catalog& from) {
    const std::vector<std::string> paths{
        write("a.csv", "op,device,set,latency_ms,b,m,n,k,kernel\n" + rows)};
    const auto dataset = read_datasets(paths, from);
    EXPECT_TRUE(dataset) << to_string(dataset.error());
    return data_key(*dataset, 1, "x");
  };
  const std::string row = "linear,Tesla T4,train,0.1,1,64,128,32,volta_sgemm_128x64_nn\n";
  const std::string mine = key(row, catalog);
  EXPECT_EQ(key(row, catalog), mine);
  for (const char* other :
       {"linear,Tesla P4,train,0.1,1,64,128,32,volta_sgemm_128x64_nn\n",  // relabelled GPU
        "linear,Tesla T4,test,0.1,1,64,128,32,volta_sgemm_128x64_nn\n",   // campaign
        "bmm,Tesla T4,train,0.1,1,64,128,32,volta_sgemm_128x64_nn\n",     // operator
        "linear,Tesla T4,train,0.1,1,128,64,32,volta_sgemm_128x64_nn\n",  // shape, same FLOPs
        "linear,Tesla T4,train,0.1,1,64,128,32,volta_sgemm_64x128_nn\n",  // tile
        "linear,Tesla T4,train,0.11,1,64,128,32,volta_sgemm_128x64_nn\n"}) {
    EXPECT_NE(key(other, catalog), mine) << other;
  }
  // The same name with another data sheet.
  std::string sheet = catalog.read("gpus/nvidia_t4_16gb.json")->content;
  sheet.replace(sheet.find("\"70 W\""), 6, "\"75 W\"");
  Catalog changed = catalog;
  changed.add("gpus/nvidia_t4_16gb.json", sheet);
  EXPECT_NE(key(row, changed), mine);
}

TEST_F(FitFiles, LeftOutGpusOfAKnownLawArePredicted) {
  const auto dataset = read(products());
  ASSERT_TRUE(dataset);
  const auto fits = fit(*dataset, catalog, {});
  ASSERT_TRUE(fits);
  const Evaluation evaluation = evaluate_left_out(*dataset, *fits, nullptr);
  ASSERT_EQ(evaluation.cases.size(), 180U);
  const auto linear = std::find_if(evaluation.summary.begin(), evaluation.summary.end(),
                                   [](const ErrorSummary& s) { return s.group == "linear"; });
  ASSERT_NE(linear, evaluation.summary.end());
  // The law has no tiles and waves, the form has: it must still come close.
  EXPECT_LT(linear->mean_error, 0.2);
}

TEST_F(FitFiles, RemembersWhatTheFormMisses) {
  // Products as above, but V100 takes twice as long wherever n = 512: no form knows that.
  const auto dataset = read(products(512));
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  const auto fits = fit(*dataset, catalog, {});
  ASSERT_TRUE(fits) << to_string(fits.error());
  const auto& neighbours = fits->all->models.at("nvidia").gemm->neighbours;
  const auto correction = [&](const char* isa, std::int64_t n) {
    return neighbour_correction(neighbours, cost::starting<cost::NeighbourConstants>(), isa,
                                {.batch = 1, .m = 1152, .n = n, .k = 896});
  };
  // log 2 = 0.69, of which the form takes a part: products with n = 512 are short. The next n is
  // 768.
  EXPECT_GT(correction("7.0", 512), 0.3);
  EXPECT_LT(std::fabs(correction("7.0", 2048)), 0.1);
  EXPECT_LT(std::fabs(correction("8.0", 512)), 0.15);
  EXPECT_EQ(correction("9.0", 512), 0.0);
  // Nothing of a left-out GPU remains.
  EXPECT_FALSE(fits->without[0].models.at("nvidia").gemm->neighbours.of.contains("7.0"));
}

TEST_F(FitFiles, TheOrderOfFilesDoesNotMatter) {
  const std::string a = products();
  const std::string b = write("bmm.csv",
                              "op,device,set,latency_ms,b,m,n,k\n"
                              "bmm,Tesla T4,train,0.3,8,256,256,256\n");
  const std::vector<std::string> forward{a, b};
  const std::vector<std::string> backward{b, a};
  const auto first = read_datasets(forward, catalog);
  const auto second = read_datasets(backward, catalog);
  ASSERT_TRUE(first && second);
  const auto of = [](const Dataset& dataset) {
    std::vector<std::uint64_t> lines;
    for (const Sample* s : thin(of_class(samples_without(dataset, std::nullopt), "linear"), 7, 1))
      lines.push_back(s->line);
    return lines;
  };
  EXPECT_EQ(of(*first), of(*second));
  EXPECT_EQ(of(*first).size(), 21U);  // 7 of each GPU
}

TEST(Selection, QuantilesOfAList) {
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.25), 2);  // one of four lies below
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.0), 1);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(quantile({}, 0.25), 0);
}

TEST_F(FitFiles, TheShortestCallIsThatOfAFastHost) {
  // 64 x 64 FP32 values are 48 KB with both inputs; 4096 x 4096 are 201 MB and no call overhead.
  const auto dataset = read(write("elementwise.csv",
                                  "op,device,set,latency_ms,b,h\n"
                                  "add,Tesla T4,train,0.03,64,64\n"
                                  "add,Tesla T4,train,0.02,64,64\n"
                                  "add,Tesla T4,train,0.09,64,64\n"
                                  "add,Tesla T4,train,0.08,64,64\n"
                                  "add,Tesla T4,train,0.001,4096,4096\n"));
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  const auto floor = shortest_call(samples_without(*dataset, std::nullopt));
  ASSERT_TRUE(floor);
  EXPECT_NEAR(*floor, 0.03e-3, 1e-12);
  EXPECT_FALSE(shortest_call({}));
}

TEST_F(FitFiles, OneCampaignKeepsItsRowsAndGpus) {
  auto dataset = read(write("softmax.csv",
                            "op,device,set,latency_ms,b,h\n"
                            "softmax,Tesla P4,test,0.5,64,64\n"
                            "softmax,Tesla T4,train,0.1,64,64\n"
                            "softmax,Tesla T4,test,0.2,64,64\n"
                            "softmax,Tesla V100-PCIE-32GB,train,0.3,64,64\n"));
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  Dataset none = *dataset;
  const Status refused = keep_campaign("trian", none);
  ASSERT_FALSE(refused);
  EXPECT_NE(to_string(refused.error()).find("train"), std::string::npos);
  ASSERT_TRUE(keep_campaign("train", *dataset));
  ASSERT_EQ(dataset->samples.size(), 2U);
  ASSERT_EQ(dataset->machines.size(), 2U);
  EXPECT_EQ(dataset->machines[dataset->samples[0].gpu].gpu.id, "t4");
  EXPECT_EQ(dataset->machines[dataset->samples[1].gpu].gpu.id, "v100-pcie-32gb");
  EXPECT_EQ(dataset->devices[dataset->samples[1].gpu], "Tesla V100-PCIE-32GB");
}

TEST_F(FitFiles, IntervalsWeighGpusEquallyAndAllowForFewOfThem) {
  std::string text = "op,device,set,latency_ms,b,h\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("softmax,Tesla T4,train,1,{},64\n", i + 1);
  for (int i = 0; i < 10; ++i) text += fmt::format("softmax,Tesla P4,train,1,{},64\n", i + 1);
  const auto dataset = read(write("softmax.csv", text));
  ASSERT_TRUE(dataset);
  std::vector<Case> cases;
  for (std::size_t i = 0; i < dataset->samples.size(); ++i) {
    const bool many = i < 100;  // half of the weight in 100 small errors, half in 10 larger ones
    Case row;
    row.sample = i;
    row.measured = 1e-4;
    row.predicted = 1e-4 * (many ? 1.01 : 1.5);
    cases.push_back(row);
  }
  const Intervals widths = calibrate(*dataset, cases, {}, std::nullopt);
  EXPECT_NEAR(widths.at("softmax").at(cost::learned::Familiarity::Nothing)[0], 1.15 * std::log(1.5),
              1e-9);
  const Intervals without = calibrate(*dataset, cases, {}, dataset->samples.back().gpu);
  EXPECT_NEAR(without.at("softmax").at(cost::learned::Familiarity::Nothing)[0],
              1.15 * std::log(1.01), 1e-9);
}

TEST_F(FitFiles, InspectionFindsImpossibleRowsAndRepetitions) {
  const auto dataset = read(write("linear.csv",
                                  "op,device,set,latency_ms,b,m,n,k\n"
                                  "linear,Tesla T4,train,0.001,1,4096,4096,4096\n"
                                  "linear,Tesla T4,train,0.1,1,64,64,64\n"
                                  "linear,Tesla T4,train,0.3,1,64,64,64\n"));
  ASSERT_TRUE(dataset);
  const Inspection inspection = inspect(*dataset);
  ASSERT_EQ(inspection.groups.size(), 1U);
  EXPECT_EQ(inspection.groups[0].rows, 3);
  EXPECT_EQ(inspection.groups[0].below_bound, 1);
  EXPECT_EQ(inspection.groups[0].duplicates, 1);
  EXPECT_EQ(inspection.suspicious.size(), 2U);
  EXPECT_EQ(inspection.suspicious_rows, 2);
}

TEST_F(FitFiles, InspectionNotesCampaignsOfDifferentLevel) {
  // 2 * 4096^3 / 8.1 TFLOP/s are 17 ms; the second campaign takes 15 % longer, on V100 (9.7 ms)
  // 5 %, on P4 (25.3 ms) three times as long.
  std::string text = "op,device,set,latency_ms,b,m,n,k\n";
  for (int i = 0; i < 25; ++i) {
    for (const auto& [device, ms, slow] :
         {std::tuple("Tesla T4", 30.0, 1.15), std::tuple("Tesla V100-PCIE-32GB", 12.0, 1.05),
          std::tuple("Tesla P4", 40.0, 3.0)}) {
      text += fmt::format("linear,{},train,{},1,{},4096,4096\n", device, ms, 4096 + i);
      text += fmt::format("linear,{},test,{},1,{},4096,4096\n", device, ms * slow, 4096 + i);
    }
  }
  const auto dataset = read(write("linear.csv", text));
  ASSERT_TRUE(dataset);
  const Inspection inspection = inspect(*dataset);
  ASSERT_EQ(inspection.notes.size(), 2U);
  EXPECT_NE(inspection.notes[0].find("t4: campaign \"test\" has 1.15 times"), std::string::npos)
      << inspection.notes[0];
  EXPECT_EQ(inspection.notes[0].find("leave it out"), std::string::npos);
  EXPECT_NE(inspection.notes[1].find("p4: campaign \"test\" has 3.00 times"), std::string::npos)
      << inspection.notes[1];
  EXPECT_NE(inspection.notes[1].find("leave it out"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::calibration
