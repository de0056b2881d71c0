// The device memory of an output, which TensorRT lets grow where only the computation tells its size.
#pragma once

#include <optional>

#include "../tensorrt/output_allocator.h"
#include "engine.h"

namespace nt::gpu {

class OutputBuffer : public cuda::DeviceBuffer {
 public:
  explicit OutputBuffer(const Engine& engine)
      : DeviceBuffer(engine.device(), engine.account()), family_(engine.library().family()) {}

  // Whom TensorRT asks; made when first needed.
  tensorrt::OutputAllocator& allocator() {
    if (!allocator_) {
      allocator_.emplace(family_, [this](std::size_t bytes) {
        reserve(bytes);
        return address();
      });
    }
    return *allocator_;
  }
  // Of the last enqueue. Throws ERR_TRT_EXECUTION where TensorRT did not tell it.
  Shape shapeTold(const IoTensor& tensor) {
    const auto shape = allocator().shape();
    if (shape) return *shape;
    throw Error("ERR_TRT_EXECUTION", "TensorRT did not tell the shape of output '" + tensor.name + "'");
  }

 private:
  const tensorrt::Family family_;
  std::optional<tensorrt::OutputAllocator> allocator_;
};

}  // namespace nt::gpu
