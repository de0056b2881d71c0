// What the tests of benchmarks share, on any runtime.
#pragma once

#include <thread>

#include "rig.h"

namespace rig {

using nt::execution::BenchmarkOptions;
using nt::execution::BenchmarkResult;
using nt::execution::BenchmarkWatch;

// At least 20 queries of each of so many streams, on threads of their own, of four rows of three.
inline BenchmarkOptions threaded(const std::vector<float>& x, int streams) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(x.data());
  BenchmarkOptions options;
  options.inputs = {{{4, 3}, {bytes, bytes + x.size() * sizeof(float)}}};
  options.streams = streams;
  options.threads = true;
  options.warmUp = options.duration = 0;
  options.iterations = 20;
  options.outputs = true;
  return options;
}

// Measures while a session's client infers 30 times on a thread of its own.
inline BenchmarkResult besideInferences(SessionRig& rig, const BenchmarkOptions& options, BenchmarkWatch& watch) {
  std::thread user([&] {
    for (int i = 0; i < 30; ++i) {
      const std::vector<float> own = numbers(2, 3, i);
      CHECK(scaledRight(rig.infer({input({2, 3}, own)}), own));
    }
  });
  BenchmarkResult result = rig.session->engine().benchmark(options, watch);
  user.join();
  return result;
}

// All queries of all streams, and the outputs of `x`.
inline void checkMeasured(const BenchmarkResult& result, const BenchmarkOptions& options, const std::vector<float>& x) {
  CHECK_EQ(result.queries.size(), 20u * static_cast<std::size_t>(options.streams));
  CHECK_EQ(result.endToEnd.size(), 20u);
  std::vector<float> y(x.size());
  std::memcpy(y.data(), result.outputs.at(0).bytes.data(), result.outputs.at(0).bytes.size());
  CHECK(y == scaled(x));
}

// Cancels once it runs; what it then throws is ABORTED.
inline void checkCancelled(const nt::execution::Engine& engine, const BenchmarkOptions& options) {
  std::atomic<bool> cancelled{false};
  BenchmarkWatch watch(cancelled);
  std::thread canceller([&] {
    while (watch.elapsed() <= 0) std::this_thread::yield();
    cancelled = true;
  });
  CHECK_CODE("ABORTED", engine.benchmark(options, watch));
  canceller.join();
}

}  // namespace rig
