// How fast an engine is: what is asked for, trtexec's loop around what a runtime does for a query, and what was
// measured. Statistics are made elsewhere (lib/benchmark).
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "request.h"
#include "sample.h"

namespace nt::execution {

// A tensor with its data.
struct BenchmarkTensor {
  Shape shape;
  std::vector<uint8_t> bytes;
};

struct BenchmarkOptions {
  std::vector<BenchmarkTensor> inputs;  // in the engine's order
  int32_t profile = 0;
  int streams = 1;
  bool threads = false;  // one for each stream
  int depth = 2;         // queries of a stream that are under way at once
  // milliseconds
  double warmUp = 200, duration = 3000, sleep = 0, idle = 0;
  int64_t iterations = 10;
  int64_t mostQueries = int64_t{1} << 20;  // of all streams: the times of so many are kept, of more a sample
  bool transfers = true, cudaGraph = false, spinWait = false;
  bool endToEnd = true;  // queries are timed, too, that are alone
  bool outputs = false;
};

// One query, in milliseconds: when its stages began, since the start, and what they took.
struct QueryTimes {
  double enqueueStart = 0, enqueueEnd = 0;  // by the host's clock
  double copyInStart = 0, copyIn = 0, computeStart = 0, compute = 0, copyOutStart = 0, copyOut = 0;
};

inline double sizeOf(const QueryTimes& times) noexcept { return times.copyIn + times.compute + times.copyOut; }

// The queries of a stream. Where they are more than it keeps, those of the warm-up are no more than counted.
class QueryLog {
 public:
  explicit QueryLog(const BenchmarkOptions& options)
      : warmUp_(options.warmUp), sample_(static_cast<std::size_t>(options.mostQueries / options.streams)) {}

  void add(const QueryTimes& times);
  // Its begin of the computation; 0 before any.
  double lastComputeStart() const noexcept { return lastComputeStart_; }

  const std::vector<QueryTimes>& kept() const noexcept { return sample_.kept(); }
  uint64_t seen() const noexcept { return dropped_ + sample_.seen(); }
  // After the warm-up: how many there were, when the first copy in began and when the last copy out ended.
  uint64_t counted() const noexcept { return counted_; }
  double begin() const noexcept { return begin_; }
  double end() const noexcept { return end_; }

 private:
  double warmUp_;
  Sample<QueryTimes> sample_;
  bool wasFull_ = false;
  uint64_t dropped_ = 0, counted_ = 0;
  double lastComputeStart_ = 0, begin_ = 0, end_ = 0;
};

struct BenchmarkResult {
  std::string device;               // its name
  std::vector<QueryTimes> queries;  // of all streams, in no order, those of the warm-up among them
  std::vector<double> endToEnd;     // milliseconds, those of the warm-up not among them
  // of all queries, however many of them are kept: see QueryLog
  uint64_t seen = 0, counted = 0, alone = 0;
  double begin = 0, end = 0;
  std::vector<BenchmarkTensor> outputs;
  std::string graphRefused;  // why there is no CUDA graph, where one was asked for
};

// Where a benchmark is, for whoever looks, and how it is ended.
class BenchmarkWatch {
 public:
  explicit BenchmarkWatch(const std::atomic<bool>& cancelled) : cancelled_(cancelled) {}

  enum class Phase : uint8_t { queries, endToEnd };
  void enter(Phase phase) noexcept;
  // of the phase, milliseconds by the clock that decides over its end
  void reach(double elapsed) noexcept { elapsed_.store(elapsed, std::memory_order_relaxed); }
  Phase phase() const noexcept { return phase_.load(std::memory_order_relaxed); }
  double elapsed() const noexcept { return elapsed_.load(std::memory_order_relaxed); }

  // Whether it was cancelled, or has failed.
  bool over() const noexcept;
  // Before each query. Throws ABORTED.
  void throwIfOver() const;
  // Ends the other threads, too; the first failure is the benchmark's.
  void fail(std::exception_ptr failure) noexcept;
  void rethrow() const;

 private:
  const std::atomic<bool>& cancelled_;
  std::atomic<bool> failed_{false};
  std::atomic<Phase> phase_{Phase::queries};
  std::atomic<double> elapsed_{0};
  mutable std::mutex mutex_;
  std::exception_ptr failure_;
};

// What runs the queries of one stream; used by one thread at a time.
class QueryStream {
 public:
  QueryStream() = default;
  QueryStream(const QueryStream&) = delete;
  QueryStream& operator=(const QueryStream&) = delete;
  virtual ~QueryStream() = default;

  // Puts one more under way.
  virtual void query() = 0;
  // Waits for the one whose place the next query takes, and notes its times. When its computation began; 0 where there
  // is none.
  virtual double sync() = 0;
  // Waits for all.
  virtual void drain() = 0;
  // One by itself, from its inputs on the host to its outputs there.
  virtual void queryAlone() = 0;
  virtual const QueryLog& log() const noexcept = 0;
  // Of the last queryAlone().
  virtual std::vector<BenchmarkTensor> outputs() const = 0;
};

// What a thread has around its work: it calls what it is given.
using Around = std::function<void(const std::function<void()>&)>;

// Runs the queries, on this thread or on threads of its own, and fills all of the result but the device's name and the
// graph's refusal. Throws ABORTED, and what the streams throw; then some query may still be under way.
void measure(const BenchmarkOptions& options, const std::vector<std::unique_ptr<QueryStream>>& streams,
             BenchmarkWatch& watch, const Around& around, BenchmarkResult& result);

double millisecondsBetween(TimePoint from, TimePoint to) noexcept;

}  // namespace nt::execution
