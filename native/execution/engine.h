// A deserialized engine and what it says of its inputs and outputs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../cuda/device.h"
#include "../cuda/pinned.h"
#include "../tensorrt/interfaces.h"
#include "batch.h"

namespace nt::execution {

struct ShapeRange {
  Shape min, opt, max;
};

struct IoTensor {
  std::string name;
  DType dtype;
  // -1 where the size is known only at run time
  Shape shape;
  // read by the CPU: its address is host memory
  bool onHost = false;
  std::string format;
  // one entry per optimization profile; empty for outputs and static inputs
  std::vector<ShapeRange> profiles;
};

// Shared by all lanes: weights are there once.
class Engine {
 public:
  // What is done to an engine before anything uses it.
  using Prepare = std::function<void(const std::shared_ptr<tensorrt::CudaEngine>&)>;
  // Makes `device` current on the calling thread. Throws ERR_TRT_PLAN, ERR_TRT_UNSUPPORTED, the errors of cuda/ and
  // what `prepare` throws.
  static std::shared_ptr<Engine> load(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                      const void* plan, std::size_t size, const Prepare& prepare = {});

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  // On any thread: the device is made current there first.
  ~Engine();

  const cuda::DeviceContext& device() const noexcept { return device_; }
  const tensorrt::Library& library() const noexcept { return engine_->library(); }
  const std::vector<IoTensor>& inputs() const noexcept { return inputs_; }
  const std::vector<IoTensor>& outputs() const noexcept { return outputs_; }
  // where memory for requests and results comes from
  cuda::PinnedPool& pinned() const noexcept { return pinned_; }
  int32_t profiles() const noexcept { return profiles_; }
  // bytes of scratch memory that each context takes
  int64_t contextMemory() const { return engine_->contextMemory(); }
  // Some input is read by the CPU: shapes of outputs may depend on its values.
  bool hasHostInputs() const noexcept;
  // The same of any input or output: what the CPU does when a context enqueues is in no CUDA graph.
  bool hasHostTensors() const noexcept;
  // Throws ERR_TRT_INVALID_ARGUMENT unless requests can merge into batches of up to `maxBatch` rows: dimension 0 of
  // every input and output is dynamic, rows are whole bytes on the device, and some profile takes that many.
  void checkMergeable(int64_t maxBatch) const;

  // The profile that takes these shapes with the least distance to its optimum. Throws ERR_TRT_SHAPE.
  int32_t profileFor(const Shapes& shapes) const;

  int32_t layers() const { return engine_->layers(); }
  // "detailed", "layer_names_only" or "none", as the plan was built.
  std::string profilingVerbosity() const;
  // The inspector's JSON document of the engine, at the shapes that the context is set to. Throws ERR_TRT_EXECUTION.
  std::string inspect(const tensorrt::ExecutionContext& context) const;
  // The best values of an input that the CPU reads; empty where TensorRT knows none.
  std::vector<int64_t> profileValues(const char* input, int32_t profile, std::size_t count) const {
    return engine_->profileValues(input, profile, tensorrt::Enumerator::OptProfileSelector_kOPT, count);
  }

  // Deletes a context, or leaves it behind on a lost device.
  struct ContextDeleter {
    const cuda::DeviceContext* device = nullptr;
    void operator()(tensorrt::ExecutionContext* context) const;
  };
  using Context = std::unique_ptr<tensorrt::ExecutionContext, ContextDeleter>;
  // Throws ERR_TRT_EXECUTION, ERR_TRT_DEVICE_LOST.
  Context createContext() const;

 private:
  Engine(const cuda::DeviceContext& device, std::shared_ptr<tensorrt::CudaEngine> engine);
  IoTensor describe(const char* name, bool input) const;

  const cuda::DeviceContext& device_;
  cuda::PinnedPool& pinned_;
  std::shared_ptr<tensorrt::CudaEngine> engine_;
  int32_t profiles_;
  std::vector<IoTensor> inputs_;
  std::vector<IoTensor> outputs_;
};

}  // namespace nt::execution
