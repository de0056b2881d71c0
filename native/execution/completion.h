// What becomes of one request: its results, or why there are none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "../base/small_vector.h"
#include "request.h"

namespace nt::execution {

struct Timing {
  // milliseconds; queue by the host's clock, the others where this batch was measured, else negative
  float queue = 0;
  float copyIn = -1, compute = -1, copyOut = -1;
};

// The shape of a result, without memory of its own: there is one for each output of each request.
class ResultShape {
 public:
  static constexpr std::size_t kMost = 8;  // dimensions of a Tensor

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
    ordinary_ = other.ordinary_;
    data_ = other.data_;
    owner_ = std::move(other.owner_);
    if (place_ == Place::here) std::copy_n(other.here_, size, here_);
    return *this;
  }

  enum class Place : uint8_t { none, here, held, target, resident };
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
  // The same for memory that nobody waits for, however long it is kept.
  void holdOrdinary(const uint8_t* data, std::shared_ptr<void> owner) noexcept {
    hold(data, std::move(owner));
    ordinary_ = true;
  }
  bool isOrdinary() const noexcept { return ordinary_; }
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
  // It stays on its device; the owner is the Resident.
  void stay(std::shared_ptr<Resident> resident) noexcept {
    data_ = resident->data();
    owner_ = std::move(resident);
    place_ = Place::resident;
  }

 private:
  Place place_ = Place::none;
  bool ordinary_ = false;
  const uint8_t* data_ = nullptr;
  std::shared_ptr<void> owner_;
  uint8_t here_[kSmall];
};

struct Completion {
  uint64_t request = 0;
  FrontEnd* front = nullptr;
  std::exception_ptr failure;
  bool abandoned = false;  // ended, since nobody waited for it; `failure` says so
  bool cancelled = false;  // nobody waits for it
  // in the engine's order
  SmallVector<Output, 1> outputs;
  Timing timing;
};

// Where completions go, from any thread. Must not throw.
using Sink = std::function<void(std::vector<Completion>)>;

}  // namespace nt::execution
