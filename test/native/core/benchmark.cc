// Benchmarks: streams on threads of their own, beside a session; their end by a cancel or a failure.
#include "../support/benchmark.h"

#include "rig.h"

using namespace rig;

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
      BenchmarkOptions options = threaded(x, 3);
      options.cudaGraph = graphs;
      options.spinWait = graphs;
      options.transfers = !graphs;
      const BenchmarkResult result = besideInferences(rig, options, watch);
      over = true;
      observer.join();
      checkMeasured(result, options, x);
      CHECK_EQ(result.graphRefused, "");
      CHECK_EQ(result.device, "Fake GPU 0");
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("benchmark: cancelled from another thread, whatever it waits for") {
  for (const int way : {0, 1, 2}) {
    fakes::reset();
    {
      const auto engine = load(plans::scale);
      BenchmarkOptions options = threaded(numbers(4, 3, 1), 3);
      options.duration = 1e9;
      options.threads = way != 1;
      if (way == 2) {
        options.idle = 1e9;
        options.depth = 1;  // with two it would sleep before anything is known
      }
      checkCancelled(*engine, options);
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
      BenchmarkOptions options = threaded(numbers(4, 3, 1), 3);
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
    BenchmarkOptions options = threaded(numbers(4, 3, 1), 3);
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

TEST("benchmark: of more queries than are kept a sample, and all are counted") {
  fakes::reset();
  for (const bool threads : {false, true}) {
    const auto engine = load(plans::scale);
    std::atomic<bool> cancelled{false};
    BenchmarkWatch watch(cancelled);
    BenchmarkOptions options = threaded(numbers(4, 3, 1), 3);
    options.threads = threads;
    options.mostQueries = 60;
    const auto all = engine->benchmark(options, watch);
    CHECK_EQ(all.queries.size(), 60u);
    CHECK_EQ(all.seen, 60u);
    options.iterations = 200;
    const auto some = engine->benchmark(options, watch);
    CHECK_EQ(some.queries.size(), 60u);
    CHECK(some.seen >= 600);
    CHECK(some.counted >= 600 && some.counted <= some.seen);
    CHECK(some.begin >= 0 && some.end > some.begin);
  }
  CHECK_NOTHING_LIVE();
}
