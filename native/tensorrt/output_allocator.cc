#include "output_allocator.h"

#include "../base/text.h"
#include "logger.h"
#include "versioned.h"

namespace nt::tensorrt {
namespace {

// The entry that TensorRT 10 and 11 have before the others, and TensorRT-RTX does not.
class Synchronous : public Versioned {
 public:
  using Versioned::Versioned;
  virtual void* reallocateOutput(const char* name, void* memory, uint64_t bytes, uint64_t alignment) noexcept = 0;
};

template <class Base>
class AllocatorOf : public Base {
 public:
  explicit AllocatorOf(OutputAllocator& allocator) : Base("IOutputAllocator"), allocator_(allocator) {}
  // virtual where the base has it
  void* reallocateOutput(const char* name, void*, uint64_t bytes, uint64_t) noexcept {
    return allocate("reallocateOutput ", name, bytes);
  }
  virtual void* reallocateOutputAsync(const char* name, void*, uint64_t bytes, uint64_t, void*) noexcept {
    return allocate("reallocateOutputAsync ", name, bytes);
  }
  virtual void notifyShape(const char* name, const Dims& shape) noexcept {
    trace([&] {
      return std::string("notifyShape ") + name + (shape.valid() ? " " + shapeText(shape.vector()) : " invalid");
    });
    allocator_.tell(shape);
  }

 private:
  void* allocate(const char* method, const char* name, uint64_t bytes) noexcept {
    trace([&] { return std::string(method) + name + " " + std::to_string(bytes); });
    return allocator_.allocate(bytes);
  }

  OutputAllocator& allocator_;
};

}  // namespace

OutputAllocator::OutputAllocator(Family family, Reserve reserve) : reserve_(std::move(reserve)) {
  if (family == Family::trt10 || family == Family::trt11) {
    object_ = std::make_shared<AllocatorOf<Synchronous>>(*this);
  } else {
    object_ = std::make_shared<AllocatorOf<Versioned>>(*this);
  }
}

void OutputAllocator::expect() noexcept {
  told_ = false;
  failure_ = nullptr;
}

void* OutputAllocator::allocate(uint64_t bytes) noexcept try { return reserve_(bytes); } catch (...) {
  failure_ = std::current_exception();
  return nullptr;  // the enqueue fails
}

void OutputAllocator::tell(const Dims& dims) noexcept {
  shape_ = dims;
  told_ = dims.valid();
}

std::optional<std::vector<int64_t>> OutputAllocator::shape() const {
  if (!told_) return std::nullopt;
  return shape_.vector();
}

}  // namespace nt::tensorrt
