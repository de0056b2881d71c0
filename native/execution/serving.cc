// A session's threads: one for each slot of a lane, which takes a batch, begins it, waits for it, tells, and takes the
// next one. So nothing that is to be begun waits for what is to end.
#include <algorithm>
#include <iterator>

#include "../base/condition.h"
#include "../base/error.h"
#include "../base/thread.h"
#include "session.h"

namespace nt::execution {

// What the constructor waits for.
struct Session::Start {
  std::mutex mutex;
  Condition changed;
  std::size_t ready = 0;  // lanes that are made, or have failed to be
  std::exception_ptr failure;
};

// Whether a lane's batches take so little time that waking JavaScript for each would cost more than they do: then
// results are held until a few have come, but only while the next batch is of the same shapes, and so expected to be as
// short; and the lane is left to one thread (Permits::occupied). Without it 64 requests in flight take 10 % longer
// (bench core, `infer, 64 in flight`: 3.2 instead of 2.9 µs a call; onnxruntime: 4.9 instead of 4.3 µs).
class ShortBatches {
 public:
  void begin(TimePoint now) noexcept { begun_ = now; }
  // A batch of these shapes is done, of a lane whose batch before ended at `last`; the next one begins.
  void end(TimePoint now, TimePoint last, const Shapes& shapes) {
    // what waits behind another batch is not slow
    short_ = now - std::max(begun_, last) < std::chrono::microseconds(20);
    begun_ = now;
    if (short_ && shapes_ != shapes) shapes_ = shapes;
  }
  TimePoint begun() const noexcept { return begun_; }
  explicit operator bool() const noexcept { return short_; }
  // Whether the results that are held may wait for a batch of these shapes.
  bool holds(std::size_t held, const Shapes& shapes) const { return held < 8 && short_ && shapes_ == shapes; }

 private:
  TimePoint begun_;
  bool short_ = false;
  Shapes shapes_;
};

// What the thread of a permit works with.
struct Session::Serving {
  Permit& permit;
  ShortBatches shortBatches{};
  std::vector<Completion> held{};                                       // results that nobody has heard of yet
  std::vector<std::pair<uint64_t, std::vector<Completion>>> ordered{};  // the same, where batches keep their order
  TimePoint ended{};                                                    // the last batch
  std::shared_ptr<Batch> spent = {};  // goes back to the queue when the thread asks for the next one
};

bool isAbandonment(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code() == "ABORTED";
  } catch (...) {
    return false;
  }
}

void Session::startLanes() {
  const auto start = std::make_shared<Start>();
  // on the CPU a thread computes, and waits for nobody
  const WaitMode wait = engine_->deviceIndex() < 0 ? WaitMode::block : options_.wait;
  for (int i = 0; i < options_.lanes; ++i) workers_.push_back(std::make_unique<Worker>(i, wait));
  for (const auto& worker : workers_) {
    worker->thread = startThread("that of lane " + std::to_string(worker->number + 1),
                                 [this, &worker = *worker, start] { main(worker, start); });
  }
  std::unique_lock lock(start->mutex);
  start->changed.wait(lock, [&] { return start->ready == workers_.size(); });
  // taken out: the threads may be the last to let go of `start`
  if (const std::exception_ptr failure = std::exchange(start->failure, nullptr)) std::rethrow_exception(failure);
}

// The thread of a lane's first slot makes the lane, and frees it once nobody uses it any more.
void Session::main(Worker& worker, const std::shared_ptr<Start>& start) {
  std::exception_ptr failure;
  try {
    open(worker);
  } catch (...) {
    failure = std::current_exception();
  }
  const bool failed = failure != nullptr;
  {
    const std::lock_guard lock(start->mutex);
    if (failed) start->failure = std::move(failure);
    ++start->ready;
    start->changed.notify_all();
  }
  if (!failed) serve(worker, *worker.permits.front());
  for (std::thread& other : worker.others) other.join();
  if (!worker.permits.empty()) queue_.awaitReturn(worker.number);
  stayHalted();
  std::unique_ptr<Lane> lane;
  {
    const std::lock_guard laneLock(worker.laneMutex);
    lane = std::move(worker.lane);
  }
  lane.reset();
}

