// What runs batches, one or a few at a time: the seam behind which a GPU's streams and the CPU's sessions are.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "../base/host_ring.h"
#include "batch.h"
#include "completion.h"

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
  // the session's pinned memory
  std::shared_ptr<HostRing> ring;
  // bytes of pinned memory that each slot may have besides, for each direction
  std::size_t staging = 0;
  bool highPriority = false;
  bool captureGraphs = true;
  // bytes of device memory that the contexts with graphs may take
  std::size_t graphMemory = std::size_t{128} << 20;
  // whether more waits than the lanes may begin at once; empty: never
  std::function<bool()> isPressed;
  int slots = 2;
};

// As layout.h has it.
int64_t paddedRows(int64_t rows, const LaneOptions& options);

// What became of each request of a batch that has run. `complete` adds a request's results; one for which it throws
// fails alone.
std::vector<Completion> completionsOf(const Batch& batch, TimePoint started, Timing timing,
                                      const std::function<void(Completion&, const Part&)>& complete);

// How a thread waits for a device: for so long it asks again and again, then it sleeps.
struct Wait {
  Clock::duration asking;
  static const Wait spin, block;
};
inline constexpr Wait Wait::spin{Clock::duration::max()};
inline constexpr Wait Wait::block{Clock::duration(0)};

// Used by threads that have entered the engine. Whoever has one of its slots enqueues a batch there and finishes it.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  // How many batches may be under way.
  virtual int slots() const noexcept = 0;
  // Begins a batch in a slot that is free. One thread at a time for all slots. When it throws, nothing of the batch is
  // under way any more.
  virtual void enqueue(int slot, std::shared_ptr<Batch> batch) = 0;
  // Waits for the batch of a slot and gives what became of each request, while others may enqueue in other slots. The
  // slot is free afterwards, also when it throws.
  virtual std::vector<Completion> finish(int slot, Wait wait) = 0;

  // On any thread: nobody waits for a batch any more, which may be ended, where the lane has it.
  virtual void abandon(const Batch&) noexcept {}
  // On any thread: nobody waits for anything that runs.
  virtual void abandonAll() noexcept {}
};

}  // namespace nt::execution
