// SPDX-License-Identifier: Apache-2.0
//
// Traced nodes of measured steps (NeuSight's labels_per_node: device, case, node, target,
// output_shape, fw_ms, bw_ms, acc_ms) against the kernels of our graphs, class by class. One layer
// of a model was traced: its nodes stand for all layers. A node that takes more than 1 % of its
// step and has no kernel here is a hole in the graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "rooftile/provenance.h"

namespace rooftile::calibration {

struct TracedNode {
  std::string name, target;
  std::string kind;           ///< class: "linear", "bmm", "add", ...; empty: launches nothing
  std::int64_t elements = 0;  ///< of its output
  double ms = 0;              ///< forward, backward and accumulation
  bool in_layer = false;      ///< of the layer that stands for all
};

/// One measured step of a device.
struct TracedStep {
  std::string device, name, model, mode;
  std::int64_t sequence = 0, batch = 0;
  std::vector<TracedNode> nodes;
};

Result<std::vector<TracedStep>> read_nodes(const std::string& file);

/// Elements of a shape of the trace, "(2, 32, 2048, 2048)"; 0 for what is not one.
std::int64_t elements_of(std::string_view shape);

/// What a target of the trace or an operator of ours belongs to: "linear" for
/// "transformer.h.0.mlp.c_fc" and "addmm", "add" for "<built-in function add>" and "addu".
std::string kind_of_target(std::string_view target);
std::string kind_of_operator(std::string_view op);

/// The nodes of one class in one step.
struct NodeClass {
  std::string device, step, kind;
  double measured_ms = 0, predicted_ms = 0;
  double share = 0;  ///< of the measured nodes of the step
};

/// A measured node above the limit that nothing here stands for.
struct MissingKernel {
  std::string device, step, node, target;
  double share = 0;
};

struct NodeEvaluation {
  std::vector<NodeClass> classes;
  std::vector<MissingKernel> missing;
  std::vector<std::string> warnings;
  ProvenanceReport provenance{};
};

/// Of a step: above this a node needs a kernel.
inline constexpr double kNodeShare = 0.01;

}  // namespace rooftile::calibration
