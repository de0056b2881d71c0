// Requests waiting for a lane, merged into batches where the engine allows it.
//
// Everything here depends on the time that it is given, so that tests decide what time it is.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "../base/mutex.h"
#include "batch.h"

namespace nt::execution {

struct BatchingOptions {
  // 1: requests do not merge
  int64_t maxBatch = 1;
  // how long a request may wait for others; 0: a batch leaves as soon as a lane is free
  Clock::duration maxDelay{0};
  // sizes at which a batch leaves without waiting; sorted
  std::vector<int64_t> preferred;
  // rows that a batch is filled up to, so that it meets a captured graph; sorted; empty: no padding
  std::vector<int64_t> pad;
};

using Allocate = std::function<std::shared_ptr<HostBlock>(std::size_t bytes)>;

// Makes an empty batch one for requests like `first`, with memory for `rows` rows. Where nothing merges, what `first`
// leases needs none.
void layOut(Batch& batch, const Shapes& shapes, const std::vector<std::size_t>& rowBytes, const Part& first,
            int64_t rows, bool merging, const Allocate& allocate);

class Queue {
 public:
  // `limit`: requests that may wait.
  Queue(BatchingOptions batching, std::size_t limit, Allocate allocate);

  // A place for a request. `rowBytes` are the bytes of one row (of the tensor, when nothing merges) of each input. The
  // caller copies its data to batch->row(input, part.row) and then calls commit(). Throws ERR_TRT_QUEUE_FULL,
  // ERR_TRT_CLOSED.
  struct Place {
    std::shared_ptr<Batch> batch;
    int64_t row = 0;
  };
  Place reserve(const Shapes& shapes, const std::vector<std::size_t>& rowBytes, Part part);
  void commit(const Place& place);

  // The same in one step where nothing merges: `batch` is a request of its own, written already. What is left in
  // `batch` then is an empty one for the next request, or null. Throws likewise, and leaves it as it is.
  void push(std::shared_ptr<Batch>& batch);

  // Takes a request out again. False when it is not waiting any more.
  bool cancel(uint64_t request);

  // The next batch that may leave at `now`; null when none may yet. `spent`: an empty one that is done with, or null;
  // the next request then needs no memory of its own.
  std::shared_ptr<Batch> take(TimePoint now, std::shared_ptr<Batch> spent = {});
  // When the next batch may leave, if nothing else happens.
  std::optional<TimePoint> nextDue() const;

  // Blocks until a batch may leave, by the real clock. `alert`: looks for a moment before it sleeps. Null: the queue is
  // closed and empty.
  std::shared_ptr<Batch> waitAndTake(std::shared_ptr<Batch> spent = {}, bool alert = false);

  // No more requests; what waits leaves without delay.
  void close();
  // What waits, taken out at once.
  std::vector<std::shared_ptr<Batch>> drain();
  std::size_t waiting() const;
  bool closed() const;
  const BatchingOptions& batching() const noexcept { return batching_; }

 private:
  void checkRoom() const;
  std::shared_ptr<Batch> emptyBatch();
  void keep(std::shared_ptr<Batch> spent) noexcept;
  std::shared_ptr<Batch> openFor(const Shapes& shapes, int64_t rows) const;
  bool due(const Batch& batch, TimePoint now) const;
  std::shared_ptr<Batch> takeLocked(TimePoint now);
  std::optional<TimePoint> nextDueLocked() const;
  void look(uint32_t seen, std::optional<TimePoint> due) const;

  const BatchingOptions batching_;
  const std::size_t limit_;
  const Allocate allocate_;
  // all that follows is written under it; what comes before is read by everybody
  alignas(64) mutable AdaptiveMutex mutex_;
  std::size_t waiting_ = 0;
  int sleepers_ = 0;
  bool closed_ = false;
  std::atomic<uint32_t> news_{0};  // counts what a lane may wait for; read without the lock
  std::deque<std::shared_ptr<Batch>> batches_;
  std::vector<std::shared_ptr<Batch>> spare_;
  std::condition_variable changed_;
};

}  // namespace nt::execution
