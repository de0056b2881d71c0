// What runs batches, one or a few at a time: the seam behind which a GPU's streams and the CPU's sessions are.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "batch.h"

namespace nt::execution {

struct LaneOptions {
  // -1: the profile that fits best
  int32_t profile = -1;
  // whether dimension 0 of every tensor counts rows of several requests
  bool merging = false;
  // sizes that a batch is filled up to, and the largest that one may have; sorted
  std::vector<int64_t> pad;
  int64_t maxBatch = 1;

  // what only a GPU has
  bool highPriority = false;
  bool captureGraphs = true;
  int slots = 2;
};

// The rows that a batch runs with: those that it has, and padding up to the next of the sizes that is allowed.
int64_t paddedRows(int64_t rows, const LaneOptions& options);

// What became of each request of a batch that has run. `complete` adds a request's results; one for which it throws
// fails alone.
std::vector<Completion> completionsOf(const Batch& batch, TimePoint started, Timing timing,
                                      const std::function<void(Completion&, const Part&)>& complete);

// Used by one thread at a time, which has entered the engine, but for abandon().
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  virtual bool hasFreeSlot() const noexcept = 0;
  virtual bool idle() const noexcept = 0;

  // Begins a batch; there is a free slot. When it throws, nothing of the batch is under way any more.
  virtual void enqueue(std::shared_ptr<Batch> batch) = 0;
  // The batch that runs longest.
  virtual const std::shared_ptr<Batch>& oldest() const = 0;
  // Waits for it and gives what became of each request. `spin`: asks rather than sleeps for a while first. The slot is
  // free afterwards, also when it throws.
  virtual std::vector<Completion> finish(bool spin) = 0;

  // On any thread: nobody waits for this request any more. A batch of which that holds for all requests may be ended.
  // False: the lane has no such request, and would have to be told once it has.
  virtual bool abandon(uint64_t) noexcept { return true; }
  // On any thread: nobody waits for anything that runs.
  virtual void abandonAll() noexcept {}

  // Of inputs and outputs on the device.
  virtual std::size_t deviceBytes() const noexcept { return 0; }
};

}  // namespace nt::execution
