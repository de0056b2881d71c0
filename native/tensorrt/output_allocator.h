// nvinfer1::IOutputAllocator: memory for an output whose size TensorRT knows only when it has computed it.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "abi.h"

namespace nt::tensorrt {

class OutputAllocator {
 public:
  // Device memory of at least `bytes`, or null, or an exception. Called on the thread that enqueues.
  using Reserve = std::function<void*(std::size_t bytes)>;
  OutputAllocator(Family family, Reserve reserve);
  OutputAllocator(const OutputAllocator&) = delete;
  OutputAllocator& operator=(const OutputAllocator&) = delete;

  // The object that TensorRT calls.
  void* object() const noexcept { return object_.get(); }
  // Before an enqueue: forgets what was told before.
  void expect() noexcept;
  // What the object is called with.
  void* allocate(uint64_t bytes) noexcept;
  void tell(const Dims& dims) noexcept;
  // The shape that TensorRT told since then.
  std::optional<std::vector<int64_t>> shape() const;
  // What reserving memory threw since then; TensorRT itself only says that the enqueue failed.
  std::exception_ptr failure() const noexcept { return failure_; }

 private:
  const Reserve reserve_;
  std::shared_ptr<void> object_;
  Dims shape_;
  bool told_ = false;
  std::exception_ptr failure_;
};

}  // namespace nt::tensorrt
