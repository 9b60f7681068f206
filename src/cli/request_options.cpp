// SPDX-License-Identifier: Apache-2.0
#include "cli/request_options.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "cli/help.h"
#include "cli/sizes.h"
#include "core/text.h"

namespace rooftile::cli {

void add_step_options(CLI::App& command, Request& request) {
  command
      .add_option("model", request.model,
                  "built-in name (rooftile models), Hugging Face config.json or native graph JSON")
      ->group(kStepGroup);
  add_phase_option(command, request.phase, "what the step does: infer, train, prefill or decode")
      ->group(kStepGroup);
  command.add_option("--batch", request.batch, "sequences or images in the step")
      ->group(kStepGroup)
      ->capture_default_str();
  add_tokens_option(command, "--seq", request.sequence,
                    "tokens per sequence, 1k = 1024 (default: the model's longest, at most 1024)")
      ->group(kStepGroup);
  add_tokens_option(command, "--context", request.context,
                    "decode: tokens already in the KV cache, 4k = 4096")
      ->group(kStepGroup);
  command.add_option("--dtype", request.dtype, "fp32, tf32, fp16, bf16, fp8_e4m3, ...")
      ->group(kStepGroup)
      ->capture_default_str();
  command
      .add_option("--kv-dtype", request.kv_dtype,
                  "number format of the key/value cache (default: as the model's file says, else "
                  "the dtype)")
      ->group(kStepGroup);
  command
      .add_option(
          "--weight-dtype", request.weight_dtype,
          "number format of the stored weights (default: as the model's file says, else the dtype)")
      ->group(kStepGroup);
  command
      .add_option("--stack", request.stack,
                  "what launches the kernels: eager, compile, serving, megatron, fsdp, auto or a "
                  "JSON file")
      ->group(kStepGroup)
      ->capture_default_str();
  command
      .add_option("--attention", request.attention,
                  "attention instead of the stack's: eager (scores in memory) or flash (fused)")
      ->group(kStepGroup)
      ->capture_default_str();
  command
      .add_option("--machine", request.machine,
                  "measured ceilings instead of the data sheet's: machine file, ERT result or "
                  "table of peaks")
      ->type_name("FILE")
      ->group(kMachineGroup);
}

Status check_one_gpu(std::string_view command, const std::string& gpu) {
  std::error_code unknown;
  if (gpu.find(',') == std::string::npos || std::filesystem::exists(gpu, unknown)) return {};
  return usage_error(
      fmt::format("{} is about one GPU, but --gpu names several: \"{}\"", command, printable(gpu)),
      "rooftile compare MODEL --gpus A,B,C shows several side by side");
}

Status check_one_layer(const CLI::App& command, const Request& request) {
  if (!request.model.empty()) {
    return usage_error(fmt::format("give either the model \"{}\" or one layer (conv), not both",
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
      return usage_error(fmt::format("{} applies to a model, not to one layer", option.name),
                         option.instead);
    }
  }
  return {};
}

namespace {

void add_parallel_options(CLI::App& command, Request& request) {
  command.add_option("--dp", request.dp, "replicas that share the batch (data parallel)")
      ->group(kGpusGroup)
      ->capture_default_str();
  command.add_option("--tp", request.tp, "GPUs that share every layer (tensor parallel)")
      ->group(kGpusGroup)
      ->capture_default_str();
  command.add_option("--pp", request.pp, "stages of layers, one after another (pipeline parallel)")
      ->group(kGpusGroup)
      ->capture_default_str();
  command
      .add_option("--ep", request.ep,
                  "how many of the --tp GPUs hold different experts (expert parallel, inference)")
      ->group(kGpusGroup)
      ->capture_default_str();
  command
      .add_option("--microbatches", request.microbatches,
                  "pieces in which a replica works through its batch")
      ->group(kGpusGroup)
      ->capture_default_str();
  command
      .add_option("--system", request.system,
                  "links between the GPUs: catalogue name or JSON file (default: the GPU's own)")
      ->group(kGpusGroup);
}

}  // namespace

void add_request_options(CLI::App& command, Request& request) {
  add_step_options(command, request);
  command.get_option("model")->required();
  command
      .add_option(
          "--fusion", request.fusion,
          "fusion instead of the stack's: none, or compile (fuse chains of vector operators)")
      ->group(kStepGroup)
      ->capture_default_str();
  command
      .add_option("--optimizer", request.optimizer,
                  "training: include the update of sgd, sgd_momentum, adam or adamw, or none")
      ->group(kStepGroup)
      ->capture_default_str();
  command.add_flag("--recompute", request.recompute, "training: recompute activations per block")
      ->group(kStepGroup);
  add_parallel_options(command, request);
  command.add_option("--predictor", request.predictor, "how kernels are timed (default: the best)")
      ->group(kMachineGroup);
}

}  // namespace rooftile::cli
