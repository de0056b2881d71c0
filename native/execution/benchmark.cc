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

[[noreturn]] void refuseMore(const BenchmarkOptions& options) {
  throw Error("ERR_TRT_OUT_OF_MEMORY",
              "Node's heap has no room for the times of more than " + std::to_string(options.mostQueries) +
                  " queries: measure for less time, or fewer iterations or streams, or give it more "
                  "(--max-old-space-size)");
}

// As trtexec's inferenceLoop() has it: both the number and the time are to be reached, and the clock is the beginning
// of the last computation that was waited for.
void loop(const BenchmarkOptions& options, Streams streams, BenchmarkWatch& watch) {
  const double longest = options.warmUp + options.duration;
  const int64_t most = options.mostQueries / options.streams;  // of each stream
  if (options.iterations > most) refuseMore(options);
  double reached = 0;
  int64_t skipped = 0;
  for (int64_t i = 0; i < options.iterations + skipped || reached < longest; ++i) {
    watch.throwIfOver();
    if (i >= most) refuseMore(options);
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

std::vector<double> timesAlone(const BenchmarkOptions& options, QueryStream& stream, BenchmarkWatch& watch) {
  const double longest = options.warmUp + options.duration / 3;
  std::vector<double> times;
  const TimePoint begun = Clock::now();
  for (double elapsed = 0; elapsed < longest || static_cast<int64_t>(times.size()) < options.iterations;) {
    watch.throwIfOver();
    const TimePoint start = Clock::now();
    stream.queryAlone();
    const TimePoint end = Clock::now();
    elapsed = millisecondsBetween(begun, end);
    watch.reach(elapsed);
    if (millisecondsBetween(begun, start) >= options.warmUp) times.push_back(millisecondsBetween(start, end));
  }
  return times;
}

}  // namespace

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
    const std::vector<QueryTimes>& times = stream->times();
    result.queries.insert(result.queries.end(), times.begin(), times.end());
  }
  QueryStream& first = *streams.front();
  if (options.endToEnd) {
    watch.enter(BenchmarkWatch::Phase::endToEnd);
    result.endToEnd = timesAlone(options, first, watch);
  }
  if (!options.outputs) return;
  if (!options.endToEnd) first.queryAlone();
  result.outputs = first.outputs();
}

}  // namespace nt::execution
