#include "session.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

#include "../base/error.h"
#include "../base/text.h"

namespace nt::execution {

// What the constructor waits for.
struct Session::Start {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t ready = 0;  // lanes that are made, or have failed to be
  std::exception_ptr failure;
};

// What a lane throws where nobody waited for a batch any more.
static bool isAbandonment(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code() == "ABORTED";
  } catch (...) {
    return false;
  }
}

[[noreturn]] static void failClosed() { throw Error("ERR_TRT_CLOSED", "The engine is closed"); }

SessionOptions Session::consistent(SessionOptions options) {
  options.lanes = std::max(options.lanes, 1);
  options.batching.maxBatch = std::max<int64_t>(options.batching.maxBatch, 1);
  std::ranges::sort(options.batching.preferred);
  std::ranges::sort(options.batching.pad);
  options.lane.merging = options.batching.maxBatch > 1;
  options.lane.pad = options.batching.pad;
  options.lane.maxBatch = options.batching.maxBatch;
  return options;
}

Session::Session(std::shared_ptr<Engine> engine, SessionOptions options, Sink sink)
    : engine_(std::move(engine)),
      options_(consistent(std::move(options))),
      sink_(std::move(sink)),
      queue_(options_.batching, options_.maxQueue,
             [this](std::size_t bytes) { return engine_->pool().acquire(bytes); }) {
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

void Session::startLanes() {
  const auto start = std::make_shared<Start>();
  for (int i = 0; i < options_.lanes; ++i) workers_.push_back(std::make_unique<Worker>());
  for (const auto& worker : workers_) {
    worker->thread = std::thread([this, &worker = *worker, start] { main(worker, start); });
  }
  std::unique_lock lock(start->mutex);
  start->changed.wait(lock, [&] { return start->ready == workers_.size(); });
  // taken out: the threads may be the last to let go of `start`
  if (const std::exception_ptr failure = std::exchange(start->failure, nullptr)) std::rethrow_exception(failure);
}

void Session::main(Worker& worker, const std::shared_ptr<Start>& start) {
  std::exception_ptr failure;
  try {
    engine_->enter();
    auto lane = engine_->createLane(options_.lane);
    const std::lock_guard laneLock(worker.laneMutex);
    worker.lane = std::move(lane);
  } catch (...) {
    failure = std::current_exception();
  }
  bool failed = false;
  {
    const std::lock_guard lock(start->mutex);
    failed = failure != nullptr;
    if (failed) start->failure = std::move(failure);
    ++start->ready;
    start->changed.notify_all();
  }
  if (failed) return;
  serve(worker);
  { const std::lock_guard lock(worker.busy); }  // a caller of run() may still have the lane
  rest();
  const std::lock_guard lock(worker.busy);
  std::unique_ptr<Lane> lane;
  {
    const std::lock_guard laneLock(worker.laneMutex);
    lane = std::move(worker.lane);
  }
  lane.reset();
  worker.spent.reset();
  worker.deviceBytes = 0;
}

// The next batch; none: the queue is closed and empty. Nobody waits for results that are held while this thread sleeps.
std::shared_ptr<Batch> Session::next(Worker& worker) {
  if (worker.held.empty()) return queue_.waitAndTake(std::move(worker.spent), worker.alert);
  std::shared_ptr<Batch> batch = queue_.take(Clock::now(), std::move(worker.spent));
  if (batch) return batch;
  tell(worker);
  return queue_.waitAndTake({}, worker.alert);
}

void Session::serve(Worker& worker) {
  while (std::shared_ptr<Batch> batch = next(worker)) {
    std::unique_lock lock(worker.busy);
    if (worker.wanted > 0) tell(worker);
    // a mutex alone would let this thread in again and again before one that waits
    worker.released.wait(lock, [&] { return worker.wanted == 0; });
    worker.brief.begin(Clock::now());
    enqueue(worker, std::move(batch));
    // enqueue k+1, then wait for k
    while (!worker.lane->idle()) {
      while (worker.lane->hasFreeSlot() && worker.wanted == 0) {
        std::shared_ptr<Batch> next = queue_.take(Clock::now(), std::move(worker.spent));
        if (!next) break;
        enqueue(worker, std::move(next));
      }
      if (!worker.lane->idle()) finish(worker);
    }
  }
  tell(worker);
}

void Session::enqueue(Worker& worker, std::shared_ptr<Batch> batch) {
  running_ += batch->parts.size();
  stats_.enqueued();
  if (!worker.held.empty() && !worker.brief.isAlike(batch->shapes)) tell(worker);
  std::exception_ptr failure;
  try {
    worker.lane->enqueue(batch);
    catchUp(*worker.lane, *batch);
  } catch (...) {
    failure = std::current_exception();
  }
  worker.deviceBytes = worker.lane->deviceBytes();
  if (!failure) return;
  tell(worker);
  fail(std::move(batch), std::move(failure));
}

// Tells the lane what was cancelled or dropped before it had the batch.
void Session::catchUp(Lane& lane, const Batch& batch) {
  for (const uint64_t request : late_.take(batch)) lane.abandon(request);
  if (dropped_) lane.abandonAll();
}

void Session::finish(Worker& worker) {
  std::shared_ptr<Batch> batch = worker.lane->oldest();
  std::vector<Completion> completions;
  std::exception_ptr failure;
  try {
    completions = worker.lane->finish(false);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    tell(worker);
    return fail(std::move(batch), std::move(failure));
  }
  worker.brief.end(Clock::now(), batch->shapes);
  running_ -= batch->parts.size();
  batch->clear();  // leases end before anybody hears of the results
  worker.spent = std::move(batch);
  stats_.finished(completions);
  std::ranges::move(completions, std::back_inserter(worker.held));
  if (!worker.brief || worker.held.size() >= Brief::kMostHeld) tell(worker);
}

void Session::tell(Worker& worker) {
  if (!worker.held.empty()) worker.alert = sink_(std::exchange(worker.held, {}));
}

void Session::fail(std::shared_ptr<Batch> batch, std::exception_ptr failure) {
  std::vector<Completion> completions(batch->parts.size());
  const bool abandoned = isAbandonment(failure);
  for (std::size_t i = 0; i < completions.size(); ++i) {
    completions[i].request = batch->parts[i].request;
    completions[i].failure = failure;
    completions[i].abandoned = abandoned;
  }
  running_ -= completions.size();
  // neither the leases nor the exception is touched once others have heard of it
  batch.reset();
  failure = nullptr;
  stats_.finished(completions);
  sink_(std::move(completions));
}

void Session::readShapes(const std::vector<Given>& inputs, Shapes& shapes) const {
  const std::vector<IoTensor>& tensors = engine_->inputs();
  if (inputs.size() != tensors.size()) {
    throw Error("ERR_TRT_INVALID_ARGUMENT",
                "Expected " + std::to_string(tensors.size()) + " inputs but received " + std::to_string(inputs.size()));
  }
  shapes.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape.size() != tensors[i].shape.size()) {
      throw Error("ERR_TRT_SHAPE", "Expected the shape " + shapeText(tensors[i].shape) + " for input '" +
                                       tensors[i].name + "' but received " + shapeText(inputs[i].shape));
    }
    shapes[i] = inputs[i].shape;
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

void Session::readRowBytes(const std::vector<Given>& inputs, int64_t rows, std::vector<std::size_t>& bytes) const {
  bytes.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t size = byteSize(engine_->inputs()[i].dtype, inputs[i].shape);
    const std::size_t given = inputs[i].bytes.size();
    if (given != size) {
      throw Error("ERR_TRT_SHAPE", "Expected " + std::to_string(size) + " bytes for input '" +
                                       engine_->inputs()[i].name + "' of shape " + shapeText(inputs[i].shape) +
                                       " but received " + std::to_string(given));
    }
    bytes.push_back(size / static_cast<std::size_t>(rows));
  }
}