void Session::open(Worker& worker) {
  engine_->enter();
  LaneOptions options = options_.lane;
  // a batch for each slot is begun at once
  const std::size_t atOnce = static_cast<std::size_t>(std::max(options_.lanes * options.slots, 1)) *
                             static_cast<std::size_t>(options_.batching.maxBatch);
  options.isPressed = [this, atOnce] { return queue_.waitingLately() > atOnce; };
  auto lane = engine_->createLane(options);
  const int slots = lane->slots();
  {
    const std::lock_guard laneLock(worker.laneMutex);
    worker.lane = std::move(lane);
  }
  for (int slot = 0; slot < slots; ++slot) worker.permits.push_back(&queue_.addSeat(worker.number));
  for (int slot = 1; slot < slots; ++slot) {
    std::promise<void> entered;
    std::future<void> enters = entered.get_future();
    auto body = [this, &worker, &permit = *worker.permits[static_cast<std::size_t>(slot)],
                 entered = std::move(entered)]() mutable { other(worker, permit, std::move(entered)); };
    worker.others.push_back(startThread("another of lane " + std::to_string(worker.number + 1), std::move(body)));
    enters.get();
  }
}

// The thread of another slot.
void Session::other(Worker& worker, Permit& permit, std::promise<void> entered) {
  try {
    engine_->enter();
  } catch (...) {
    return entered.set_exception(std::current_exception());
  }
  entered.set_value();
  serve(worker, permit);
}

void Session::serve(Worker& worker, Permit& permit) {
  Serving serving{permit};
  while (std::shared_ptr<Batch> batch = next(serving)) {
    if (enqueue(worker, serving, batch)) finish(worker, serving, std::move(batch));
  }
  deliver(serving);
}

// The next batch; none: the queue is closed and empty. The permit is free before anybody hears of the results: who asks
// for more then finds a lane with nothing to do. Results are held only while the next batch is expected to be as short.
std::shared_ptr<Batch> Session::next(Serving& serving) {
  std::shared_ptr<Batch> batch;
  if (!serving.held.empty() || !serving.ordered.empty()) {
    batch = queue_.take(serving.permit, serving.ended, std::move(serving.spent));
    const bool hold =
        batch && serving.ordered.empty() && serving.shortBatches.holds(serving.held.size(), batch->shapes);
    if (!hold) deliver(serving);
    serving.shortBatches.begin(serving.ended);
    if (batch) return batch;
  }
  batch = queue_.waitAndTake(serving.permit, std::move(serving.spent));
  serving.shortBatches.begin(Clock::now());
  return batch;
}

// Whether it is under way.
bool Session::enqueue(Worker& worker, Serving& serving, std::shared_ptr<Batch>& batch) {
  running_ += batch->parts.size();
  std::exception_ptr failure;
  try {
    begin(worker, serving.permit, batch);
    return true;
  } catch (...) {
    failure = std::current_exception();
  }
  deliver(serving);
  fail(std::move(batch), std::move(failure));
  return false;
}

void Session::begin(Worker& worker, Permit& permit, const std::shared_ptr<Batch>& batch) {
  stats_.add(Count::batches);
  batch->times = {};
  {
    std::unique_lock lock(worker.enqueueing);
    const struct Begun {
      Queue& queue;
      Permit& permit;
      std::unique_lock<std::mutex>& lock;
      ~Begun() {
        lock.unlock();
        queue.begun(permit);
      }
    } begun{queue_, permit, lock};
    worker.lane->enqueue(permit.slot, batch);
  }
  catchUp(*worker.lane, *batch);
}

// Tells the lane what was cancelled or dropped before it had the batch.
void Session::catchUp(Lane& lane, const Batch& batch) {
  if (dropped_) lane.abandonAll();
  const auto isGone = [](const Part& part) { return part.front->gone.load(); };
  if (batch.abandoned || (anyGone_ && std::ranges::all_of(batch.parts, isGone))) lane.abandon(batch);
}

// Nobody waits for it any more: the lane that has it may end it.
void Session::abandon(const Queue::Abandoned& abandoned) {
  Worker& worker = *workers_[static_cast<std::size_t>(abandoned.lane)];
  const std::lock_guard lock(worker.laneMutex);
  if (worker.lane) worker.lane->abandon(*abandoned.batch);
}

void Session::markCancelled(const Batch& batch, std::vector<Completion>& completions) {
  for (std::size_t i = 0; i < batch.entries.size(); ++i) completions[i].cancelled = batch.entries[i]->cancelled;
}

