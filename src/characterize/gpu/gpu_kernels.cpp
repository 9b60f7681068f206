// SPDX-License-Identifier: Apache-2.0
#include "characterize/gpu/gpu_kernels.h"

#include <array>

namespace rooftile::characterize::gpu {

namespace {

using hardware::Pipe;

constexpr std::array kKernels{
    KernelName{Pattern::Load, DType::Fp32, Pipe::Vector, "stream_load"},
    KernelName{Pattern::LoadL1, DType::Fp32, Pipe::Vector, "l1_load"},
    KernelName{Pattern::Store, DType::Fp32, Pipe::Vector, "stream_store"},
    KernelName{Pattern::StoreNt, DType::Fp32, Pipe::Vector, "stream_store_nt"},
    KernelName{Pattern::Copy, DType::Fp32, Pipe::Vector, "stream_copy"},
    KernelName{Pattern::CopyNt, DType::Fp32, Pipe::Vector, "stream_copy_nt"},
    KernelName{Pattern::Triad, DType::Fp64, Pipe::Vector, "stream_triad"},
    KernelName{Pattern::TriadNt, DType::Fp64, Pipe::Vector, "stream_triad_nt"},
    KernelName{Pattern::Update, DType::Fp64, Pipe::Vector, "update_fp64"},
    KernelName{Pattern::Update, DType::Fp32, Pipe::Vector, "update_fp32"},
    KernelName{Pattern::Update, DType::Fp16, Pipe::Vector, "update_fp16"},
    KernelName{Pattern::Update, DType::Bf16, Pipe::Vector, "update_bf16"},
    KernelName{Pattern::Shared, DType::Fp32, Pipe::Vector, "shared_load"},
    KernelName{Pattern::Chase, DType::Int64, Pipe::Vector, "chase"},
    KernelName{Pattern::ChaseHost, DType::Int64, Pipe::Vector, "chase"},
    KernelName{Pattern::ChasePeer, DType::Int64, Pipe::Vector, "chase"},
    KernelName{Pattern::Launch, DType::Int32, Pipe::Vector, "empty"},
    KernelName{Pattern::LaunchWait, DType::Int32, Pipe::Vector, "empty"},
    KernelName{Pattern::Mma, DType::Fp64, Pipe::Tensor, "mma_fp64_m16n8k16"},
    KernelName{Pattern::Mma, DType::Fp64, Pipe::Tensor, "mma_fp64_m8n8k4"},
    KernelName{Pattern::Mma, DType::Fp64, Pipe::Tensor, "mfma_fp64_m16n16k4"},
    KernelName{Pattern::Mma, DType::Fp32, Pipe::Tensor, "mfma_fp32_m32n32k2"},
    KernelName{Pattern::Mma, DType::Tf32, Pipe::Tensor, "tcgen05_tf32_m128n256k8"},
    KernelName{Pattern::Mma, DType::Tf32, Pipe::Tensor, "wgmma_tf32_m64n256k8"},
    KernelName{Pattern::Mma, DType::Tf32, Pipe::Tensor, "mma_tf32_m16n8k8"},
    KernelName{Pattern::Mma, DType::Tf32, Pipe::Tensor, "mfma_tf32_m32n32k4"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "tcgen05_fp16_m128n256k16"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "wgmma_fp16_m64n256k16"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "mma_fp16_m16n8k16"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "mma_fp16_m16n8k8"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "mma_fp16_m8n8k4x4"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "mfma_fp16_m32n32k16"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "mfma_fp16_m32n32k8"},
    KernelName{Pattern::Mma, DType::Bf16, Pipe::Tensor, "tcgen05_bf16_m128n256k16"},
    KernelName{Pattern::Mma, DType::Bf16, Pipe::Tensor, "wgmma_bf16_m64n256k16"},
    KernelName{Pattern::Mma, DType::Bf16, Pipe::Tensor, "mma_bf16_m16n8k16"},
    KernelName{Pattern::Mma, DType::Bf16, Pipe::Tensor, "mfma_bf16_m32n32k16"},
    KernelName{Pattern::Mma, DType::Bf16, Pipe::Tensor, "mfma_bf16_m32n32k8"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "tcgen05_int8_m128n256k32"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "wgmma_int8_m64n256k32"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "mma_int8_m16n8k32"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "mma_int8_m8n8k16"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "mfma_int8_m32n32k32"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "mfma_int8_m32n32k16"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "mfma_int8_m32n32k8"},
    KernelName{Pattern::Mma, DType::Fp8E4m3, Pipe::Tensor, "tcgen05_fp8_e4m3_m128n256k32"},
    KernelName{Pattern::Mma, DType::Fp8E4m3, Pipe::Tensor, "wgmma_fp8_e4m3_m64n256k32"},
    KernelName{Pattern::Mma, DType::Fp8E4m3, Pipe::Tensor, "mma_fp8_e4m3_m16n8k32"},
    KernelName{Pattern::Mma, DType::Fp8E4m3, Pipe::Tensor, "mfma_fp8_e4m3_m32n32k64"},
    KernelName{Pattern::Mma, DType::Fp8E4m3, Pipe::Tensor, "mfma_fp8_e4m3_m32n32k16"},
    KernelName{Pattern::Mma, DType::Fp8E5m2, Pipe::Tensor, "tcgen05_fp8_e5m2_m128n256k32"},
    KernelName{Pattern::Mma, DType::Fp8E5m2, Pipe::Tensor, "wgmma_fp8_e5m2_m64n256k32"},
    KernelName{Pattern::MmaSparse, DType::Fp16, Pipe::Tensor, "tcgen05_sparse_fp16_m128n256k32"},
    KernelName{Pattern::MmaSparse, DType::Fp16, Pipe::Tensor, "wgmma_sparse_fp16_m64n256k32"},
    KernelName{Pattern::MmaSparse, DType::Fp16, Pipe::Tensor, "sparse_fp16_m16n8k32"},
    KernelName{Pattern::MmaSparse, DType::Fp16, Pipe::Tensor, "smfmac_fp16_m32n32k32"},
    KernelName{Pattern::MmaSparse, DType::Fp16, Pipe::Tensor, "smfmac_fp16_m32n32k16"},
    KernelName{Pattern::MmaSparse, DType::Bf16, Pipe::Tensor, "tcgen05_sparse_bf16_m128n256k32"},
    KernelName{Pattern::MmaSparse, DType::Bf16, Pipe::Tensor, "wgmma_sparse_bf16_m64n256k32"},
    KernelName{Pattern::MmaSparse, DType::Bf16, Pipe::Tensor, "sparse_bf16_m16n8k32"},
    KernelName{Pattern::MmaSparse, DType::Bf16, Pipe::Tensor, "smfmac_bf16_m32n32k32"},
    KernelName{Pattern::MmaSparse, DType::Bf16, Pipe::Tensor, "smfmac_bf16_m32n32k16"},
    KernelName{Pattern::MmaSparse, DType::Tf32, Pipe::Tensor, "tcgen05_sparse_tf32_m128n256k16"},
    KernelName{Pattern::MmaSparse, DType::Tf32, Pipe::Tensor, "wgmma_sparse_tf32_m64n256k16"},
    KernelName{Pattern::MmaSparse, DType::Tf32, Pipe::Tensor, "sparse_tf32_m16n8k16"},
    KernelName{Pattern::MmaSparse, DType::Int8, Pipe::Tensor, "tcgen05_sparse_int8_m128n256k64"},
    KernelName{Pattern::MmaSparse, DType::Int8, Pipe::Tensor, "wgmma_sparse_int8_m64n256k64"},
    KernelName{Pattern::MmaSparse, DType::Int8, Pipe::Tensor, "sparse_int8_m16n8k64"},
    KernelName{Pattern::MmaSparse, DType::Int8, Pipe::Tensor, "smfmac_int8_m32n32k64"},
    KernelName{Pattern::MmaSparse, DType::Int8, Pipe::Tensor, "smfmac_int8_m32n32k32"},
    KernelName{Pattern::MmaSparse, DType::Fp8E4m3, Pipe::Tensor,
               "tcgen05_sparse_fp8_e4m3_m128n256k64"},
    KernelName{Pattern::MmaSparse, DType::Fp8E4m3, Pipe::Tensor,
               "wgmma_sparse_fp8_e4m3_m64n256k64"},
    KernelName{Pattern::MmaSparse, DType::Fp8E4m3, Pipe::Tensor, "sparse_fp8_e4m3_m16n8k64"},
    KernelName{Pattern::MmaSparse, DType::Fp8E4m3, Pipe::Tensor, "smfmac_fp8_e4m3_m32n32k64"},
    KernelName{Pattern::MmaSparse, DType::Fp8E4m3, Pipe::Tensor, "smfmac_fp8_e4m3_m32n32k32"}};

}  // namespace

std::span<const KernelName> kernel_names() {
  return kKernels;
}

}  // namespace rooftile::characterize::gpu
