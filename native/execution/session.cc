#include "session.h"

#include <algorithm>
#include <cstring>

#include "../base/error.h"
#include "../base/text.h"
#include "memory.h"

namespace nt::execution {

[[noreturn]] static void failClosed() { throw Error("ERR_TRT_CLOSED", "The engine is closed"); }

SessionOptions Session::consistent(const Engine& engine, SessionOptions options) {
  options.lanes = std::max(options.lanes, 1);
  options.batching.maxBatch = std::max<int64_t>(options.batching.maxBatch, 1);
  std::ranges::sort(options.batching.preferred);
  std::ranges::sort(options.batching.pad);
  options.lane.merging = options.batching.maxBatch > 1;
  options.lane.pad = options.batching.pad;
  options.lane.maxBatch = options.batching.maxBatch;
  giveMemory(engine, options.lanes, options.lane);
  return options;
}

Session::Session(std::shared_ptr<Engine> engine, SessionOptions options)
    : engine_(std::move(engine)),
      options_(consistent(*engine_, std::move(options))),
      queue_(
          options_.batching, options_.maxQueue,
          [this](std::size_t bytes) { return requestMemory(options_.lane, bytes); }, options_.maxQueueBytes),
      counters_(options_.batching.maxBatch) {
  if (options_.lane.merging) engine_->checkMergeable(options_.batching.maxBatch);
  if (options_.lane.profile >= std::max(engine_->profiles(), 1)) {
    throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected a profile below " + std::to_string(engine_->profiles()) +
                                                " but received " + std::to_string(options_.lane.profile));
  }
  try {
    startLanes();
  } catch (...) {
    close();
    throw;
  }
}

void Session::readShapes(const std::vector<InputView>& inputs, Shapes& shapes) const {
  const std::vector<IoTensor>& tensors = engine_->inputs();
  if (inputs.size() != tensors.size()) {
    throw Error("ERR_TRT_INVALID_ARGUMENT",
                "Expected " + std::to_string(tensors.size()) + " inputs but received " + std::to_string(inputs.size()));
  }
  shapes.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!engine_->takesRank(i, inputs[i].shape.size())) {
      throw Error("ERR_TRT_SHAPE", "Expected the shape " + shapeText(tensors[i].shape) + " for input '" +
                                       tensors[i].name + "' but received " + shapeText(inputs[i].shape));
    }
    shapes[i] = inputs[i].shape;
  }
}

void Session::checkOptionals(Part& part) const {
  for (const OptionalInput& given : part.optionals) {
    const IoTensor& tensor = engine_->optionals()[given.index];
    if (options_.lane.merging) {
      throw Error("ERR_TRT_UNSUPPORTED", "The optional input '" + tensor.name +
                                             "' cannot be given with batching: requests that run together have one");
    }
    bool fits = given.shape.size() == tensor.shape.size();
    for (std::size_t axis = 0; fits && axis < given.shape.size(); ++axis)
      fits = tensor.shape[axis] < 0 || tensor.shape[axis] == given.shape[axis];
    if (!fits || !fitsBytes(tensor.dtype, given.shape, given.bytes.size())) {
      throw Error("ERR_TRT_SHAPE", "Expected the shape " + shapeText(tensor.shape) + " for the optional input '" +
                                       tensor.name + "' but received " + shapeText(given.shape) + " with " +
                                       std::to_string(given.bytes.size()) + " bytes");
    }
    part.optionalBytes += given.bytes.size();
  }
}

int64_t Session::rowsOf(const Shapes& shapes) const {
  if (!options_.lane.merging) return 1;
  const int64_t rows = shapes.front().front();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].front() == rows) continue;
    throw Error("ERR_TRT_SHAPE", "With batching all inputs have the same number of rows, but '" +
                                     engine_->inputs()[0].name + "' has " + std::to_string(rows) + " and '" +
                                     engine_->inputs()[i].name + "' " + std::to_string(shapes[i].front()));
  }
  if (rows < 1 || rows > options_.batching.maxBatch) {
    throw Error("ERR_TRT_SHAPE", "Expected 1 to " + std::to_string(options_.batching.maxBatch) +
                                     " rows (maxBatch) but received " + std::to_string(rows));
  }
  return rows;
}

