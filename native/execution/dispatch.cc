// Who takes which batch: the queue as lanes see it.
//
// A batch goes to a lane that has nothing to do. A lane that has takes another one early only where all such lanes have
// theirs, and where the batch would not grow by waiting: so batches do not shrink. Until they have theirs it leaves
// them the first ones, and takes what comes after those; where order is to be kept, nothing.
#include <algorithm>

#include "queue.h"

namespace nt::execution {

Permit& Queue::addSeat(int lane) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return permits_.add(lane);
}

// Batches that could leave now, group by group, until `visit` says that it is enough.
template <class Visit>
void Queue::eachDue(TimePoint now, Visit visit) const {
  if (held_) return;
  for (const auto& group : groups_) {
    if (!group->mayBeDue(now, closed_)) continue;
    for (Entry* from = group->first(); from != nullptr;) {
      const Form form = group->form(from, now, closed_);
      if (!form.due) break;
      if (!visit(*group, form)) return;
      from = form.next;
    }
  }
}

std::shared_ptr<Batch> Queue::takeFor(Permit& permit, TimePoint now) {
  if (permit.owner != Permit::Owner::nobody) return nullptr;
  const bool busy = permits_.busy(permit.lane) > 0;
  if (busy && permits_.occupied(permit.lane, now)) return nullptr;
  expireLocked(now);
  if (held_ || ready_ == 0) return nullptr;
  Group* best = nullptr;
  Form chosen;
  if (int forOthers = busy ? permits_.idle(permit.lane) : 0; forOthers > 0) {
    if (batching_.preserveOrder) return nullptr;
    eachDue(now, [&](Group& group, const Form& form) {
      if (--forOthers >= 0 || !form.early) return true;
      best = &group;
      chosen = form;
      return false;
    });
    return best != nullptr ? makeUp(*best, chosen, permit, now) : nullptr;
  }
  const auto isBefore = [](const Entry& a, const Entry& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.arrival < b.arrival;
  };
  for (const auto& group : groups_) {
    if (!group->mayBeDue(now, closed_)) continue;
    if (best != nullptr && !isBefore(*group->first(), *best->first())) continue;
    const Form form = group->form(group->first(), now, closed_);
    if (!form.due || (busy && !form.early)) continue;
    best = group.get();
    chosen = form;
  }
  if (best == nullptr) return nullptr;
  return makeUp(*best, chosen, permit, now);
}

std::shared_ptr<Batch> Queue::makeUp(Group& group, const Form& form, Permit& permit, TimePoint now) {
  permits_.take(permit, Permit::Owner::thread, now);
  std::shared_ptr<Batch> batch;
  if (batching_.maxBatch == 1) {
    Entry& entry = *form.first;
    batch = std::move(entry.own);
    batch->entries.push_back(&entry);
    group.remove(entry);
  } else {
    batch = emptyBatch();
    group.makeUp(*batch, form);
  }
  ready_ -= batch->entries.size();
  for (std::size_t i = 0; i < batch->entries.size(); ++i) {
    Entry& entry = *batch->entries[i];
    uncount(entry, batch->parts[i].waitingBytes());
    if (entry.timed) deadlines_.erase({entry.deadline, entry.arrival});
    entry.state = Entry::State::running;
    entry.batch = batch.get();
  }
  batch->wanted = batch->entries.size();
  batch->permit = &permit;
  batch->number = batches_++;
  return batch;
}

// Whose thread is to be woken for a batch that waits, or so that somebody knows when the next one is due; or null.
Permit* Queue::call(TimePoint now) {
  if (ready_ == 0 || held_ || permits_.parked() == 0) return nullptr;
  Permit* permit = permits_.toCall(now);
  if (permit == nullptr) return nullptr;
  const bool busy = permits_.busy(permit->lane) > 0;
  // it would find what is for others; who takes that calls it
  if (busy && batching_.preserveOrder && permits_.idle(permit->lane) > 0) return nullptr;
  int expected = permits_.coming();  // who is on his way takes one
  bool wanted = false;
  std::size_t due = 0;
  eachDue(now, [&](const Group&, const Form& form) {
    due += form.requests;
    wanted = expected-- <= 0 && (!busy || form.early);
    return !wanted;
  });
  const bool pending = due < ready_;
  if (!wanted && !(pending && watcher_ == nullptr && permits_.coming() == 0)) return nullptr;
  permits_.move(*permit, Permit::Place::coming);
  return permit;
}

// All whom what waits has work for; the last of them is woken by whoever called this, after the lock.
Permit* Queue::callAllFor(TimePoint now) {
  Permit* last = nullptr;
  while (Permit* permit = call(now)) {
    if (last != nullptr) last->called.notify_one();
    last = permit;
  }
  countForgotten(now);
  return last;
}

