// Execution contexts with their streams and slots.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "contexts.h"
#include "slot.h"

namespace nt::gpu {

using execution::TimePoint;
using execution::Wait;

class Lane : public execution::Lane {
 public:
  Lane(std::shared_ptr<const Engine> engine, LaneOptions options);
  ~Lane() override { settle(); }

  int slots() const noexcept override { return static_cast<int>(slots_.size()); }
  // Puts a batch on the device and returns. Throws ERR_TRT_SHAPE, ERR_TRT_EXECUTION and the errors of cuda/.
  void enqueue(int slot, std::shared_ptr<Batch> batch) override;
  std::vector<Completion> finish(int slot, Wait wait) override;

 private:
  void start(Slot& slot, const std::shared_ptr<Batch>& batch);
  void readShapes(const Batch& batch);
  void compute(Contexts::Shaped& shaped, Slot& slot);
  bool launch(Contexts::Shaped& shaped, Slot& slot);
  void waitFor(const Slot& slot, Wait wait) const;
  Timing timingOf(Slot& slot) const noexcept;
  void settle() noexcept;

  std::shared_ptr<const Engine> engine_;
  const LaneOptions options_;
  cuda::OwnedStream copyInStream_;
  cuda::OwnedStream computeStream_;
  cuda::OwnedStream copyOutStream_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Contexts contexts_;  // goes before the slots, whose allocators it may call
  Shapes shapes_;      // of the batch that is being enqueued; kept for its memory
  // Held while the compute stream is in capture: whoever waits for it then ends the capture.
  std::mutex capturing_;
  uint64_t count_ = 0;
};

}  // namespace nt::gpu
