#include "benchmark.h"

#include <algorithm>
#include <span>

#include "../base/error.h"
#include "../base/thread.h"

namespace nt::execution {
namespace {

using Streams = std::span<const std::unique_ptr<QueryStream>>;

// In steps, so that it can be cancelled.
void sleepFor(double milliseconds, const BenchmarkWatch& watch) {
  constexpr std::chrono::milliseconds kStep{20};
  const TimePoint end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double, std::milli>(milliseconds));
  for (TimePoint now = Clock::now(); now < end; now = Clock::now()) {
    watch.throwIfOver();
    std::this_thread::sleep_until(std::min(end, now + kStep));
  }
}

// As trtexec's inferenceLoop() has it: both the number and the time are to be reached, and the clock is the beginning
// of the last computation that was waited for.
void loop(const BenchmarkOptions& options, Streams streams, BenchmarkWatch& watch) {
  const double longest = options.warmUp + options.duration;
  double reached = 0;
  int64_t skipped = 0;
  for (int64_t i = 0; i < options.iterations + skipped || reached < longest; ++i) {
    watch.throwIfOver();
    for (const auto& stream : streams) stream->query();
    for (const auto& stream : streams) reached = std::max(reached, stream->sync());
    watch.reach(reached);
    if (reached < options.warmUp) {
      if (reached > 0) ++skipped;
    } else if (options.idle > 0) {
      sleepFor(options.idle, watch);
    }
  }
  for (const auto& stream : streams) stream->drain();
}

void loopOnThreads(const BenchmarkOptions& options, Streams streams, BenchmarkWatch& watch, const Around& around) {
  std::vector<std::thread> threads;
  const auto work = [&](std::size_t stream) {
    try {
      around([&] { loop(options, streams.subspan(stream, 1), watch); });
    } catch (...) {
      watch.fail(std::current_exception());
    }
  };
  try {
    for (std::size_t i = 0; i < streams.size(); ++i)
      threads.push_back(
          startThread("that of stream " + std::to_string(i + 1) + " of a benchmark", [&work, i] { work(i); }));
  } catch (...) {
    watch.fail(std::current_exception());
  }
  for (std::thread& thread : threads) thread.join();
  watch.rethrow();
}

Sample<double> timesAlone(const BenchmarkOptions& options, QueryStream& stream, BenchmarkWatch& watch) {
  const double longest = options.warmUp + options.duration / 3;
  Sample<double> times(static_cast<std::size_t>(options.mostQueries));
  const TimePoint begun = Clock::now();
  for (double elapsed = 0; elapsed < longest || static_cast<int64_t>(times.seen()) < options.iterations;) {
    watch.throwIfOver();
    const TimePoint start = Clock::now();
    stream.queryAlone();
    const TimePoint end = Clock::now();
    elapsed = millisecondsBetween(begun, end);
    watch.reach(elapsed);
    if (millisecondsBetween(begun, start) >= options.warmUp) times.add(millisecondsBetween(start, end));
  }
  return times;
}

void addLog(BenchmarkResult& result, const QueryLog& log) {
  result.queries.insert(result.queries.end(), log.kept().begin(), log.kept().end());
  result.seen += log.seen();
  if (log.counted() == 0) return;
  result.begin = result.counted == 0 ? log.begin() : std::min(result.begin, log.begin());
  result.end = std::max(result.end, log.end());
  result.counted += log.counted();
}

}  // namespace

void QueryLog::add(const QueryTimes& times) {
  lastComputeStart_ = times.computeStart;
  const auto isWarmUp = [this](const QueryTimes& each) { return each.computeStart < warmUp_; };
  if (sample_.isFull() && !wasFull_) {
    wasFull_ = true;
    dropped_ = sample_.drop(isWarmUp);
  }
  if (isWarmUp(times)) {
    if (wasFull_) {
      ++dropped_;
    } else {
      sample_.add(times);
    }
    return;
  }
  if (counted_++ == 0) begin_ = times.copyInStart;
  end_ = std::max(end_, times.copyOutStart + times.copyOut);
  sample_.add(times);
}

double millisecondsBetween(TimePoint from, TimePoint to) noexcept {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

void BenchmarkWatch::enter(Phase phase) noexcept {
  reach(0);
  phase_.store(phase, std::memory_order_relaxed);
}

bool BenchmarkWatch::over() const noexcept {
  return cancelled_.load(std::memory_order_relaxed) || failed_.load(std::memory_order_relaxed);
}

void BenchmarkWatch::throwIfOver() const {
  if (over()) throw Error("ABORTED", "The benchmark was cancelled");
}

void BenchmarkWatch::fail(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  failed_.store(true, std::memory_order_relaxed);
}

void BenchmarkWatch::rethrow() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void measure(const BenchmarkOptions& options, const std::vector<std::unique_ptr<QueryStream>>& streams,
             BenchmarkWatch& watch, const Around& around, BenchmarkResult& result) {
  watch.enter(BenchmarkWatch::Phase::queries);
  if (options.threads) {
    loopOnThreads(options, streams, watch, around);
  } else {
    loop(options, streams, watch);
  }
  for (const auto& stream : streams) {
    addLog(result, stream->log());
  }
  QueryStream& first = *streams.front();
  if (options.endToEnd) {
    watch.enter(BenchmarkWatch::Phase::endToEnd);
    const Sample<double> times = timesAlone(options, first, watch);
    result.endToEnd = times.kept();
    result.alone = times.seen();
  }
  if (!options.outputs) return;
  if (!options.endToEnd) first.queryAlone();
  result.outputs = first.outputs();
}

}  // namespace nt::execution
