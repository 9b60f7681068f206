// SPDX-License-Identifier: Apache-2.0
#include "calibration/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "core/csv.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/predictor.h"
#include "hardware/load.h"
#include "ops/any_op.h"

namespace rooftile::calibration {

namespace {

constexpr std::string_view kUnknownLicence = "unknown";
constexpr std::size_t kMaxSamples = std::size_t{1} << 22;  // rows are kept: 370 bytes each

/// One open file with what its columns are.
struct Source {
  CsvReader& csv;
  CsvHeader header;
  std::string path;
  std::uint32_t file = 0;

  /// A whole number that may be 0: a padding, a window.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view column) const {
    return at_least(0, column);
  }
  [[nodiscard]] Result<std::int64_t> size(std::string_view column) const {
    return at_least(1, column);
  }
  [[nodiscard]] Result<std::string_view> text(std::string_view column) const {
    ROOFTILE_TRY(const std::size_t index, header.column(column));
    return trim(csv[index]);
  }
  [[nodiscard]] std::string where(std::string_view column) const {
    const auto index = header.find(column);
    return index ? csv.where(*index) : csv.where();
  }

 private:
  [[nodiscard]] Result<std::int64_t> at_least(std::int64_t least, std::string_view column) const {
    ROOFTILE_TRY(const std::size_t index, header.column(column));
    ROOFTILE_TRY(const std::int64_t value, csv.integer(index));
    if (value < least)
      return bad_input(csv.where(index),
                       fmt::format("{} is {}, it must be at least {}", column, value, least),
                       "sizes are whole numbers");
    return value;
  }
};

Result<double> milliseconds(const Source& source, std::string_view column) {
  ROOFTILE_TRY(const std::size_t index, source.header.column(column));
  ROOFTILE_TRY(const double ms, source.csv.number(index));
  if (!(ms > 0) || ms > 1e9)
    return bad_input(source.csv.where(index), fmt::format("{} ms is no kernel time", ms),
                     "times are positive milliseconds");
  return ms * 1e-3;
}

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

/// The operator of a row and the precision it runs in; nothing for dtypes that are not modelled.
struct RowOp {
  ops::AnyOp op;
  DType dtype = DType::Fp32;
};

Result<std::optional<RowOp>> product_row(const Source& s) {
  ROOFTILE_TRY(const auto op, s.text("op"));
  ROOFTILE_TRY(const auto b, s.size("b"));
  ROOFTILE_TRY(const auto m, s.size("m"));
  ROOFTILE_TRY(const auto n, s.size("n"));
  ROOFTILE_TRY(const auto k, s.size("k"));
  if (op == "bmm") return RowOp{ops::BatchedMatmul{.batch = b, .m = m, .n = n, .k = k}};
  if (op != "linear")
    return unsupported(s.where("op"), fmt::format("unknown operator \"{}\"", printable(op)),
                       "files with m, n, k hold linear and bmm");
  std::int64_t rows = 0;
  if (__builtin_mul_overflow(b, m, &rows)) return bad_input(s.where("b"), "b x m is too large");
  return RowOp{ops::Linear{.rows = rows, .in = k, .out = n}};
}

Result<std::optional<RowOp>> vector_row(const Source& s) {
  ROOFTILE_TRY(const auto op, s.text("op"));
  ROOFTILE_TRY(const auto b, s.size("b"));
  ROOFTILE_TRY(const auto h, s.size("h"));
  const Shape shape{b, h};
  if (op == "softmax") return RowOp{ops::Softmax{.shape = shape}};
  if (op == "ln") return RowOp{ops::LayerNorm{.shape = shape}};
  // A trailing u: the second operand is a scalar ("relu" ends in u by itself).
  auto function = ops::parse_function(op);
  const bool scalar = !function && op.size() > 1 && op.back() == 'u';
  if (scalar) function = ops::parse_function(op.substr(0, op.size() - 1));
  if (!function) return unsupported(s.where("op"), function.error().message, function.error().hint);
  ops::Operands operands = ops::default_operands(*function);
  if (*function == ops::Function::Pow) operands = ops::Operands::Binary;
  if (scalar) operands = ops::Operands::Scalar;
  return RowOp{ops::Elementwise{.function = *function, .operands = operands, .shape = shape}};
}

Result<std::optional<RowOp>> conv_row(const Source& s) {
  ops::ConvShape c;
  ROOFTILE_TRY(c.n, s.size("b"));
  ROOFTILE_TRY(c.c, s.size("c_in"));
  ROOFTILE_TRY(c.k, s.size("c_out"));
  ROOFTILE_TRY(c.h, s.size("hw"));
  ROOFTILE_TRY(c.r, s.size("filter"));
  ROOFTILE_TRY(c.stride_h, s.size("stride"));
  ROOFTILE_TRY(c.pad_h, s.integer("padding"));
  c.w = c.h, c.s = c.r, c.stride_w = c.stride_h, c.pad_w = c.pad_h;
  return RowOp{ops::Conv2d{.conv = c}};
}

/// bfloat16, float16, fp8; nothing for formats whose kernels are not modelled (fp8_block, nvfp4).
std::optional<DType> dtype_named(std::string_view text) {
  if (text == "bfloat16") return DType::Bf16;
  if (text == "float16") return DType::Fp16;
  if (text == "fp8") return DType::Fp8E4m3;
  return std::nullopt;
}

Result<std::optional<RowOp>> low_precision_row(const Source& s) {
  ROOFTILE_TRY(const auto name, s.text("gemm_dtype"));
  const auto dtype = dtype_named(name);
  if (!dtype) return std::optional<RowOp>();
  ROOFTILE_TRY(const auto m, s.size("m"));
  ROOFTILE_TRY(const auto n, s.size("n"));
  ROOFTILE_TRY(const auto k, s.size("k"));
  return RowOp{.op = ops::Linear{.rows = m, .in = k, .out = n, .bias = false}, .dtype = *dtype};
}

Result<std::optional<RowOp>> attention_row(const Source& s) {
  ROOFTILE_TRY(const auto compute, s.text("attn_dtype"));
  ROOFTILE_TRY(const auto cache, s.text("kv_cache_dtype"));
  const auto dtype = dtype_named(compute);
  if (!dtype || compute != cache) return std::optional<RowOp>();
  ops::AttentionShape shape;
  shape.causal = true;
  ROOFTILE_TRY(shape.batch, s.size("batch_size"));
  ROOFTILE_TRY(shape.queries, s.size("isl"));
  ROOFTILE_TRY(shape.heads, s.size("num_heads"));
  ROOFTILE_TRY(shape.kv_heads, s.size("num_key_value_heads"));
  ROOFTILE_TRY(shape.head_dim, s.size("head_dim"));
  ROOFTILE_TRY(const auto step, s.integer("step"));
  if (s.header.find("window_size")) {
    ROOFTILE_TRY(shape.window, s.integer("window_size"));
  }
  if (step > (std::int64_t{1} << 40) || shape.queries > (std::int64_t{1} << 40))
    return bad_input(s.where("step"), "the sequence is too long");
  shape.keys = shape.queries + step;
  return RowOp{.op = ops::FusedAttention{.shape = shape}, .dtype = *dtype};
}

struct Layout {
  std::string_view marker;  ///< a column that only this layout has
  Result<std::optional<RowOp>> (*row)(const Source&);
  bool device_column;
  std::string_view licence;
};
constexpr std::array kLayouts{
    Layout{"c_in", conv_row, true, "MIT (NeuSight artefact)"},
    Layout{"gemm_dtype", low_precision_row, false, "Apache-2.0 (AIConfigurator)"},
    Layout{"attn_dtype", attention_row, false, "Apache-2.0 (AIConfigurator)"},
    Layout{"n", product_row, true, "MIT (NeuSight artefact)"},
    Layout{"h", vector_row, true, "MIT (NeuSight artefact)"},
};

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

/// The campaign that a row belongs to. Campaigns of low-precision products loop over six copies of
/// the weights without flushing L2: where the copies fit, the row was measured with warm caches.
std::string_view campaign_of(const Source& source, const Layout& layout, const Sample& sample,
                             const Dataset& dataset) {
  if (const auto set = source.header.find("set")) return source.csv[*set];
  const auto* shape = std::get_if<ops::GemmShape>(&sample.work.shape);
  if (layout.device_column || shape == nullptr) return "";
  constexpr double kCopies = 6;
  const double weights = kCopies * static_cast<double>(shape->k) * static_cast<double>(shape->n) *
                         size_of(sample.work.dtype).base();
  const Bytes l2 = dataset.machines[sample.gpu].gpu.l2.size.value_or(Bytes{});
  return weights < l2.base() ? kWarmCampaign : "cold";
}

/// grid_x * grid_y * grid_z; nothing where a row has no grid (empty, "nan").
Result<std::optional<std::int64_t>> grid_blocks(const Source& source) {
  std::int64_t blocks = 1;
  for (const std::string_view column : {"grid_x", "grid_y", "grid_z"}) {
    ROOFTILE_TRY(const auto text, source.text(column));
    if (text.empty() || to_lower(text) == "nan") return std::nullopt;
    ROOFTILE_TRY(const auto size, source.size(column));
    if (__builtin_mul_overflow(blocks, size, &blocks))
      return bad_input(source.where(column), "is no size of a grid");
  }
  return blocks;
}

Status append_row(const Source& source, const Layout& layout, std::optional<std::uint32_t> file_gpu,
                  const Catalog& catalog, Dataset& dataset) {
  ROOFTILE_CHECK(source.header.check_width(source.csv));
  ROOFTILE_TRY(const auto row, layout.row(source));
  if (!row) {
    ++dataset.skipped;
    return {};
  }
  if (auto status = ops::check(row->op); !status)
    return bad_input(source.csv.where(), status.error().message, status.error().hint);
  Sample sample;
  ROOFTILE_TRY(sample.measured,
               milliseconds(source, layout.device_column ? "latency_ms" : "latency"));
  if (file_gpu) {
    sample.gpu = *file_gpu;
  } else {
    ROOFTILE_TRY(const auto device, source.text("device"));
    ROOFTILE_TRY(sample.gpu, gpu_index(device, source.where("device"), catalog, dataset));
  }
  sample.file = source.file;
  sample.line = static_cast<std::uint32_t>(
      std::min<std::int64_t>(source.csv.line(), std::numeric_limits<std::uint32_t>::max()));
  if (const auto kernel = source.header.find("kernel"))
    sample.tile = tile_in_name(source.csv[*kernel]);
  if (source.header.find("grid_x")) {
    ROOFTILE_TRY(sample.blocks, grid_blocks(source));
  }
  ops::KernelList works;
  ops::forward(row->op, {.precision = ops::precision_of(row->dtype)}, works);
  sample.work = std::move(works.front());
  sample.campaign = index_of(dataset.campaigns, campaign_of(source, layout, sample, dataset));
  if (const auto job = cost::bind(sample.work, dataset.machines[sample.gpu]); !job)
    return unsupported(source.csv.where(), job.error().message, job.error().hint);
  if (dataset.samples.size() >= kMaxSamples)
    return bad_input(source.csv.where(), fmt::format("more than {} rows", kMaxSamples),
                     "take a sample of the data set");
  dataset.samples.push_back(std::move(sample));
  return {};
}

void drop_unused_gpus(Dataset& dataset) {
  std::vector<bool> used(dataset.machines.size(), false);
  for (const Sample& sample : dataset.samples) used[sample.gpu] = true;
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

Status read_dataset(const std::string& path, const Catalog& catalog, Dataset& dataset) {
  ROOFTILE_TRY(auto csv, CsvReader::open(path, {}));
  ROOFTILE_TRY(auto header, CsvHeader::read(csv));
  const Layout* layout = nullptr;
  for (const Layout& candidate : kLayouts) {
    if (header.find(candidate.marker) && (!candidate.device_column || header.find("op"))) {
      layout = &candidate;
      break;
    }
  }
  if (layout == nullptr)
    return unsupported(path, "no known layout of measured kernels has these columns",
                       "expected op,device,latency_ms,... or gemm_dtype,m,n,k,latency");
  dataset.files.push_back(path);
  dataset.licences.emplace_back(header.find("kernel") || !layout->device_column ? layout->licence
                                                                                : kUnknownLicence);
  const Source source{.csv = csv,
                      .header = std::move(header),
                      .path = path,
                      .file = static_cast<std::uint32_t>(dataset.files.size() - 1)};
  std::optional<std::uint32_t> file_gpu;
  if (!layout->device_column) {
    ROOFTILE_TRY(file_gpu, gpu_in_name(path, catalog, dataset));
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
  for (const std::string& path : paths) ROOFTILE_CHECK(read_dataset(path, catalog, dataset));
  if (dataset.samples.empty())
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
                     names.empty() ? std::string("their rows name none: leave out --campaign")
                                   : did_you_mean(campaign, names, "--campaign is one of"));
}

std::vector<const Sample*> samples_without(const Dataset& dataset,
                                           std::optional<std::uint32_t> left_out) {
  std::vector<const Sample*> kept;
  kept.reserve(dataset.samples.size());
  for (const Sample& sample : dataset.samples) {
    if (!left_out || sample.gpu != *left_out) kept.push_back(&sample);
  }
  return kept;
}

}  // namespace rooftile::calibration
