// The device memory and the events of one batch under way. A lane has two, so that one batch is copied while another
// computes.
#pragma once

#include <memory>
#include <vector>

#include "engine.h"
#include "output_buffer.h"
#include "results.h"

namespace nt::gpu {

using execution::Lease;
using execution::Timing;

// Where the values of an input that the CPU reads lie. Such inputs do not merge: the batch has one part.
void* hostAddress(const Batch& batch, std::size_t input);

class Slot {
 public:
  Slot(const Engine& engine, std::size_t number, const execution::LaneOptions& options);

  // Whether begin() would give any tensor other memory on the device. It may free what is there, also where it throws.
  bool moves(const Shapes& shapes, const std::vector<Shape>& outputShapes) const;
  // Takes a batch: memory for tensors of these shapes, where -1 in an output's means that its size depends on the data.
  // Throws ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY; end() is called then too.
  void begin(std::shared_ptr<Batch> batch, const Shapes& shapes, const std::vector<Shape>& outputShapes);
  // Lets go of the batch and of everything that only it needed.
  void end() noexcept;

  const Batch& batch() const noexcept { return *batch_; }
  Batch::Times& times() const noexcept { return batch_->times; }
  // of the inputs and outputs on the device, as far as it is known when it begins
  std::size_t bytes() const noexcept { return bytes_; }

  // What the context is told. A host tensor's is memory of the batch or of this slot.
  void* inputAddress(std::size_t input) const;
  void* outputAddress(std::size_t output) const;
  // Null where the size is known beforehand.
  tensorrt::OutputAllocator* allocator(std::size_t output);

  // Rows that only pad the batch repeat some of its own: a model may look up what it reads there.
  void copyIn(const cuda::OwnedStream& stream);
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

  const std::size_t number;
  cuda::OwnedEvent copiedIn, computed, done;
  bool timed = false;

 private:
  using Growth = cuda::DeviceBuffer::Growth;
  void reserveDevice(const Shapes& shapes, Growth growth);
  void reserveExactly(const Shapes& shapes);
  void releaseDevice() noexcept;
  void makeStaying(std::size_t output);
  void padRows(std::size_t input, const cuda::OwnedStream& stream) const;
  void reserveStaging();
  void copyRows(std::size_t input, const Part& first, int64_t count, const cuda::OwnedStream& stream);

  const Engine& engine_;
  const bool merging_;
  const std::shared_ptr<HostRing> ring_;
  std::vector<std::unique_ptr<cuda::DeviceBuffer>> inputs_;
  std::vector<std::unique_ptr<OutputBuffer>> outputs_;
  std::unique_ptr<Clocks> clocks_;

  std::shared_ptr<Batch> batch_;
  execution::TimePoint started_;
  int64_t rows_ = 0;  // with padding, where requests merge
  std::size_t bytes_ = 0;
  Staging staging_;  // of inputs in ordinary memory
  Results results_;
};

}  // namespace nt::gpu
