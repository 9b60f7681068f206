// SPDX-License-Identifier: Apache-2.0
//
// Measured kernels, read from CSV files in the layouts that public campaigns have. The header
// decides what a file is:
//
//   op,device,[set,]latency_ms,b,m,n,k,...              matrix products (linear, bmm)
//   op,device,[set,]latency_ms,b,h,...                  rows: element-wise, softmax, layer norm
//   op,device,[set,]latency_ms,b,c_in,c_out,hw,...      square convolutions
//   gpu,dtype,n,c,h,w,k,...,fwd_ms,bwd_data_ms,...      convolutions and their gradients
//   (DeepBench) gemm_dtype,m,n,k,latency,...                        16- and 8-bit products, one GPU
//   per file batch_size,isl,num_heads,...,step,latency           fused attention, one GPU per file
//   moe_dtype,num_tokens,hidden_size,...,latency        fused mixtures of experts, one GPU per file
//   op_name,nccl_dtype,num_gpus,message_size,latency    collectives, one kind of GPU per file
//   device,case,node,...,output_shape,fw_ms,...,acc_ms  traced nodes: those that launch nothing, and
//                                                       those whose kernels move unusual bytes
//   device,model_name,mode,seqlen,batch,option,measured_ms,...    whole steps (labels)
//   gpu,dtype,...,l2_bytes,dram_bytes                   counted bytes of products and convolutions
//   gpu,...,blkM,...,sim_L1_if_MB,...                   simulated bytes of convolutions
//   kernel,shape,dtype,latency_ms                       timed kernels, plain (plain_rows.h), one GPU
//                                                       per file
//
// The GPU of a file without a device column is in its name: gemm_<gpu>.csv. Device names resolve
// through the catalogue. Times are in milliseconds; every error names file, line and column.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/csv.h"
#include "core/result.h"
#include "cost/learned/weights.h"
#include "hardware/machine.h"
#include "hardware/system.h"
#include "ops/operator.h"
#include "traffic/cache_sim.h"
#include "traffic/implicit_gemm.h"

