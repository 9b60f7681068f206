// SPDX-License-Identifier: Apache-2.0
//
// From the kernels of a trace to its operators: by time and thread, by number, by inference; the
// longest kernel carries the work; phases, annotations and the census of time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "profile/evaluate.h"
#include "profile/importer.h"
#include "profile/select.h"
#include "profile/traced_operator.h"

namespace rooftile::profile {
namespace {

std::string op(const std::string& name, double ts, double dur, const std::string& args, int tid) {
  return fmt::format(
      R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}}}},)",
      name, tid, ts, dur, args);
}
std::string call(int correlation, double ts, int tid) {
  return fmt::format(
      R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":{},"ts":{},)"
      R"("dur":1,"args":{{"correlation":{}}}}},)",
      tid, ts, correlation);
}
std::string kernel(const std::string& name, double ts, double dur, const std::string& args) {
  return fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":{},"dur":{},)"
                     R"("args":{{"grid":[4,1,1],"block":[64,1,1],"device":0,{}}}}},)",
                     name, ts, dur, args);
}
std::string annotation(const std::string& name, double ts, double dur, int tid) {
  return fmt::format(
      R"({{"ph":"X","cat":"user_annotation","name":"{}","pid":1,"tid":{},"ts":{},"dur":{}}},)",
      name, tid, ts, dur);
}

RawProfile traced(std::string events) {
  events.pop_back();
  auto profile = import_text("{\"traceEvents\":[" + events + "]}", "t.json");
  EXPECT_TRUE(profile) << to_string(profile.error());
  return profile ? *std::move(profile) : RawProfile{};
}

const TracedWork* work_of(const RawProfile& profile, std::size_t kernel, std::size_t launch) {
  const std::uint32_t work = profile.kernels.at(kernel).launch_list.at(launch).work;
  return work == 0 ? nullptr : &profile.works.at(work - 1);
}

const std::string kMm = R"("Input Dims":[[64,32],[32,16]],"Input type":["float","float"])";

// The product is launched inside aten::mm, which aten::linear wraps; the helper is shorter.
TEST(KinetoOperators, TheLongestKernelOfTheInnermostKnownOperatorCarriesTheWork) {
  const RawProfile p =
      traced(op("aten::linear", 0, 100, R"("External id":1)", 5) +
             op("aten::mm", 10, 50, R"("External id":2,)" + kMm, 5) + call(11, 20, 5) +
             call(12, 30, 5) + kernel("splitk_sum", 200, 3, R"("correlation":12)") +
             kernel("gemm", 150, 40, R"("correlation":11)"));
  ASSERT_EQ(p.kernels.size(), 2U);
  EXPECT_EQ(work_of(p, 0, 0), nullptr) << "a helper";
  const TracedWork* work = work_of(p, 1, 0);
  ASSERT_NE(work, nullptr);
  EXPECT_EQ(work->operation, "aten::mm");
  EXPECT_DOUBLE_EQ(work->work.flops.base(), 2.0 * 64 * 32 * 16);
  const auto run = evaluate(p, {}, Catalog::embedded());
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->kernels[1].from_shapes);
  EXPECT_DOUBLE_EQ(run->kernels[1].flops->base(), 65536.0);
  // A, B and C of 4 bytes each: 4 (64 32 + 32 16 + 64 16)
  EXPECT_DOUBLE_EQ(run->kernels[1].bytes[2]->base(), 4.0 * (2048 + 512 + 1024));
  EXPECT_FALSE(run->kernels[0].flops);
}

TEST(KinetoOperators, CapitalsAndQuotesOfOtherVersionsMeanTheSame) {
  const RawProfile p =
      traced(op("aten::mm", 10, 50,
                R"("Input dims":[[64,32],[32,16]],"Input Type":["float","float"])", 5) +
             kernel("gemm", 150, 40, R"("Correlation":"11")") +
             R"({"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":1,"tid":5,"ts":20,)"
             R"("dur":1,"args":{"Correlation":"11"}},)");
  const TracedWork* work = work_of(p, 0, 0);
  ASSERT_NE(work, nullptr);
  EXPECT_DOUBLE_EQ(work->work.flops.base(), 2.0 * 64 * 32 * 16);
}

