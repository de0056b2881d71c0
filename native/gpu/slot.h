// The device memory and the events of one batch under way. A lane has two, so that one batch is copied while another
// computes.
#pragma once

#include <memory>
#include <vector>

#include "../tensorrt/output_allocator.h"
#include "engine.h"

namespace nt::gpu {

using execution::Batch;
using execution::Completion;
using execution::Lease;
using execution::Output;
using execution::Part;
using execution::Target;
using execution::Timing;

class Slot {
 public:
  Slot(const Engine& engine, int64_t number, bool merging);

  // Takes a batch: memory for tensors of these shapes, where -1 in an output's means that its size depends on the data.
  // Whether any device address changed. Throws ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY; end() is called then too.
  bool begin(std::shared_ptr<Batch> batch, const Shapes& shapes, const std::vector<Shape>& outputShapes);
  // Lets go of the batch and of everything that only it needed.
  void end() noexcept;

  const Batch& batch() const noexcept { return *batch_; }
  const std::shared_ptr<Batch>& sharedBatch() const noexcept { return batch_; }
  // of the inputs and outputs on the device, as far as it is known when it begins
  std::size_t bytes() const noexcept { return bytes_; }

  // What the context is told. A host tensor's is memory of the batch or of this slot.
  void* inputAddress(std::size_t input) const;
  void* outputAddress(std::size_t output) const;
  // Null where the size is known beforehand.
  tensorrt::OutputAllocator* allocator(std::size_t output);

  void copyIn(const cuda::OwnedStream& stream) const;
  // After the enqueue, which told the allocators their shapes.
  void learnDependentSizes();
  void copyOut(const cuda::OwnedStream& stream) const;
  // What became of each request; everything has been copied out. One whose target does not fit fails alone.
  std::vector<Completion> completions(Timing timing) const;

  // Events with times, made when first needed.
  struct Clocks {
    explicit Clocks(const cuda::DeviceContext& device);
    cuda::OwnedEvent copyInStart, copyInEnd, computeStart, computeEnd, copyOutEnd;
  };
  Clocks& clocks();
  std::size_t deviceBytes() const noexcept;

  const int64_t number;
  cuda::OwnedEvent copiedIn, computed, done;
  bool timed = false;

 private:
  // One output of the batch under way.
  struct Result {
    Shape shape;
    std::size_t rowBytes = 0;  // of one row where requests merge, else of the whole tensor
    bool dependent = false;
    uint8_t* host = nullptr;           // where it goes, but for requests that named a target
    std::shared_ptr<HostBlock> block;  // `host` is in it
  };
  void measure(std::size_t output);
  bool needsHost(std::size_t output) const;
  void reserveHost();
  std::size_t partBytes(std::size_t output, const Part& part) const;
  uint8_t* partHost(std::size_t output, const Part& part) const;
  void complete(Completion& completion, const Part& part) const;

  const Engine& engine_;
  const bool merging_;
  std::vector<std::unique_ptr<cuda::DeviceBuffer>> inputs_;
  std::vector<std::unique_ptr<cuda::DeviceBuffer>> outputs_;
  std::vector<std::unique_ptr<tensorrt::OutputAllocator>> allocators_;
  std::unique_ptr<Clocks> clocks_;

  std::shared_ptr<Batch> batch_;
  execution::TimePoint started_;
  std::size_t bytes_ = 0;
  std::vector<Result> results_;
  std::shared_ptr<HostBlock> small_;  // for results that requests get copies of; made when first needed
};

}  // namespace nt::gpu
