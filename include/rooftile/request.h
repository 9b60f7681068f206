// SPDX-License-Identifier: Apache-2.0
//
// What to predict: a model, a machine and how the step is run. Every field has the default that
// the command line has; strings are the names of docs/guide/commands.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rooftile {

struct Request {
  std::string model = {};  ///< built-in name, Hugging Face config.json or native graph JSON
  std::string gpu = {};    ///< catalogue name, alias or JSON file
  std::optional<std::string> machine = {};  ///< measured ceilings that replace the data sheet's

  std::string phase = "infer";                ///< infer | train | prefill | decode
  std::int64_t batch = 1;                     ///< sequences (images) in the step
  std::optional<std::int64_t> sequence = {};  ///< tokens per sequence; default: the model's own
  std::optional<std::int64_t> context = {};   ///< decode: tokens already in the KV cache
  /// auto: as the model's file says, else bf16 for language models and fp32 for others; where the
  /// GPU has no such rate, fp16 or fp32.
  std::string dtype = "auto";
  std::string kv_dtype = "auto";  ///< of the key/value cache; auto: as the file says, else dtype
  std::string weight_dtype = "auto";  ///< of stored weights; auto: as the file says, else dtype
  /// auto: 16-bit inference serving, training compile; FP32 eager. Or eager | compile | serving |
  /// megatron | fsdp | FILE.
  std::string stack = "auto";
  std::string attention = "auto";  ///< auto (as the stack does) | eager | flash
  std::string fusion = "auto";     ///< auto (as the stack does) | none | compile
  std::string optimizer = "none";  ///< of a training step: none | sgd | sgd_momentum | adam | adamw
  bool recompute = false;          ///< activation checkpointing, per block

  std::int64_t dp = 1;                     ///< replicas, which share the batch
  std::int64_t tp = 1;                     ///< GPUs that share every layer
  std::int64_t pp = 1;                     ///< stages of the pipeline
  std::int64_t ep = 1;                     ///< of the tp GPUs: those that have different experts
  std::int64_t microbatches = 1;           ///< pieces of a replica's batch
  std::optional<std::string> system = {};  ///< links between GPUs: catalogue name or JSON file

  std::string predictor = {};             ///< empty: the default predictor
  std::vector<std::string> catalog = {};  ///< folders that overlay the embedded catalogue
};

}  // namespace rooftile
