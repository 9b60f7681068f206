// SPDX-License-Identifier: Apache-2.0
#include "hardware/gpu_spec.h"
