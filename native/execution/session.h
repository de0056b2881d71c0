// An engine with lanes of its own, and the queue before them: what one JavaScript Engine works with.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "brief.h"
#include "engine.h"
#include "late_cancels.h"
#include "queue.h"
#include "stats.h"

namespace nt::execution {

struct SessionOptions {
  int lanes = 1;
  LaneOptions lane;
  BatchingOptions batching;
  std::size_t maxQueue = 4096;
};

// One input as the caller has it: it is copied before submit() returns, unless the part leases it.
struct Given {
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
  Session(std::shared_ptr<Engine> engine, SessionOptions options, Sink sink);
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Engine& engine() const noexcept { return *engine_; }
  const std::shared_ptr<Engine>& sharedEngine() const noexcept { return engine_; }

  // Queues a request; its completion goes to the sink. Throws ERR_TRT_CLOSED, ERR_TRT_QUEUE_FULL, ERR_TRT_SHAPE,
  // ERR_TRT_DEVICE_LOST, ERR_TRT_OUT_OF_MEMORY; then nothing is queued.
  void submit(const std::vector<Given>& inputs, Part part, Scratch& scratch);
  // Takes a request out of the queue. False where it runs already: then its completion comes, and a batch that nobody
  // waits for any more may be ended.
  bool cancel(uint64_t request);
  // Runs a request on the calling thread, on a lane that is idle, or waits for one; a lane that is waited for takes no
  // new batches. Throws what would have been the completion's failure, and ERR_TRT_CLOSED after drop().
  Completion run(const std::vector<Given>& inputs, Part part, Scratch& scratch);

  // Refuses new work, runs what is queued, frees the lanes. Twice without harm; blocks until all is freed. Not from the
  // sink, which is called on a lane's thread.
  void close();
  // Refuses new work, and lets go of what is queued: no completion comes. What runs may be ended. To be followed by
  // close().
  void drop();
  // Before the end of the process, where the runtime asks for patience then: as drop(), and waits for the lanes' end,
  // until that long after the deadline.
  void leave(std::chrono::steady_clock::time_point deadline);
  // For the end of the process: lets go of what is queued, and waits until no thread, callers of run() among them, is
  // in a lane's runtime any more, or until the deadline. The lanes' threads stay where they are, and nothing is freed.
  void halt(std::chrono::steady_clock::time_point deadline);

  Stats::Snapshot stats() const { return stats_.snapshot(); }
  std::size_t waiting() const { return queue_.waiting(); }
  std::size_t running() const noexcept { return running_.load(std::memory_order_relaxed); }
  struct Memory {
    std::size_t device = 0, pinned = 0, pinnedKept = 0;
  };
  Memory memory() const;

 private:
  struct Worker {
    std::mutex busy;  // held while the lane is in use
    std::condition_variable released;
    std::atomic<int> wanted{0};  // calls of run() that wait for `busy`
    std::mutex laneMutex;        // held where `lane` changes, and where another thread than its own uses it
    std::unique_ptr<Lane> lane;
    std::thread thread;
    std::atomic<std::size_t> deviceBytes{0};
    Brief brief;
    // JavaScript is at work on results, and so will ask for more at once; where it sleeps, a thread that stays awake
    // would only keep it from this core
    bool alert = false;
    std::vector<Completion> held;  // results that nobody has heard of yet
    std::shared_ptr<Batch> spent;  // goes back to the queue when the thread asks for the next one
  };

  struct Start;
  static SessionOptions consistent(SessionOptions options);
  void startLanes();
  void main(Worker& worker, const std::shared_ptr<Start>& start);
  void serve(Worker& worker);
  void rest();
  void eachLane(const std::function<void(Lane&)>& visit);
  std::shared_ptr<Batch> next(Worker& worker);
  void tell(Worker& worker);
  void enqueue(Worker& worker, std::shared_ptr<Batch> batch);
  void catchUp(Lane& lane, const Batch& batch);
  void finish(Worker& worker);
  void fail(std::shared_ptr<Batch> batch, std::exception_ptr failure);
  void measure(const std::vector<Given>& inputs, Part& part, Scratch& scratch) const;
  void submitAlone(const std::vector<Given>& inputs, Part part, Scratch& scratch);
  void readRowBytes(const std::vector<Given>& inputs, int64_t rows, std::vector<std::size_t>& bytes) const;
  void readShapes(const std::vector<Given>& inputs, Shapes& shapes) const;
  int64_t rowsOf(const Shapes& shapes) const;
  std::unique_lock<std::mutex> borrow(Worker*& chosen);
  // How many bytes.
  static std::size_t copy(const std::vector<Given>& inputs, const Batch& batch, int64_t row);

  const std::shared_ptr<Engine> engine_;
  const SessionOptions options_;
  const Sink sink_;
  Queue queue_;
  Stats stats_;
  alignas(64) std::atomic<std::size_t> running_{0};
  std::mutex closing_;
  LateCancels late_;
  std::atomic<bool> dropped_{false};

  std::mutex haltMutex_;
  std::condition_variable haltChanged_;
  std::atomic<bool> halting_{false};
  std::size_t halted_ = 0;  // lanes whose work has ended
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace nt::execution