namespace rooftile::calibration {

/// Rows measured with warm caches: they are scored apart.
inline constexpr std::string_view kWarmCampaign = "warm";
/// Rows repeated until the board ran at the clock that its power sustains: scored apart, in no sum,
/// and not fitted, because the other campaigns time short bursts.
inline constexpr std::string_view kSustainedCampaign = "sustained";

struct Sample {
  ops::KernelWork work;
  double measured = 0;         ///< seconds
  std::uint32_t gpu = 0;       ///< index into Dataset::machines
  std::uint32_t campaign = 0;  ///< index into Dataset::campaigns
  std::uint32_t file = 0;      ///< index into Dataset::files
  std::uint32_t line = 0;
  std::optional<cost::learned::GemmTile> tile;  ///< named by the launched kernel
  std::optional<std::int64_t> blocks;           ///< CTAs of the launched kernel
  /// Seconds that the campaign is known to add to a call: then the kernel is predicted within a
  /// stream, else as timed alone.
  std::optional<double> host;
  double copies = 0;            ///< cost::Job::copies of the campaign
  std::uint32_t algorithm = 0;  ///< of a convolution, as launched: index into Dataset::algorithms
};

/// A collective over some GPUs of one kind.
struct Collective {
  std::string op = {};
  std::int64_t gpus = 2;
  Bytes bytes = {};
  hardware::GroupLink link = {};
  double measured = 0;  ///< seconds
  std::uint32_t gpu = 0, file = 0, line = 0;
};

/// A call that launches several kernels, as a whole.
struct FusedLayer {
  std::string name;
  std::string campaign =
      {};  ///< number format, and how tokens are spread: "bf16", "int4 power law"
  ops::KernelList kernels = {};
  double measured = 0;  ///< seconds
  std::uint32_t gpu = 0, file = 0, line = 0;
};

/// A call from the host that launches nothing.
struct HostCall {
  double measured = 0;  ///< seconds
  std::uint32_t gpu = 0, file = 0, line = 0;
};

/// EagerNode::kernel of copies with a stride.
inline constexpr std::string_view kStridedCopy = "strided_copy";
/// A traced node whose kernel moves other bytes than the textbook's.
struct EagerNode {
  std::string_view kernel;  ///< name of its parameter in cost::EagerConstants
  double bytes = 0;         ///< of its own tensor
  double measured = 0;      ///< seconds, host included
  std::uint32_t gpu = 0, file = 0, line = 0;
};

/// A step of a whole model (layouts of labels).
struct MeasuredStep {
  std::string model = {}, mode = {};  ///< name of a config file; inf or train
  std::string option = {};            ///< "", "fusion", "dp4", "pp4_2"
  std::int64_t sequence = 1, batch = 1;
  double measured_ms = 0;
  /// What others predict: "neusight", "roofline" ... where the file has it.
  std::map<std::string, double> published_ms = {};
  std::uint32_t gpu = 0, file = 0, line = 0;
};

/// A kernel whose bytes were counted.
struct CountedKernel {
  std::string group = {};  ///< phase of a product, framework of a convolution
  ops::KernelWork work = {};
  Bytes l2 = {}, dram = {};
  std::uint32_t gpu = 0, file = 0, line = 0;
};

/// A convolution on a made-up cache whose traffic somebody simulated.
struct SimulatedLayer {
  std::string machine = {};  ///< as the file calls it
  ops::ConvShape conv = {};
  traffic::CtaTile tile = {};
  traffic::CacheMachine caches = {};
  std::array<double, 3> bytes{};  ///< of L1, L2 and DRAM reads
};

struct Dataset {
  std::vector<std::string> files;
  std::vector<std::string> licences;  ///< of each file's source, "unknown" where nothing says
  std::vector<hardware::Machine> machines;
  std::vector<std::string> devices;  ///< the name of each machine in the data
  std::vector<std::string> campaigns;
  std::vector<std::string> algorithms{""};  ///< the first is that of rows which name none
  std::vector<Sample> samples;
  std::vector<Collective> collectives;
  std::vector<FusedLayer> layers;
  std::vector<HostCall> host_calls;
  std::vector<EagerNode> eager_nodes;
  std::vector<MeasuredStep> steps;
  std::vector<CountedKernel> counted;
  std::vector<SimulatedLayer> simulated;
  std::vector<std::string> unread_columns;  ///< of files of steps: with no known meaning
  /// Whether any kernel, collective or call was timed.
  [[nodiscard]] bool empty() const {
    return samples.empty() && collectives.empty() && layers.empty() && host_calls.empty();
  }
  std::int64_t skipped = 0;  ///< rows of dtypes, collectives and passes that are not modelled
};

/// Reads one file and appends its rows. `gpu` is that of a file without a column of devices; without
/// it the file's name says it.
Status read_dataset(const std::string& path, const Catalog& catalog, Dataset& dataset,
                    const std::optional<std::string>& gpu = {});
/// Whether the columns of a CSV file are those of a known layout.
bool is_dataset(const std::string& path);
/// Files of timed kernels, collectives and calls; one of steps or bytes is refused with a hint at
/// the command that reads it.
Result<Dataset> read_datasets(std::span<const std::string> paths, const Catalog& catalog);

/// Drops the rows of all other campaigns, and the GPUs that have none left; an error that lists
/// the campaigns if no row is left.
Status keep_campaign(std::string_view campaign, Dataset& dataset);

/// The files of the GPUs.
std::vector<Input> inputs_of(const Dataset& dataset);

/// The tile in a kernel name: "ampere_sgemm_128x64_nn", "Cijk_.._MT128x64x16_..".
std::optional<cost::learned::GemmTile> tile_in_name(std::string_view kernel);

/// The samples of all GPUs but one that were timed in short bursts.
std::vector<const Sample*> samples_without(const Dataset& dataset,
                                           std::optional<std::uint32_t> left_out);

}  // namespace rooftile::calibration