// Operators with their thread as text, calls with it as a number.
TEST(KinetoOperators, ThreadsInQuotesAreTheSameThreads) {
  std::string quoted = op("aten::mm", 10, 50, kMm, 5);
  const std::string plain = R"("pid":1,"tid":5)";
  quoted.replace(quoted.find(plain), plain.size(), R"("pid":"1","tid":"5")");
  const RawProfile p =
      traced(quoted + call(11, 20, 5) + kernel("k", 150, 4, R"("correlation":11)"));
  EXPECT_NE(work_of(p, 0, 0), nullptr);
}

// Two ranks in one file, each with a correlation 11 of its own: every launch has its own operator.
TEST(KinetoOperators, RanksOfAMergedTraceKeepTheirLaunches) {
  const auto of_rank = [](std::string event, int process, int device) {
    const auto put = [&event](const std::string& from, const std::string& to) {
      const std::size_t at = event.find(from);
      if (at != std::string::npos) event.replace(at, from.size(), to);
    };
    put(R"("pid":1)", fmt::format(R"("pid":{})", process));
    put(R"("device":0)", fmt::format(R"("device":{})", device));
    return event;
  };
  std::string events;
  for (int rank = 0; rank < 2; ++rank) {
    events += of_rank(op("aten::mm", 10, 50, kMm, 5), 100 + rank, rank);
    events += of_rank(call(11, 20, 5), 100 + rank, rank);
    events += of_rank(kernel("k", 150 + rank, 4, R"("correlation":11)"), 100 + rank, rank);
  }
  const RawProfile p = traced(events);
  for (std::size_t launch = 0; launch < 2; ++launch) {
    const TracedWork* work = work_of(p, 0, launch);
    ASSERT_NE(work, nullptr);
    EXPECT_DOUBLE_EQ(work->share, 1.0);
  }
}

// Traces call the type of a list "TensorList"; the kernel says what it copies.
TEST(KinetoOperators, AKernelTellsTheTypeOfAListOfTensors) {
  const std::string lists =
      R"("Input Dims":[[[4,1,8],[4,7,8]],[]],"Input type":["TensorList","Scalar"])";
  const auto read = [&](const std::string& kernel_name) {
    const RawProfile p = traced(op("aten::cat", 10, 50, lists, 5) + call(11, 20, 5) +
                                kernel(kernel_name, 150, 4, R"("correlation":11)"));
    const TracedWork* work = work_of(p, 0, 0);
    return work == nullptr ? 0.0 : work->work.read.base();
  };
  EXPECT_DOUBLE_EQ(read("void CatArrayBatchedCopy<c10::BFloat16, unsigned int, 3>"), 256 * 2.0);
  EXPECT_DOUBLE_EQ(read("void CatArrayBatchedCopy<OpaqueType<4u>, unsigned int, 3>"), 256 * 4.0);
  EXPECT_DOUBLE_EQ(read("copy_float"), 0.0) << "a name without arguments";
}

TEST(KinetoOperators, AnotherThreadsOperatorIsNotAsked) {
  const RawProfile p = traced(op("aten::mm", 10, 50, kMm, 5) + call(11, 20, 6) +
                              kernel("gemm", 150, 40, R"("correlation":11)"));
  EXPECT_EQ(work_of(p, 0, 0), nullptr);
}

// Without the call, the number tells; where it repeats the correlation it names nothing.
TEST(KinetoOperators, NumbersOfOperatorsAreTrustedOnlyWhereTheyNameOne) {
  const std::string mm = op("aten::mm", 10, 50, R"("External id":7,)" + kMm, 5);
  EXPECT_NE(work_of(traced(mm + kernel("g", 150, 40, R"("External id":7,"correlation":3)")), 0, 0),
            nullptr);
  EXPECT_EQ(work_of(traced(mm + kernel("g", 150, 40, R"("External id":7,"correlation":7)")), 0, 0),
            nullptr);
}

