// What a session has done, counted of every request and every batch: sums, from which two reads give what came between.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "batch.h"
#include "completion.h"

namespace nt::execution {

// Counted by whoever does it; a read takes no lock, and keeps nobody waiting.
class Counters {
 public:
  explicit Counters(int64_t maxBatch);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void rejected() noexcept { add(rejected_, 1); }
  void timedOut(std::size_t requests) noexcept { add(timedOut_, requests); }
  void cancelledWaiting(std::size_t requests) noexcept { add(cancelledWaiting_, requests); }
  // A batch has come to its end, before its parts are gone: with these completions, whose `cancelled` says of which
  // nobody waited for the result.
  void ended(const Batch& batch, const std::vector<Completion>& completions) noexcept;

  // Nanoseconds: `queue` until a lane took the request, then its inputs, the computation, its outputs.
  struct Sums {
    uint64_t queue = 0, input = 0, compute = 0, output = 0;
  };
  struct OfSize {
    int64_t rows = 0;
    uint64_t executions = 0, requests = 0;
    Sums sums;  // over executions, but for `queue`
  };
  struct Snapshot {
    uint64_t requests = 0, rows = 0, executions = 0;
    uint64_t rejected = 0, timedOut = 0, cancelledWaiting = 0, cancelledRunning = 0, failed = 0;
    Sums sums;  // over requests
    // by a device's clock, of the batches that were sampled
    uint64_t sampled = 0;
    Sums device;
    std::vector<OfSize> sizes;
  };
  Snapshot snapshot() const;

 private:
  using Count = std::atomic<uint64_t>;
  static void add(Count& count, uint64_t more) noexcept { count.fetch_add(more, std::memory_order_relaxed); }
  // Where `ending_` is held: a dozen of these cost less than as many instructions that lock the bus.
  static void addAlone(Count& count, uint64_t more) noexcept {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  struct AtomicSums {
    Count queue{0}, input{0}, compute{0}, output{0};
    Sums read() const noexcept { return {queue, input, compute, output}; }
  };
  struct Size {
    Count executions{0}, requests{0};
    AtomicSums sums;
  };
  // Sizes are many, and few of them are met: the counts of so many neighbours are made when one of them is.
  static constexpr std::size_t kNeighbours = 64;
  static constexpr int64_t kMostRows = int64_t{1} << 20;  // of a batch that is told apart from others
  using Neighbours = std::array<Size, kNeighbours>;
  Size* sizeOf(int64_t rows) noexcept;

  // callers
  alignas(64) Count rejected_{0};
  Count timedOut_{0}, cancelledWaiting_{0};
  // lanes, one at a time
  alignas(64) std::mutex ending_;
  Count requests_{0};
  Count rows_{0}, executions_{0}, cancelledRunning_{0}, failed_{0}, sampled_{0};
  AtomicSums sums_, device_;
  std::vector<std::atomic<Neighbours*>> sizes_;
};

}  // namespace nt::execution
