// SPDX-License-Identifier: Apache-2.0
//
// One kernel on one GPU: the estimate with every term of its bound.
#pragma once

#include <optional>
#include <string>

#include "core/catalog.h"
#include "core/result.h"
#include "ops/any_op.h"
#include "report/kernel_view.h"

namespace rooftile::study {

struct KernelRequest {
  std::string gpu;
  std::optional<std::string> machine;
  std::string dtype = "fp32";
  std::string pass = "forward";  ///< forward | backward; convolutions: dgrad | wgrad too
  std::string predictor;
};

/// An operator can be several kernels (a backward pass often is); each gets its report.
Result<report::KernelsReport> kernel(const ops::AnyOp& op, const KernelRequest& request,
                                     const Catalog& catalog);

}  // namespace rooftile::study
