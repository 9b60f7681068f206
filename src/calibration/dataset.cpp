// SPDX-License-Identifier: Apache-2.0
#include "calibration/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "calibration/layouts.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/predictor.h"
#include "hardware/load.h"
#include "ops/any_op.h"

namespace rooftile::calibration {

namespace {

constexpr std::string_view kUnknownLicence = "unknown";
constexpr std::string_view kDeviceColumn = "device";
constexpr std::size_t kMaxSamples = std::size_t{1} << 22;  // rows are kept: 370 bytes each

std::uint32_t index_of(std::vector<std::string>& names, std::string_view name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it != names.end()) return static_cast<std::uint32_t>(it - names.begin());
  names.emplace_back(name);
  return static_cast<std::uint32_t>(names.size() - 1);
}

Result<std::uint32_t> gpu_index(std::string_view device, const std::string& where,
                                const Catalog& catalog, Dataset& dataset) {
  const auto known = std::find(dataset.devices.begin(), dataset.devices.end(), device);
  if (known != dataset.devices.end())
    return static_cast<std::uint32_t>(known - dataset.devices.begin());
  auto machine = hardware::load_machine(catalog, device, std::nullopt);
  if (!machine) {  // an unknown name is the row's fault, anything else that of the GPU's file
    Error error = machine.error();
    if (error.where.empty()) error.where = where;
    return tl::unexpected(std::move(error));
  }
  // Two spellings of one GPU are one machine.
  for (std::size_t i = 0; i < dataset.machines.size(); ++i) {
    if (dataset.machines[i].gpu.id == machine->gpu.id) return static_cast<std::uint32_t>(i);
  }
  dataset.machines.push_back(*std::move(machine));
  dataset.devices.emplace_back(device);
  return static_cast<std::uint32_t>(dataset.machines.size() - 1);
}

/// "dir/gemm_h100_sxm.csv" -> "h100_sxm": the longest tail of the stem that names a GPU.
Result<std::uint32_t> gpu_in_name(const std::string& path, const Catalog& catalog,
                                  Dataset& dataset) {
  const std::string stem = std::filesystem::path(path).stem().string();
  for (std::size_t at = stem.find('_'); at != std::string::npos; at = stem.find('_', at + 1)) {
    const auto gpu = gpu_index(stem.substr(at + 1), path, catalog, dataset);
    if (gpu || gpu.error().where != path) return gpu;
  }
  return bad_input(path, "neither a device column nor the file name says which GPU this is",
                   "name the file like gemm_h100_sxm.csv");
}

/// Campaigns of low-precision products loop over six copies of the weights without flushing L2;
/// those of attention repeat one call.
double copies_of(const ops::KernelWork& work, const Layout& layout) {
  constexpr double kCopies = 6;
  if (!layout.device.empty()) return 0;
  if (std::holds_alternative<ops::GemmShape>(work.shape)) return kCopies;
  return std::holds_alternative<ops::AttentionShape>(work.shape) ? 1 : 0;
}

/// Bytes that a loop over one shape touches again before anything else does.
std::optional<Bytes> repeated_bytes(const ops::KernelWork& work, double copies) {
  if (copies <= 0) return std::nullopt;
  if (const auto* gemm = std::get_if<ops::GemmShape>(&work.shape))
    return copies * static_cast<double>(gemm->k) * static_cast<double>(gemm->n) *
           size_of(work.dtype);
  return work.bytes();
}

/// The campaign that a row belongs to: "warm" where what it repeats fits into L2.
std::string_view campaign_of(const Source& source, const Layout& layout, const Sample& sample,
                             const RowOp& row, const Dataset& dataset) {
  if (!row.campaign.empty()) return row.campaign;
  if (const auto set = source.header.find("set")) return source.csv[*set];
  if (!layout.device.empty()) return "";
  const auto repeated = repeated_bytes(sample.work, sample.copies);
  if (!repeated) return "";
  const Bytes l2 = dataset.machines[sample.gpu].gpu.l2.size.value_or(Bytes{});
  return *repeated < l2 ? kWarmCampaign : "cold";
}

/// grid_x * grid_y * grid_z; nothing where a row has no grid (empty, "nan").
Result<std::optional<std::int64_t>> grid_blocks(const Source& source) {
  std::int64_t blocks = 1;
  for (const std::string_view column : {"grid_x", "grid_y", "grid_z"}) {
    ROOFTILE_TRY(const auto text, source.text(column));
    if (text.empty() || to_lower(text) == "nan") return std::nullopt;
    ROOFTILE_TRY(const auto size, source.size(column));
    if (__builtin_mul_overflow(blocks, size, &blocks))
      return bad_input(source.where(column), "is not a valid grid size");
  }
  return blocks;
}

/// The kernel of a call: of a gradient, the one of its pass.
Result<ops::KernelWork> kernel_of(const RowOp& row, const Source& source) {
  if (auto status = ops::check(row.op); !status)
    return bad_input(source.csv.where(), status.error().message, status.error().hint);
  const ops::LowerContext context{.precision = ops::precision_of(row.dtype)};
  ops::KernelList works;
  if (row.pass == ops::ConvPass::Forward) {
    ops::forward(row.op, context, works);
    return std::move(works.front());
  }
  ops::backward(row.op, context, works);
  for (ops::KernelWork& work : works) {
    const auto* conv = std::get_if<ops::ConvShape>(&work.shape);
    if (conv != nullptr && conv->pass == row.pass) return std::move(work);
  }
  return unsupported(source.csv.where(), "the operator has no such gradient");
}

tl::unexpected<Error> too_many_rows(const Source& source) {
  return bad_input(source.csv.where(), fmt::format("more than {} rows", kMaxSamples),
                   "use a sample of the data set");
}

Status append_call(const Source& source, const Layout& layout, const RowOp& row, std::uint32_t gpu,
                   Dataset& dataset) {
  Sample sample;
  sample.measured = row.measured;
  sample.gpu = gpu;
  sample.file = source.file;
  sample.line = source.line();
  sample.host = row.host;
  sample.algorithm = index_of(dataset.algorithms, row.algorithm);
  if (const auto kernel = source.header.find("kernel"); kernel && !source.header.find("shape"))
    sample.tile = tile_in_name(source.csv[*kernel]);
  if (source.header.find("grid_x")) {
    ROOFTILE_TRY(sample.blocks, grid_blocks(source));
  }
  ROOFTILE_TRY(sample.work, kernel_of(row, source));
  sample.copies = copies_of(sample.work, layout);
  sample.campaign = index_of(dataset.campaigns, campaign_of(source, layout, sample, row, dataset));
  if (const auto job = cost::bind(sample.work, dataset.machines[sample.gpu]); !job)
    return unsupported(source.csv.where(), job.error().message, job.error().hint);
  if (dataset.samples.size() >= kMaxSamples) return too_many_rows(source);
  dataset.samples.push_back(std::move(sample));
  return {};
}

Status append_row(const Source& source, const Layout& layout, std::optional<std::uint32_t> file_gpu,
                  const Catalog& catalog, Dataset& dataset) {
  ROOFTILE_CHECK(source.header.check_width(source.csv));
  RowOps calls;
  if (layout.calls != nullptr) {
    ROOFTILE_TRY(calls, layout.calls(source));
    if (calls.empty()) {
      ++dataset.skipped;
      return {};
    }
  }
  std::uint32_t gpu = file_gpu.value_or(0);
  if (!file_gpu && layout.device != kNoDevice) {
    const std::string_view column = layout.device.empty() ? kDeviceColumn : layout.device;
    ROOFTILE_TRY(const auto device, source.text(column));
    ROOFTILE_TRY(gpu, gpu_index(device, source.where(column), catalog, dataset));
  }
  if (layout.other != nullptr) {
    const std::size_t rows = dataset.collectives.size() + dataset.layers.size() +
                             dataset.host_calls.size() + dataset.eager_nodes.size() +
                             dataset.steps.size() + dataset.counted.size() +
                             dataset.simulated.size();
    if (rows >= kMaxSamples) return too_many_rows(source);
    return layout.other(source, {.gpu = gpu, .catalog = catalog}, dataset);
  }
  for (const RowOp& row : calls) ROOFTILE_CHECK(append_call(source, layout, row, gpu, dataset));
  return {};
}

void drop_unused_gpus(Dataset& dataset) {
  std::vector<bool> used(dataset.machines.size(), false);
  for (const Sample& sample : dataset.samples) used[sample.gpu] = true;
  for (const Collective& row : dataset.collectives) used[row.gpu] = true;
  for (const FusedLayer& row : dataset.layers) used[row.gpu] = true;
  for (const HostCall& row : dataset.host_calls) used[row.gpu] = true;
  for (const EagerNode& row : dataset.eager_nodes) used[row.gpu] = true;
  for (const MeasuredStep& row : dataset.steps) used[row.gpu] = true;
  for (const CountedKernel& row : dataset.counted) used[row.gpu] = true;
  std::vector<std::uint32_t> moved(used.size(), 0);
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    moved[i] = kept;
    std::swap(dataset.machines[kept], dataset.machines[i]);
    std::swap(dataset.devices[kept], dataset.devices[i]);
    ++kept;
  }
  dataset.machines.erase(dataset.machines.begin() + kept, dataset.machines.end());
  dataset.devices.erase(dataset.devices.begin() + kept, dataset.devices.end());
  for (Sample& sample : dataset.samples) sample.gpu = moved[sample.gpu];
  for (Collective& row : dataset.collectives) row.gpu = moved[row.gpu];
  for (FusedLayer& row : dataset.layers) row.gpu = moved[row.gpu];
  for (HostCall& row : dataset.host_calls) row.gpu = moved[row.gpu];
  for (EagerNode& row : dataset.eager_nodes) row.gpu = moved[row.gpu];
  for (MeasuredStep& row : dataset.steps) row.gpu = moved[row.gpu];
  for (CountedKernel& row : dataset.counted) row.gpu = moved[row.gpu];
}

}  // namespace

