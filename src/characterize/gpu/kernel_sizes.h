// SPDX-License-Identifier: Apache-2.0
//
// How one thread of the GPU kernels divides its work: the numbers that ptx_*.cpp (NVIDIA) and
// kernels.hip (AMD) are written with and that gpu_device.cpp counts with. Device code includes it
// too, so it needs no other header.
#pragma once

namespace rooftile::characterize::gpu {

inline constexpr unsigned kVector = 16;    ///< bytes of one access of a thread
inline constexpr unsigned kVectors = 4;    ///< independent accesses in flight per thread and array
inline constexpr unsigned kThreads = 256;  ///< of a block of the streaming kernels and products
inline constexpr unsigned kChunk = kThreads * kVectors * kVector;  ///< bytes of a block and step
inline constexpr unsigned kBlocksPerUnit = 4;  ///< at most: 1024 threads of 64 registers
inline constexpr unsigned kL1Threads = 1024;   ///< one block per multiprocessor reads its L1
inline constexpr unsigned kL1Loads = 8;        ///< per thread and pass, through L1
inline constexpr unsigned kSharedThreads = 512;
inline constexpr unsigned kSharedBlocks = 2;   ///< per multiprocessor: 32 KiB each
inline constexpr unsigned kChaseSteps = 4096;  ///< dependent loads of a pass
inline constexpr unsigned kChaseUnroll = 64;
inline constexpr unsigned kLinks = 32;  ///< FMAs per element in the loop of the update kernels

}  // namespace rooftile::characterize::gpu
