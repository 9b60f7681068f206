// SPDX-License-Identifier: Apache-2.0
#include "calibration/train_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/text.h"
#include "cost/neusight/neusight.h"

namespace rooftile::calibration {

namespace {

using cost::neusight::kFeatures;
using cost::neusight::kOutputs;
using cost::neusight::Network;

/// SplitMix64 as a sequence: the same numbers with every library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

struct Loss {
  double value = 0;
  std::array<double, kOutputs> slope{};  ///< to alpha and gamma
};

/// 2 |p - t| / (p + t) with p = 1 / utilization.
Loss loss_of(const std::array<double, kOutputs>& outputs, const TrainingRow& row, double least) {
  const double alpha = sigmoid(outputs[0]);
  const double gamma = sigmoid(outputs[1]);
  const double u = cost::neusight::utilization(outputs, row.waves, least);
  const double p = 1.0 / u;
  const double sum = p + row.ratio;
  Loss loss;
  loss.value = 2.0 * std::fabs(p - row.ratio) / sum;
  const double to_p = (p > row.ratio ? 4.0 : -4.0) * row.ratio / (sum * sum);
  // Below the least utilization the slope is that of the formula, so that training gets out.
  const double to_u = -to_p * p * p;
  loss.slope = {-to_u * alpha * (1.0 - alpha) / row.waves, to_u * gamma * (1.0 - gamma)};
  return loss;
}

Network initial_network(const TrainOptions& options, Random& random) {
  Network network;
  network.widths = widths_of(options);
  for (std::size_t layer = 1; layer < network.widths.size(); ++layer) {
    const std::size_t in = network.widths[layer - 1];
    const double most = std::sqrt(6.0 / static_cast<double>(in));  // He, uniform
    for (std::size_t i = 0; i < in * network.widths[layer]; ++i)
      network.values.push_back(static_cast<float>((2.0 * random.uniform() - 1.0) * most));
    network.values.insert(network.values.end(), network.widths[layer], 0.0F);
  }
  // Start from a small alpha and a utilization of one half: the difference must not be negative.
  network.values[network.values.size() - kOutputs] = -4.0F;
  return network;
}

/// Forward and backward passes over a batch, with the buffers they need.
class Batch {
 public:
  Batch(const Network& network, const TrainOptions& options)
      : least_(options.least_utilization), gradient_(network.values.size()) {
    for (const std::size_t width : network.widths) {
      activations_.emplace_back(width * options.batch);
      errors_.emplace_back(width * options.batch);
    }
  }

  /// Sum of the losses; the gradient of their mean is in gradient().
  double run(const Network& network, std::span<const TrainingRow> rows,
             std::span<const std::size_t> chosen) {
    forward(network, rows, chosen);
    const std::size_t last = network.widths.size() - 1;
    double sum = 0;
    for (std::size_t r = 0; r < chosen.size(); ++r) {
      const float* outputs = &activations_[last][r * kOutputs];
      const Loss loss = loss_of({outputs[0], outputs[1]}, rows[chosen[r]], least_);
      sum += loss.value;
      for (std::size_t o = 0; o < kOutputs; ++o)
        errors_[last][r * kOutputs + o] =
            static_cast<float>(loss.slope[o] / static_cast<double>(chosen.size()));
    }
    backward(network, chosen.size());
    return sum;
  }
  [[nodiscard]] std::span<const float> gradient() const { return gradient_; }

 private:
  void forward(const Network& network, std::span<const TrainingRow> rows,
               std::span<const std::size_t> chosen) {
    for (std::size_t r = 0; r < chosen.size(); ++r) {
      for (std::size_t i = 0; i < kFeatures; ++i)
        activations_[0][r * kFeatures + i] = static_cast<float>(rows[chosen[r]].inputs[i]);
    }
    const float* values = network.values.data();
    for (std::size_t layer = 1; layer < network.widths.size(); ++layer) {
      const std::size_t in = network.widths[layer - 1];
      const std::size_t out = network.widths[layer];
      const bool hidden = layer + 1 < network.widths.size();
      for (std::size_t r = 0; r < chosen.size(); ++r) {
        const float* from = &activations_[layer - 1][r * in];
        float* to = &activations_[layer][r * out];
        std::copy_n(values + in * out, out, to);
        for (std::size_t i = 0; i < in; ++i) {
          const float* weights = values + i * out;
          for (std::size_t o = 0; o < out; ++o) to[o] += from[i] * weights[o];
        }
        if (!hidden) continue;
        for (std::size_t o = 0; o < out; ++o) to[o] = std::max(to[o], 0.0F);
      }
      values += (in + 1) * out;
    }
  }

