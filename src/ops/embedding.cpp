// SPDX-License-Identifier: Apache-2.0
#include "ops/embedding.h"

#include <algorithm>
#include <vector>

namespace rooftile::ops {

Status Embedding::check() const {
  ROOFTILE_CHECK(check_shape("embedding index", tokens));
  ROOFTILE_CHECK(check_sizes("embedding table", {entries, width}));
  return check_sizes("embedding output", {tokens.elements(), width});
}

Shape Embedding::output() const {
  std::vector<std::int64_t> sizes(tokens.sizes().begin(), tokens.sizes().end());
  sizes.push_back(width);
  return Shape(sizes);
}

void Embedding::forward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t rows = tokens.elements();
  const Precision& p = context.precision;
  KernelWork work = vector_kernel(p, {.op = kName,
                                      .kind = KernelClass::Gather,
                                      .shape = {.rows = rows, .columns = width},
                                      .flop_per_element = 0.0,
                                      // Repeated tokens hit the cache: at most the whole table.
                                      .read = std::min(rows, entries) * width,
                                      .written = rows * width});
  work.cold = work.read;
  work.read += bytes_of(rows, DType::Int64);
  kernels.push_back(work);
}

void Embedding::backward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(vector_kernel(context.precision, {.op = kName,
                                                      .kind = KernelClass::Gather,
                                                      .shape = {.rows = entries, .columns = width},
                                                      .flop_per_element = 0.0,
                                                      .read = entries * width,
                                                      .written = entries * width}));
}

void Embedding::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, entries * width));
}

Status Gather::check() const {
  ROOFTILE_CHECK(check_sizes("gather", {rows, width}));
  return check_sizes("gather", {from, width});
}

void Gather::forward(const LowerContext& context, KernelList& kernels) const {
  KernelWork work = vector_kernel(context.precision,
                                  {.op = scatter ? "scatter" : "gather",
                                   .kind = KernelClass::Gather,
                                   .shape = {.rows = rows, .columns = width},
                                   .flop_per_element = scatter ? 1.0 : 0.0,
                                   .read = (scatter ? rows : std::min(rows, from)) * width,
                                   .written = (scatter ? std::min(rows, from) : rows) * width});
  work.read += bytes_of(rows, DType::Int64);
  kernels.push_back(work);
}

void Gather::backward(const LowerContext& context, KernelList& kernels) const {
  Gather mirrored = *this;  // the gradient of a gather is a scatter and the other way round
  mirrored.scatter = !scatter;
  mirrored.forward(context, kernels);
}

void Parameter::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, shape.elements()));
}

}  // namespace rooftile::ops
