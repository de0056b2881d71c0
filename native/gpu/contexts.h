// The execution contexts of one lane: a plain one for whatever comes, and one for each slot and shapes that come often,
// with the CUDA graph that was captured from it.
//
// What was captured is stale once its context's shapes or the addresses in it change. So those of a captured context
// never do: where a slot's buffers move, or the scratch memory that all contexts share, the graph goes before they do.
//
// No request waits for a context: those with graphs are made on a thread of the engine's (ContextThread) while the
// plain one goes on, and are captured when nothing waits for the lane.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "bound_context.h"
#include "context_thread.h"
#include "slot.h"

namespace nt::gpu {

using execution::LaneOptions;

class Contexts {
 public:
  // All that it makes enqueues on this stream, so that nothing of one lane computes at once with anything else of it.
  // Throws ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_DEVICE_LOST.
  Contexts(const Engine& engine, const LaneOptions& options, const cuda::OwnedStream& stream);
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  // What belongs to one slot.
  struct Captured {
    std::shared_ptr<ContextOrder> order;  // until there is a context
    std::unique_ptr<BoundContext> context;
    std::unique_ptr<cuda::OwnedGraph> graph;  // goes before the context
    int postponed = 0;                        // uses at which it could have been captured, had less waited
    bool running = false;                     // it runs the batch that is being enqueued
    bool without = false;                     // there is no room for a context here
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
    bool awaitsCapture(std::size_t slot) const noexcept { return !captured.empty() && captured[slot].running; }
  };

  // Counts a use of the shapes in a slot. Throws ERR_TRT_SHAPE and what BoundContext throws. Valid until the next call.
  Shaped& use(const Shapes& shapes, const Batch& batch, std::size_t slot);
  // The context that runs these shapes in that slot, bound to the slot's memory.
  BoundContext& bound(Shaped& shaped, Slot& slot);
  // After an enqueue of bound()'s context, as TensorRT wants it before a capture. What fails here fails no batch.
  void capture(Shaped& shaped, std::size_t slot);
  // The graph could not be launched: it goes, and the shapes are not captured again.
  void refuse(Shaped& shaped, const std::string& why);
  // Before buffers of a slot move: graphs that use them go, once they have run.
  void dropGraphs(std::size_t slot) noexcept;
  // Runs `reserve`; where the device lacks memory for it, what is only there to be faster goes, and it runs once more.
  template <class Reserve>
  void makingRoom(const Reserve& reserve) {
    try {
      return reserve();
    } catch (const Error& error) {
      if (error.code() != "ERR_TRT_OUT_OF_MEMORY" || !giveUp()) throw;
    }
    reserve();
  }
  // After a failure, when the lane has settled: what was not captured is not to be relied on.
  void abandon(std::size_t slot) noexcept;

  static constexpr int kUsesBefore = 2;  // with the third use the context is ordered
  // Uses at which a capture waits for a moment at which no request does.
  static constexpr int kPatience = 32;
  // Bytes that a context counts as at least: what it takes on the host, and its graph, nobody tells.
  static constexpr std::size_t kLeastBytes = std::size_t{4} << 20;

 private:
  static constexpr std::size_t kMostKnown = 128;
  static constexpr int kMostFailures = 2;  // of a plain context's enqueues, one after the other

  // For whatever comes: one, or with TensorRT-RTX's own graphs one for each slot, since those may hold addresses.
  struct Plain {
    std::unique_ptr<BoundContext> context;
    bool scratchSet = false;      // it has been told where that is
    const Shaped* set = nullptr;  // what it is set to
  };
  Plain& plainOf(std::size_t slot) noexcept { return plain_[slot % plain_.size()]; }
  Shaped& learn(const Shapes& shapes, const Batch& batch, std::size_t slot);
  void forgetSet(const Shaped* shaped = nullptr) noexcept;
  void reserveScratch(int32_t profile);
  void setPlain(Plain& plain, int32_t profile);
  void setPlain(Plain& plain, const Shaped& shaped, const Batch& batch);
  bool hasEarned(const Shaped& shaped) const noexcept;
  BoundContext* ownContext(Shaped& shaped, Slot& slot);
  bool isGoodMoment(Captured& captured) const;
  bool makeRoom(const Shaped& shaped) noexcept;
  bool order(Shaped& shaped, Captured& captured);
  std::size_t bytesOf(const Captured& captured) const noexcept;
  std::size_t estimate() const noexcept;
  bool giveUp() noexcept;
  void drop(Shaped& shaped) noexcept;

  const Engine& engine_;
  const LaneOptions& options_;
  const cuda::OwnedStream& stream_;
  const bool captures_;         // whether anything is captured
  cuda::DeviceBuffer scratch_;  // of all contexts
  std::vector<Plain> plain_;
  std::list<Shaped> shaped_;  // most recently used first
};

}  // namespace nt::gpu
