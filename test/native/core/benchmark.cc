// Benchmarks: streams on threads of their own, beside a session; their end by a cancel or a failure.
#include <thread>

#include "rig.h"

using namespace rig;
using nt::execution::BenchmarkOptions;
using nt::execution::BenchmarkResult;
using nt::execution::BenchmarkWatch;

namespace {

// At least 20 queries of each of three streams.
BenchmarkOptions threaded(const std::vector<float>& x) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(x.data());
  BenchmarkOptions options;
  options.inputs = {{{4, 3}, {bytes, bytes + x.size() * sizeof(float)}}};
  options.streams = 3;
  options.threads = true;
  options.warmUp = options.duration = 0;
  options.iterations = 20;
  options.outputs = true;
  return options;
}

}  // namespace

TEST("benchmark: three streams on three threads, beside inferences, with and without graphs") {
  fakes::reset();
  const std::vector<float> x = numbers(4, 3, 1);
  {
    Rig rig(load(plans::scale), {});
    for (const bool graphs : {false, true}) {
      std::atomic<bool> cancelled{false}, over{false};
      BenchmarkWatch watch(cancelled);
      std::thread observer([&] {
        while (!over) {
          CHECK(watch.elapsed() >= 0 && watch.phase() <= BenchmarkWatch::Phase::endToEnd);
          std::this_thread::yield();
        }
      });
      std::thread user([&] {
        for (int i = 0; i < 30; ++i) {
          const std::vector<float> own = numbers(2, 3, i);
          CHECK(scaledRight(rig.infer({input({2, 3}, own)}), own));
        }
      });
      BenchmarkOptions options = threaded(x);
      options.cudaGraph = graphs;
      options.spinWait = graphs;
      options.transfers = !graphs;
      const BenchmarkResult result = rig.session->engine().benchmark(options, watch);
      user.join();
      over = true;
      observer.join();
      CHECK_EQ(result.queries.size(), 60u);
      CHECK_EQ(result.endToEnd.size(), 20u);
      CHECK_EQ(result.graphRefused, "");
      CHECK_EQ(result.device, "Fake GPU 0");
      std::vector<float> y(12);
      std::memcpy(y.data(), result.outputs.at(0).bytes.data(), result.outputs.at(0).bytes.size());
      CHECK(y == scaled(x));
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("benchmark: cancelled from another thread, whatever it waits for") {
  for (const int way : {0, 1, 2}) {
    fakes::reset();
    {
      const auto engine = load(plans::scale);
      std::atomic<bool> cancelled{false};
      BenchmarkWatch watch(cancelled);
      BenchmarkOptions options = threaded(numbers(4, 3, 1));
      options.duration = 1e9;
      options.threads = way != 1;
      if (way == 2) {
        options.idle = 1e9;
        options.depth = 1;  // with two it would sleep before anything is known
      }
      std::thread canceller([&] {
        while (watch.elapsed() <= 0) std::this_thread::yield();
        cancelled = true;
      });
      CHECK_CODE("ABORTED", engine->benchmark(options, watch));
      canceller.join();
    }
    CHECK_NOTHING_LIVE();
  }
}

TEST("benchmark: one stream's failure ends the others, and is what is told") {
  for (const char* rule : {"cuEventRecord:150:1", "cuMemcpyHtoDAsync_v2:60:1", "cuEventElapsedTime:200:1"}) {
    fakes::reset();
    fakes::driver("fail", rule);
    {
      const auto engine = load(plans::scale);
      std::atomic<bool> cancelled{false};
      BenchmarkWatch watch(cancelled);
      BenchmarkOptions options = threaded(numbers(4, 3, 1));
      options.duration = 1e9;
      CHECK_CODE("ERR_TRT_CUDA", engine->benchmark(options, watch));
    }
    CHECK_NOTHING_LIVE();
  }
  fakes::reset();
  fakes::tensorrt("fail", "enqueueV3:40");
  {
    const auto engine = load(plans::scale);
    std::atomic<bool> cancelled{false};
    BenchmarkWatch watch(cancelled);
    BenchmarkOptions options = threaded(numbers(4, 3, 1));
    options.duration = 1e9;
    try {
      engine->benchmark(options, watch);
      CHECK(false);
    } catch (const nt::Error& error) {
      CHECK_EQ(error.code(), "ERR_TRT_EXECUTION");
      CHECK(std::string(error.what()).find("told to fail") != std::string::npos);
    }
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}