void Session::finish(Worker& worker, Serving& serving, std::shared_ptr<Batch> batch) {
  std::vector<Completion> completions;
  std::exception_ptr failure;
  try {
    const WaitPolicy::CountedWait turn = worker.waitPolicy.beginLane();
    completions = worker.lane->finish(serving.permit.slot, turn.wait());
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    deliver(serving);
    return fail(std::move(batch), std::move(failure));
  }
  serving.ended = batch->times.ended = Clock::now();
  worker.waitPolicy.note(serving.ended - serving.shortBatches.begun());
  serving.shortBatches.end(serving.ended, worker.ended.exchange(serving.ended), batch->shapes);
  serving.permit.shortBatches = static_cast<bool>(serving.shortBatches);
  stats_.add(Count::bytesCopied, batch->copied);
  stats_.finished(completions);
  markCancelled(*batch, completions);
  counters_.ended(*batch, completions);
  running_ -= batch->parts.size();  // who finds nothing under way finds all of it counted
  const uint64_t number = batch->number;
  batch->clear();  // leases end before anybody hears of the results
  serving.spent = std::move(batch);
  if (options_.batching.preserveOrder) {
    // the lane is free before anybody hears of it, as in next()
    return serving.ordered.emplace_back(number, std::move(completions)), void();
  }
  std::ranges::move(completions, std::back_inserter(serving.held));
}

void Session::deliver(Serving& serving) {
  for (auto& [number, completions] : std::exchange(serving.ordered, {})) {
    order_.add(number, std::move(completions), [this](std::vector<Completion> next) { deliver(std::move(next)); });
  }
  deliver(std::exchange(serving.held, {}));
}

// To each front-end what is its own.
void Session::deliver(std::vector<Completion> completions) {
  while (!completions.empty()) {
    FrontEnd& front = *completions.front().front;
    const auto others = std::ranges::stable_partition(
        completions, [&](const Completion& completion) { return completion.front == &front; });
    std::vector<Completion> left(std::move_iterator(others.begin()), std::move_iterator(others.end()));
    completions.resize(completions.size() - left.size());
    deliver(front, std::exchange(completions, std::move(left)));
  }
}

void Session::deliver(FrontEnd& front, std::vector<Completion> completions) {
  const std::size_t count = completions.size();
  if (front.gone) {
    completions.clear();
  } else {
    front.sink(std::move(completions));
  }
  front.delivered += count;
  wakeLeaving();
}

void Session::fail(std::shared_ptr<Batch> batch, std::exception_ptr failure) {
  std::vector<Completion> completions(batch->parts.size());
  const bool abandoned = isAbandonment(failure);
  for (std::size_t i = 0; i < completions.size(); ++i) {
    completions[i].request = batch->parts[i].request;
    completions[i].front = batch->parts[i].front;
    completions[i].failure = failure;
    completions[i].abandoned = abandoned;
  }
  stats_.finished(completions);
  markCancelled(*batch, completions);
  batch->times = {};
  counters_.ended(*batch, completions);
  running_ -= completions.size();  // as in finish()
  const uint64_t number = batch->number;
  // neither the leases nor the exception is touched once others have heard of it
  batch->parts.clear();
  queue_.forget(*batch);
  batch.reset();
  failure = nullptr;
  if (!options_.batching.preserveOrder) return deliver(std::move(completions));
  order_.add(number, std::move(completions), [this](std::vector<Completion> next) { deliver(std::move(next)); });
}

// One thread for all requests whose wait has an end, from the first of them on.
void Session::watchWaits() {
  if (watching_) return;
  const std::lock_guard lock(watchMutex_);
  if (watching_) return;
  watch_ = startThread("that rejects what waits too long", [this] {
    for (;;) {
      std::vector<Part> parts = queue_.waitAndExpire();
      if (parts.empty()) return;
      rejectLate(std::move(parts));
    }
  });
  watching_ = true;
}

void Session::rejectLate(std::vector<Part> parts) {
  std::vector<Completion> completions(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    completions[i].request = parts[i].request;
    completions[i].front = parts[i].front;
    completions[i].failure = std::make_exception_ptr(queue_.waitedTooLong(parts[i]));
  }
  counters_.timedOut(completions.size());
  stats_.finished(completions);
  parts.clear();  // leases end before anybody hears of it
  deliver(std::move(completions));
}

// Where a lane's thread ends up: it goes on to free its lane, or stays for ever when the process ends.
void Session::stayHalted() {
  std::unique_lock lock(haltMutex_);
  ++halted_;
  haltChanged_.notify_all();
  while (halting_) haltChanged_.wait(lock);
}

}  // namespace nt::execution
