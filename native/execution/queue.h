// Requests waiting for a lane, merged into batches where the engine allows it, and who runs them. A batch is made up
// when it leaves.
//
// Everything here depends on the time that it is given, so that tests decide what time it is.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "../base/condition.h"
#include "../base/error.h"
#include "../base/mutex.h"
#include "group.h"
#include "permits.h"

namespace nt::execution {

class Queue {
 public:
  // `limit`: requests that may wait; `limitBytes`: of their data, but for what they lease.
  Queue(BatchingOptions batching, std::size_t limit, Allocate allocate, std::size_t limitBytes = SIZE_MAX);

  // A place for a request. `rowBytes` are the bytes of one row (of the tensor, when nothing merges) of each input. The
  // caller copies its data to place.data(input) and then calls commit(). Throws ERR_TRT_QUEUE_FULL, ERR_TRT_CLOSED,
  // ERR_TRT_INVALID_ARGUMENT for a level that there is not.
  struct Place {
    Entry* entry = nullptr;
    const Rows* rows = nullptr;
    int64_t row = 0;
    Ticket ticket = 0;
    uint8_t* data(std::size_t input, std::size_t rowBytes) const { return rows->at(input, rowBytes, row); }
  };
  Place reserve(const Shapes& shapes, const std::vector<std::size_t>& rowBytes, Part part);
  void commit(const Place& place);

  // A batch of which nobody waits for any request any more, and the lane that has it: `batch->permit` is read under the
  // lock only, since the batch may be used again once this is the last who has it.
  struct Abandoned {
    std::shared_ptr<Batch> batch;
    int lane = 0;
  };
  // What became of a cancel.
  struct Cancelled {
    bool waiting = false;          // it was taken out, and is nobody's any more
    Abandoned abandoned;           // without a batch: none is
    std::vector<Part> parts = {};  // what was taken out: their leases end with them, outside of the lock
  };
  // Nobody waits for a request any more, of this front-end.
  Cancelled cancel(const FrontEnd* front, Ticket ticket);
  // All of a front-end's, which asks for nothing more: what waits is taken out, but for what is still being written.
  struct AllCancelled {
    std::vector<Part> parts;
    std::vector<Abandoned> abandoned;
  };
  AllCancelled cancelAll(FrontEnd& front);
  // No more requests of a front-end; what it has waiting leaves without delay.
  void closeFor(FrontEnd& front);
  // Requests of a front-end that it has taken in all.
  uint64_t asked(const FrontEnd& front) const;

  // Whether requests like this one have a limit to their wait.
  bool isTimed(const Part& part) const;
  // What such a request is told when it has waited for so long.
  Error waitedTooLong(const Part& part) const;
  // Those whose wait lasted too long, in order, and who were not given yet; tells nobody.
  std::vector<Part> expire(TimePoint now);
  // Blocks until there are such requests, by the real clock. None: the queue is closed, and there will not be any more.
  std::vector<Part> waitAndExpire();

  // For each slot of a lane, by the thread that is to serve it.
  Permit& addSeat(int lane);

  // The next batch that the permit's thread may run at `now`, when the one before is over; null when there is none yet.
  // `spent`: an empty batch that is done with, or null; the next request then needs no memory of its own.
  std::shared_ptr<Batch> take(Permit& permit, TimePoint now, std::shared_ptr<Batch> spent = {});
  // A batch that failed, and is not given back.
  void forget(Batch& batch);
  // The batch of a permit is on the device, or has failed to get there: others of the lane may follow.
  void begun(Permit& permit);
  // When the next batch may leave, if nothing else happens.
  std::optional<TimePoint> nextDue() const;
  // Blocks until there is one, by the real clock. Null: the queue is closed and empty.
  std::shared_ptr<Batch> waitAndTake(Permit& permit, std::shared_ptr<Batch> spent = {});

  // A permit of the lane with the least to do, for a caller; he waits where none is free, and comes before what is
  // queued. Null: the queue is closed.
  Permit* borrow(TimePoint now);
  void giveBack(Permit& permit);
  // Blocks until nobody has a permit of the lane any more. The queue is closed.
  void awaitReturn(int lane);

