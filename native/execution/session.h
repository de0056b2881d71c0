// Lanes of an engine, and the queue before them. Clients (client.h) ask it for inferences.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "../base/condition.h"
#include "counters.h"
#include "engine.h"
#include "front_end.h"
#include "order.h"
#include "queue.h"
#include "stats.h"
#include "wait_policy.h"

namespace nt::execution {

struct SessionOptions {
  int lanes = 1;
  LaneOptions lane;
  BatchingOptions batching;
  std::size_t maxQueue = 4096;
  // of the inputs of requests that wait, but for what they lease
  std::size_t maxQueueBytes = kQueueBytes;
  static constexpr std::size_t kQueueBytes = std::size_t{256} << 20;
  WaitMode wait = WaitMode::adaptive;
};

// One input as the caller has it: it is copied before submit() returns, unless the part leases it.
struct InputView {
  Shape shape;
  std::span<const uint8_t> bytes;
  bool leased = false;
};

// What submit() works in. A caller that keeps it saves the next call from allocating.
struct Scratch {
  Shapes shapes;
  std::vector<std::size_t> rowBytes;
  std::shared_ptr<Batch> batch;  // an empty one, or null
};

class Session {
 public:
  // Makes the lanes, each on its thread. Requests merge where batching.maxBatch is above 1: `lane.merging` and
  // `lane.pad` follow from `batching`. Throws what the lanes' making throws, and ERR_TRT_INVALID_ARGUMENT where the
  // engine cannot batch.
  Session(std::shared_ptr<Engine> engine, SessionOptions options);
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Engine& engine() const noexcept { return *engine_; }
  const std::shared_ptr<Engine>& sharedEngine() const noexcept { return engine_; }
  const SessionOptions& options() const noexcept { return options_; }
  // Batches that the lanes have memory for.
  int slots() const noexcept;

  // What clients call; `part` says for which front-end.
  //
  // Queues a request; its completion goes to the front-end's sink. Throws ERR_TRT_CLOSED, ERR_TRT_QUEUE_FULL,
  // ERR_TRT_SHAPE, ERR_TRT_DEVICE_LOST, ERR_TRT_OUT_OF_MEMORY; then nothing is queued.
  Ticket submit(const std::vector<InputView>& inputs, Part part, Scratch& scratch);
  // Takes a request out of the queue. False where it runs already: then its completion comes, and a batch that nobody
  // waits for any more may be ended.
  bool cancel(const FrontEnd& front, Ticket ticket);
  // Runs a request on the calling thread, on a lane that is idle, or waits for one; a lane that is waited for takes no
  // new batches. Throws what would have been the completion's failure, and ERR_TRT_CLOSED after drop().
  Completion run(const std::vector<InputView>& inputs, Part part, Scratch& scratch);
  // One more client. Throws ERR_TRT_TOKEN once the last one has left.
  void join();
  static Error closedEverywhere();
  // Refuses a front-end's new work and waits for the end of what it asked for; with the last one the session closes.
  void leave(FrontEnd& front);
  // Refuses a front-end's new work, lets go of what it has queued, and tells it nothing more.
  void drop(FrontEnd& front);
  // Whether nothing that a front-end asked for is under way.
  bool isIdle(const FrontEnd& front) { return front.delivered == queue_.asked(front); }
  // Until that is so, or the deadline has come; whether it is so.
  bool awaitEnd(const FrontEnd& front, std::optional<TimePoint> deadline = {});

  // Refuses new work, runs what is queued, frees the lanes. Twice without harm; blocks until all is freed. Not from the
  // sink, which is called on a lane's thread.
  void close();
  // Refuses new work, and lets go of what is queued: no completion comes. What runs may be ended. To be followed by
  // close().
  void drop();
  // For the end of the process: lets go of what is queued, and waits until no thread, callers of run() among them, is
  // in a lane's runtime any more, or until the deadline; whether none is. The lanes' threads stay where they are, and
  // nothing is freed.
  bool halt(std::chrono::steady_clock::time_point deadline);