void Session::readRowBytes(const std::vector<InputView>& inputs, int64_t rows, std::vector<std::size_t>& bytes) const {
  bytes.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = engine_->inputs()[i].dtype;
    const std::size_t given = inputs[i].bytes.size();
    if (!fitsBytes(dtype, inputs[i].shape, given)) {
      throw Error("ERR_TRT_SHAPE", "Expected " + std::to_string(byteSize(dtype, inputs[i].shape)) +
                                       " bytes for input '" + engine_->inputs()[i].name + "' of shape " +
                                       shapeText(inputs[i].shape) + " but received " + std::to_string(given));
    }
    bytes.push_back(given / static_cast<std::size_t>(rows));
  }
}

template <class PlaceOf>
std::size_t Session::copy(const std::vector<InputView>& inputs, PlaceOf placeOf) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].bytes.empty() || inputs[i].leased) continue;
    std::memcpy(placeOf(i), inputs[i].bytes.data(), inputs[i].bytes.size());
    bytes += inputs[i].bytes.size();
  }
  return bytes;
}

// Checks the inputs, and reads what queue and part have to know of them.
void Session::measure(const std::vector<InputView>& inputs, Part& part, Scratch& scratch) const {
  readShapes(inputs, scratch.shapes);
  engine_->throwIfLost();
  part.rows = rowsOf(scratch.shapes);
  readRowBytes(inputs, part.rows, scratch.rowBytes);
  if (!part.optionals.empty()) checkOptionals(part);
  for (const InputView& input : inputs) part.bytes += input.leased ? 0 : input.bytes.size();
  part.asked = Clock::now();
}

Ticket Session::submit(const std::vector<InputView>& inputs, Part part, Scratch& scratch) {
  measure(inputs, part, scratch);
  if (queue_.isTimed(part)) watchWaits();
  Queue::Place place;
  try {
    place = queue_.reserve(scratch.shapes, scratch.rowBytes, std::move(part));
  } catch (const Error& error) {
    if (error.code() == "ERR_TRT_QUEUE_FULL") counters_.rejected();
    throw;
  }
  stats_.add(Count::bytesCopied,
             copy(inputs, [&](std::size_t input) { return place.data(input, scratch.rowBytes[input]); }));
  queue_.commit(place);
  return place.ticket;
}

bool Session::cancel(const FrontEnd& front, Ticket ticket) {
  const Queue::Cancelled cancelled = queue_.cancel(&front, ticket);
  if (cancelled.waiting) {
    stats_.add(Count::cancelled);
    counters_.cancelledWaiting(1);
    wakeLeaving();
  }
  if (cancelled.abandoned.batch) abandon(cancelled.abandoned);
  return cancelled.waiting;
}

Completion Session::run(const std::vector<InputView>& inputs, Part part, Scratch& scratch) {
  if (part.front->closed) failClosed();
  const std::unique_ptr<Visit> visit = engine_->visit();
  measure(inputs, part, scratch);
  if (!scratch.batch) scratch.batch = std::make_shared<Batch>();
  const std::shared_ptr<Batch> batch = scratch.batch;
  const struct Clear {
    Batch& batch;
    ~Clear() { batch.clear(); }
  } clear{*batch};
  layOut(*batch, scratch.shapes, scratch.rowBytes, part, paddedRows(part.rows, options_.lane),
         [this](std::size_t bytes) { return requestMemory(options_.lane, bytes); });
  batch->add(std::move(part));
  const Rows& rows = *batch->memory.front();
  stats_.add(Count::bytesCopied, copy(inputs, [&](std::size_t i) { return rows.at(i, scratch.rowBytes[i], 0); }));

  Permit* const permit = queue_.borrow(batch->oldest());
  if (permit == nullptr) failClosed();
  std::vector<Completion> completions = runIn(*permit, batch);
  stats_.add(Count::bytesCopied, batch->copied);
  stats_.finished(completions);
  counters_.ended(*batch, completions);
  if (completions.front().abandoned) failClosed();
  if (completions.front().failure) std::rethrow_exception(completions.front().failure);
  return std::move(completions.front());
}

