// The execution contexts of one lane: a plain one for whatever comes, and one for each slot and shapes that come often,
// with the CUDA graph that was captured from it.
//
// What was captured is stale once its context's shapes or the addresses in it change. So those of a captured context
// never do: where a slot's buffers move, or the scratch memory that all contexts share, it goes, before they move.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "bound_context.h"
#include "slot.h"

namespace nt::gpu {

using execution::LaneOptions;

class Contexts {
 public:
  // All that it makes enqueues on this stream, so that nothing of one lane computes at once with anything else of it.
  // Throws ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_DEVICE_LOST.
  Contexts(const Engine& engine, const LaneOptions& options, const cuda::OwnedStream& stream);

  // What belongs to one slot.
  struct Captured {
    std::unique_ptr<BoundContext> context;
    std::unique_ptr<cuda::OwnedGraph> graph;  // goes before the context
  };
  // Shapes that were seen.
  struct Shaped {
    int32_t profile = 0;
    Shapes inputs;
    std::vector<Shape> outputs;
    bool dependent = false;  // some output's size depends on the data
    bool refused = false;    // it could not be captured, or not be launched
    int uses = 0;
    std::vector<Captured> captured;  // by slot; empty as long as nothing is

    const cuda::OwnedGraph* graph(std::size_t slot) const noexcept {
      return captured.empty() ? nullptr : captured[slot].graph.get();
    }
    bool awaitsCapture(std::size_t slot) const noexcept {
      return !captured.empty() && captured[slot].context && !captured[slot].graph;
    }
  };

  // Counts a use of the shapes. Throws ERR_TRT_SHAPE and what BoundContext throws. Valid until the next call.
  Shaped& use(const Shapes& shapes, const Batch& batch);
  // The context that runs these shapes in that slot, bound to the slot's memory.
  BoundContext& bound(Shaped& shaped, Slot& slot);
  // After an enqueue of bound()'s context, as TensorRT wants it before a capture. What fails here fails no batch.
  void capture(Shaped& shaped, std::size_t slot);
  // The graph could not be launched: it goes, and the shapes are not captured again.
  void refuse(Shaped& shaped, const std::string& why);
  // Before buffers of a slot move: what was captured with them goes, once it has run.
  void forget(std::size_t slot) noexcept;
  // After a failure, when the lane has settled: what was not captured is not to be relied on.
  void abandon(std::size_t slot) noexcept;

  // of the scratch memory

  static constexpr std::size_t kMost = 16;  // shapes that have captures
  static constexpr int kUsesBefore = 2;     // the third use is captured

 private:
  static constexpr std::size_t kMostKnown = 128;
  Shaped& learn(const Shapes& shapes, const Batch& batch);
  void reserveScratch(int32_t profile);
  void setPlain(int32_t profile);
  void setPlain(const Shaped& shaped, const Batch& batch);
  bool hasEarned(const Shaped& shaped) const noexcept;
  std::unique_ptr<BoundContext> make(const Shaped& shaped, Slot& slot) const;
  void makeRoom() noexcept;
  void drop(Shaped& shaped) noexcept;
  void settle() const noexcept;

  const Engine& engine_;
  const LaneOptions& options_;
  const cuda::OwnedStream& stream_;
  const bool captures_;         // whether anything is captured
  cuda::DeviceBuffer scratch_;  // of all contexts
  BoundContext plain_;
  bool scratchSet_ = false;      // the plain context has been told where it is
  std::list<Shaped> shaped_;     // most recently used first
  const Shaped* set_ = nullptr;  // what the plain context is set to
};

}  // namespace nt::gpu
