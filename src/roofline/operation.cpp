// SPDX-License-Identifier: Apache-2.0
#include "roofline/operation.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace rooftile::roofline {

namespace {

struct ClassWords {
  std::string_view name;
  std::string_view words;  ///< separated by spaces; any of them in the name tells the class
};

// In the order in which they are looked for: "conv" before "gemm" (implicit_gemm convolutions),
// both before "reduce" (split-K), reductions that name what they reduce by before what moves data
// ("TransformReduceOuterDimIndex"), and what says least ("add") last.
constexpr std::array kClasses{
    ClassWords{"communication",
               "nccl rccl msccl allreduce all_reduce allgather all_gather reducescatter "
               "reduce_scatter alltoall all_to_all cross_device_reduce deep_ep nvshmem"},
    ClassWords{"attention", "flash fmha attention attn_ mha_ _mha"},
    ClassWords{"optimizer",
               "multi_tensor multitensor adam lambstage larc applygradient momentum sgd_ fused_sgd "
               "cleanup("},
    ClassWords{"normalization",
               "batch_norm batchnorm bn_fw bn_bw bnorm layer_norm layernorm rms_norm rmsnorm "
               "group_norm groupnorm instance_norm instancenorm cunn_norm normalization "
               "miopenbatchnorm gammabeta rowwisemoments computefusedparams welford"},
    ClassWords{"convolution",
               "conv dgrad wgrad fprop winograd scudnn hcudnn 884cudnn 1688cudnn 16816cudnn im2col "
               "col2im vol2col im2d2col igemm implicit_gemm cudnn::gemm maxwell::gemm cask_cudnn "
               "precompute_indices fft2d flip_filter bwd_data bwd_weight miopensp3asm"},
    ClassWords{"product",
               "gemm gemv cijk_ cutlass xmma matmul nvjet splitkreduce splitk_ split_k wmma "
               "dot_kernel cublaslt"},
    ClassWords{"softmax", "softmax normalizedprob"},
    ClassWords{"pooling", "pool"},
    ClassWords{"embedding", "embedding embeddingbag split_embedding"},
    ClassWords{"random numbers", "dropout philox random distribution bernoulli curand"},
    ClassWords{"reduction", "transformreduce biasgrad cleanupsegments"},
    ClassWords{"data movement",
               "nchwtonhwc nhwctonchw transpose swapdimension permute shuffle spacetobatch "
               "batchtospace s2bparameters slic pad concat catarray cat_ gather scatter index copy "
               "memcpy fill memset setzero settovalue subtensorop cast tensor_transform resize "
               "upsample interpolate bilinear nearest where unrolled_elementwise_kernel_copy "
               "rowwise_permut strided split_v splitop splitv splitkernel ::tilekernel "
               "reversekernel"},
    ClassWords{"reduction",
               "reduc reduce sum_ _sum mean argmax topk sort norm nll_loss "
               "cross_entropy xentropy loss devicescan"},
    ClassWords{"element-wise",
               "elementwise pointwise eigenmetakernel eigen::internal relu gelu silu sigmoid tanh "
               "activation bias triton_poi triton_per add mul scale axpy clamp addc unary binary "
               "op_tensor op_generic_tensor optensor sqrt square fusion _gpu_dt_"},
};

bool has_word(std::string_view name, std::string_view words) {
  for (const std::string_view word : split(words, ' ')) {
    if (!word.empty() && name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

/// Copies and casts of PyTorch are element-wise kernels by their type.
bool moves_only(std::string_view name) {
  return name.find("direct_copy_kernel") != std::string_view::npos ||
         name.find("copy_device_to_device") != std::string_view::npos ||
         name.find("copykernel") != std::string_view::npos;
}

/// Kernels of Eigen (TensorFlow) are named after their whole expression, in which single words
/// mislead: "TensorConversionOp" is a cast, "scalar_sum_op" adds two tensors. Empty: none of them.
std::string_view eigen_class(std::string_view name) {
  if (name.find("eigenmetakernel") == std::string_view::npos) return {};
  if (has_word(name, "tensorreductionop")) return "reduction";
  const bool computes = has_word(name, "cwisebinaryop cwiseunaryop cwiseternaryop tensorselectop");
  return computes ? "element-wise" : "data movement";
}

constexpr std::array kFormats{
    std::string_view("fp64"),     std::string_view("fp32"),     std::string_view("tf32"),
    std::string_view("fp16"),     std::string_view("bf16"),     std::string_view("half2"),
    std::string_view("half"),     std::string_view("float"),    std::string_view("double"),
    std::string_view("bfloat16"), std::string_view("f64"),      std::string_view("f32"),
    std::string_view("f16"),      std::string_view("accfloat"), std::string_view("volta"),
    std::string_view("turing"),   std::string_view("ampere"),   std::string_view("hopper"),
    std::string_view("maxwell"),  std::string_view("pascal"),   std::string_view("int"),
    std::string_view("unsigned"), std::string_view("long"),     std::string_view("bool"),
    std::string_view("c10"),      std::string_view("void"),     std::string_view("const"),
};

/// "s884cudnn", "h1688gemm", "sgemm", "hcudnn" without the letter and number of the format.
std::string_view bare(std::string_view token) {
  for (const std::string_view stem : {"gemm", "cudnn"}) {
    const std::size_t at = token.find(stem);
    if (at == std::string_view::npos || at == 0) continue;
    const std::string_view before = token.substr(0, at);
    const bool format = before.find_first_not_of("sdhicz0123456789") == std::string_view::npos;
    if (format) return token.substr(at);
  }
  return token;
}

bool says_nothing(std::string_view token) {
  const auto digits = static_cast<std::size_t>(
      std::count_if(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; }));
  if (digits == token.size()) return true;  // sizes of vectors and arrays
  const bool number = token.ends_with('l') && digits + 1 >= token.size();
  const bool hex = token.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  const bool hash = hex && digits >= 2 && token.size() >= 8;
  const bool chip = token.starts_with("sm") && digits == token.size() - 2;
  const bool version = token.starts_with('v') && digits == token.size() - 1;
  return number || hash || chip || version ||
         std::find(kFormats.begin(), kFormats.end(), token) != kFormats.end();
}

}  // namespace

std::string_view operation_class(std::string_view kernel) {
  std::string name = to_lower(kernel);
  if (moves_only(name)) return "data movement";
  if (const std::string_view eigen = eigen_class(name); !eigen.empty()) return eigen;
  // "convert" is not a convolution, and a divisor of cuDNN does not reduce.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kMisleading{
      {{"convert", "cast"}, {"reduced_divisor", "divisor"}}};
  for (const auto& [word, instead] : kMisleading) {
    for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word)) {
      name.replace(at, word.size(), instead);
    }
  }
  for (const ClassWords& one : kClasses) {
    if (has_word(name, one.words)) return one.name;
  }
  return "other";
}

std::string format_free_name(std::string_view kernel) {
  const std::string name = to_lower(kernel);
  std::string result;
  std::size_t at = 0;
  const auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  while (at < name.size()) {
    std::size_t end = at;
    while (end < name.size() && is_part(name[end])) ++end;
    const std::string_view token = bare(std::string_view(name).substr(at, end - at));
    if (!token.empty() && !says_nothing(token)) {
      if (!result.empty()) result += ' ';
      result += token;
    }
    at = std::max(end, at + 1);
  }
  return result;
}

}  // namespace rooftile::roofline
