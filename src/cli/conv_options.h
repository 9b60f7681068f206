// SPDX-License-Identifier: Apache-2.0
//
// The options that describe one convolution, shared by traffic and scale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"
#include "ops/kernel_work.h"

namespace rooftile::cli {

struct ConvOptions {
  ops::ConvShape shape;
  std::int64_t stride = 1, pad = 0, dilation = 1;
  std::optional<std::int64_t> stride_w, pad_w, dilation_w;  ///< default: as the height's
  std::string pass = "forward";
};

void add_conv_options(CLI::App& command, ConvOptions& options);

/// Strides and pass put into the shape; the sizes are checked by the operator.
Result<ops::ConvShape> make_conv(const ConvOptions& options);

}  // namespace rooftile::cli
