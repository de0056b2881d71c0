// A deserialized plan on a GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../cuda/device.h"
#include "../cuda/pinned.h"
#include "../execution/engine.h"
#include "../tensorrt/interfaces.h"

namespace nt::gpu {

using execution::IoTensor;
using execution::Shape;
using execution::ShapeRange;
using execution::Shapes;

class Engine : public execution::Engine, public std::enable_shared_from_this<Engine> {
 public:
  // What is done to an engine before anything uses it.
  using Prepare = std::function<void(const std::shared_ptr<tensorrt::CudaEngine>&)>;
  // Makes `device` current on the calling thread. Throws ERR_TRT_PLAN, ERR_TRT_UNSUPPORTED, the errors of cuda/ and
  // what `prepare` throws.
  static std::shared_ptr<Engine> load(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                      const void* plan, std::size_t size, const Prepare& prepare = {});
  // The device is made current first.
  ~Engine() override;

  std::string runtime() const override { return library().name(); }
  int deviceIndex() const noexcept override { return device_.index(); }
  HostPool& pool() const noexcept override { return pool_; }
  // Makes the device current.
  void enter() const override { device_.makeCurrent(); }
  void throwIfLost() const override { device_.throwIfLost(); }
  std::unique_ptr<execution::Lane> createLane(const execution::LaneOptions& options) const override;
  // The scratch memory of a context.
  std::size_t laneBytes() const noexcept override;

  const cuda::DeviceContext& device() const noexcept { return device_; }
  const tensorrt::Library& library() const noexcept { return engine_->library(); }
  // Some input is read by the CPU: shapes of outputs may depend on its values.
  bool hasHostInputs() const noexcept;
  // The same of any input or output: what the CPU does when a context enqueues is in no CUDA graph.
  bool hasHostTensors() const noexcept;

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
  HostPool& pool_;
  std::shared_ptr<tensorrt::CudaEngine> engine_;
};

}  // namespace nt::gpu