void Queue::countForgotten(TimePoint now) {
  if (ready_ == 0 || !permits_.anyForgotten()) return;
  int left = permits_.coming();
  eachDue(now, [&](const Group&, const Form&) { return --left >= 0; });
  if (left < 0) ++waitedWhileIdle_;
}

// The permit's batch is over: the permit is free, or a caller's who waits for one.
void Queue::leave(Permit& permit) {
  if (permit.owner == Permit::Owner::nobody) return;
  permits_.giveBack(permit);
  if (borrowers_.empty() || closed_) return;
  Borrower& first = *borrowers_.front();
  borrowers_.pop_front();
  permits_.take(permit, Permit::Owner::caller, Clock::now());
  first.permit = &permit;
  first.given.notify_one();
}

std::shared_ptr<Batch> Queue::take(Permit& permit, TimePoint now, std::shared_ptr<Batch> spent) {
  Permit* next = nullptr;
  std::shared_ptr<Batch> batch;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (permit.owner == Permit::Owner::thread) leave(permit);
    keep(std::move(spent));
    batch = takeFor(permit, now);
    if (batch) next = taken(now);
  }
  if (next != nullptr) next->called.notify_one();
  return batch;
}

void Queue::begun(Permit& permit) {
  --*permit.beginning;
  // of what comes from here on commit() knows that the lane can take it
  if (permit.shortBatches || waiting_ == 0) return;
  Permit* next = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    next = callAllFor(Clock::now());
  }
  if (next != nullptr) next->called.notify_one();
}

// After a batch was taken: who is to be woken now.
Permit* Queue::taken(TimePoint now) {
  if (closed_ && waiting_ == 0) callAll();  // all may go
  return callAllFor(now);
}

void Queue::callAll() {
  for (const auto& permit : permits_.all()) {
    if (permit->place != Permit::Place::parked) continue;
    permits_.move(*permit, Permit::Place::coming);
    permit->called.notify_one();
  }
  expiring_.notify_all();
}

std::optional<TimePoint> Queue::nextDueLocked() const {
  std::optional<TimePoint> next;
  if (held_) return next;
  for (const auto& group : groups_) {
    if (!group->empty()) next = std::min(next.value_or(TimePoint::max()), group->nextDue());
  }
  return next;
}

std::optional<TimePoint> Queue::nextDue() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return nextDueLocked();
}

// Until the thread is called, or, where nobody else watches the clock, until the next batch is due.
void Queue::park(std::unique_lock<std::mutex>& lock, Permit& permit, TimePoint now) {
  const auto called = [&] { return permit.place != Permit::Place::parked; };
  const TimePoint due = watcher_ == nullptr ? nextDueLocked().value_or(now) : now;
  const bool watches = due > now;
  if (watches) watcher_ = &permit;
  permits_.move(permit, Permit::Place::parked);
  if (Permit* other = callAllFor(now)) other->called.notify_one();
  if (watches) {
    permit.called.wait_until(lock, due, called);
    watcher_ = nullptr;
  } else {
    permit.called.wait(lock, called);
  }
  if (!called()) permits_.move(permit, Permit::Place::coming);
}

std::shared_ptr<Batch> Queue::waitAndTake(Permit& permit, std::shared_ptr<Batch> spent) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (permit.owner == Permit::Owner::thread) leave(permit);
  keep(std::move(spent));
  for (;;) {
    const TimePoint now = Clock::now();
    if (std::shared_ptr<Batch> batch = takeFor(permit, now)) {
      Permit* next = taken(now);
      lock.unlock();
      if (next != nullptr) next->called.notify_one();
      return batch;
    }
    if (closed_ && waiting_ == 0) {
      permits_.move(permit, Permit::Place::away);
      return nullptr;
    }
    park(lock, permit, now);
  }
}

Permit* Queue::borrow(TimePoint now) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (closed_) return nullptr;
  if (Permit* permit = permits_.toLend()) {
    permits_.take(*permit, Permit::Owner::caller, now);
    return permit;
  }
  Borrower borrower;
  borrowers_.push_back(&borrower);
  borrower.given.wait(lock, [&] { return borrower.permit != nullptr || closed_; });
  if (borrower.permit == nullptr) std::erase(borrowers_, &borrower);
  return borrower.permit;
}

void Queue::giveBack(Permit& permit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  leave(permit);
  if (closed_) returned_.notify_all();
  if (ready_ == 0) return;
  if (Permit* next = callAllFor(Clock::now())) next->called.notify_one();
}

void Queue::awaitReturn(int lane) {
  std::unique_lock<std::mutex> lock(mutex_);
  returned_.wait(lock, [&] { return permits_.busy(lane) == 0; });
}

uint64_t Queue::waitedWhileIdle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waitedWhileIdle_;
}

}  // namespace nt::execution