  Stats::Snapshot stats() const { return stats_.snapshot(); }
  Counters::Snapshot counters() const { return counters_.snapshot(); }
  std::size_t waiting() const { return queue_.waiting(); }
  std::size_t running() const noexcept { return running_.load(std::memory_order_acquire); }
  struct Memory {
    std::size_t device = 0, pinned = 0, pinnedKept = 0;
    std::size_t queued = 0;  // of inputs that wait, in whatever memory
    std::size_t tensors = 0, tensorsKept = 0;
  };
  Memory memory() const;
  // Null where the engine has no use for pinned memory.
  const std::shared_ptr<HostRing>& ring() const noexcept { return options_.lane.ring; }
  // See Queue; for tests.
  uint64_t waitedWhileIdle() const { return queue_.waitedWhileIdle(); }

 private:
  // A lane with its threads.
  struct Worker {
    Worker(int number, WaitMode wait) : number(number), waitPolicy(wait) {}
    const int number;
    std::mutex enqueueing;
    std::mutex laneMutex;  // held where `lane` changes, and where others than those who have a permit use it
    std::unique_ptr<Lane> lane;
    std::vector<Permit*> permits;  // by slot
    std::thread thread;            // of the first
    std::vector<std::thread> others;
    WaitPolicy waitPolicy;
    std::atomic<TimePoint> ended{TimePoint{}};  // its last batch
  };

  static SessionOptions consistent(const Engine& engine, SessionOptions options);

  // serving.cc
  struct Start;
  struct Serving;
  void startLanes();
  void main(Worker& worker, const std::shared_ptr<Start>& start);
  void open(Worker& worker);
  void other(Worker& worker, Permit& permit, std::promise<void> entered);
  void serve(Worker& worker, Permit& permit);
  std::shared_ptr<Batch> next(Serving& serving);
  bool enqueue(Worker& worker, Serving& serving, std::shared_ptr<Batch>& batch);
  void begin(Worker& worker, Permit& permit, const std::shared_ptr<Batch>& batch);
  void catchUp(Lane& lane, const Batch& batch);
  void abandon(const Queue::Abandoned& abandoned);
  static void markCancelled(const Batch& batch, std::vector<Completion>& completions);
  void watchWaits();
  void rejectLate(std::vector<Part> parts);
  void finish(Worker& worker, Serving& serving, std::shared_ptr<Batch> batch);
  void deliver(Serving& serving);
  void deliver(std::vector<Completion> completions);
  void deliver(FrontEnd& front, std::vector<Completion> completions);
  void wakeLeaving();
  void fail(std::shared_ptr<Batch> batch, std::exception_ptr failure);
  void stayHalted();

  std::vector<Completion> runIn(Permit& permit, const std::shared_ptr<Batch>& batch);
  void eachLane(const std::function<void(Lane&)>& visit);
  void measure(const std::vector<InputView>& inputs, Part& part, Scratch& scratch) const;
  void readRowBytes(const std::vector<InputView>& inputs, int64_t rows, std::vector<std::size_t>& bytes) const;
  void checkOptionals(Part& part) const;
  void readShapes(const std::vector<InputView>& inputs, Shapes& shapes) const;
  int64_t rowsOf(const Shapes& shapes) const;
  // To a place for each input; how many bytes.
  template <class PlaceOf>
  static std::size_t copy(const std::vector<InputView>& inputs, PlaceOf placeOf);

  const std::shared_ptr<Engine> engine_;
  const SessionOptions options_;
  Queue queue_;
  Stats stats_;
  Counters counters_;
  Order order_;
  std::mutex watchMutex_;
  std::atomic<bool> watching_{false};
  std::thread watch_;  // rejects what waits too long, once there is such a thing
  alignas(64) std::atomic<std::size_t> running_{0};
  std::mutex closing_;
  std::atomic<bool> dropped_{false};
  std::atomic<bool> anyGone_{false};  // of the front-ends

  std::mutex clientsMutex_;
  int clients_ = 0;
  bool over_ = false;
  std::mutex leavingMutex_;
  Condition leavingChanged_;
  std::atomic<int> leaving_{0};  // who waits in awaitEnd()

  std::mutex haltMutex_;
  Condition haltChanged_;
  std::atomic<bool> halting_{false};
  std::size_t halted_ = 0;  // lanes whose work has ended
  std::vector<std::unique_ptr<Worker>> workers_;
};

// Whether this is what a lane throws where nobody waited for a batch any more.
bool isAbandonment(const std::exception_ptr& failure);

}  // namespace nt::execution
