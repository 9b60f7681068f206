// SPDX-License-Identifier: Apache-2.0
//
// Mistakes in native graphs and the exact messages they get.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "graph/import_model.h"

namespace rooftile::graph {
namespace {

std::string message(std::string_view text, const ImportOptions& options = {}) {
  const auto graph = import_text(text, "g.json", options);
  return graph ? "no error" : to_string(graph.error());
}

/// The message for one node over an image of 3 x 8 x 8.
std::string node_message(std::string_view nodes) {
  return message(fmt::format(R"({{"rooftile_graph": 1, "inputs": {{"x": ["batch", 3, 8, 8]}},
                                  "blocks": [{{"name": "b", "nodes": [{}]}}]}})",
                             nodes));
}

TEST(NativeGraphError, Header) {
  EXPECT_EQ(message(R"({"rooftile_graph": 2})"),
            "error: g.json:/rooftile_graph: version 2 of the graph format is not supported\n"
            "hint: this program reads version 1\n");
  EXPECT_EQ(message(R"({"rooftile_graph": 1, "block": []})"),
            "error: g.json:/block: unknown key \"block\"\nhint: did you mean \"blocks\"?\n");
  EXPECT_EQ(message(R"({"rooftile_graph": 1})"),
            "error: g.json:/: missing key \"inputs\"\nhint: add \"inputs\"\n");
  EXPECT_EQ(message(R"({"rooftile_graph": 1, "inputs": {"x": [1]}, "blocks": []})"),
            "error: g.json:/blocks: 0 blocks\nhint: a graph has 1 to 1000 blocks\n");
  EXPECT_EQ(message(R"({"rooftile_graph": 1, "inputs": {"x": [1]}, "blocks": []})",
                    {.step = Step::Decode}),
            "error: g.json:/: a native graph has no key/value cache for the phase \"decode\"\n"
            "hint: choose the phase infer or train\n");
  EXPECT_EQ(message(R"({"rooftile_graph": 1, "inputs": {"x": [1]}, "blocks": []})", {.batch = 0}),
            "error: g.json: a batch of 0 is out of range\nhint: 1 to 16777216\n");
}

TEST(NativeGraphError, Sizes) {
  const auto input = [](std::string_view shape) {
    return message(
        fmt::format(R"({{"rooftile_graph": 1, "inputs": {{"x": {}}}, "blocks": []}})", shape));
  };
  EXPECT_EQ(input("[-3]"), "error: g.json:/inputs/x/0: -3 is outside 1 to 2147483648\n");
  EXPECT_EQ(input(R"(["batsh"])"),
            "error: g.json:/inputs/x/0: unknown symbol \"batsh\"\nhint: did you mean \"batch\"?\n");
  EXPECT_EQ(input(R"(["seq"])"),
            "error: g.json:/inputs/x/0: unknown symbol \"seq\"\n"
            "hint: add \"max_sequence\" to the graph to use \"seq\"\n");
  EXPECT_EQ(input(R"(["batch*-1"])"),
            "error: g.json:/inputs/x/0: \"batch*-1\" is -1, outside 1 to 2147483648\n");
  EXPECT_EQ(input(R"(["9000000000*9000000000"])"),
            "error: g.json:/inputs/x/0: the product \"9000000000*9000000000\" is too large\n"
            "hint: up to 2147483648\n");
  EXPECT_EQ(input("[1, 1, 1, 1, 1, 1, 1]"),
            "error: g.json:/inputs/x: the shape has 7 sizes\nhint: a shape has 1 to 6 sizes\n");
  EXPECT_EQ(input("[1000000000, 1000000000]"),
            "error: g.json:/inputs/x: a tensor of 1000000000x1000000000 is too large\n"
            "hint: a tensor may have up to 2^53 elements\n");
}

