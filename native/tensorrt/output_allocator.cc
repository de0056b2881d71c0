#include "output_allocator.h"

#include "versioned.h"

namespace nt::tensorrt {

struct OutputAllocator::State {
  Reserve reserve;
  Dims shape;
  bool told = false;
  std::exception_ptr failure;

  void* allocate(uint64_t bytes) noexcept try { return reserve(bytes); } catch (...) {
    failure = std::current_exception();
    return nullptr;  // the enqueue fails
  }
  void tell(const Dims& dims) noexcept {
    shape = dims;
    told = dims.valid();
  }
};

namespace {

using AllocatorState = OutputAllocator::State;

// TensorRT 10 and 11
class AllocatorMainline : public Versioned {
 public:
  explicit AllocatorMainline(AllocatorState& state) : Versioned("IOutputAllocator"), state_(state) {}
  virtual void* reallocateOutput(const char*, void*, uint64_t bytes, uint64_t) noexcept {
    return state_.allocate(bytes);
  }
  virtual void* reallocateOutputAsync(const char*, void*, uint64_t bytes, uint64_t, void*) noexcept {
    return state_.allocate(bytes);
  }
  virtual void notifyShape(const char*, const Dims& shape) noexcept { state_.tell(shape); }

 private:
  AllocatorState& state_;
};

// TensorRT-RTX, which has no synchronous form
class AllocatorRtx : public Versioned {
 public:
  explicit AllocatorRtx(AllocatorState& state) : Versioned("IOutputAllocator"), state_(state) {}
  virtual void* reallocateOutputAsync(const char*, void*, uint64_t bytes, uint64_t, void*) noexcept {
    return state_.allocate(bytes);
  }
  virtual void notifyShape(const char*, const Dims& shape) noexcept { state_.tell(shape); }

 private:
  AllocatorState& state_;
};

bool mainline(Family family) { return family == Family::trt10 || family == Family::trt11; }

}  // namespace

OutputAllocator::OutputAllocator(Family family, Reserve reserve)
    : state_(new State{std::move(reserve), {}, false, nullptr}),
      object_(mainline(family) ? static_cast<void*>(new AllocatorMainline(*state_)) : new AllocatorRtx(*state_)),
      family_(family) {}

OutputAllocator::~OutputAllocator() {
  if (mainline(family_)) {
    delete static_cast<AllocatorMainline*>(object_);
  } else {
    delete static_cast<AllocatorRtx*>(object_);
  }
}

void* OutputAllocator::object() const noexcept { return object_; }
std::exception_ptr OutputAllocator::failure() const noexcept { return state_->failure; }

void OutputAllocator::expect() noexcept {
  state_->told = false;
  state_->failure = nullptr;
}

std::optional<std::vector<int64_t>> OutputAllocator::shape() const {
  if (!state_->told) return std::nullopt;
  return state_->shape.vector();
}

}  // namespace nt::tensorrt
