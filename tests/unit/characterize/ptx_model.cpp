// SPDX-License-Identifier: Apache-2.0
// An interpreter of the PTX that the program writes, for one thread.
#include <array>
#include <bitset>
#include <map>
#include <stdexcept>
#include <vector>

#include "unit/characterize/kernel_work.h"

namespace rooftile::characterize::gpu {
namespace {

/// A register, a number, or the memory at a register and an offset.
struct Operand {
  enum Kind {
    Number,
    Narrow,
    Wide,
    Predicate,
    Thread,
    Block,
    Blocks,
    Clock,
    Timer,
    Parameter
  } kind;
  unsigned index = 0;        ///< of the register; of a parameter its place
  std::uint64_t number = 0;  ///< or the offset
};

enum class Op {
  Move,
  Add,
  Subtract,
  Multiply,
  ShiftLeft,
  ShiftRight,
  And,
  Or,
  Xor,
  Xor3,
  AtLeast,
  Less,
  Equal,
  Unequal,
  Branch,
  Return,
  LoadParameter,
  LoadGlobal,
  LoadShared,
  StoreGlobal,
  StoreShared,
  Flops,
  TensorMemory,
  Yes,
  Nothing
};

struct Instruction {
  Op op = Op::Nothing;
  int predicate = -1;  ///< of the register that decides; -1: always
  bool when = true;
  std::vector<Operand> operands;  ///< groups in braces are taken apart
  unsigned bytes = 0;             ///< of loads and stores
  bool past_l1 = false, streams = false, is_pointer = false, is_wide = false, sparse = false;
  std::string rate;  ///< of arithmetic; "kind" of tensor memory
  double flops = 0;  ///< of one thread
  std::size_t target = 0;
};
using Code = std::vector<Instruction>;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

Operand parse_operand(std::string text) {
  static const std::map<std::string, Operand::Kind> kSpecial{{"%tid.x", Operand::Thread},
                                                             {"%ctaid.x", Operand::Block},
                                                             {"%nctaid.x", Operand::Blocks},
                                                             {"%clock64", Operand::Clock},
                                                             {"%globaltimer", Operand::Timer}};
  static const std::map<std::string, unsigned> kParameters{{"a", 0}, {"b", 1},      {"c", 2},
                                                           {"n", 3}, {"passes", 4}, {"links", 5}};
  Operand out{Operand::Number};
  if (text.front() == '[') {
    text = text.substr(1, text.size() - 2);
    const std::size_t plus = text.find('+');
    if (plus != std::string::npos) out.number = std::stoull(text.substr(plus + 1));
    text = text.substr(0, plus);
    if (const auto p = kParameters.find(text); p != kParameters.end()) {
      return {Operand::Parameter, p->second};
    }
  }
  if (const auto s = kSpecial.find(text); s != kSpecial.end()) return {s->second};
  if (text.front() == '%') {
    out.kind = text[1] == 'r'   ? Operand::Narrow
               : text[1] == 'd' ? Operand::Wide
                                : Operand::Predicate;
    out.index = static_cast<unsigned>(std::stoul(text.substr(2)));
  } else if (text.starts_with("0f")) {
    out.number = 0;  // floating point is counted, not calculated
  } else if (text.find_first_not_of("0123456789abcdefxABCDEF") == std::string::npos) {
    out.number = std::stoull(text, nullptr, 0);
  }  // else a symbol of shared memory, which is at 0
  return out;
}

/// FLOPs of "...m16n8k16..." and the rate that the types belong to.
std::pair<std::string, double> product(const std::string& opcode) {
  const std::size_t m = opcode.find(".m") + 2;
  std::size_t used = 0;
  const std::string shape = opcode.substr(m);
  const double rows = std::stoi(shape, &used);
  std::size_t at = used + 1;
  const double columns = std::stoi(shape.substr(at), &used);
  at += used + 1;
  const double depth = std::stoi(shape.substr(at));
  double flops = 2 * rows * columns * depth;
  if (has(opcode, ".m8n8k4") && has(opcode, ".f16")) flops *= 4;  // of four quarters of a warp
  static const std::array<std::pair<const char*, const char*>, 7> kTypes{{{".f64.f64", "fp64"},
                                                                          {".tf32", "tf32"},
                                                                          {".bf16", "bf16"},
                                                                          {".f16", "fp16"},
                                                                          {".e4m3", "fp8_e4m3"},
                                                                          {".e5m2", "fp8_e5m2"},
                                                                          {".s8", "int8"}}};
  for (const auto& [type, name] : kTypes) {
    if (has(opcode, type)) return {std::string(name) + "_tensor", flops};
  }
  throw std::runtime_error("which product is " + opcode);
}

/// Loads and stores, arithmetic; what it does not know is left to parse_opcode().
bool parse_counted(const std::string& name, Instruction& out) {
  const unsigned count = has(name, ".v4") ? 4 : has(name, ".v2") ? 2 : 1;
  out.is_wide = has(name, "64");
  out.bytes = count * (out.is_wide ? 8U : 4U);
  if (name.starts_with("ld.param")) {
    out.op = Op::LoadParameter;
  } else if (name.starts_with("ld.shared") || name.starts_with("ld.global")) {
    out.op = name.starts_with("ld.shared") ? Op::LoadShared : Op::LoadGlobal;
    out.past_l1 = has(name, ".cg");
    out.is_pointer = has(name, "u64");
  } else if (name.starts_with("st.shared") || name.starts_with("st.global")) {
    out.op = name.starts_with("st.shared") ? Op::StoreShared : Op::StoreGlobal;
    out.streams = has(name, ".cs");
  } else if (name.starts_with("fma.rn.")) {
    out.op = Op::Flops;
    out.flops = has(name, "x2") ? 4 : 2;
    out.rate = has(name, "f64")    ? "fp64"
               : has(name, "f32")  ? "fp32"
               : has(name, "bf16") ? "bf16"
                                   : "fp16";
  } else if (name.starts_with("mma.") || name.starts_with("wgmma.mma_async")) {
    out.op = Op::Flops;
    const auto [rate, flops] = product(name.substr(name.find(".aligned")));
    out.rate = rate;
    out.flops = flops / (name.starts_with("mma.") ? 32 : 128);  // threads issue it together
  } else if (name.starts_with("tcgen05.mma")) {
    out.op = Op::TensorMemory;
    out.sparse = has(name, ".sp");
    out.rate = name.substr(name.find("kind::") + 6);
  } else {
    return false;
  }
  return true;
}

void parse_opcode(const std::string& name, Instruction& out) {
  if (parse_counted(name, out)) return;
  static const std::vector<std::pair<const char*, Op>> kOps{{"mov", Op::Move},
                                                            {"cvt", Op::Move},
                                                            {"add.u", Op::Add},
                                                            {"sub.u", Op::Subtract},
                                                            {"mul.wide.u32", Op::Multiply},
                                                            {"shl.b", Op::ShiftLeft},
                                                            {"shr.u32", Op::ShiftRight},
                                                            {"and.b32", Op::And},
                                                            {"or.b64", Op::Or},
                                                            {"xor.b32", Op::Xor},
                                                            {"lop3", Op::Xor3},
                                                            {"setp.ge.u32", Op::AtLeast},
                                                            {"setp.lt.u32", Op::Less},
                                                            {"setp.eq.u32", Op::Equal},
                                                            {"setp.ne.u32", Op::Unequal},
                                                            {"bra", Op::Branch},
                                                            {"ret", Op::Return},
                                                            {"mbarrier.try_wait", Op::Yes},
                                                            {"mbarrier.", Op::Nothing},
                                                            {"bar.sync", Op::Nothing},
                                                            {"fence.proxy.async", Op::Nothing},
                                                            {"wgmma.", Op::Nothing},
                                                            {"tcgen05.", Op::Nothing}};
  for (const auto& [beginning, op] : kOps) {
    if (name.starts_with(beginning)) {
      out.op = op;
      return;
    }
  }
  throw std::runtime_error("unknown instruction " + name);
}

/// `branch` gets the label of a branch.
Instruction parse_line(std::string_view line, std::string& branch) {
  Instruction out;
  if (line.front() == '@') {
    const std::size_t end = line.find(' ');
    out.when = line[1] != '!';
    out.predicate = std::stoi(std::string(line.substr(out.when ? 3 : 4, end)));
    line = trimmed(line.substr(end));
  }
  line = line.substr(0, line.find(';'));
  const std::size_t space = line.find(' ');
  parse_opcode(std::string(line.substr(0, space)), out);
  std::string rest(space == std::string_view::npos ? "" : line.substr(space));
  std::erase_if(rest, [](char c) { return c == ' ' || c == '{' || c == '}'; });
  if (out.op == Op::Branch) return branch = rest, out;
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t comma = std::min(rest.find(',', at), rest.size());
    out.operands.push_back(parse_operand(rest.substr(at, comma - at)));
    at = comma + 1;
  }
  return out;
}

Code parse_kernel(std::string_view module, const std::string& kernel) {
  const std::size_t head = module.find(".entry " + kernel + "(");
  if (head == std::string_view::npos) throw std::runtime_error("no kernel " + kernel);
  const std::size_t begin = module.find("\n{\n", head) + 3, end = module.find("\n}\n", begin);
  Code code;
  std::map<std::string, std::size_t> labels;
  std::map<std::size_t, std::string> branches;
  for (std::size_t at = begin; at < end;) {
    const std::size_t stop = std::min(module.find('\n', at), end);
    const std::string_view line = trimmed(module.substr(at, stop - at));
    at = stop + 1;
    if (line.empty() || line.front() == '.') continue;
    if (line.back() == ':') {
      labels[std::string(line.substr(0, line.size() - 1))] = code.size();
      continue;
    }
    std::string branch;
    code.push_back(parse_line(line, branch));
    if (!branch.empty()) branches[code.size() - 1] = branch;
  }
  for (const auto& [at, label] : branches) code[at].target = labels.at(label);
  return code;
}

const Code& kernel_code(std::string_view module, const std::string& kernel) {
  static std::map<std::string, Code> known;  // by target and kernel: parsing takes its time
  const std::string key = std::string(module.substr(0, module.find("\n\n"))) + kernel;
  const auto found = known.find(key);
  return found != known.end() ? found->second
                              : known.emplace(key, parse_kernel(module, kernel)).first->second;
}

class Thread {
 public:
  Thread(const Code& code, const ThreadLaunch& launch) : code_(code), launch_(launch) {}