  // How often a batch that could have left was found waiting while a lane had nothing to do; for tests.
  uint64_t waitedWhileIdle() const;

  // No more requests; what waits leaves without delay.
  void close();
  // What waits, taken out at once.
  std::vector<Part> drain();
  std::size_t waiting() const;
  // The same as it was a moment ago, without the lock.
  std::size_t waitingLately() const noexcept { return waiting_; }
  std::size_t waitingBytes() const;
  bool closed() const;
  const BatchingOptions& batching() const noexcept { return batching_; }

 private:
  // queue.cc: what callers do; the lock is held
  uint32_t levelOf(const Part& part) const;
  Clock::duration timeoutOf(const Part& part) const;
  void checkRoom(const Part& part, uint32_t level) const;
  void checkBytes(std::size_t bytes) const;
  std::shared_ptr<HostBlock> memoryFor(const Part& part, std::size_t inputs);
  Entry& enter(const Part& part, uint32_t level, Group& group);
  void count(const Entry& entry, std::size_t bytes) noexcept;
  void uncount(const Entry& entry, std::size_t bytes) noexcept;
  Group& groupFor(const Shapes& shapes, const std::vector<std::size_t>& rowBytes);
  void line(Entry& entry);
  void release(std::shared_ptr<Rows> rows) noexcept;
  std::shared_ptr<Batch> emptyBatch();
  void keep(std::shared_ptr<Batch> spent) noexcept;
  void forgetLocked(Batch& batch) noexcept;

  // withdrawal.cc; the lock is held
  void limitWait(Entry& entry);
  Part takeOut(Entry& entry);
  Part takeBack(Entry& entry);
  static Abandoned giveUp(Entry& entry);
  void expireLocked(TimePoint now);

  // A caller who waits for a permit.
  struct Borrower {
    Condition given;
    Permit* permit = nullptr;
  };

  // dispatch.cc; the lock is held
  template <class Visit>
  void eachDue(TimePoint now, Visit visit) const;
  std::shared_ptr<Batch> takeFor(Permit& permit, TimePoint now);
  std::shared_ptr<Batch> makeUp(Group& group, const Form& form, Permit& permit, TimePoint now);
  Permit* taken(TimePoint now);
  Permit* call(TimePoint now);
  Permit* callAllFor(TimePoint now);
  void callAll();
  void countForgotten(TimePoint now);
  void leave(Permit& permit);
  void park(std::unique_lock<std::mutex>& lock, Permit& permit, TimePoint now);
  std::optional<TimePoint> nextDueLocked() const;

  const BatchingOptions batching_;
  const std::size_t limit_;
  const std::size_t limitBytes_;
  const Allocate allocate_;
  // all that follows is written under it; what comes before is read by everybody
  alignas(64) mutable AdaptiveMutex mutex_;
  std::atomic<std::size_t> waiting_{0};  // with those that are being written
  std::size_t ready_ = 0;                // without
  std::size_t waitingBytes_ = 0;
  std::vector<std::size_t> waitingOf_;  // by level
  bool closed_ = false;
  bool held_;
  uint64_t arrivals_ = 0;
  uint64_t batches_ = 0;
  Entries entries_;
  std::vector<std::unique_ptr<Group>> groups_;
  uint64_t groupsSoFar_ = 0;
  std::map<std::pair<TimePoint, uint64_t>, Entry*> deadlines_;  // by time, then by arrival
  std::vector<Part> expired_;                                   // of which nobody has heard
  Condition expiring_;
  TimePoint wakes_ = TimePoint::max();  // when its thread looks at deadlines without being notified
  std::vector<std::shared_ptr<Batch>> spare_;
  Permits permits_;
  Permit* watcher_ = nullptr;  // whose thread wakes when the next batch is due
  std::deque<Borrower*> borrowers_;
  Condition returned_;
  uint64_t waitedWhileIdle_ = 0;
};

}  // namespace nt::execution
