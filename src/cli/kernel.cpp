// SPDX-License-Identifier: Apache-2.0
//
// rooftile kernel KIND ...: one kernel on one GPU, with every term of its bound.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "cli/commands.h"
#include "cli/conv_options.h"
#include "cli/help.h"
#include "cli/sizes.h"
#include "core/text.h"
#include "report/describe.h"
#include "rooftile/kernel.h"

namespace rooftile::cli {

namespace {

struct KernelOptions {
  KernelRequest request;
  Output output;
  // The fields of all kinds; each kind registers the ones it has.
  ops::GemmShape gemm;
  ConvOptions conv;
  ops::AttentionShape attention;
  std::int64_t rows = 1, columns = 1;
  std::string shape;  ///< all sizes at once: 4096x4096x1024
  std::string function = "add";
};

Status run_kernel(const KernelOptions& options, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const auto report, session.kernel(options.request));
  return emit(options.output, report::describe(report));
}

using Options = std::shared_ptr<KernelOptions>;
using Operator = decltype(KernelRequest::op);
using MakeOp = std::function<Result<Operator>(const KernelOptions&)>;

/// A kind: its subcommand, the options all kinds have, and how its fields become an operator.
CLI::App* add_kind(CLI::App& kernel, Context& context, const Options& options,
                   const std::string& name, const std::string& help, const MakeOp& make_op) {
  CLI::App* kind = kernel.add_subcommand(name, help);
  kind->add_option("--gpu", options->request.gpu, "catalogue name or JSON file")
      ->group(kMachineGroup)
      ->required();
  kind->add_option("--dtype", options->request.dtype, "fp32, tf32, fp16, bf16, fp8_e4m3, ...")
      ->capture_default_str();
  kind->add_option("--predictor", options->request.predictor,
                   "how kernels are timed (default: the best)")
      ->group(kMachineGroup);
  kind->add_option("--machine", options->request.machine,
                   "measured ceilings: machine file, ERT result or table of peaks")
      ->type_name("FILE")
      ->group(kMachineGroup);
  kind->add_option("--residency", options->request.residency,
                   "cold: the operands come from DRAM; warm: the kernel is repeated and finds what "
                   "fits in the L2 (gemm, attention)")
      ->capture_default_str();
  kind->add_option("--pass", options->request.pass, "forward or backward")->capture_default_str();
  add_output_options(*kind, options->output, report::Offers{});
  kind->callback([options, make_op, &context] {
    run_command(context, options->output, [&]() -> Status {
      ROOFTILE_TRY(options->request.op, make_op(*options));
      return run_kernel(*options, context);
    });
  });
  return kind;
}

/// Sizes come as one shape or as options; neither is silently preferred.
Result<std::vector<std::int64_t>> given_sizes(const KernelOptions& options, const CLI::App& kind,
                                              std::string_view form,
                                              const std::vector<const char*>& names) {
  std::vector<std::int64_t> sizes;
  for (const char* name : names) {
    const CLI::Option* option = kind.get_option(name);
    if (option->count() > 0 && !options.shape.empty()) {
      return usage_error(
          fmt::format("the sizes are given twice: \"{}\" and {}", printable(options.shape), name),
          "give the shape or the options, not both");
    }
    if (option->count() == 0 && options.shape.empty()) {
      return usage_error(fmt::format("{} is required", name),
                         fmt::format("or give all sizes at once: {}", form));
    }
    if (option->count() > 0) sizes.push_back(option->as<std::int64_t>());
  }
  return options.shape.empty() ? Result<std::vector<std::int64_t>>(sizes)
                               : parse_shape(options.shape, form);
}

void add_shape(CLI::App& kind, const Options& options, const std::string& form) {
  kind.add_option("shape", options->shape, "all sizes at once: " + form);
}

void add_gemm(CLI::App& kernel, Context& context, const Options& options) {
  CLI::App* gemm = add_kind(
      kernel, context, options, "gemm", "matrix product: C[m,n] = A[m,k] B[k,n], --batch times",
      [&kernel](const KernelOptions& o) -> Result<Operator> {
        ROOFTILE_TRY(const auto sizes, given_sizes(o, *kernel.get_subcommand("gemm"), "MxNxK",
                                                   {"--m", "--n", "--k"}));
        return ops::GemmShape{.batch = o.gemm.batch, .m = sizes[0], .n = sizes[1], .k = sizes[2]};
      });
  add_shape(*gemm, options, "MxNxK");
  gemm->add_option("--m", options->gemm.m, "rows of C");
  gemm->add_option("--n", options->gemm.n, "columns of C");
  gemm->add_option("--k", options->gemm.k, "length of the sums");
  gemm->add_option("--batch", options->gemm.batch, "independent products")->capture_default_str();
  gemm->footer(
      "Examples:\n"
      "  rooftile kernel gemm 4096x4096x4096 --gpu h100-sxm --dtype bf16\n"
      "  rooftile kernel gemm --m 8 --n 14336 --k 4096 --gpu l4 --dtype fp16\n");
}

void add_conv(CLI::App& kernel, Context& context, const Options& options) {
  CLI::App* conv = add_kind(kernel, context, options, "conv", "two-dimensional convolution",
                            [](const KernelOptions& o) -> Result<Operator> {
                              ROOFTILE_TRY(const ops::ConvShape shape, make_conv(o.conv));
                              return shape;
                            });
  conv->get_option("--pass")->description("forward, backward (both gradients), dgrad or wgrad");
  add_conv_options(*conv, options->conv);
  conv->footer(
      "Examples:\n"
      "  rooftile kernel conv --n 64 --c 256 --h 14 --w 14 --k 256 --r 3 --s 3 --pad 1 --gpu "
      "v100-pcie-32gb\n"
      "  rooftile kernel conv --n 16 --c 64 --h 79 --w 341 --k 32 --r 5 --s 10 --stride 2x1 --gpu "
      "t4 --pass backward\n");
}

void add_attention(CLI::App& kernel, Context& context, const Options& options) {
  CLI::App* attention = add_kind(kernel, context, options, "attention", "fused (flash) attention",
                                 [](const KernelOptions& o) -> Result<Operator> {
                                   ops::AttentionShape s = o.attention;
                                   if (s.kv_heads == 0) s.kv_heads = s.heads;
                                   if (s.keys == 0) s.keys = s.queries;
                                   return s;
                                 });
  options->attention.kv_heads = 0;  // 0 here means "not given", before the operator is made
  options->attention.keys = 0;
  attention->add_option("--batch", options->attention.batch, "sequences")->capture_default_str();
  attention->add_option("--heads", options->attention.heads, "query heads")->required();
  attention->add_option("--kv-heads", options->attention.kv_heads,
                        "key/value heads (default: as --heads)");
  attention->add_option("--queries", options->attention.queries, "new tokens per sequence")
      ->required();
  attention->add_option("--keys", options->attention.keys,
                        "tokens attended to (default: as --queries)");
  attention->add_option("--head-dim", options->attention.head_dim, "width of a head")->required();
  attention
      ->add_option("--window", options->attention.window,
                   "tokens of a sliding window, 0 for full attention")
      ->capture_default_str();
  attention->add_flag("--causal", options->attention.causal, "mask the future");
  attention->footer(
      "Examples:\n"
      "  rooftile kernel attention --batch 4 --heads 32 --kv-heads 8 --queries 2048 --head-dim 128 "
      "--causal --gpu h100-sxm --dtype bf16\n"
      "  rooftile kernel attention --heads 32 --queries 1 --keys 4096 --head-dim 128 --gpu l4 "
      "--dtype fp16\n");
}

void add_vector_kinds(CLI::App& kernel, Context& context, const Options& options) {
  const auto add_rows = [&](CLI::App* kind) {
    add_shape(*kind, options, "ROWSxCOLUMNS");
    kind->add_option("--rows", options->rows, "independent rows");
    kind->add_option("--columns", options->columns, "elements of a row");
    kind->footer(fmt::format("Example:\n  rooftile kernel {} 65536x1024 --gpu t4 --dtype fp16\n",
                             kind->get_name()));
  };
  CLI::App* elementwise = nullptr;
  for (const auto& [name, help] :
       {std::pair("elementwise", "one output per element of one or two inputs"),
        std::pair("softmax", "softmax over the columns"),
        std::pair("layernorm", "layer norm over the columns"),
        std::pair("rmsnorm", "RMS norm over the columns")}) {
    const std::string kind(name);
    CLI::App* added = add_kind(
        kernel, context, options, kind, help,
        [kind, &kernel](const KernelOptions& o) -> Result<Operator> {
          ROOFTILE_TRY(const auto sizes, given_sizes(o, *kernel.get_subcommand(kind),
                                                     "ROWSxCOLUMNS", {"--rows", "--columns"}));
          return VectorOperator{
              .kind = kind, .shape = {sizes[0], sizes[1]}, .function = o.function};
        });
    add_rows(added);
    if (elementwise == nullptr) elementwise = added;
  }
  elementwise->add_option("--function", options->function, "add, mul, gelu, relu, tanh, ...")
      ->capture_default_str();
}

}  // namespace

void add_kernel(CLI::App& app, Context& context) {
  auto options = std::make_shared<KernelOptions>();
  CLI::App* kernel = app.add_subcommand("kernel", "one kernel on one GPU, explained term by term");
  kernel->require_subcommand(1);
  add_gemm(*kernel, context, options);
  add_conv(*kernel, context, options);
  add_attention(*kernel, context, options);
  add_vector_kinds(*kernel, context, options);
  kernel->footer(
      "Shows the time within a step and launched alone, and each term of the predicted time and of "
      "the bound with its arithmetic: FLOPs or bytes, the rate, and the share of the rate that is "
      "reached.\n"
      "\n"
      "Examples:\n"
      "  rooftile kernel gemm 4096x4096x4096 --gpu h100-sxm --dtype bf16\n"
      "  rooftile kernel conv --n 64 --c 256 --h 14 --w 14 --k 256 --r 3 --s 3 --pad 1 --gpu "
      "v100-pcie-32gb\n"
      "  rooftile kernel softmax 65536x1024 --gpu t4\n"
      "  rooftile help kernel attention\n");
}

}  // namespace rooftile::cli
