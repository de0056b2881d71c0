// One execution context with its streams and two slots. Used by one thread at a time, with the engine's device current
// there.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "graphs.h"
#include "slot.h"

namespace nt::gpu {

using execution::LaneOptions;
using execution::TimePoint;

class Lane : public execution::Lane {
 public:
  Lane(std::shared_ptr<const Engine> engine, LaneOptions options);
  ~Lane() override { settle(); }

  bool hasFreeSlot() const noexcept override { return !free_.empty(); }
  bool idle() const noexcept override { return running_.empty(); }

  // Puts a batch on the device and returns. Throws ERR_TRT_SHAPE, ERR_TRT_EXECUTION and the errors of cuda/.
  void enqueue(std::shared_ptr<Batch> batch) override;
  const std::shared_ptr<Batch>& oldest() const override { return running_.front()->sharedBatch(); }
  std::vector<Completion> finish(bool spin) override;

  std::size_t graphs() const noexcept { return graphs_.size(); }
  std::size_t deviceBytes() const noexcept override;

 private:
  // What the context is set to.
  struct Setting {
    int32_t profile = 0;  // a new context starts with it
    bool known = false;
    Shapes shapes;
    std::vector<Shape> outputs;
    bool dependent = false;  // some output's size depends on the data
  };

  void start(Slot& slot, std::shared_ptr<Batch> batch);
  void readShapes(const Batch& batch);
  void setShapes(const Batch& batch);
  void setProfile(int32_t profile);
  void bind(Slot& slot);
  void enqueueContext(Slot& slot);
  const GraphCache::Key* graphKey(const Slot& slot);
  void capture(const GraphCache::Key& key);
  void wait(const Slot& slot, bool spin) const;
  Timing timingOf(Slot& slot) const noexcept;
  void settle() noexcept;
  void check(bool ok, const char* what) const;

  std::shared_ptr<const Engine> engine_;
  const LaneOptions options_;
  cuda::OwnedStream copyInStream_;
  cuda::OwnedStream computeStream_;
  cuda::OwnedStream copyOutStream_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::deque<Slot*> running_;
  Engine::Context context_;  // goes before the slots, whose allocators it may call
  GraphCache graphs_;
  Setting setting_;
  Shapes shapes_;        // of the batch that is being enqueued; kept for its memory
  GraphCache::Key key_;  // likewise
  uint64_t count_ = 0;
};

}  // namespace nt::gpu
