// What one request asks for, beside the data of its inputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "../base/tensor_memory.h"

namespace nt::execution {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Shape = std::vector<int64_t>;

// The shapes of all inputs, in the engine's order. Within a batch dimension 0 is the number of rows.
using Shapes = std::vector<Shape>;

// Memory of the pool that a caller filled, or a tensor that stayed, leased for the time of a request: it is read where
// it is.
struct Lease {
  std::shared_ptr<void> owner;
  const uint8_t* data = nullptr;
  bool onGpu = false;
  explicit operator bool() const noexcept { return data != nullptr; }
};

// Memory that an output goes to directly, leased likewise.
struct Target {
  std::shared_ptr<void> owner;
  uint8_t* data = nullptr;
  std::size_t size = 0;
  bool onGpu = false;
  // set where the request named none: the output stays, in memory that was made for it
  std::shared_ptr<Resident> made;
  explicit operator bool() const noexcept { return data != nullptr; }
};

struct Front;  // whose a request is

struct Part {
  uint64_t request = 0;    // each front-end has numbers of its own
  Front* front = nullptr;  // stays until the completion was told
  int64_t row = 0;
  int64_t rows = 1;
  std::size_t bytes = 0;  // of its data in memory of the batch
  // bit i: output i is wanted
  uint64_t outputs = ~uint64_t{0};
  // of those from the 64th on: whether each is wanted; empty: all are
  std::vector<uint8_t> furtherOutputs;
  TimePoint asked;
  std::vector<Lease> leases;    // by input; empty when none
  std::vector<Target> targets;  // by output; empty when none
  std::vector<uint8_t> stays;   // by output: whether it stays on its device; empty when none does

  bool wants(std::size_t output) const noexcept {
    if (output < 64) return (outputs >> output & 1) != 0;
    return output - 64 >= furtherOutputs.size() || furtherOutputs[output - 64] != 0;
  }
  const Lease* lease(std::size_t input) const noexcept {
    return input < leases.size() && leases[input] ? &leases[input] : nullptr;
  }
  bool keeps(std::size_t output) const noexcept { return output < stays.size() && stays[output] != 0; }
  const Target* target(std::size_t output) const noexcept {
    return output < targets.size() && targets[output] ? &targets[output] : nullptr;
  }
};

}  // namespace nt::execution
