// A deserialized plan on a GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../cuda/account.h"
#include "../cuda/device.h"
#include "../cuda/device_pool.h"
#include "../cuda/pinned.h"
#include "../execution/engine.h"
#include "../tensorrt/interfaces.h"
#include "context_maker.h"
#include "deserialize.h"

namespace nt::gpu {

using execution::IoTensor;
using execution::Shape;
using execution::Shapes;

class ContextThread;

struct Loading {
  PlanNeeds needs;
  // What is done to an engine before anything uses it.
  std::function<void(const std::shared_ptr<tensorrt::CudaEngine>&)> prepare;
  cuda::Limits limits = {};
  std::vector<uint8_t> runtimeCache = {};  // see ContextMaker
  execution::Metadata metadata = {};       // of the model that the plan was built from
};

class Engine : public execution::Engine, public std::enable_shared_from_this<Engine> {
 public:
  // Throws ERR_TRT_PLAN, ERR_TRT_UNSUPPORTED, ERR_TRT_OUT_OF_MEMORY, the errors of cuda/ and what `prepare` throws.
  static std::shared_ptr<Engine> load(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                      const PlanSource& plan, const Loading& loading = {});

  ~Engine() override;

  std::string runtime() const override { return library().name(); }
  int deviceIndex() const noexcept override { return device_.index(); }
  HostPool& pool() const noexcept override { return pool_; }
  TensorMemory& tensors() const noexcept override { return tensors_; }
  void enter() const override { device_.makeCurrent(); }
  std::unique_ptr<execution::Visit> visit() const override;
  void throwIfLost() const override { device_.throwIfLost(); }
  std::unique_ptr<execution::Lane> createLane(const execution::LaneOptions& options) const override;
  std::size_t deviceBytes() const noexcept override { return account_->used(); }
  std::size_t awaitPrepared() const override;
  execution::BenchmarkResult benchmark(const execution::BenchmarkOptions& options,
                                       execution::BenchmarkWatch& watch) const override;

  const cuda::DeviceContext& device() const noexcept { return device_; }
  const std::shared_ptr<cuda::Account>& account() const noexcept { return account_; }
  // What a context needs to compute with, for the largest shapes of a profile.
  std::size_t scratchBytes(int32_t profile) const noexcept { return scratch_[static_cast<std::size_t>(profile)]; }
  const tensorrt::Library& library() const noexcept { return engine_->library(); }
  // Some input is read by the CPU: shapes of outputs may depend on its values.
  bool hasHostInputs() const noexcept;
  // The same of any input or output: what the CPU does when a context enqueues is in no CUDA graph.
  bool hasHostTensors() const noexcept;

  const tensorrt::CudaEngine& plan() const noexcept { return *engine_; }
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
  // One without scratch memory. `graphs`: with the runtime's own CUDA graphs, where it has them. `account`: of what
  // TensorRT allocates for it. Throws ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_DEVICE_LOST.
  Context createContext(bool graphs, std::shared_ptr<cuda::Account> account) const;
  ContextThread& contextThread() const noexcept { return *contextThread_; }
  // See ContextMaker. On any thread. Throws ERR_TRT_DEVICE_LOST.
  std::optional<std::vector<uint8_t>> changedRuntimeCache() const { return maker_->changedCache(); }

 private:
  Engine(const cuda::DeviceContext& device, std::shared_ptr<tensorrt::CudaEngine> engine,
         std::shared_ptr<cuda::Account> account, std::vector<uint8_t> runtimeCache);
  IoTensor describe(const char* name, bool input) const;
  std::vector<ShapeRange> valueRanges(const IoTensor& tensor) const;

  const cuda::DeviceContext& device_;
  HostPool& pool_;
  TensorMemory& tensors_;
  const TensorMemory::User tensorsUser_;
  const std::shared_ptr<cuda::Account> account_;
  std::shared_ptr<tensorrt::CudaEngine> engine_;
  std::unique_ptr<ContextMaker> maker_;
  std::vector<std::size_t> scratch_;              // by profile
  std::unique_ptr<ContextThread> contextThread_;  // goes first
};

}  // namespace nt::gpu