TEST(KinetoOperators, LaunchesFromBeforeTheTraceAreInferred) {
  const RawProfile p = traced(op("aten::mm", 10, 50, kMm, 5) + call(11, 20, 5) +
                              kernel("gemm", 150, 40, R"("correlation":11)") +
                              kernel("gemm", 5, 40, R"("correlation":2)"));
  EXPECT_NE(work_of(p, 0, 0), nullptr);
  ASSERT_FALSE(p.notes.empty());
  EXPECT_NE(p.notes[0].find("1 launch without a call in the trace"), std::string::npos)
      << p.notes[0];
}

// One call, four launches of the same kernel: a quarter of the work each.
TEST(KinetoOperators, LaunchesOfOneKernelShareTheWork) {
  std::string events = op("aten::mm", 10, 50, kMm, 5);
  for (int i = 0; i < 4; ++i) {
    events += call(i + 1, 20 + i, 5) +
              kernel("gemm", 100 + 10 * i, 5, fmt::format(R"("correlation":{})", i + 1));
  }
  const auto run = evaluate(traced(events), {}, Catalog::embedded());
  ASSERT_TRUE(run);
  EXPECT_DOUBLE_EQ(run->kernels.at(0).flops->base(), 65536.0);
  EXPECT_TRUE(run->kernels.at(0).flops_complete);
}

// 8 images of 64 x 56 x 56, 128 filters of 3 x 3; the batch norm behind reads 28 x 28.
TEST(KinetoOperators, OlderTracesTellStridesByTheNextOperator) {
  const std::string conv =
      R"("Input dims":[[8,64,56,56],[128,64,3,3],[],[],[],[],[],[],[]],"Input type":["float","float"])";
  const std::string norm = R"("Input dims":[[8,128,28,28],[128]],"Input type":["float","float"])";
  const RawProfile p =
      traced(op("aten::conv2d", 0, 40, conv, 5) + op("aten::_convolution", 5, 30, conv, 5) +
             op("aten::cudnn_batch_norm", 50, 10, norm, 5) + call(1, 10, 5) + call(2, 11, 5) +
             call(3, 55, 5) + kernel("nchwToNhwcKernel", 100, 90, R"("correlation":1)") +
             kernel("implicit_gemm", 200, 40, R"("correlation":2)") +
             kernel("bn_fw", 250, 20, R"("correlation":3)"));
  EXPECT_EQ(work_of(p, 0, 0), nullptr) << "a change of layout, though the longest";
  const TracedWork* work = work_of(p, 1, 0);
  ASSERT_NE(work, nullptr);
  EXPECT_DOUBLE_EQ(work->work.flops.base(), 2.0 * 8 * 128 * 28 * 28 * 64 * 9);
  ASSERT_EQ(p.notes.size(), 2U) << "and whether the batch norm counts statistics";
  EXPECT_NE(p.notes[1].find("shapes of their results (1 launch)"), std::string::npos) << p.notes[1];
}

TEST(KinetoOperators, EveryGradientHasAKernelOfItsOwn) {
  const std::string args =
      R"("Input Dims":[[8,64,14,14],[8,64,14,14],[64,64,3,3]],"Input type":["float","float","float"])";
  const RawProfile p =
      traced(op("aten::convolution_backward", 0, 90, args, 5) + call(1, 10, 5) + call(2, 20, 5) +
             call(3, 30, 5) + kernel("wgrad_a", 100, 50, R"("correlation":1)") +
             kernel("wgrad_sum", 160, 40, R"("correlation":2)") +
             kernel("fprop_as_dgrad_x", 210, 30, R"("correlation":3)"));
  const auto pass = [&](std::size_t kernel) {
    return std::get<ops::ConvShape>(work_of(p, kernel, 0)->work.shape).pass;
  };
  ASSERT_NE(work_of(p, 0, 0), nullptr);
  EXPECT_EQ(pass(0), ops::ConvPass::FilterGradient);
  EXPECT_EQ(work_of(p, 1, 0), nullptr) << "the second kernel of the same gradient";
  ASSERT_NE(work_of(p, 2, 0), nullptr);
  EXPECT_EQ(pass(2), ops::ConvPass::DataGradient);
}

