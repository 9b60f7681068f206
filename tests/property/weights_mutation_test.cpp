// SPDX-License-Identifier: Apache-2.0
//
// Damaged weights: every number of the shipped files is changed in one of several ways, texts are
// cut, keys swapped, strings altered. Either the file is refused with its name and the place, or
// the predictions stay finite, positive and within three decades of those of the intact file.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "cost/learned/learned.h"
#include "cost/neusight/neusight.h"
#include "hardware/load.h"
#include "ops/any_op.h"

namespace rooftile::cost {
namespace {

struct Piece {
  std::size_t begin, size;
};

/// Numbers outside strings, and strings with their quotes.
struct Tokens {
  std::vector<Piece> numbers, strings;
};
Tokens tokens_of(const std::string& json) {
  Tokens tokens;
  for (std::size_t i = 0; i < json.size();) {
    const std::size_t begin = i;
    if (json[i] == '"') {
      for (++i; json[i] != '"'; ++i) i += json[i] == '\\' ? 1 : 0;
      tokens.strings.push_back({begin, ++i - begin});
    } else if (json[i] == '-' || std::isdigit(static_cast<unsigned char>(json[i])) != 0) {
      i = json.find_first_not_of("+-.0123456789eE", i);
      tokens.numbers.push_back({begin, i - begin});
    } else {
      ++i;
    }
  }
  return tokens;
}

std::string with(const std::string& text, Piece piece, const std::string& replacement) {
  return text.substr(0, piece.begin) + replacement + text.substr(piece.begin + piece.size);
}

/// The n-th way to spoil a number.
std::string spoiled(const std::string& number, std::size_t n) {
  const bool plain = number.find_first_of("eE") == std::string::npos;
  switch (n % 12) {
    case 0: return number.starts_with('-') ? number.substr(1) : "-" + number;
    case 1: return plain ? number + "e6" : "1e6";
    case 2: return plain ? number + "e-6" : "1e-300";
    case 3: return "0";
    case 4: return "1e308";
    case 5: return "-1e308";
    case 6: return "1e999";
    case 7: return "NaN";
    case 8: return "null";
    case 9: return "\"" + number + "\"";
    case 10: return plain ? number + "e3" : "1e-3";
    default: {  // another first digit
      std::string other = number;
      const std::size_t digit = other.find_first_of("123456789");
      if (digit != std::string::npos) other[digit] = other[digit] == '9' ? '1' : '9';
      return other;
    }
  }
}

/// About `count` damaged copies of a file: every number once while they last, then texts.
std::vector<std::string> damaged(const std::string& text, std::size_t count) {
  const Tokens tokens = tokens_of(text);
  std::mt19937_64 random(20260101);
  const auto pick = [&](const std::vector<Piece>& list) { return list[random() % list.size()]; };
  std::vector<std::string> files;
  const std::size_t numbers = std::min(tokens.numbers.size(), count * 3 / 4);
  for (std::size_t i = 0; i < numbers; ++i) {
    const Piece piece = tokens.numbers[i * tokens.numbers.size() / numbers];
    files.push_back(with(text, piece, spoiled(text.substr(piece.begin, piece.size), i)));
  }
  while (files.size() < count) {
    switch (files.size() % 5) {
      case 0: files.push_back(text.substr(0, random() % text.size())); break;
      case 1: {  // two keys or values change places
        const Piece a = pick(tokens.strings), b = pick(tokens.strings);
        const Piece first = a.begin < b.begin ? a : b, second = a.begin < b.begin ? b : a;
        files.push_back(with(with(text, second, text.substr(first.begin, first.size)), first,
                             text.substr(second.begin, second.size)));
        break;
      }
      case 2: {  // a character inside a string
        std::string other = text;
        const Piece piece = pick(tokens.strings);
        if (piece.size > 2) {
          other[piece.begin + 1 + random() % (piece.size - 2)] =
              static_cast<char>('!' + random() % 94);
        }
        files.push_back(std::move(other));
        break;
      }
      case 3: {  // a number of a list is missing
        const Piece piece = pick(tokens.numbers);
        const bool last = text[piece.begin + piece.size] != ',';
        files.push_back(with(text, {piece.begin, piece.size + (last ? 0 : 1)}, ""));
        break;
      }
      default: {
        std::string other = text;
        other[random() % text.size()] = static_cast<char>(random() & 0xff);
        files.push_back(std::move(other));
      }
    }
  }
  return files;
}

/// Kernels of every fitted class, on GPUs that the fit has seen and on others.
class Questions {
 public:
  explicit Questions(const Catalog& catalog) {
    for (const char* gpu : {"t4", "a100-pcie-40gb", "h100-sxm", "l40s", "mi210", "mi300x"}) {
      machines_.push_back({.gpu = hardware::load_gpu(catalog, gpu).value(), .ceilings = {}});
    }
    const ops::AttentionShape attention{
        .batch = 4, .heads = 16, .kv_heads = 16, .queries = 512, .keys = 512, .head_dim = 64};
    ops::AttentionShape decode = attention;
    decode.queries = 1;
    add(ops::Linear{.rows = 2048, .in = 1024, .out = 4096}, DType::Fp32);
    add(ops::Linear{.rows = 7, .in = 33, .out = 2}, DType::Fp32);
    add(ops::Linear{.rows = 512, .in = 4096, .out = 4096}, DType::Fp16);
    add(ops::Linear{.rows = 512, .in = 4096, .out = 4096}, DType::Int8);
    add(ops::BatchedMatmul{.batch = 64, .m = 512, .n = 512, .k = 64}, DType::Fp32);
    add(ops::Softmax{.shape = {8192, 512}}, DType::Fp32);
    add(ops::Softmax{.shape = {64, 16384}}, DType::Fp32);
    add(ops::LayerNorm{.shape = {4096, 1024}}, DType::Fp32);
    add(ops::Elementwise{.function = ops::Function::Gelu, .shape = {4096, 4096}}, DType::Fp32);
    add(ops::Elementwise{.function = ops::Function::Pow, .shape = {256, 256}}, DType::Fp32);
    add(ops::FusedAttention{.shape = attention}, DType::Fp16);
    add(ops::FusedAttention{.shape = decode}, DType::Fp16);
  }

