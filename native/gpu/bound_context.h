// An execution context, and the one place where its profile, shapes and memory are set: lanes and audits use it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "../tensorrt/output_allocator.h"
#include "engine.h"

namespace nt::gpu {

class BoundContext {
 public:
  // Of profile 0, without scratch memory; `graphs`: see Engine::createContext(). What TensorRT allocates for it is
  // charged to the engine's account. Throws ERR_TRT_EXECUTION,
  // ERR_TRT_OUT_OF_MEMORY, ERR_TRT_DEVICE_LOST.
  explicit BoundContext(const Engine& engine, bool graphs = false);

  // Where the values of an input that the CPU reads lie.
  using HostAddress = std::function<void*(std::size_t input)>;

  int32_t profile() const noexcept { return profile_; }
  // Forgets shapes. Waits for what was enqueued on the stream, since TensorRT allows the switch only then.
  void setProfile(int32_t profile, const cuda::OwnedStream& stream);
  // Device memory for what the context computes with, of at least engine.scratchBytes(profile).
  void setScratch(const cuda::DeviceBuffer& scratch);
  // Throws ERR_TRT_SHAPE where TensorRT does not take them.
  void setShapes(const Shapes& shapes, const HostAddress& host);
  // Once shapes are set; -1 where a size depends on the data.
  std::vector<Shape> outputShapes() const;
  void bindInput(std::size_t input, void* address);
  // `allocator`: null where the size is known beforehand; else it outlives the context.
  void bindOutput(std::size_t output, void* address, tensorrt::OutputAllocator* allocator);
  // Throws what an allocator threw, ERR_TRT_EXECUTION, ERR_TRT_DEVICE_LOST.
  void enqueue(const cuda::OwnedStream& stream);
  // The same while the stream is in capture, where nobody can be asked for a reason.
  bool tryEnqueue(const cuda::OwnedStream& stream) { return context_->enqueue(stream.get()); }

  tensorrt::ExecutionContext& get() const noexcept { return *context_; }
  // Of device memory that TensorRT took for it.
  std::size_t deviceBytes() const noexcept { return account_->used(); }
  // Of enqueues, since the last one that did not fail.
  int failures() const noexcept { return failures_; }

 private:
  void check(bool ok, const char* what) const;

  const Engine& engine_;
  std::shared_ptr<cuda::Account> account_;
  Engine::Context context_;
  int failures_ = 0;
  int32_t profile_ = 0;                                 // a new context starts with it
  std::vector<tensorrt::OutputAllocator*> allocators_;  // by output
};

// ERR_TRT_SHAPE for shapes that TensorRT refuses though they looked right: what was asked, and what the profile takes.
Error refusedShapes(const Engine& engine, const Shapes& shapes, int32_t profile);
// "'x' [1, 3], 'y' [2]"
std::string shapesText(const Engine& engine, const Shapes& shapes);

}  // namespace nt::gpu