// Without its mask a backward convolution may have asked for one gradient only.
TEST(KinetoOperators, ALayoutHelperIsNoSecondGradient) {
  const std::string args =
      R"("Input Dims":[[8,64,14,14],[8,64,14,14],[64,64,3,3]],"Input type":["float","float","float"])";
  const RawProfile p =
      traced(op("aten::convolution_backward", 0, 90, args, 5) + call(1, 10, 5) + call(2, 20, 5) +
             kernel("batched_transpose_32x32_half", 100, 50, R"("correlation":1)") +
             kernel("igemm_wrw", 160, 40, R"("correlation":2)"));
  EXPECT_EQ(work_of(p, 0, 0), nullptr);
  ASSERT_NE(work_of(p, 1, 0), nullptr);
}

// The call knows the group, the annotation inside it does not; a kernel may say all itself.
TEST(KinetoOperators, CollectivesHaveMessagesAndGroups) {
  const std::string events =
      op("record_param_comms", 0, 50,
         R"("Collective name":"_allgather_base","In msg nelems":1000,"Out msg nelems":4000,)"
         R"("Group size":4,"dtype":"BFloat16")",
         5) +
      R"({"ph":"X","cat":"user_annotation","name":"nccl:_all_gather_base","pid":1,"tid":5,"ts":5,)"
      R"("dur":30,"args":{"Input Dims":[[1000]],"Input type":["c10::BFloat16"]}},)" +
      call(1, 10, 5) + kernel("ncclDevKernel_AllGather", 100, 50, R"("correlation":1)") +
      kernel("ncclDevKernel_AllReduce", 200, 50,
             R"("correlation":9,"Collective name":"allreduce","In msg nelems":500,)"
             R"("Out msg nelems":500,"Group size":8,"dtype":"Float")");
  const RawProfile p = traced(events);
  const TracedWork* gather = work_of(p, 0, 0);
  ASSERT_NE(gather, nullptr);
  EXPECT_EQ(gather->collective,
            (ops::Collective{ops::CollectiveKind::AllGather, Bytes::from_base(8000), 4}));
  EXPECT_DOUBLE_EQ(gather->work.flops.base(), 0.0);
  EXPECT_DOUBLE_EQ(gather->work.bytes().base(), 2000 + 8000);
  const TracedWork* reduce = work_of(p, 1, 0);
  ASSERT_NE(reduce, nullptr);
  EXPECT_EQ(reduce->collective,
            (ops::Collective{ops::CollectiveKind::AllReduce, Bytes::from_base(2000), 8}));
  EXPECT_DOUBLE_EQ(reduce->work.flops.base(), 500 * 7.0 / 8.0);
  EXPECT_TRUE(p.notes.empty());
}

TEST(KinetoOperators, GroupsThatNobodyNamesAreAllGpus) {
  const std::string events =
      R"({"ph":"X","cat":"user_annotation","name":"nccl:all_to_all","pid":1,"tid":5,"ts":5,)"
      R"("dur":30,"args":{"Input Dims":[[8,100]],"Input type":["float"]}},)" +
      call(1, 10, 5) + kernel("ncclKernel_SendRecv", 100, 50, R"("correlation":1)");
  const auto profile =
      import_text(R"({"distributedInfo":{"backend":"nccl","world_size":8},"traceEvents":[)" +
                      events.substr(0, events.size() - 1) + "]}",
                  "t.json");
  ASSERT_TRUE(profile) << to_string(profile.error());
  ASSERT_NE(work_of(*profile, 0, 0), nullptr);
  EXPECT_EQ(work_of(*profile, 0, 0)->collective,
            (ops::Collective{ops::CollectiveKind::AllToAll, Bytes::from_base(3200), 8}));
  ASSERT_EQ(profile->notes.size(), 1U);
  EXPECT_EQ(work_of(traced(events), 0, 0), nullptr) << "without a world nothing is known";
}