  void backward(const Network& network, std::size_t rows) {
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    std::size_t end = network.values.size();
    for (std::size_t layer = network.widths.size() - 1; layer > 0; --layer) {
      const std::size_t in = network.widths[layer - 1];
      const std::size_t out = network.widths[layer];
      const std::size_t begin = end - (in + 1) * out;
      transposed_.resize(in * out);
      for (std::size_t i = 0; i < in; ++i) {
        for (std::size_t o = 0; o < out; ++o)
          transposed_[o * in + i] = network.values[begin + i * out + o];
      }
      for (std::size_t r = 0; r < rows; ++r) {
        const float* error = &errors_[layer][r * out];
        const float* from = &activations_[layer - 1][r * in];
        float* to = &errors_[layer - 1][r * in];
        std::fill_n(to, in, 0.0F);
        for (std::size_t o = 0; o < out; ++o) {
          const float* weights = &transposed_[o * in];
          for (std::size_t i = 0; i < in; ++i) to[i] += error[o] * weights[i];
        }
        for (std::size_t i = 0; i < in; ++i) {
          float* slope = &gradient_[begin + i * out];
          for (std::size_t o = 0; o < out; ++o) slope[o] += from[i] * error[o];
          if (!(from[i] > 0)) to[i] = 0;  // of ReLU; not used at the inputs
        }
        float* bias = &gradient_[begin + in * out];
        for (std::size_t o = 0; o < out; ++o) bias[o] += error[o];
      }
      end = begin;
    }
  }

  double least_;
  std::vector<std::vector<float>> activations_, errors_;
  std::vector<float> gradient_, transposed_;
};

/// AdamW with the usual constants.
class Optimizer {
 public:
  explicit Optimizer(std::size_t values) : mean_(values), square_(values) {}
  void step(std::span<const float> gradient, double rate, double decay,
            std::vector<float>& values) {
    constexpr float kBeta1 = 0.9F, kBeta2 = 0.999F, kEpsilon = 1e-8F;
    power1_ *= kBeta1, power2_ *= kBeta2;
    const auto scale = static_cast<float>(rate * std::sqrt(1.0 - power2_) / (1.0 - power1_));
    const auto keep = static_cast<float>(1.0 - rate * decay);
    for (std::size_t i = 0; i < values.size(); ++i) {
      mean_[i] = kBeta1 * mean_[i] + (1.0F - kBeta1) * gradient[i];
      square_[i] = kBeta2 * square_[i] + (1.0F - kBeta2) * gradient[i] * gradient[i];
      values[i] = keep * values[i] - scale * mean_[i] / (std::sqrt(square_[i]) + kEpsilon);
    }
  }

 private:
  std::vector<float> mean_, square_;
  double power1_ = 1, power2_ = 1;
};

float rounded(float value) {
  return static_cast<float>(parse_double(fmt::format("{:.5g}", value)).value_or(0.0));
}

}  // namespace

std::vector<std::size_t> widths_of(const TrainOptions& options) {
  std::vector<std::size_t> widths{kFeatures};
  for (const std::size_t width : options.hidden) widths.push_back(width);
  widths.push_back(kOutputs);
  return widths;
}

TrainedNetwork train(std::span<const TrainingRow> rows, const TrainOptions& options) {
  Random random(options.seed);
  TrainedNetwork result;
  Network& network = result.network = initial_network(options, random);
  Batch batch(network, options);
  Optimizer optimizer(network.values.size());
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.next() % i]);
    double sum = 0;
    for (std::size_t at = 0; at < order.size(); at += options.batch) {
      const double done =
          (epoch + static_cast<double>(at) / static_cast<double>(order.size())) / options.epochs;
      const double rate = options.rate * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
      const std::size_t count = std::min(options.batch, order.size() - at);
      sum += batch.run(network, rows, std::span(order).subspan(at, count));
      optimizer.step(batch.gradient(), rate, options.weight_decay, network.values);
    }
    result.loss = sum / static_cast<double>(std::max<std::size_t>(order.size(), 1));
  }
  for (float& value : network.values) value = rounded(value);
  return result;
}

}  // namespace rooftile::calibration