  KernelWork run() {
    for (std::size_t at = 0; at < code_.size();) {
      const Instruction& i = code_[at++];
      work_.instructions += 1;
      if (i.predicate >= 0 && predicates_[static_cast<std::size_t>(i.predicate)] != i.when)
        continue;
      if (i.op == Op::Return) break;
      if (i.op == Op::Branch) {
        at = i.target;
      } else {
        execute(i);
      }
    }
    wait_for_all();
    return std::move(work_);
  }

 private:
  /// Reading a register that is still being loaded waits for all that is in flight.
  std::uint64_t value(const Operand& o) {
    switch (o.kind) {
      case Operand::Number: return o.number;
      case Operand::Thread: return launch_.thread;
      case Operand::Block: return launch_.block;
      case Operand::Blocks: return launch_.blocks;
      case Operand::Clock: return 2000 * clock_++;
      case Operand::Timer: return 1000 * clock_;
      case Operand::Predicate: return predicates_[o.index] ? 1 : 0;
      case Operand::Parameter: throw std::runtime_error("a parameter as a value");
      case Operand::Narrow:
      case Operand::Wide: break;
    }
    const bool wide = o.kind == Operand::Wide;
    if (in_flight_ > 0 && pending_[o.index + (wide ? kRegisters : 0)]) wait_for_all();
    return (wide ? wide_ : narrow_)[o.index];
  }
  void wait_for_all() {
    if (in_flight_ > 0) work_.waits += 1;
    in_flight_ = 0;
    pending_.reset();
  }
  void set(const Operand& o, std::uint64_t v) {
    if (o.kind == Operand::Predicate) {
      predicates_[o.index] = v != 0;
    } else if (o.kind == Operand::Wide) {
      wide_[o.index] = v;
    } else {
      narrow_[o.index] = v & 0xffffffffU;
    }
  }

