// SPDX-License-Identifier: Apache-2.0
//
// [Yang20] and arXiv 2009.02449 (Nsight Compute, nvprof), names as CUPTI lists them per chip, ROCm
// Compute Profiler (AMD), LIKWID (CPU). FADD2, FMUL2 and FFMA2 are the packed FP32 pairs of
// data-centre Blackwell.
#include "profile/formula.h"

namespace rooftile::profile {

namespace {

using Table = std::vector<Formula>;

const Table& fp64_table() {
  static const Table table{
      {Scale::None,
       0,
       On::Any,
       {{1, "sm__sass_thread_inst_executed_op_dadd_pred_on.sum"},
        {1, "sm__sass_thread_inst_executed_op_dmul_pred_on.sum"},
        {2, "sm__sass_thread_inst_executed_op_dfma_pred_on.sum"}}},
      {Scale::ClockTime,
       3,
       On::Any,
       {{1, "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed"},
        {1, "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed"},
        {1, "derived__smsp__sass_thread_inst_executed_op_dfma_pred_on_x2"}}},
      {Scale::ClockTime,
       3,
       On::Any,
       {{1, "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed"},
        {1, "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed"},
        {2, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed"}}},
      {Scale::None, 1, On::Any, {{1, "flop_count_dp"}}},
      {Scale::None, 1, On::Any, {{1, "flop_count_dp.sum"}}},
      {Scale::None,
       0,
       On::Amd,
       {{64, "SQ_INSTS_VALU_ADD_F64"},
        {64, "SQ_INSTS_VALU_MUL_F64"},
        {128, "SQ_INSTS_VALU_FMA_F64"},
        {64, "SQ_INSTS_VALU_TRANS_F64"}}},
      {Scale::None, 1, On::Any, {{1, "DP MFLOP/s * Runtime"}}},
  };
  return table;
}

const Table& fp32_table() {
  static const Table table{
      {Scale::None,
       0,
       On::Packed,
       {{1, "sm__sass_thread_inst_executed_op_fadd_pred_on.sum"},
        {1, "sm__sass_thread_inst_executed_op_fmul_pred_on.sum"},
        {2, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum"},
        {2, "sm__sass_thread_inst_executed_op_fadd2_pred_on.sum"},
        {2, "sm__sass_thread_inst_executed_op_fmul2_pred_on.sum"},
        {4, "sm__sass_thread_inst_executed_op_ffma2_pred_on.sum"}}},
      {Scale::None,
       0,
       On::Plain,
       {{1, "sm__sass_thread_inst_executed_op_fadd_pred_on.sum"},
        {1, "sm__sass_thread_inst_executed_op_fmul_pred_on.sum"},
        {2, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum"}}},
      {Scale::ClockTime,
       3,
       On::Any,
       {{1, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed"},
        {1, "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed"},
        {1, "derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2"},
        {2, "smsp__sass_thread_inst_executed_op_fadd2_pred_on.sum.per_cycle_elapsed"},
        {2, "smsp__sass_thread_inst_executed_op_fmul2_pred_on.sum.per_cycle_elapsed"},
        {1, "derived__smsp__sass_thread_inst_executed_op_ffma2_pred_on_x4"}}},
      {Scale::ClockTime,
       3,
       On::Any,
       {{1, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed"},
        {1, "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed"},
        {2, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed"}}},
      {Scale::None, 1, On::Any, {{1, "flop_count_sp"}}},
      {Scale::None, 1, On::Any, {{1, "flop_count_sp.sum"}}},
      {Scale::None,
       0,
       On::Amd,
       {{64, "SQ_INSTS_VALU_ADD_F32"},
        {64, "SQ_INSTS_VALU_MUL_F32"},
        {128, "SQ_INSTS_VALU_FMA_F32"},
        {64, "SQ_INSTS_VALU_TRANS_F32"}}},
      {Scale::None, 1, On::Any, {{1, "SP MFLOP/s * Runtime"}}},
  };
  return table;
}

const Table& fp16_table() {
  static const Table table{
      {Scale::None,
       0,
       On::Any,
       {{1, "sm__sass_thread_inst_executed_op_hadd_pred_on.sum"},
        {1, "sm__sass_thread_inst_executed_op_hmul_pred_on.sum"},
        {2, "sm__sass_thread_inst_executed_op_hfma_pred_on.sum"}}},
      {Scale::ClockTime,
       3,
       On::Any,
       {{1, "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum.per_cycle_elapsed"},
        {1, "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum.per_cycle_elapsed"},
        {1, "derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x2"}}},
      {Scale::ClockTime,
       3,
       On::Any,
       {{1, "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum.per_cycle_elapsed"},
        {1, "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum.per_cycle_elapsed"},
        {2, "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum.per_cycle_elapsed"}}},
      {Scale::None, 1, On::Any, {{1, "flop_count_hp"}}},
      {Scale::None, 1, On::Any, {{1, "flop_count_hp.sum"}}},
      {Scale::None,
       0,
       On::Amd,
       {{64, "SQ_INSTS_VALU_ADD_F16"},
        {64, "SQ_INSTS_VALU_MUL_F16"},
        {128, "SQ_INSTS_VALU_FMA_F16"},
        {64, "SQ_INSTS_VALU_TRANS_F16"}}},
  };
  return table;
}

const Table& l1_table() {
  static const Table table{
      {Scale::None, 1, On::Any, {{1, "l1tex__t_bytes.sum"}}},
      {Scale::None,
       2,
       On::Any,
       {{32, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
        {32, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
        {32, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"},
        {32, "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"},
        {32, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
        {32, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
        {32, "l1tex__t_set_accesses_pipe_lsu_mem_global_op_atom.sum"},
        {32, "l1tex__t_set_accesses_pipe_lsu_mem_global_op_red.sum"},
        {32, "l1tex__t_set_accesses_pipe_tex_mem_surface_op_atom.sum"},
        {32, "l1tex__t_set_accesses_pipe_tex_mem_surface_op_red.sum"}}},
      {Scale::Time, 1, On::Any, {{1, "l1tex__t_bytes.sum.per_second"}}},
      {Scale::None, 1, On::Any, {{32, "l1tex__t_sectors.sum"}}},
      {Scale::Time, 1, On::Any, {{1, "derived__l1tex__lsu_writeback_bytes_mem_lg.sum.per_second"}}},
      {Scale::None,
       2,
       On::Any,
       {{32, "gld_transactions"},
        {32, "gst_transactions"},
        {32, "atomic_transactions"},
        {32, "local_load_transactions"},
        {32, "local_store_transactions"},
        {32, "shared_load_transactions"},
        {32, "shared_store_transactions"}}},
      {Scale::None, 1, On::Amd128, {{128, "TCP_TOTAL_CACHE_ACCESSES_sum"}}},
      {Scale::None, 1, On::Amd64, {{64, "TCP_TOTAL_CACHE_ACCESSES_sum"}}},
      {Scale::None, 1, On::Any, {{1, "L1 data volume"}}},
  };
  return table;
}

const Table& l2_table() {
  static const Table table{
      {Scale::None, 1, On::Any, {{1, "lts__t_bytes.sum"}}},
      {Scale::None, 1, On::Any, {{32, "lts__t_sectors.sum"}}},
      {Scale::None,
       2,
       On::Any,
       {{32, "lts__t_sectors_op_read.sum"},
        {32, "lts__t_sectors_op_write.sum"},
        {32, "lts__t_sectors_op_atom.sum"},
        {32, "lts__t_sectors_op_red.sum"}}},
      {Scale::Time, 1, On::Any, {{1, "lts__t_bytes.sum.per_second"}}},
      {Scale::None, 1, On::Any, {{1, "l1tex__m_xbar2l1tex_read_bytes.sum"}}},
      {Scale::Time, 1, On::Any, {{1, "l1tex__m_xbar2l1tex_read_bytes.sum.per_second"}}},
      {Scale::None, 2, On::Any, {{32, "l2_read_transactions"}, {32, "l2_write_transactions"}}},
      {Scale::None,
       2,
       On::Amd128,
       {{128, "TCP_TCC_READ_REQ_sum"},
        {128, "TCP_TCC_WRITE_REQ_sum"},
        {128, "TCP_TCC_ATOMIC_WITH_RET_REQ_sum"},
        {128, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum"}}},
      {Scale::None,
       2,
       On::Amd64,
       {{64, "TCP_TCC_READ_REQ_sum"},
        {64, "TCP_TCC_WRITE_REQ_sum"},
        {64, "TCP_TCC_ATOMIC_WITH_RET_REQ_sum"},
        {64, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum"}}},
      {Scale::None, 1, On::Any, {{1, "L2 data volume"}}},
  };
  return table;
}

const Table& dram_table() {
  static const Table table{
      {Scale::None, 1, On::Any, {{1, "dram__bytes.sum"}}},
      {Scale::None, 2, On::Any, {{1, "dram__bytes_read.sum"}, {1, "dram__bytes_write.sum"}}},
      {Scale::None, 2, On::Any, {{1, "dram__bytes_op_read.sum"}, {1, "dram__bytes_op_write.sum"}}},
      {Scale::None, 1, On::Any, {{32, "dram__sectors.sum"}}},
      {Scale::None, 2, On::Any, {{32, "dram__sectors_read.sum"}, {32, "dram__sectors_write.sum"}}},
      {Scale::None,
       2,
       On::Any,
       {{32, "dram__sectors_op_read.sum"}, {32, "dram__sectors_op_write.sum"}}},
      {Scale::Time, 1, On::Any, {{1, "dram__bytes.sum.per_second"}}},
      {Scale::Time,
       2,
       On::Any,
       {{1, "dram__bytes_read.sum.per_second"}, {1, "dram__bytes_write.sum.per_second"}}},
      {Scale::None, 2, On::Any, {{32, "dram_read_transactions"}, {32, "dram_write_transactions"}}},
      {Scale::None, 2, On::Any, {{1, "dram_read_bytes"}, {1, "dram_write_bytes"}}},
      {Scale::Time, 2, On::Any, {{1, "dram_read_throughput"}, {1, "dram_write_throughput"}}},
      // 128 B reads are counted by TCC_BUBBLE on MI300; what is left is 64 or 32 B.
      {Scale::None,
       4,
       On::Amd128,
       {{64, "TCC_EA0_RDREQ_sum"},
        {-32, "TCC_EA0_RDREQ_32B_sum"},
        {32, "TCC_EA0_WRREQ_sum"},
        {32, "TCC_EA0_WRREQ_64B_sum"},
        {64, "TCC_BUBBLE_sum"}}},
      {Scale::None,
       4,
       On::Amd,
       {{64, "TCC_EA_RDREQ_sum"},
        {-32, "TCC_EA_RDREQ_32B_sum"},
        {32, "TCC_EA_WRREQ_sum"},
        {32, "TCC_EA_WRREQ_64B_sum"}}},
      {Scale::None, 2, On::Amd, {{1024, "FETCH_SIZE"}, {1024, "WRITE_SIZE"}}},
      {Scale::None, 2, On::Amd, {{1024, "FetchSize"}, {1024, "WriteSize"}}},
      {Scale::None, 1, On::Any, {{1, "Memory data volume"}}},
  };
  return table;
}

const Table& system_table() {
  static const Table table{
      {Scale::None,
       2,
       On::Any,
       {{32, "lts__t_sectors_aperture_sysmem_op_read.sum"},
        {32, "lts__t_sectors_aperture_sysmem_op_write.sum"}}},
      {Scale::None,
       2,
       On::Any,
       {{32, "system_read_transactions"}, {32, "system_write_transactions"}}},
  };
  return table;
}

}  // namespace

std::span<const Formula> formulas(Quantity quantity) {
  switch (quantity) {
    case Quantity::Fp64: return fp64_table();
    case Quantity::Fp32: return fp32_table();
    case Quantity::Fp16: return fp16_table();
    case Quantity::L1: return l1_table();
    case Quantity::L2: return l2_table();
    case Quantity::Dram: return dram_table();
    case Quantity::System: return system_table();
  }
  return {};
}

}  // namespace rooftile::profile
