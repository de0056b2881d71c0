// One execution context with its stream and buffers. Used by one thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "engine.h"

namespace nt::execution {

// The inputs of one inference, in the engine's order, in memory of their own.
struct InputTensor {
  Shape shape;
  std::vector<uint8_t> bytes;
};

struct OutputTensor {
  Shape shape;
  std::unique_ptr<uint8_t[]> bytes;
  std::size_t size = 0;
};

class Lane {
 public:
  // The engine's device is current on the calling thread, as for every other call here.
  explicit Lane(std::shared_ptr<Engine> engine);

  // Throws ERR_TRT_SHAPE, ERR_TRT_EXECUTION, ERR_TRT_UNSUPPORTED and the errors of cuda/.
  std::vector<OutputTensor> run(const std::vector<InputTensor>& inputs);

 private:
  struct Buffers {
    explicit Buffers(const cuda::DeviceContext& device) : pinned(device), device(device) {}
    cuda::PinnedBuffer pinned;
    cuda::DeviceBuffer device;
  };

  int32_t profileFor(const std::vector<InputTensor>& inputs) const;
  void setShapes(const std::vector<InputTensor>& inputs);
  void copyIn(const std::vector<InputTensor>& inputs);
  std::vector<OutputTensor> bindOutputs();
  void copyOut(const std::vector<OutputTensor>& outputs);
  void check(bool ok, const std::string& what) const;

  std::shared_ptr<Engine> engine_;
  cuda::OwnedStream stream_;
  std::vector<std::unique_ptr<Buffers>> inputs_;
  std::vector<std::unique_ptr<Buffers>> outputs_;
  int32_t profile_ = 0;                                  // a new context starts with it
  std::unique_ptr<tensorrt::ExecutionContext> context_;  // last: gone before the memory that it points at
};

}  // namespace nt::execution
