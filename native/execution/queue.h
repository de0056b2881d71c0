// Requests waiting for a lane, merged into batches where the engine allows it, and who runs them.
//
// Everything here depends on the time that it is given, so that tests decide what time it is.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "../base/condition.h"
#include "../base/mutex.h"
#include "batch.h"
#include "layout.h"
#include "seats.h"

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

class Queue {
 public:
  // `limit`: requests that may wait; `limitBytes`: of their data, but for what they lease.
  Queue(BatchingOptions batching, std::size_t limit, Allocate allocate, std::size_t limitBytes = SIZE_MAX);

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
  bool cancel(const Front* front, uint64_t request);
  // All of a front-end's, which asks for nothing more; how many. What is still being written stays.
  std::size_t cancelAll(Front& front);
  // No more requests of a front-end; what it has waiting leaves without delay.
  void closeFor(Front& front);
  // Requests of a front-end that it has taken in all.
  uint64_t asked(const Front& front) const;

  // For each slot of a lane, by the thread that is to serve it.
  Seat& addSeat(int lane);

  // The next batch that the seat's thread may run at `now`, when the one before is over; null when there is none yet.
  // `spent`: an empty batch that is done with, or null; the next request then needs no memory of its own.
  std::shared_ptr<Batch> take(Seat& seat, TimePoint now, std::shared_ptr<Batch> spent = {});
  // The batch of a seat is on the device, or has failed to get there: others of the lane may follow.
  void begun(Seat& seat);
  // When the next batch may leave, if nothing else happens.
  std::optional<TimePoint> nextDue() const;
  // Blocks until there is one, by the real clock. `alert`: looks for a moment before it sleeps. Null: the queue is
  // closed and empty.
  std::shared_ptr<Batch> waitAndTake(Seat& seat, std::shared_ptr<Batch> spent = {}, bool alert = false);

  // A seat of the lane with the least to do, for a caller; he waits where none is free, and comes before what is
  // queued. Null: the queue is closed.
  Seat* borrow(TimePoint now);
  void giveBack(Seat& seat);
  // Blocks until nobody has a seat of the lane any more. The queue is closed.
  void awaitReturn(int lane);

  // How often a batch that could have left was found waiting while a lane had nothing to do; for tests.
  uint64_t waitedWhileIdle() const;

  // No more requests; what waits leaves without delay.
  void close();
  // What waits, taken out at once.
  std::vector<std::shared_ptr<Batch>> drain();
  std::size_t waiting() const;
  // The same as it was a moment ago, without the lock.
  std::size_t waitingLately() const noexcept { return waiting_; }
  std::size_t waitingBytes() const;
  bool closed() const;
  const BatchingOptions& batching() const noexcept { return batching_; }

 private:
  using Batches = std::deque<std::shared_ptr<Batch>>;

  void checkRoom(const Part& part) const;
  void checkBytes(std::size_t bytes) const;
  std::shared_ptr<HostBlock> memoryFor(const Part& part, std::size_t inputs);
  void count(const Part& part) noexcept;
  void uncount(const Part& part) noexcept;
  void forget(const Batch& batch) noexcept;
  Batches::iterator takeOut(Batches::iterator batch, std::vector<Part>::iterator part);
  std::shared_ptr<Batch> emptyBatch();
  void keep(std::shared_ptr<Batch> spent) noexcept;
  std::shared_ptr<Batch> openFor(const Shapes& shapes, int64_t rows) const;

  // A caller who waits for a seat.
  struct Borrower {
    Condition given;
    Seat* seat = nullptr;
  };

  // dispatch.cc; the lock is held
  bool due(const Batch& batch, TimePoint now) const;
  bool sealed(const Batch& batch) const;
  bool early(const Batch& batch) const;
  std::shared_ptr<Batch> takeFor(Seat& seat, TimePoint now);
  Seat* taken(TimePoint now);
  Seat* call(TimePoint now);
  Seat* callAllFor(TimePoint now);
  void callAll();
  void countForgotten(TimePoint now);
  void leave(Seat& seat);
  void park(std::unique_lock<std::mutex>& lock, Seat& seat, TimePoint now);
  std::optional<TimePoint> nextDueLocked() const;
  void look(uint32_t seen, std::optional<TimePoint> due) const;  // without it

  const BatchingOptions batching_;
  const std::size_t limit_;
  const std::size_t limitBytes_;
  const Allocate allocate_;
  // all that follows is written under it; what comes before is read by everybody
  alignas(64) mutable AdaptiveMutex mutex_;
  std::atomic<std::size_t> waiting_{0};
  std::size_t waitingBytes_ = 0;
  bool closed_ = false;
  std::atomic<uint32_t> news_{0};  // counts what a lane may wait for; read without the lock
  Batches batches_;
  std::vector<std::shared_ptr<Batch>> spare_;
  Seats seats_;
  Seat* watcher_ = nullptr;  // whose thread wakes when the next batch is due
  std::deque<Borrower*> borrowers_;
  Condition returned_;
  uint64_t waitedWhileIdle_ = 0;
};

}  // namespace nt::execution
