// SPDX-License-Identifier: Apache-2.0
#include "cli/request_options.h"

#include <fmt/format.h>

#include <array>

#include "core/text.h"

namespace rooftile::cli {

void add_step_options(CLI::App& command, Request& request) {
  command.add_option(
      "model", request.model,
      "built-in name (rooftile models), Hugging Face config.json or native graph JSON");
  command.add_option("--phase", request.phase, "what the step does: infer, train, prefill, decode")
      ->capture_default_str();
  command.add_option("--batch", request.batch, "sequences or images in the step")
      ->capture_default_str();
  command.add_option("--seq", request.sequence,
                     "tokens per sequence (default: the model's longest, at most 1024)");
  command.add_option("--context", request.context, "decode: tokens already in the KV cache");
  command.add_option("--dtype", request.dtype, "fp32, tf32, fp16, bf16, fp8_e4m3, ...")
      ->capture_default_str();
  command.add_option("--kv-dtype", request.kv_dtype,
                     "of the key/value cache (default: as the model's file says, else the dtype)");
  command.add_option("--weight-dtype", request.weight_dtype,
                     "of the stored weights (default: as the model's file says, else the dtype)");
  command
      .add_option("--stack", request.stack,
                  "what launches the kernels: eager, compile, serving, megatron, fsdp, auto or a "
                  "JSON file")
      ->capture_default_str();
  command
      .add_option("--attention", request.attention,
                  "instead of the stack's: eager (scores in memory) or flash (fused)")
      ->capture_default_str();
  command.add_option(
      "--machine", request.machine,
      "measured ceilings instead of the data sheet's: machine file, ERT result or table of peaks");
}

Status check_one_layer(const CLI::App& command, const Request& request) {
  if (!request.model.empty()) {
    return usage_error(fmt::format("the model \"{}\" and one layer (conv) exclude each other",
                                   printable(request.model)),
                       "remove the model, or conv and its sizes");
  }
  struct StepOption {
    const char* name;
    const char* instead;
  };
  constexpr std::array kStepOptions{
      StepOption{"--phase", "choose the pass of the layer with --pass forward, dgrad or wgrad"},
      StepOption{"--batch", "state the layer's images with --n"},
      StepOption{"--seq", "a convolution has no tokens; remove it"},
      StepOption{"--context", "a convolution has no tokens; remove it"},
      StepOption{"--attention", "a convolution has no attention; remove it"},
      StepOption{"--stack", "one layer is one kernel; remove it"}};
  for (const StepOption& option : kStepOptions) {
    if (command.get_option(option.name)->count() > 0) {
      return usage_error(fmt::format("{} is of a model's step, not of one layer", option.name),
                         option.instead);
    }
  }
  return {};
}

void add_request_options(CLI::App& command, Request& request) {
  add_step_options(command, request);
  command.get_option("model")->required();
  command
      .add_option("--fusion", request.fusion,
                  "instead of the stack's: none, or compile (fuse chains of vector operators)")
      ->capture_default_str();
  command
      .add_option("--optimizer", request.optimizer,
                  "training: include the update of none, sgd, sgd_momentum, adam or adamw")
      ->capture_default_str();
  command.add_flag("--recompute", request.recompute, "training: recompute activations per block");
  command.add_option("--dp", request.dp, "replicas that share the batch (data parallel)")
      ->capture_default_str();
  command.add_option("--tp", request.tp, "GPUs that share every layer (tensor parallel)")
      ->capture_default_str();
  command.add_option("--pp", request.pp, "stages of layers, one after another (pipeline parallel)")
      ->capture_default_str();
  command
      .add_option("--microbatches", request.microbatches,
                  "pieces in which a replica works through its batch")
      ->capture_default_str();
  command.add_option(
      "--system", request.system,
      "links between the GPUs: catalogue name or JSON file (default: the GPU's own)");
  command.add_option("--predictor", request.predictor, "how kernels are timed (default: the best)");
}

}  // namespace rooftile::cli