std::vector<Completion> Session::runIn(Permit& permit, const std::shared_ptr<Batch>& batch) {
  const struct GiveBack {
    Queue& queue;
    Permit& permit;
    ~GiveBack() { queue.giveBack(permit); }
  } giveBack{queue_, permit};
  Worker& worker = *workers_[static_cast<std::size_t>(permit.lane)];
  try {
    begin(worker, permit, batch);
    std::vector<Completion> completions = worker.lane->finish(permit.slot, worker.waitPolicy.beginCaller().wait());
    batch->times.ended = Clock::now();
    return completions;
  } catch (...) {
    std::vector<Completion> failed(1);
    failed.front().failure = std::current_exception();
    failed.front().abandoned = isAbandonment(failed.front().failure);
    return failed;
  }
}

void Session::close() {
  queue_.close();
  const std::lock_guard lock(closing_);
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
  const std::lock_guard watchLock(watchMutex_);  // the queue is closed: its end is near
  if (watch_.joinable()) watch_.join();
}

Error Session::closedEverywhere() {
  return {"ERR_TRT_TOKEN",
          "The queue of the token's engine was closed everywhere: attach with lanes of your own (queue: 'own')"};
}

void Session::join() {
  const std::lock_guard lock(clientsMutex_);
  if (over_) throw closedEverywhere();
  ++clients_;
}

void Session::leave(FrontEnd& front) {
  queue_.closeFor(front);
  awaitEnd(front);
  {
    const std::lock_guard lock(clientsMutex_);
    over_ = --clients_ == 0;
    if (!over_) return;
  }
  close();
}

void Session::drop(FrontEnd& front) {
  front.gone = true;
  anyGone_ = true;  // before the lanes are asked, as in cancel()
  const Queue::AllCancelled cancelled = queue_.cancelAll(front);
  stats_.add(Count::cancelled, cancelled.parts.size());
  counters_.cancelledWaiting(cancelled.parts.size());
  for (const Queue::Abandoned& abandoned : cancelled.abandoned) abandon(abandoned);
  wakeLeaving();
}

bool Session::awaitEnd(const FrontEnd& front, std::optional<TimePoint> deadline) {
  const auto ended = [&] { return isIdle(front); };
  bool idle = true;
  ++leaving_;
  {
    std::unique_lock lock(leavingMutex_);
    if (deadline) {
      idle = leavingChanged_.wait_until(lock, *deadline, ended);
    } else {
      leavingChanged_.wait(lock, ended);
    }
  }
  --leaving_;
  return idle;
}

// After something came to its end: from here on the front-end whose it was may be gone.
void Session::wakeLeaving() {
  if (leaving_ == 0) return;
  const std::lock_guard lock(leavingMutex_);
  leavingChanged_.notify_all();
}

int Session::slots() const noexcept {
  std::size_t slots = 0;
  for (const auto& worker : workers_) slots += worker->permits.size();
  return static_cast<int>(slots);
}

void Session::eachLane(const std::function<void(Lane&)>& visit) {
  for (const auto& worker : workers_) {
    const std::lock_guard lock(worker->laneMutex);
    if (worker->lane) visit(*worker->lane);
  }
}

void Session::drop() {
  dropped_ = true;  // before the lanes are asked, as in cancel()
  queue_.close();
  queue_.drain();
  eachLane([](Lane& lane) { lane.abandonAll(); });
  wakeLeaving();
}

bool Session::halt(std::chrono::steady_clock::time_point deadline) {
  halting_ = true;
  drop();
  std::unique_lock lock(haltMutex_);
  return haltChanged_.wait_until(lock, deadline + engine_->patienceAtExit(),
                                 [this] { return halted_ == workers_.size(); });
}

Session::Memory Session::memory() const {
  const auto& pool = engine_->pool();
  const TensorMemory& tensors = engine_->tensors();
  return {engine_->deviceBytes(), pool.used(), pool.kept(), queue_.waitingBytes(), tensors.used(), tensors.kept()};
}

}  // namespace nt::execution
