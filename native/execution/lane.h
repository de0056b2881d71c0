// One execution context with its streams and two slots. Used by one thread at a time, with the engine's device current there.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "graphs.h"
#include "slot.h"

namespace nt::execution {

enum class GraphMode : uint8_t { off, automatic };

struct LaneOptions {
  bool highPriority = false;
  GraphMode graphs = GraphMode::automatic;
  // -1: the profile that fits best
  int32_t profile = -1;
  // whether dimension 0 of every tensor counts rows of several requests
  bool merging = false;
  // sizes that a batch is filled up to
  std::vector<int64_t> pad;
  int slots = 2;
};

class Lane {
 public:
  Lane(std::shared_ptr<Engine> engine, LaneOptions options);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  bool hasFreeSlot() const noexcept { return !free_.empty(); }
  bool idle() const noexcept { return running_.empty(); }

  // Puts a batch on the device and returns; there is a free slot. When it throws, nothing of the batch is under way any more.
  // Throws ERR_TRT_SHAPE, ERR_TRT_EXECUTION and the errors of cuda/.
  void enqueue(std::shared_ptr<Batch> batch);
  // The batch that runs longest.
  const Batch& oldest() const { return *running_.front()->batch; }
  // Waits for it and gives what became of each request. `spin`: asks rather than sleeps for a while first. The slot is free
  // afterwards, also when it throws.
  std::vector<Completion> finish(bool spin = false);

  std::size_t graphs() const noexcept { return graphs_.size(); }
  std::size_t deviceBytes() const noexcept;

 private:
  // What the context is set to.
  struct Setting {
    int32_t profile = 0;  // a new context starts with it
    Shapes shapes;
    std::vector<Shape> outputs;
    bool dependent = false;  // some output's size depends on the data
  };

  Shapes shapesOf(const Batch& batch) const;
  void setShapes(Slot& slot, const Batch& batch, const Shapes& shapes);
  void planOutputs(Slot& slot);
  void copyIn(Slot& slot, const Batch& batch, const cuda::OwnedStream& stream);
  void bind(Slot& slot, const Batch& batch);
  void compute(Slot& slot);
  bool capture(Slot& slot, const GraphCache::Key& key);
  void copyOut(Slot& slot, const cuda::OwnedStream& stream);
  void fetchDependent(Slot& slot);
  std::vector<Completion> completionsOf(Slot& slot);
  Timing timingOf(Slot& slot) const;
  bool isDependent(const Slot& slot, std::size_t output) const;
  void settle() noexcept;
  void check(bool ok, const char* what);

  std::shared_ptr<Engine> engine_;
  const LaneOptions options_;
  cuda::OwnedStream copyInStream_;
  cuda::OwnedStream computeStream_;
  cuda::OwnedStream copyOutStream_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::deque<Slot*> running_;
  std::unique_ptr<tensorrt::ExecutionContext> context_;
  GraphCache graphs_;
  Setting setting_;
  uint64_t count_ = 0;
};

}  // namespace nt::execution
