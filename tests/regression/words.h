// SPDX-License-Identifier: Apache-2.0
//
// The cases of the tables are arguments of the command line ("gemm --m 64 --n 64 --k 64 --gpu t4"),
// so that a row can be pasted behind `rooftile predict` or `rooftile kernel`. Here they become
// requests. A word that nothing reads is an error, as is a number that cannot be read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.h"
#include "ops/any_op.h"
#include "rooftile/kernel.h"
#include "rooftile/request.h"

namespace rooftile::testing {

class Words {
 public:
  explicit Words(std::string_view text) {
    std::string option;
    for (const std::string_view word : split(text, ' ')) {
      if (word.empty()) continue;
      if (word.starts_with("--")) {
        option = word;
        values_[option] = "";  // a flag until a value follows
      } else if (option.empty()) {
        head_ = word;
      } else {
        values_[option] = word;
        option.clear();
      }
    }
  }
  /// The first word: a model, or the kind of kernel.
  [[nodiscard]] const std::string& head() const { return head_; }

  /// Each take() reads an option once; without it the target keeps its value.
  void take(const std::string& option, std::string& target) {
    if (const auto value = extract(option)) target = *value;
  }
  void take(const std::string& option, std::optional<std::string>& target) {
    if (const auto value = extract(option)) target = *value;
  }
  void take(const std::string& option, bool& target) {
    if (extract(option)) target = true;
  }
  void take(const std::string& option, std::int64_t& target) {
    if (const auto value = extract(option)) target = number(option, *value);
  }
  void take(const std::string& option, std::optional<std::int64_t>& target) {
    if (const auto value = extract(option)) target = number(option, *value);
  }
  /// "2" or "2x1".
  void take_pair(const std::string& option, std::int64_t& height, std::int64_t& width) {
    const auto value = extract(option);
    if (!value) return;
    const std::size_t cross = value->find('x');
    height = number(option, value->substr(0, cross));
    width = cross == std::string::npos ? height : number(option, value->substr(cross + 1));
  }
  /// Fails when a word was not understood.
  [[nodiscard]] Status check() const {
    if (!bad_.empty()) return bad_input({}, bad_ + " is not a number");
    if (values_.empty()) return {};
    return bad_input({}, "nothing reads " + values_.begin()->first);
  }

 private:
  std::optional<std::string> extract(const std::string& option) {
    const auto node = values_.extract(option);
    return node ? std::optional(node.mapped()) : std::nullopt;
  }
  std::int64_t number(const std::string& option, std::string_view text) {
    const auto value = parse_int(text);
    if (!value) bad_ = option + " " + std::string(text);
    return value.value_or(1);
  }

  std::string head_, bad_;
  std::map<std::string, std::string> values_;
};

/// Arguments of `rooftile predict`.
inline Result<Request> request_of(std::string_view text) {
  Words words(text);
  Request request;
  request.dtype = "fp32";  // what the rows do not say: the table was begun in FP32, eager
  request.stack = "eager";
  request.model = words.head();
  words.take("--gpu", request.gpu);
  words.take("--phase", request.phase);
  words.take("--batch", request.batch);
  words.take("--seq", request.sequence);
  words.take("--context", request.context);
  words.take("--dtype", request.dtype);
  words.take("--stack", request.stack);
  words.take("--attention", request.attention);
  words.take("--fusion", request.fusion);
  words.take("--optimizer", request.optimizer);
  words.take("--recompute", request.recompute);
  words.take("--dp", request.dp);
  words.take("--tp", request.tp);
  words.take("--pp", request.pp);
  words.take("--microbatches", request.microbatches);
  words.take("--system", request.system);
  words.take("--predictor", request.predictor);
  ROOFTILE_CHECK(words.check());
  return request;
}

inline ops::ConvShape conv_of(Words& words) {
  ops::ConvShape s;
  for (const auto& [option, size] :
       {std::pair("--n", &s.n), std::pair("--c", &s.c), std::pair("--h", &s.h),
        std::pair("--w", &s.w), std::pair("--k", &s.k), std::pair("--r", &s.r),
        std::pair("--s", &s.s), std::pair("--groups", &s.groups)}) {
    words.take(option, *size);
  }
  words.take_pair("--stride", s.stride_h, s.stride_w);
  words.take_pair("--pad", s.pad_h, s.pad_w);
  words.take_pair("--dilation", s.dilation_h, s.dilation_w);
  return s;
}

/// The step, and the layer where the first word is "conv": what `traffic` and `scale` begin with.
struct LayerCase {
  Request step;
  std::optional<ops::ConvShape> conv;
};

inline LayerCase layer_of(Words& words) {
  LayerCase result;
  result.step.dtype = "fp32";
  result.step.stack = "eager";
  words.take("--gpu", result.step.gpu);
  words.take("--dtype", result.step.dtype);
  if (words.head() == "conv") {
    result.conv = conv_of(words);
    std::string pass = "forward";
    words.take("--pass", pass);
    if (pass == "dgrad") result.conv->pass = ops::ConvPass::DataGradient;
    if (pass == "wgrad") result.conv->pass = ops::ConvPass::FilterGradient;
    return result;
  }
  result.step.model = words.head();
  words.take("--phase", result.step.phase);
  words.take("--batch", result.step.batch);
  words.take("--seq", result.step.sequence);
  words.take("--context", result.step.context);
  words.take("--attention", result.step.attention);
  return result;
}

inline Result<decltype(KernelRequest::op)> operator_of(Words& words) {
  const std::string& kind = words.head();
  if (kind == "gemm") {
    ops::GemmShape s;
    words.take("--m", s.m);
    words.take("--n", s.n);
    words.take("--k", s.k);
    words.take("--batch", s.batch);
    return s;
  }
  if (kind == "conv") return conv_of(words);
  if (kind == "attention") {
    ops::AttentionShape s;
    words.take("--batch", s.batch);
    words.take("--heads", s.heads);
    s.kv_heads = s.heads;
    words.take("--kv-heads", s.kv_heads);
    words.take("--queries", s.queries);
    s.keys = s.queries;
    words.take("--keys", s.keys);
    words.take("--head-dim", s.head_dim);
    words.take("--window", s.window);
    words.take("--causal", s.causal);
    return s;
  }
  VectorOperator op{.kind = kind};
  words.take("--rows", op.shape.rows);
  words.take("--columns", op.shape.columns);
  if (kind == "elementwise") words.take("--function", op.function);
  return op;
}

/// Arguments of `rooftile kernel`.
inline Result<KernelRequest> kernel_of(std::string_view text) {
  Words words(text);
  KernelRequest result;
  words.take("--gpu", result.gpu);
  words.take("--dtype", result.dtype);
  words.take("--pass", result.pass);
  words.take("--predictor", result.predictor);
  ROOFTILE_TRY(result.op, operator_of(words));
  ROOFTILE_CHECK(words.check());
  return result;
}

}  // namespace rooftile::testing