std::optional<cost::learned::GemmTile> tile_in_name(std::string_view kernel) {
  for (const std::string_view mark : {"sgemm_", "_MT"}) {
    const std::size_t at = kernel.find(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = kernel.substr(at + mark.size());
    const std::size_t cross = rest.find('x');
    if (cross == std::string_view::npos) continue;
    const std::size_t end = rest.find_first_not_of("0123456789", cross + 1);
    const auto n = parse_int(rest.substr(0, cross));
    const auto m = parse_int(rest.substr(
        cross + 1, end == std::string_view::npos ? std::string_view::npos : end - cross - 1));
    if (n && m && *n > 0 && *m > 0 && *n <= 4096 && *m <= 4096)
      return cost::learned::GemmTile{.along_n = *n, .along_m = *m};
  }
  return std::nullopt;
}

bool is_dataset(const std::string& path) {
  auto csv = CsvReader::open(path, {});
  if (!csv) return false;
  const auto header = CsvHeader::read(*csv);
  return header && find_layout(*header) != nullptr;
}

Status read_dataset(const std::string& path, const Catalog& catalog, Dataset& dataset,
                    const std::optional<std::string>& gpu) {
  ROOFTILE_TRY(auto csv, CsvReader::open(path, {}));
  ROOFTILE_TRY(const auto header, CsvHeader::read(csv));
  const Layout* layout = find_layout(header);
  if (layout == nullptr)
    return unsupported(
        path, "no known layout of measured kernels has these columns",
        "expected op,device,latency_ms,..., gemm_dtype,m,n,k,latency or another of those in "
        "docs/howto/refit.md");
  dataset.files.push_back(path);
  dataset.licences.emplace_back(header.find("kernel") || layout->device != "device" ||
                                        layout->other != nullptr
                                    ? layout->licence
                                    : kUnknownLicence);
  const Source source{.csv = csv,
                      .header = header,
                      .path = path,
                      .file = static_cast<std::uint32_t>(dataset.files.size() - 1)};
  std::optional<std::uint32_t> file_gpu;
  if (layout->device.empty() && !header.find(kDeviceColumn)) {
    ROOFTILE_TRY(file_gpu, gpu ? gpu_index(*gpu, path, catalog, dataset)
                               : gpu_in_name(path, catalog, dataset));
  }
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(append_row(source, *layout, file_gpu, catalog, dataset));
  }
  return {};
}

