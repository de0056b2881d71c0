// How requests leave the queue without a lane: cancelled, after too long a wait, and when the queue is closed.
#include <cstdio>
#include <utility>

#include "front_end.h"
#include "queue.h"

namespace nt::execution {
namespace {

// As JavaScript writes it: to the microsecond, without zeros at the end.
std::string numberText(double number) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.3f", number);
  std::string shown = text;
  shown.erase(shown.find_last_not_of('0') + 1);
  if (shown.back() == '.') shown.pop_back();
  return shown;
}

}  // namespace

// The lock is held: a request that waits is out of the queue. Its leases end with what is given.
Part Queue::takeOut(Entry& entry) {
  entry.group->remove(entry);
  --ready_;
  uncount(entry, entry.asPart().waitingBytes());
  if (entry.timed) deadlines_.erase({entry.deadline, entry.arrival});
  Part part = std::move(entry.own ? entry.own->parts.front() : entry.part);
  if (entry.memory) release(std::move(entry.memory));
  entries_.free(entry);
  if (closed_ && waiting_ == 0) callAll();  // all may go
  return part;
}

// The lock is held: the same where its front-end will hear nothing of it.
Part Queue::takeBack(Entry& entry) {
  if (entry.front != nullptr) --entry.front->asked;
  return takeOut(entry);
}

// The lock is held: nobody waits for the result of a request that runs. Its batch where that was the last of it.
Queue::Abandoned Queue::giveUp(Entry& entry) {
  entry.cancelled = true;
  if (--entry.batch->wanted > 0) return {};
  entry.batch->abandoned = true;
  return {entry.batch->shared_from_this(), entry.batch->permit->lane};
}

Queue::Cancelled Queue::cancel(const FrontEnd* front, Ticket ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry* const entry = entries_.find(ticket);
  if (entry == nullptr || entry->front != front || entry->cancelled) return {};
  if (entry->state == Entry::State::waiting) {
    Cancelled cancelled{true, {}};
    cancelled.parts.push_back(takeBack(*entry));
    return cancelled;
  }
  if (entry->state == Entry::State::writing) return {};  // it will run, and its result is dropped
  return {false, giveUp(*entry)};
}

Queue::AllCancelled Queue::cancelAll(FrontEnd& front) {
  const std::lock_guard<std::mutex> lock(mutex_);
  front.closed = true;
  AllCancelled cancelled;
  entries_.each([&](Entry& entry) {
    if (entry.front != &front) return;
    if (entry.state == Entry::State::waiting) {
      cancelled.parts.push_back(takeBack(entry));
    } else if (entry.state == Entry::State::running && !entry.cancelled) {
      if (Abandoned abandoned = giveUp(entry); abandoned.batch) cancelled.abandoned.push_back(std::move(abandoned));
    }
  });
  return cancelled;
}

void Queue::closeFor(FrontEnd& front) {
  Permit* permit = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    front.closed = true;
    entries_.each([&](Entry& entry) {
      if (entry.front == &front && entry.state == Entry::State::waiting) entry.group->hurry(entry);
    });
    held_ = held_ && ready_ == 0;
    permit = callAllFor(Clock::now());
  }
  if (permit != nullptr) permit->called.notify_one();
}

void Queue::limitWait(Entry& entry) {
  const Clock::duration timeout = timeoutOf(entry.asPart());
  if (timeout == Clock::duration(0) || closed_) return;  // what is closed leaves without delay
  entry.deadline = entry.asked + timeout;
  entry.timed = true;
  const auto [at, _] = deadlines_.emplace(std::pair(entry.deadline, entry.arrival), &entry);
  // where requests come and go one by one each of them is the first: to wake the thread for each would cost much
  if (at != deadlines_.begin() || entry.deadline >= wakes_) return;
  wakes_ = entry.deadline;
  expiring_.notify_one();
}

// The lock is held.
void Queue::expireLocked(TimePoint now) {
  bool any = false;
  while (!deadlines_.empty() && deadlines_.begin()->first.first <= now) {
    Entry& entry = *deadlines_.begin()->second;
    if (batching_.levels[entry.level - 1].delays) {
      deadlines_.erase(deadlines_.begin());
      entry.timed = false;
      entry.arrival = ++arrivals_;  // among other groups, too, it is the last of its level
      entry.group->delay(entry);
    } else {
      expired_.push_back(takeOut(entry));
      any = true;
    }
  }
  if (any) expiring_.notify_one();
}

std::vector<Part> Queue::expire(TimePoint now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  expireLocked(now);
  return std::exchange(expired_, {});
}

std::vector<Part> Queue::waitAndExpire() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    expireLocked(Clock::now());
    if (!expired_.empty()) return std::exchange(expired_, {});
    if (closed_ && deadlines_.empty()) return {};
    if (deadlines_.empty()) {
      wakes_ = TimePoint::max();
      expiring_.wait(lock);
    } else {
      wakes_ = deadlines_.begin()->first.first;
      expiring_.wait_until(lock, wakes_);
    }
  }
}

Error Queue::waitedTooLong(const Part& part) const {
  const double milliseconds = std::chrono::duration<double, std::milli>(timeoutOf(part)).count();
  const std::string text = numberText(milliseconds);
  const std::string level = std::to_string(levelOf(part));
  return {"ERR_TRT_QUEUE_TIMEOUT",
          "No lane took the request within " + text + " ms, the queue timeout of level " + level,
          {{"queueTimeoutMs", text}, {"level", level}}};
}

void Queue::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  held_ = false;
  spare_.clear();
  callAll();
  expiring_.notify_all();
  for (Borrower* borrower : borrowers_) borrower->given.notify_one();
}

std::vector<Part> Queue::drain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Part> all;
  for (const auto& group : groups_) {
    while (Entry* const entry = group->first()) all.push_back(takeBack(*entry));
  }
  expiring_.notify_all();
  return all;
}

}  // namespace nt::execution