TEST(NativeGraphError, Nodes) {
  EXPECT_EQ(node_message(R"({"name": "n", "op": "con"})"),
            "error: g.json:/blocks/0/nodes/0/op: unknown operator \"con\"\n"
            "hint: did you mean \"conv\"?\n");
  EXPECT_EQ(node_message(R"({"name": "n", "op": "conv", "strides": 2})"),
            "error: g.json:/blocks/0/nodes/0/strides: unknown key \"strides\"\n"
            "hint: did you mean \"stride\"?\n");
  EXPECT_EQ(node_message(R"({"name": "n", "op": "conv", "out_channels": 8})"),
            "error: g.json:/blocks/0/nodes/0: missing key \"kernel\"\nhint: add \"kernel\"\n");
  EXPECT_EQ(node_message(R"({"name": "n", "op": "conv", "out_channels": 8, "kernel": 0})"),
            "error: g.json:/blocks/0/nodes/0/kernel: 0 is outside 1 to 65536\n");
  EXPECT_EQ(node_message(R"({"name": "n", "op": "conv", "out_channels": 8, "kernel": [1, 2, 3]})"),
            "error: g.json:/blocks/0/nodes/0/kernel: the list has 3 numbers\n"
            "hint: write one number for both axes or [height, width]\n");
  EXPECT_EQ(node_message(R"({"name": "n", "op": "conv", "out_channels": 8, "kernel": 9})"),
            "error: g.json:/blocks/0/nodes/0: a filter of height 9 (dilation 1) does not fit into "
            "8 + 2 x 0 padding\n");
  EXPECT_EQ(
      node_message(R"({"name": "n", "op": "conv", "out_channels": 8, "kernel": 1, "groups": 2})"),
      "error: g.json:/blocks/0/nodes/0: 2 groups do not divide 3 input and 8 output channels\n"
      "hint: channels must be multiples of the number of groups\n");
  EXPECT_EQ(node_message(R"({"name": "a", "op": "flatten"}, {"name": "n", "op": "batch_norm"},
                            {"name": "c", "op": "max_pool", "kernel": 2})"),
            "error: g.json:/blocks/0/nodes/2: \"max_pool\" needs batch x channels x height x width,"
            " its input is 1x192\n");
  EXPECT_EQ(node_message(R"({"name": "n", "op": "adaptive_avg_pool", "output": 3})"),
            "error: g.json:/blocks/0/nodes/0/output: an image of 8 x 8 cannot be cut into 3 x 3 "
            "equal windows\nhint: choose an output that divides the image\n");
  EXPECT_EQ(node_message(R"({"name": "n", "op": "adaptive_avg_pool", "output": [4, 3]})"),
            "error: g.json:/blocks/0/nodes/0/output: an image of 8 x 8 cannot be cut into 4 x 3 "
            "equal windows\nhint: choose an output that divides the image\n");
  EXPECT_EQ(node_message(R"({"name": "n", "op": "reshape", "shape": [7]})"),
            "error: g.json:/blocks/0/nodes/0/shape: 7 has 7 elements, the input 1x3x8x8 has 192\n");
  EXPECT_EQ(node_message(R"({"name": "n", "op": "linear", "out": "2147483648"},
                            {"name": "m", "op": "linear", "out": 2147483648},
                            {"name": "o", "op": "linear", "out": 2147483648})"),
            "error: g.json:/blocks/0/nodes/1: linear weight of 2147483648x2147483648 is too large\n"
            "hint: a tensor may have up to 2^53 elements\n");
}

