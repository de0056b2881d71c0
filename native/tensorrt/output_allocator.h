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
  ~OutputAllocator();
  OutputAllocator(const OutputAllocator&) = delete;
  OutputAllocator& operator=(const OutputAllocator&) = delete;

  // The object that TensorRT calls.
  void* object() const noexcept;
  // Before an enqueue: forgets what was told before.
  void expect() noexcept;
  // The shape that TensorRT told since then.
  std::optional<std::vector<int64_t>> shape() const;
  // What reserving memory threw since then; TensorRT itself only says that the enqueue failed.
  std::exception_ptr failure() const noexcept;

  struct State;

 private:
  std::unique_ptr<State> state_;
  void* object_;
  Family family_;
};

}  // namespace nt::tensorrt