  std::vector<Estimate> ask(const Predictor& predictor) const {
    std::vector<Estimate> answers;
    for (const hardware::Machine& machine : machines_) {
      for (const ops::KernelWork& work : works_) {
        const auto job = bind(work, machine);
        if (!job) continue;  // no such rate on this GPU
        answers.push_back(predictor.estimate(*job, machine));
      }
    }
    return answers;
  }

 private:
  void add(const ops::AnyOp& op, DType dtype) {
    ops::KernelList kernels;
    ops::forward(op, {.precision = ops::precision_of(dtype)}, kernels);
    works_.push_back(kernels.front());
  }

  std::vector<hardware::Machine> machines_;
  std::vector<ops::KernelWork> works_;
};

struct Outcome {
  std::size_t refused = 0, read = 0;
};

/// `parse` makes predictors out of a text, or an error.
template <typename Parse>
Outcome try_all(const std::vector<std::string>& files, const std::vector<Estimate>& intact,
                const Questions& questions, const Parse& parse) {
  constexpr double kDecades = 1000;
  Outcome outcome;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Result<std::unique_ptr<Predictor>> predictor = parse(files[i]);
    if (!predictor) {
      ++outcome.refused;
      const Error& error = predictor.error();
      EXPECT_TRUE(error.where == "w.json" || error.where.starts_with("w.json:")) << error.where;
      EXPECT_FALSE(error.message.empty());
      continue;
    }
    ++outcome.read;
    const std::vector<Estimate> answers = questions.ask(**predictor);
    for (std::size_t k = 0; k < answers.size(); ++k) {
      const Estimate& e = answers[k];
      EXPECT_TRUE(std::isfinite(e.time.base()) && std::isfinite(e.high.base())) << "file " << i;
      EXPECT_GT(e.time, Seconds{}) << "file " << i;
      EXPECT_GE(e.time, e.bound) << "file " << i;
      EXPECT_LE(e.low, e.time) << "file " << i;
      EXPECT_GE(e.high, e.time) << "file " << i;
      const double ratio = e.time / intact[k].time;
      EXPECT_TRUE(ratio > 1 / kDecades && ratio < kDecades) << "file " << i << ": x " << ratio;
    }
    if (::testing::Test::HasFailure()) return outcome;
  }
  return outcome;
}

TEST(DamagedWeights, OfTheDefaultPredictorAreRefusedOrHarmless) {
  const Catalog catalog = Catalog::embedded();
  const Questions questions(catalog);
  const std::string text = catalog.read("predictors/default/weights.json").value().content;
  const auto learned = [](const std::string& file) -> Result<std::unique_ptr<Predictor>> {
    ROOFTILE_TRY(learned::Weights weights, learned::parse_weights(file, "w.json"));
    return learned::make_learned(std::move(weights));
  };
  const auto intact = questions.ask(*learned(text).value());
  const Outcome outcome = try_all(damaged(text, 1200), intact, questions, learned);
  EXPECT_EQ(outcome.refused + outcome.read, 1200U);
  EXPECT_GT(outcome.refused, 600U);
  EXPECT_GT(outcome.read, 50U);  // small changes are another fit, not damage
}

TEST(DamagedWeights, OfTheTrivialBaselineAreRefusedOrHarmless) {
  const Catalog catalog = Catalog::embedded();
  const Questions questions(catalog);
  const std::string text = catalog.read("predictors/default/weights.json").value().content;
  const auto trivial = [](const std::string& file) -> Result<std::unique_ptr<Predictor>> {
    ROOFTILE_TRY(learned::Weights weights, learned::parse_weights(file, "w.json"));
    return learned::make_trivial(std::move(weights));
  };
  const auto intact = questions.ask(*trivial(text).value());
  try_all(damaged(text, 300), intact, questions, trivial);
}

TEST(DamagedWeights, OfTheNeuSightBaselineAreRefusedOrHarmless) {
  const Catalog catalog = Catalog::embedded();
  const Questions questions(catalog);
  const std::string text = catalog.read("predictors/neusight/weights.json").value().content;
  const auto baseline = [](const std::string& file) -> Result<std::unique_ptr<Predictor>> {
    ROOFTILE_TRY(neusight::Weights weights, neusight::parse_weights(file, "w.json"));
    return neusight::make_neusight(std::move(weights));
  };
  const auto intact = questions.ask(*baseline(text).value());
  const Outcome outcome = try_all(damaged(text, 300), intact, questions, baseline);
  EXPECT_GT(outcome.refused, 100U);
}

}  // namespace
}  // namespace rooftile::cost
