// SPDX-License-Identifier: Apache-2.0
#include "cli/conv_options.h"

#include <fmt/format.h>

#include "core/text.h"

namespace rooftile::cli {

namespace {

struct Pair {
  std::int64_t height, width;
};

/// "2" is 2x2.
Result<Pair> parse_pair(std::string_view option, std::string_view text) {
  const std::size_t cross = text.find('x');
  const auto height = parse_int(text.substr(0, cross));
  const auto width = cross == std::string_view::npos ? height : parse_int(text.substr(cross + 1));
  if (!height || !width) {
    return usage_error(
        fmt::format("{} \"{}\" is neither a number nor a pair like 2x1", option, printable(text)),
        fmt::format("write {} 2, or {} 2x1 for height x width", option, option));
  }
  return Pair{.height = *height, .width = *width};
}

}  // namespace

void add_conv_options(CLI::App& command, ConvOptions& options) {
  ops::ConvShape& shape = options.shape;
  command.add_option("--n", shape.n, "images")->required();
  command.add_option("--c", shape.c, "input channels")->required();
  command.add_option("--h", shape.h, "input height")->required();
  command.add_option("--w", shape.w, "input width")->required();
  command.add_option("--k", shape.k, "filters")->required();
  command.add_option("--r", shape.r, "filter height")->required();
  command.add_option("--s", shape.s, "filter width")->required();
  command.add_option("--stride", options.stride, "one number or HEIGHTxWIDTH")
      ->capture_default_str();
  command.add_option("--pad", options.pad, "one number or HEIGHTxWIDTH")->capture_default_str();
  command.add_option("--dilation", options.dilation, "one number or HEIGHTxWIDTH")
      ->capture_default_str();
  command
      .add_option("--groups", shape.groups, "groups of channels; as many as channels: depthwise")
      ->capture_default_str();
}

void add_conv_pass(CLI::App& command, ConvOptions& options) {
  command.add_option("--pass", options.pass, "forward, dgrad or wgrad")->capture_default_str();
}

Result<ops::ConvShape> make_conv(const ConvOptions& options) {
  ops::ConvShape shape = options.shape;
  ROOFTILE_TRY(const Pair stride, parse_pair("--stride", options.stride));
  ROOFTILE_TRY(const Pair pad, parse_pair("--pad", options.pad));
  ROOFTILE_TRY(const Pair dilation, parse_pair("--dilation", options.dilation));
  shape.stride_h = stride.height;
  shape.stride_w = stride.width;
  shape.pad_h = pad.height;
  shape.pad_w = pad.width;
  shape.dilation_h = dilation.height;
  shape.dilation_w = dilation.width;
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
