// The device memory and the events of one batch under way. A lane has two, so that one batch is copied while another computes.
#pragma once

#include <memory>
#include <vector>

#include "../tensorrt/output_allocator.h"
#include "engine.h"

namespace nt::execution {

struct Slot {
  Slot(const Engine& engine, int64_t number);

  // Device memory for these sizes. Whether any address changed.
  bool reserve(const std::vector<std::size_t>& inputBytes, const std::vector<std::size_t>& outputBytes);
  // Events with times, made when first needed.
  struct Clocks {
    explicit Clocks(const cuda::DeviceContext& device);
    cuda::OwnedEvent copyInStart, copyInEnd, computeStart, computeEnd, copyOutEnd;
  };
  Clocks& clocks();

  const cuda::DeviceContext& device;
  const int64_t number;
  std::vector<std::unique_ptr<cuda::DeviceBuffer>> inputs;
  std::vector<std::unique_ptr<cuda::DeviceBuffer>> outputs;
  // for outputs whose size depends on the data; null for the others
  std::vector<std::unique_ptr<tensorrt::OutputAllocator>> allocators;
  cuda::OwnedEvent copiedIn, computed, done;

  // the batch under way
  std::shared_ptr<Batch> batch;
  bool timed = false;
  TimePoint started;
  std::vector<Shape> outputShapes;  // -1 where it depends on the data
  std::vector<std::size_t> outputBytes;
  std::vector<std::size_t> outputOffsets;
  std::shared_ptr<cuda::PinnedBlock> outputMemory;

 private:
  std::unique_ptr<Clocks> clocks_;
};

}  // namespace nt::execution
