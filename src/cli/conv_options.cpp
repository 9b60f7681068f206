// SPDX-License-Identifier: Apache-2.0
#include "cli/conv_options.h"

#include <fmt/format.h>

#include "core/text.h"

namespace rooftile::cli {

void add_conv_options(CLI::App& command, ConvOptions& options) {
  ops::ConvShape& shape = options.shape;
  command.add_option("--n", shape.n, "images")->required();
  command.add_option("--c", shape.c, "input channels")->required();
  command.add_option("--h", shape.h, "input height")->required();
  command.add_option("--w", shape.w, "input width")->required();
  command.add_option("--k", shape.k, "filters")->required();
  command.add_option("--r", shape.r, "filter height")->required();
  command.add_option("--s", shape.s, "filter width")->required();
  command.add_option("--stride", options.stride)->capture_default_str();
  command.add_option("--stride-w", options.stride_w, "where it differs from --stride");
  command.add_option("--pad", options.pad)->capture_default_str();
  command.add_option("--pad-w", options.pad_w, "where it differs from --pad");
  command.add_option("--dilation", options.dilation)->capture_default_str();
  command.add_option("--dilation-w", options.dilation_w, "where it differs from --dilation");
  command.add_option("--groups", shape.groups)->capture_default_str();
  command.add_option("--pass", options.pass, "forward, dgrad or wgrad")->capture_default_str();
}

Result<ops::ConvShape> make_conv(const ConvOptions& options) {
  ops::ConvShape shape = options.shape;
  shape.stride_h = options.stride;
  shape.stride_w = options.stride_w.value_or(options.stride);
  shape.pad_h = options.pad;
  shape.pad_w = options.pad_w.value_or(options.pad);
  shape.dilation_h = options.dilation;
  shape.dilation_w = options.dilation_w.value_or(options.dilation);
  if (options.pass == "forward") {
    shape.pass = ops::ConvPass::Forward;
  } else if (options.pass == "dgrad") {
    shape.pass = ops::ConvPass::DataGradient;
  } else if (options.pass == "wgrad") {
    shape.pass = ops::ConvPass::FilterGradient;
  } else {
    return usage_error(fmt::format("unknown --pass \"{}\"", printable(options.pass)),
                       "--pass is one of forward, dgrad, wgrad");
  }
  return shape;
}

}  // namespace rooftile::cli