  void load(const Instruction& i) {
    const std::uint64_t at = value(i.operands.back()) + i.operands.back().number;
    work_.loads += 1;
    if (i.op == Op::LoadShared) {
      work_.shared += i.bytes;
    } else {
      work_.touch(at, i.bytes);
      (i.past_l1 ? work_.past_l1 : work_.through_l1) += i.bytes;
      if (i.is_pointer) set(i.operands[0], launch_.read64(at));
    }
    ++in_flight_;
    for (std::size_t k = 0; k + 1 < i.operands.size(); ++k) {
      const Operand& to = i.operands[k];
      pending_[to.index + (to.kind == Operand::Wide ? kRegisters : 0)] = true;
    }
  }

  void store(const Instruction& i) {
    const std::uint64_t at = value(i.operands[0]) + i.operands[0].number;
    for (std::size_t k = 1; k < i.operands.size(); ++k) {
      const std::uint64_t v = value(i.operands[k]);
      if (i.op == Op::StoreGlobal && i.is_wide && i.bytes < 32)
        launch_.write64(at + 8 * (k - 1), v);
    }
    if (i.op == Op::StoreShared) return;
    work_.touch(at, i.bytes);
    (i.streams ? work_.streamed : work_.stored) += i.bytes;
  }

  void load_parameter(const Instruction& i) {
    const unsigned place = i.operands[1].index;
    const std::uint32_t numbers[] = {launch_.n, launch_.passes, launch_.links};
    set(i.operands[0], place < 3 ? launch_.arrays[place] : numbers[place - 3]);
  }