TEST(NativeGraphError, Connections) {
  EXPECT_EQ(node_message(R"({"name": "a", "op": "relu"}, {"name": "a", "op": "relu"})"),
            "error: g.json:/blocks/0/nodes/1/name: the node name \"a\" is taken\n"
            "hint: names are unique within a block\n");
  EXPECT_EQ(node_message(R"({"name": "input", "op": "relu"})"),
            "error: g.json:/blocks/0/nodes/0/name: a node cannot be called \"input\"\n"
            "hint: \"input\" is the output of the previous block\n");
  EXPECT_EQ(node_message(R"({"name": "conv1", "op": "relu"},
                            {"name": "b", "op": "relu", "inputs": ["conv2"]})"),
            "error: g.json:/blocks/0/nodes/1/inputs: input \"conv2\" does not exist\n"
            "hint: did you mean \"conv1\"?\n");
  EXPECT_EQ(node_message(R"({"name": "a", "op": "relu", "inputs": ["b"]},
                            {"name": "b", "op": "relu", "inputs": ["a"]})"),
            "error: g.json:/blocks/0/nodes/0/inputs: input \"b\" is read before it is made\n"
            "hint: a node reads earlier nodes only: a graph has no cycles\n");
  EXPECT_EQ(node_message(R"({"name": "a", "op": "add"})"),
            "error: g.json:/blocks/0/nodes/0: \"add\" has 1 inputs\n"
            "hint: it takes two inputs, or one and \"scalar\": true\n");
  EXPECT_EQ(node_message(R"({"name": "a", "op": "relu", "inputs": []})"),
            "error: g.json:/blocks/0/nodes/0/inputs: \"relu\" has 0 inputs\nhint: it takes 1\n");
  EXPECT_EQ(node_message(R"({"name": "p", "op": "max_pool", "kernel": 2},
                            {"name": "a", "op": "add", "inputs": ["input", "p"]})"),
            "error: g.json:/blocks/0/nodes/1: \"add\" cannot combine 1x3x8x8 with 1x3x4x4\n"
            "hint: each size of the second input must be 1 or that of the first\n");
  EXPECT_EQ(node_message(R"({"name": "p", "op": "max_pool", "kernel": 2},
                            {"name": "a", "op": "concat", "inputs": ["input", "p"]})"),
            "error: g.json:/blocks/0/nodes/1: \"concat\" cannot join 1x3x8x8 and 1x3x4x4 along "
            "axis 1\nhint: all other sizes must be equal\n");
  EXPECT_EQ(message(R"({"rooftile_graph": 1, "inputs": {"x": [1], "y": [1]},
                        "blocks": [{"name": "b", "nodes": [{"name": "n", "op": "relu"}]}]})"),
            "error: g.json:/blocks/0/nodes/0: the model has several inputs, \"input\" could be any "
            "of them\nhint: name one, as in \"inputs.image\"\n");
}

TEST(NativeGraphError, Blocks) {
  const auto blocks = [](std::string_view list) {
    return message(
        fmt::format(R"({{"rooftile_graph": 1, "inputs": {{"x": [2, 8]}}, "blocks": [{}]}})", list));
  };
  EXPECT_EQ(blocks(R"({"name": "b", "nodes": []})"),
            "error: g.json:/blocks/0/nodes: the block has no nodes\n"
            "hint: add a node or drop the block\n");
  EXPECT_EQ(blocks(R"({"name": "b", "repeat": 1000000000, "nodes": []})"),
            "error: g.json:/blocks/0/repeat: 1000000000 is outside 1 to 1000000\n");
  EXPECT_EQ(blocks(R"({"name": "b", "repeat": 2, "nodes": [
                        {"name": "n", "op": "linear", "out": 9}]})"),
            "error: g.json:/blocks/0/repeat: block \"b\" cannot repeat: it makes 2x9 from 2x8\n"
            "hint: put the layer that changes the shape into a block of its own\n");
  EXPECT_EQ(blocks(R"({"name": "a.b", "nodes": []})"),
            "error: g.json:/blocks/0/name: \"a.b\" is not a valid name of a block\n"
            "hint: a '.' separates block and node in the inputs of later blocks\n");
  EXPECT_EQ(blocks(R"({"name": "b", "nodes": [{"name": "n", "op": "relu"}]},
                      {"name": "b", "nodes": [{"name": "n", "op": "relu"}]})"),
            "error: g.json:/blocks/1/name: the block name \"b\" is taken\n");
}

// Bounded time and memory: 10^4 nodes are the limit, and an error at the last one is as quick.
TEST(NativeGraphError, TooManyNodes) {
  std::string nodes = R"({"name": "n", "op": "relu"})";
  for (int i = 0; i < 10'000; ++i) nodes += fmt::format(R"(,{{"name": "n{}", "op": "relu"}})", i);
  EXPECT_EQ(node_message(nodes),
            "error: g.json:/blocks/0/nodes: more than 10000 nodes\n"
            "hint: use \"repeat\" for layers that are alike\n");
}

// 2^31 x 2^22 = 2^53 parameters per repetition, a million times.
TEST(NativeGraphError, TooManyParameters) {
  EXPECT_EQ(message(R"({"rooftile_graph": 1, "inputs": {"x": [1, 4194304]}, "blocks": [
                         {"name": "b", "repeat": 1000000, "nodes": [
                           {"name": "up", "op": "linear", "out": 2147483648, "bias": false},
                           {"name": "down", "op": "linear", "out": 4194304, "bias": false}]}]})"),
            "error: g.json:b/up: the model has too many parameters\n"
            "hint: up to 2^53 parameters are supported\n");
}

}  // namespace
}  // namespace rooftile::graph
