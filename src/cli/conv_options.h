// SPDX-License-Identifier: Apache-2.0
//
// The options that describe one convolution, the same in kernel, traffic and scale. Stride, padding
// and dilation are one number or HEIGHTxWIDTH ("2", "2x1").
#pragma once

#include <string>

#include "cli/command.h"
#include "ops/kernel_work.h"

namespace rooftile::cli {

struct ConvOptions {
  ops::ConvShape shape;
  std::string stride = "1", pad = "0", dilation = "1";
  std::string pass = "forward";
};

void add_conv_options(CLI::App& command, ConvOptions& options);
/// --pass for commands that look at one kernel of the layer.
void add_conv_pass(CLI::App& command, ConvOptions& options);

/// Strides and pass put into the shape; the sizes are checked by the operator.
Result<ops::ConvShape> make_conv(const ConvOptions& options);

}  // namespace rooftile::cli