std::size_t Session::copy(const std::vector<Given>& inputs, const Batch& batch, int64_t row) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].bytes.empty() || inputs[i].leased) continue;
    std::memcpy(batch.row(i, row), inputs[i].bytes.data(), inputs[i].bytes.size());
    bytes += inputs[i].bytes.size();
  }
  return bytes;
}

// Checks the inputs, and reads what queue and part have to know of them.
void Session::measure(const std::vector<Given>& inputs, Part& part, Scratch& scratch) const {
  readShapes(inputs, scratch.shapes);
  engine_->throwIfLost();
  part.rows = rowsOf(scratch.shapes);
  readRowBytes(inputs, part.rows, scratch.rowBytes);
  part.asked = Clock::now();
}

void Session::submit(const std::vector<Given>& inputs, Part part, Scratch& scratch) {
  measure(inputs, part, scratch);
  const std::size_t bytes = std::accumulate(scratch.rowBytes.begin(), scratch.rowBytes.end(), std::size_t{0});
  if (!options_.lane.merging && bytes <= Batch::kKept) return submitAlone(inputs, std::move(part), scratch);
  const Queue::Place place = queue_.reserve(scratch.shapes, scratch.rowBytes, std::move(part));
  stats_.copied(copy(inputs, *place.batch, place.row));
  queue_.commit(place);
}

