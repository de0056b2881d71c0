// What one request asks for, beside the data of its inputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
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

// An input that a request gives, and could leave out.
struct OptionalInput {
  std::size_t index = 0;  // among those of the engine
  Shape shape;
  std::shared_ptr<const void> owner;
  std::span<const uint8_t> bytes;
};

struct FrontEnd;  // whose a request is
struct Rows;      // batch.h

struct Part {
  uint64_t request = 0;             // each front-end has numbers of its own
  FrontEnd* front = nullptr;        // stays until the completion was told
  uint32_t level = 0;               // of priority: 1 is served first; 0: the default one
  Clock::duration queueTimeout{0};  // how long it may wait for a lane; 0: as its level says
  bool unlimited = false;           // what its level allows in the queue, and for how long, does not hold for it
  int64_t row = 0;                  // in its batch
  int64_t rows = 1;
  const Rows* memory = nullptr;  // where its data lies, but for what it leases
  int64_t placed = 0;            // its first row there
  std::size_t bytes = 0;         // of its data there
  std::size_t optionalBytes = 0;
  // bit i: output i is wanted
  uint64_t outputs = ~uint64_t{0};
  // of those from the 64th on: whether each is wanted; empty: all are
  std::vector<uint8_t> furtherOutputs;
  TimePoint asked;
  std::vector<Lease> leases;  // by input; empty when none
  std::vector<OptionalInput> optionals;
  std::vector<Target> targets;  // by output; empty when none
  std::vector<uint8_t> stays;   // by output: whether it stays on its device; empty when none does

  // That wait with it.
  std::size_t waitingBytes() const noexcept { return bytes + optionalBytes; }
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
