// Requests that run together: their inputs side by side in memory of the engine's pool, on their way through queue and
// lane and back.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "../base/few.h"
#include "../base/host_pool.h"

namespace nt::execution {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Shape = std::vector<int64_t>;

// The shapes of all inputs, in the engine's order. Within a batch dimension 0 is the number of rows.
using Shapes = std::vector<Shape>;

// Memory of the pool that a caller filled, leased for the time of a request: it is read where it is.
struct Lease {
  std::shared_ptr<void> owner;
  const uint8_t* data = nullptr;
  explicit operator bool() const noexcept { return data != nullptr; }
};

// Memory that an output goes to directly, leased likewise.
struct Target {
  std::shared_ptr<void> owner;
  uint8_t* data = nullptr;
  std::size_t size = 0;
  explicit operator bool() const noexcept { return data != nullptr; }
};

struct Timing {
  // milliseconds; queue by the host's clock, the others where this batch was measured, else negative
  float queue = 0;
  float copyIn = -1, compute = -1, copyOut = -1;
};

// The shape of a result, without memory of its own: there is one for each output of each request.
class ResultShape {
 public:
  ResultShape() = default;
  explicit ResultShape(const Shape& shape) : rank_(std::min(shape.size(), kMost)) {
    std::copy_n(shape.begin(), rank_, dims_);
  }
  ResultShape(const ResultShape& other) noexcept : rank_(other.rank_) { std::copy_n(other.dims_, rank_, dims_); }
  ResultShape& operator=(const ResultShape& other) noexcept {
    rank_ = other.rank_;
    std::copy_n(other.dims_, rank_, dims_);
    return *this;
  }
  std::size_t size() const noexcept { return rank_; }
  bool empty() const noexcept { return rank_ == 0; }
  int64_t& operator[](std::size_t i) noexcept { return dims_[i]; }
  const int64_t* begin() const noexcept { return dims_; }
  const int64_t* end() const noexcept { return dims_ + rank_; }
  Shape vector() const { return {begin(), end()}; }

 private:
  static constexpr std::size_t kMost = 8;  // of a Tensor
  std::size_t rank_ = 0;
  int64_t dims_[kMost];
};

// One result of a request. What is small is in the Output itself: it crosses from one thread to another, and each piece
// of memory that goes along costs as much as a short inference does.
class Output {
 public:
  static constexpr std::size_t kSmall = 128;  // bytes

  Output() = default;
  // Only what there is of it is copied.
  Output(Output&& other) noexcept { *this = std::move(other); }
  Output& operator=(Output&& other) noexcept {
    shape = other.shape;
    size = other.size;
    place_ = other.place_;
    data_ = other.data_;
    owner_ = std::move(other.owner_);
    if (place_ == Place::here) std::copy_n(other.here_, size, here_);
    return *this;
  }

  enum class Place : uint8_t { none, here, held, target };
  ResultShape shape;
  std::size_t size = 0;

  // Not asked for: none.
  Place place() const noexcept { return place_; }
  const uint8_t* data() const noexcept { return place_ == Place::here ? here_ : data_; }
  // what keeps the data, where it is not here
  const std::shared_ptr<void>& owner() const noexcept { return owner_; }

  // `size` bytes, of kSmall at most.
  void copy(const uint8_t* data) noexcept {
    std::copy_n(data, size, here_);
    place_ = Place::here;
  }
  void hold(const uint8_t* data, std::shared_ptr<void> owner) noexcept {
    data_ = data;
    owner_ = std::move(owner);
    place_ = Place::held;
  }
  // Gives memory back. What has none is not written to: it lies in a cache line that another thread wants
  // next.
  void release() noexcept {
    if (owner_) owner_.reset();
  }
  // It is in the memory that the request named.
  void placeIn(const uint8_t* target) noexcept {
    data_ = target;
    place_ = Place::target;
  }

 private:
  Place place_ = Place::none;
  const uint8_t* data_ = nullptr;
  std::shared_ptr<void> owner_;
  uint8_t here_[kSmall];
};

struct Completion {
  uint64_t request = 0;
  std::exception_ptr failure;
  bool abandoned = false;  // ended, since nobody waited for it; `failure` says so
  // in the engine's order
  Few<Output, 1> outputs;
  Timing timing;
};

// Where completions go, from any thread; says whether earlier ones still wait there, since whoever takes them is busy.
// Must not throw.
using Sink = std::function<bool(std::vector<Completion>)>;

struct Part {
  uint64_t request = 0;
  int64_t row = 0;
  int64_t rows = 1;
  // bit i: output i is wanted; those after the 64th always are
  uint64_t outputs = ~uint64_t{0};
  TimePoint asked;
  std::vector<Lease> leases;    // by input; empty when none
  std::vector<Target> targets;  // by output; empty when none

  bool wants(std::size_t output) const noexcept { return output >= 64 || (outputs >> output & 1) != 0; }
  const Lease* lease(std::size_t input) const noexcept {
    return input < leases.size() && leases[input] ? &leases[input] : nullptr;
  }
  const Target* target(std::size_t output) const noexcept {
    return output < targets.size() && targets[output] ? &targets[output] : nullptr;
  }
};

struct Batch {
  // written for each batch
  int64_t rows = 0;
  std::vector<Part> parts;
  bool full = false;
  int writers = 0;  // requests whose data is still being copied in
  // as they were for the last one, where that was alike
  bool leased = false;  // some input is not in `memory`
  std::shared_ptr<HostBlock> memory;
  Shapes shapes;                     // dimension 0 as the first request had it; rowsOf() where requests merge
  std::vector<std::size_t> offsets;  // of each input in `memory`
  std::vector<std::size_t>
      rowBytes;  // of each input: bytes of one row, or of the whole tensor when requests do not merge

  // Puts a request behind those that are there.
  void add(Part part);
  // Empty again, and ready for other requests; keeps memory up to this size.
  void clear() noexcept;
  static constexpr std::size_t kKept = std::size_t{16} << 10;
  uint8_t* row(std::size_t input, int64_t index) const {
    return memory->data() + offsets[input] + rowBytes[input] * static_cast<std::size_t>(index);
  }
  TimePoint oldest() const { return parts.front().asked; }
};

}  // namespace nt::execution
