// The memory of an execution outside of the lanes: what goes into a context and what comes out of it, on the device and
// in pinned memory. For audits and benchmarks.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bound_context.h"
#include "output_buffer.h"

namespace nt::gpu {

class IoMemory {
 public:
  // It outlives the contexts that it is bound to.
  explicit IoMemory(const Engine& engine) : engine_(engine) {}

  // The next input's, in the engine's order; zeros unless there are bytes. Throws ERR_TRT_OUT_OF_MEMORY.
  void addInput(const Shape& shape, std::span<const uint8_t> bytes = {});
  // All outputs', once all inputs are there; -1 where a size depends on the data. Throws ERR_TRT_OUT_OF_MEMORY.
  void addOutputs(const std::vector<Shape>& shapes);

  // Of an input that the CPU reads.
  void* hostInput(std::size_t input) const { return addressOf(inputs_[input]); }
  void bind(BoundContext& context) const;
  bool dependent() const noexcept;

  void copyIn(const cuda::OwnedStream& stream) const;
  // After an enqueue; nothing may be on its way to the host that was put there earlier. Throws ERR_TRT_EXECUTION where
  // TensorRT did not tell a shape.
  void copyOut(const cuda::OwnedStream& stream);
  // What the last copyOut() brought, once it is done.
  std::vector<execution::BenchmarkTensor> outputs() const;

 private:
  struct Place {
    Shape shape;
    std::size_t bytes = 0;
    bool dependent = false;                // the size depends on the data
    std::unique_ptr<OutputBuffer> device;  // null: the CPU reads or writes the tensor, which is on the host
    std::shared_ptr<HostBlock> host;       // pinned; of an output made when first needed
  };
  static void* addressOf(const Place& place);
  Place placeFor(const IoTensor& tensor, const Shape& shape) const;

  const Engine& engine_;
  std::vector<Place> inputs_, outputs_;
};

}  // namespace nt::gpu