std::vector<Input> inputs_of(const Dataset& dataset) {
  std::vector<Input> inputs;
  for (const hardware::Machine& machine : dataset.machines) {
    add_inputs(inputs_of(machine), inputs);
  }
  return inputs;
}

Result<Dataset> read_datasets(std::span<const std::string> paths, const Catalog& catalog) {
  Dataset dataset;
  for (const std::string& path : paths) {
    ROOFTILE_CHECK(read_dataset(path, catalog, dataset));
    if (!dataset.steps.empty())
      return bad_input(path, "holds whole steps, not kernels",
                       "rooftile evaluate labels FILE --models DIR reads it");
    if (!dataset.counted.empty() || !dataset.simulated.empty())
      return bad_input(path, "holds bytes, not times", "rooftile evaluate traffic FILE reads it");
  }
  if (dataset.empty())
    return bad_input(paths.empty() ? "" : paths.front(), "no measured kernels in the data set");
  return dataset;
}

Status keep_campaign(std::string_view campaign, Dataset& dataset) {
  std::erase_if(dataset.samples, [&](const Sample& sample) {
    return dataset.campaigns[sample.campaign] != campaign;
  });
  if (!dataset.samples.empty()) {
    drop_unused_gpus(dataset);
    return {};
  }
  std::vector<std::string_view> names;
  for (const std::string& name : dataset.campaigns) {
    if (!name.empty()) names.push_back(name);
  }
  return usage_error(fmt::format("the files have no campaign \"{}\"", printable(campaign)),
                     names.empty()
                         ? std::string("their rows name no campaign: leave out --campaign")
                         : did_you_mean(campaign, names, "--campaign is one of"));
}

std::vector<const Sample*> samples_without(const Dataset& dataset,
                                           std::optional<std::uint32_t> left_out) {
  std::vector<const Sample*> kept;
  kept.reserve(dataset.samples.size());
  for (const Sample& sample : dataset.samples) {
    if (dataset.campaigns[sample.campaign] == kSustainedCampaign) continue;
    if (!left_out || sample.gpu != *left_out) kept.push_back(&sample);
  }
  return kept;
}

}  // namespace rooftile::calibration
