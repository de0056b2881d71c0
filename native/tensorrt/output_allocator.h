// nvinfer1::IOutputAllocator: memory for an output whose size TensorRT knows only when it has computed it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "abi.h"

namespace nt::tensorrt {

class OutputAllocator {
 public:
  // Device memory of at least `bytes`, or null. Called on the thread that enqueues.
  using Reserve = std::function<void*(std::size_t bytes)>;
  OutputAllocator(Family family, Reserve reserve);
  ~OutputAllocator();
  OutputAllocator(const OutputAllocator&) = delete;
  OutputAllocator& operator=(const OutputAllocator&) = delete;

  // The object that TensorRT calls.
  void* object() const noexcept;
  // The shape that TensorRT told last.
  std::vector<int64_t> shape() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
  void* object_;
  Family family_;
};

}  // namespace nt::tensorrt
