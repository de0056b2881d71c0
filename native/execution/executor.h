// The thread that runs an engine's lane, and the queue before it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "lane.h"

namespace nt::execution {

struct Job {
  std::vector<InputTensor> inputs;
  // Called once, on the executor's thread: either outputs or an error.
  std::function<void(std::vector<OutputTensor>, std::exception_ptr)> done;
};

class Executor {
 public:
  // Starts the thread and waits until its lane is there. Throws what the lane's making throws.
  explicit Executor(std::shared_ptr<Engine> engine);
  ~Executor() { close(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Throws ERR_TRT_CLOSED after close().
  void submit(Job job);
  // Runs what is queued to its end, then frees the lane. Twice without harm; blocks until all is freed.
  void close();

 private:
  void main(std::shared_ptr<Engine> engine);
  void runOne(Lane& lane, Job& job, tensorrt::Log& log);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> queue_;
  bool started_ = false;
  bool closed_ = false;
  std::exception_ptr failure_;
  std::mutex joinMutex_;
  std::thread thread_;
};

}  // namespace nt::execution