// A small request that does not merge is written before it is queued: the queue's lock, which the lanes want all the
// time, is taken once.
void Session::submitAlone(const std::vector<Given>& inputs, Part part, Scratch& scratch) {
  if (!scratch.batch) scratch.batch = std::make_shared<Batch>();
  Batch& batch = *scratch.batch;
  layOut(batch, scratch.shapes, scratch.rowBytes, part, 1, false,
         [this](std::size_t bytes) { return engine_->pool().acquire(bytes); });
  batch.add(std::move(part));
  const std::size_t copied = copy(inputs, batch, 0);
  try {
    queue_.push(scratch.batch);
  } catch (...) {
    batch.clear();
    throw;
  }
  stats_.copied(copied);
}

bool Session::cancel(uint64_t request) {
  if (queue_.cancel(request)) {
    stats_.cancelled();
    return true;
  }
  late_.add(request);  // before the lanes are asked: one of them may be about to have it
  bool known = false;
  eachLane([&](Lane& lane) { known = lane.abandon(request) || known; });
  if (known) late_.remove(request);
  return false;
}

std::unique_lock<std::mutex> Session::borrow(Worker*& chosen) {
  for (const auto& worker : workers_) {
    std::unique_lock lock(worker->busy, std::try_to_lock);
    if (!lock.owns_lock()) continue;
    chosen = worker.get();
    return lock;
  }
  // all are busy: the one for which fewest wait
  chosen = std::ranges::min_element(workers_, {}, [](const auto& worker) { return worker->wanted.load(); })->get();
  ++chosen->wanted;
  std::unique_lock lock(chosen->busy);
  --chosen->wanted;
  return lock;
}

Completion Session::run(const std::vector<Given>& inputs, Part part, Scratch& scratch) {
  engine_->enter();
  measure(inputs, part, scratch);
  if (!scratch.batch) scratch.batch = std::make_shared<Batch>();
  const std::shared_ptr<Batch> batch = scratch.batch;
  const struct Clear {
    Batch& batch;
    ~Clear() { batch.clear(); }
  } clear{*batch};
  layOut(*batch, scratch.shapes, scratch.rowBytes, part, paddedRows(part.rows, options_.lane), options_.lane.merging,
         [this](std::size_t bytes) { return engine_->pool().acquire(bytes); });
  batch->add(std::move(part));
  stats_.copied(copy(inputs, *batch, 0));

  Worker* worker = nullptr;
  std::vector<Completion> completions;
  {
    const std::unique_lock<std::mutex> lock = borrow(worker);
    const struct Wake {
      Worker& worker;
      ~Wake() { worker.released.notify_all(); }
    } wake{*worker};
    if (queue_.closed() || !worker->lane) failClosed();
    stats_.enqueued();
    try {
      worker->lane->enqueue(batch);
      catchUp(*worker->lane, *batch);
      completions = worker->lane->finish(true);
    } catch (...) {
      completions.resize(1);
      completions.front().failure = std::current_exception();
      completions.front().abandoned = isAbandonment(completions.front().failure);
    }
    worker->deviceBytes = worker->lane->deviceBytes();
  }
  stats_.finished(completions);
  if (completions.front().abandoned) failClosed();
  if (completions.front().failure) std::rethrow_exception(completions.front().failure);
  return std::move(completions.front());
}

void Session::close() {
  queue_.close();
  const std::lock_guard lock(closing_);
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
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
}

void Session::leave(std::chrono::steady_clock::time_point deadline) {
  const std::chrono::seconds patience = engine_->patienceAtExit();
  if (patience.count() == 0) return;
  drop();
  std::unique_lock lock(haltMutex_);
  haltChanged_.wait_until(lock, deadline + patience, [this] { return halted_ == workers_.size(); });
}

void Session::halt(std::chrono::steady_clock::time_point deadline) {
  halting_ = true;
  drop();
  std::unique_lock lock(haltMutex_);
  haltChanged_.wait_until(lock, deadline + engine_->patienceAtExit(), [this] { return halted_ == workers_.size(); });
}

// Where a lane's thread ends up: it goes on to free its lane, or stays for ever when the process ends.
void Session::rest() {
  std::unique_lock lock(haltMutex_);
  ++halted_;
  haltChanged_.notify_all();
  while (halting_) haltChanged_.wait(lock);
}

Session::Memory Session::memory() const {
  const auto& pool = engine_->pool();
  Memory memory{0, pool.used(), pool.kept()};
  for (const auto& worker : workers_) {
    memory.device += worker->deviceBytes + engine_->laneBytes();
  }
  return memory;
}

}  // namespace nt::execution
