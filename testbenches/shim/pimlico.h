// SPDX-License-Identifier: MIT
// How Rust sees a Verilated unit: a constant with functions, and ports as 32-bit words.
//
// Inputs and outputs are each one array of words. A port begins at a word of its own, its bit 0 being
// bit 0 of that word; the ports stand in the order of the unit's declaration, probed registers
// behind the outputs.

#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "verilated.h"
#include "verilated_vcd_c.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

// What a library shows: everything else is its own.
#define PIMLICO_SHOWN extern "C" __attribute__((visibility("default")))

struct PimlicoUnit {
  // A new instance whose registers hold random bits.
  void* (*create)(uint64_t seed);
  void (*destroy)(void* instance);
  // Asserts and releases the reset, the clock being low.
  void (*reset)(void* instance, int active);
  // With the clocks low: applies the inputs, settles, reads the outputs and the probed registers.
  void (*settle)(void* instance, const uint32_t* inputs, uint32_t* outputs);
  // The rising edge of the clock, and of those beside it that have one. Not 0 where an assertion failed since the last edge.
  int (*edge)(void* instance);
  // Adds the instance to a waveform that is not yet open. Null where none can be written.
  void (*trace)(void* instance, VerilatedVcdC* vcd);
  // Writes to a file that can be written how often each point was reached so far, in Verilator's format.
  // Null in a build that does not count.
  void (*coverage)(void* instance, const char* file);
};

// A unit with two 16-bit operands and no registers, as several lanes in one module.
struct PimlicoLanes {
  void* (*create)();
  void (*destroy)(void* instance);
  // results[i] becomes the result of a and b[i]. The count is a multiple of the number of lanes.
  void (*row)(void* instance, uint16_t a, const uint16_t* b, uint16_t* results, std::size_t count);
};

namespace pimlico {

// Scalars of up to 32 bits, of up to 64 bits, and wider ones.
template <typename T>
void take(T& port, const uint32_t*& words) {
  port = static_cast<T>(*words++);
}

inline void take(QData& port, const uint32_t*& words) {
  port = static_cast<QData>(words[0]) | static_cast<QData>(words[1]) << 32;
  words += 2;
}

template <std::size_t N>
void take(VlWide<N>& port, const uint32_t*& words) {
  for (std::size_t i = 0; i < N; ++i) port[i] = *words++;
}

template <typename T>
void put(const T& port, uint32_t*& words) {
  *words++ = port;
}

inline void put(const QData& port, uint32_t*& words) {
  *words++ = static_cast<uint32_t>(port);
  *words++ = static_cast<uint32_t>(port >> 32);
}

template <std::size_t N>
void put(const VlWide<N>& port, uint32_t*& words) {
  for (std::size_t i = 0; i < N; ++i) *words++ = port[i];
}

// An instance with a context of its own, so that instances may live in different threads.
template <typename Ports>
struct Instance {
  VerilatedContext context;
  std::unique_ptr<typename Ports::Model> top;
  // Which of the clocks beside clk_i have an edge in this cycle.
  typename Ports::Clocks clocks;

  uint64_t seed;

  explicit Instance(uint64_t seed) : seed(seed) {
    Verilated::threadContextp(&context);
    context.traceEverOn(true);
    // An assertion that fails is reported by `edge`, and does not end the process.
    context.fatalOnError(false);
    context.randReset(2);
    context.randSeed(static_cast<int>(seed % 0x7fffffff) + 1);
    top = std::make_unique<typename Ports::Model>(&context);
    top->clk_i = 0;
    Ports::lower(*top);
    top->rst_ni = 1;
    // The libraries in a design are made by this. Its own registers begin with zeros by what Verilator was told.
    if (Ports::kBeginsWithZeros) context.randReset(0);
    top->eval();
  }

  // Empties the memories, which no reset does: in a design with those of a whole rank nobody knows which
  // words count.
  void renew() {
    const uint64_t same = seed;
    this->~Instance();
    new (this) Instance(same);
  }

  // A model takes leave of the thread's context, so that must be its own, and must not outlive it.
  ~Instance() {
    Verilated::threadContextp(&context);
    top->final();
    top.reset();
    Verilated::threadContextp(Verilated::defaultContextp());
  }
};

template <typename Ports>
constexpr auto trace() -> decltype(PimlicoUnit::trace) {
  if constexpr (Ports::kIsTraced) {
    return [](void* instance, VerilatedVcdC* vcd) {
      auto& self = *static_cast<Instance<Ports>*>(instance);
      Verilated::threadContextp(&self.context);
      self.top->trace(vcd, 99);
    };
  } else {
    return nullptr;
  }
}

template <typename Ports>
constexpr PimlicoUnit unit() {
  return {
      [](uint64_t seed) -> void* { return new Instance<Ports>(seed); },
      [](void* instance) { delete static_cast<Instance<Ports>*>(instance); },
      [](void* instance, int active) {
        auto& self = *static_cast<Instance<Ports>*>(instance);
        if (Ports::kHasMemories && active) self.renew();
        auto& top = *self.top;
        top.clk_i = 0;
        Ports::lower(top);
        top.rst_ni = !active;
        top.eval();
      },
      [](void* instance, const uint32_t* inputs, uint32_t* outputs) {
        auto& self = *static_cast<Instance<Ports>*>(instance);
        auto& top = *self.top;
        Verilated::threadContextp(&self.context);
        top.clk_i = 0;
        Ports::lower(top);
        Ports::inputs(top, self.clocks, inputs);
        top.eval();
        Ports::outputs(top, outputs);
      },
      [](void* instance) -> int {
        auto& self = *static_cast<Instance<Ports>*>(instance);
        Verilated::threadContextp(&self.context);
        self.top->clk_i = 1;
        Ports::raise(*self.top, self.clocks);
        self.top->eval();
        if (!self.context.gotError()) return 0;
        self.context.gotError(false);
        self.context.gotFinish(false);
        return 1;
      },
      trace<Ports>(),
#if VM_COVERAGE
      [](void* instance, const char* file) {
        static_cast<Instance<Ports>*>(instance)->context.coveragep()->write(file);
      },
#else
      nullptr,
#endif
  };
}

// Lanes with a context of their own, so that they may live in different threads.
template <typename Model>
struct LanesInstance {
  VerilatedContext context;
  Model top{&context};

  ~LanesInstance() { Verilated::threadContextp(&context); }
};

template <typename Model>
constexpr PimlicoLanes lanes() {
  return {
      []() -> void* { return new LanesInstance<Model>; },
      [](void* instance) {
        delete static_cast<LanesInstance<Model>*>(instance);
        Verilated::threadContextp(Verilated::defaultContextp());
      },
      [](void* instance, uint16_t a, const uint16_t* b, uint16_t* results, std::size_t count) {
        auto& top = static_cast<LanesInstance<Model>*>(instance)->top;
        constexpr std::size_t kLanes = sizeof(top.result_o) / sizeof(*results);
        top.a_i = a;
        for (std::size_t i = 0; i < count; i += kLanes) {
          std::memcpy(&top.b_i, b + i, sizeof(top.b_i));
          top.eval();
          std::memcpy(results + i, &top.result_o, sizeof(top.result_o));
        }
      },
  };
}

}  // namespace pimlico