  /// The instruction descriptor says what is multiplied (PTX manual, table of its fields).
  void count_tensor_memory(const Instruction& i) {
    const std::uint64_t descriptor = value(i.operands.at(i.sparse ? 4 : 3));
    const double columns = static_cast<double>(descriptor >> 17U & 0x3fU) * 8;
    const double rows = static_cast<double>(descriptor >> 24U & 0x1fU) * 16;
    const auto type = static_cast<unsigned>(descriptor >> 7U & 7U);
    if (i.sparse != ((descriptor >> 2U & 1U) != 0)) throw std::runtime_error("sparse or not");
    std::string rate = "int8";
    double bytes = 1;  // per element
    if (i.rate == "f16") rate = type == 0 ? "fp16" : "bf16", bytes = 2;
    if (i.rate == "tf32") rate = "tf32", bytes = 4;
    if (i.rate == "f8f6f4") rate = type == 0 ? "fp8_e4m3" : "fp8_e5m2";
    const double depth = 32 / bytes * (i.sparse ? 2 : 1);  // 32 bytes of each row
    work_.flops[rate + "_tensor"] += 2 * rows * columns * depth;
  }

  void count_flops(const Instruction& i) {
    for (std::size_t k = 1; k < i.operands.size(); ++k) value(i.operands[k]);
    if (i.rate != last_rate_) {
      last_rate_ = i.rate;
      counter_ = &work_.flops[i.rate];
    }
    *counter_ += i.flops;
  }

  void calculate(const Instruction& i) {
    const auto operand = [&](std::size_t k) { return value(i.operands[k]); };
    const Operand& to = i.operands[0];
    switch (i.op) {
      case Op::Move: return set(to, operand(1));
      case Op::Add: return set(to, operand(1) + operand(2));
      case Op::Subtract: return set(to, operand(1) - operand(2));
      case Op::Multiply: return set(to, operand(1) * operand(2));
      case Op::ShiftLeft: return set(to, operand(1) << operand(2));
      case Op::ShiftRight: return set(to, operand(1) >> operand(2));
      case Op::And: return set(to, operand(1) & operand(2));
      case Op::Or: return set(to, operand(1) | operand(2));
      case Op::Xor: return set(to, operand(1) ^ operand(2));
      case Op::Xor3: return set(to, operand(1) ^ operand(2) ^ operand(3));
      case Op::AtLeast: return set(to, operand(1) >= operand(2) ? 1 : 0);
      case Op::Less: return set(to, operand(1) < operand(2) ? 1 : 0);
      case Op::Equal: return set(to, operand(1) == operand(2) ? 1 : 0);
      case Op::Unequal: return set(to, operand(1) != operand(2) ? 1 : 0);
      case Op::Yes: return set(to, 1);
      default: throw std::runtime_error("not an instruction of integers");
    }
  }

  void execute(const Instruction& i) {
    switch (i.op) {
      case Op::LoadParameter: return load_parameter(i);
      case Op::LoadGlobal:
      case Op::LoadShared: return load(i);
      case Op::StoreGlobal:
      case Op::StoreShared: return store(i);
      case Op::Flops: return count_flops(i);
      case Op::TensorMemory: return count_tensor_memory(i);
      case Op::Nothing: return;
      default: return calculate(i);
    }
  }

  static constexpr std::size_t kRegisters = 512;
  const Code& code_;
  const ThreadLaunch& launch_;
  KernelWork work_;
  std::array<std::uint64_t, kRegisters> narrow_{}, wide_{};
  std::array<bool, 8> predicates_{};
  std::bitset<2 * kRegisters> pending_;
  int in_flight_ = 0;
  std::string last_rate_;
  double* counter_ = nullptr;
  std::uint64_t clock_ = 0;
};

}  // namespace

KernelWork run_ptx(std::string_view module, const std::string& kernel, const ThreadLaunch& launch) {
  return Thread(kernel_code(module, kernel), launch).run();
}

bool has_ptx_kernel(std::string_view module, const std::string& kernel) {
  return module.find(".entry " + kernel + "(") != std::string_view::npos;
}

}  // namespace rooftile::characterize::gpu