TEST(KinetoOperators, PhasesAndAnnotations) {
  const RawProfile p = traced(annotation("step", 0, 1000, 5) + op("aten::mm", 10, 50, kMm, 5) +
                              call(1, 20, 5) + op("AddmmBackward0", 100, 50, "", 5) +
                              call(2, 120, 5) + annotation("Optimizer.step#Adam.step", 200, 50, 5) +
                              call(3, 220, 5) + kernel("a", 300, 10, R"("correlation":1)") +
                              kernel("b", 320, 20, R"("correlation":2)") +
                              kernel("c", 350, 30, R"("correlation":3)"));
  EXPECT_EQ(p.kernels[0].launch_list[0].phase, TracePhase::Forward);
  EXPECT_EQ(p.kernels[1].launch_list[0].phase, TracePhase::Backward);
  EXPECT_EQ(p.kernels[2].launch_list[0].phase, TracePhase::Optimizer);
  const auto timeline = timeline_of(p);
  ASSERT_TRUE(timeline);
  ASSERT_EQ(timeline->phases.size(), 3U);
  EXPECT_EQ(timeline->phases[0].name, "optimizer");
  EXPECT_NEAR(timeline->phases[0].time.base(), 30e-6, 1e-12);
  EXPECT_EQ(timeline->annotations.at(0).name, "step");
  EXPECT_EQ(timeline->annotations.at(0).launches, 3);
  const auto part = select(p, {.annotation = "Optimizer.step#Adam.step"});
  ASSERT_TRUE(part) << to_string(part.error());
  ASSERT_EQ(part->kernels.size(), 1U);
  EXPECT_EQ(part->kernels[0].name, "c");
  EXPECT_EQ(of_phase(p, TracePhase::Backward).kernels.at(0).name, "b");
  const auto unknown = select(p, {.annotation = "stp"});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().hint.find("step"), std::string::npos) << unknown.error().hint;
}

// a 0-10, b 30-40 (called at 25, after a ended: 15 us of waiting), nccl 35-60 (20 us alone).
// The thread that called backward() waits in its annotation; another one launches.
TEST(KinetoOperators, ABackwardPassBelongsToTheAnnotationsThatWaitForIt) {
  const std::string events = annotation("backward", 0, 1000, 5) +
                             op("AddmmBackward0", 100, 50, "", 6) + call(1, 120, 6) +
                             op("aten::mm", 200, 50, kMm, 6) + call(2, 220, 6) +
                             kernel("gradient", 300, 10, R"("correlation":1)") +
                             kernel("other", 320, 20, R"("correlation":2)");
  const auto part = select(traced(events), {.annotation = "backward"});
  ASSERT_TRUE(part) << to_string(part.error());
  ASSERT_EQ(part->kernels.size(), 1U) << "a thread beside it is not meant";
  EXPECT_EQ(part->kernels[0].name, "gradient");
  const RawProfile two = traced(events + annotation("step", 0, 1000, 7));
  EXPECT_EQ(two.kernels.at(0).launch_list.at(0).range, 0U) << "which of two threads waits?";
}

TEST(Timeline, IdleTimeLatenessAndOverlap) {
  const RawProfile p = traced(call(1, 100, 5) + call(2, 125, 5) + call(3, 101, 5) +
                              kernel("a", 100, 10, R"("correlation":1)") +
                              kernel("b", 130, 10, R"("correlation":2)") +
                              kernel("ncclDevKernel_AllReduce", 135, 25, R"("correlation":3)"));
  const auto timeline = timeline_of(p);
  ASSERT_TRUE(timeline);
  EXPECT_NEAR(timeline->span.base(), 60e-6, 1e-12);
  EXPECT_NEAR(timeline->busy.base(), 40e-6, 1e-12);
  EXPECT_NEAR(timeline->idle.base(), 20e-6, 1e-12);
  EXPECT_NEAR(timeline->host_late->base(), 15e-6, 1e-12);
  EXPECT_NEAR(timeline->communication.base(), 25e-6, 1e-12);
  EXPECT_NEAR(timeline->exposed_communication.base(), 20e-6, 1e-12);
  EXPECT_EQ(timeline->late_stretches, 0) << "one launch is no stretch";
}

TEST(Timeline, StretchesOfLateLaunches) {
  std::string events;
  for (int i = 0; i < 7; ++i) {
    events += call(i + 1, 100 + 20 * i, 5) +
              kernel("k", 105 + 20 * i, 5, fmt::format(R"("correlation":{})", i + 1));
  }
  const auto timeline = timeline_of(traced(events));
  ASSERT_TRUE(timeline);
  EXPECT_EQ(timeline->late_stretches, 1);
  EXPECT_EQ(timeline->late_launches, 6);
}

}  // namespace
}  // namespace rooftile::profile
