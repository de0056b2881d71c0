// CUDA graphs: when they are captured, that replays give right answers, when they are forgotten.
#include <thread>

#include "../../../native/tensorrt/logger.h"
#include "rig.h"

using namespace rig;
using namespace std::chrono_literals;

namespace {

struct Seen {
  fakes::Counts driver = fakes::driverCounts();
  fakes::Counts calls = fakes::driverCalls();
  long long launches() const { return driver.at("graphLaunches"); }
  long long captures() const {
    const auto found = calls.find("cuGraphInstantiateWithFlags");
    return found == calls.end() ? 0 : found->second;
  }
  long long enqueues() const { return driver.at("enqueues"); }
};

bool replaysRight(Rig& rig, int64_t rows, int seed, int64_t columns = 3) {
  const std::vector<float> x = numbers(rows, columns, seed);
  const Completion done = rig.infer({input({rows, columns}, x)});
  rig.session->engine().awaitPrepared();  // what is made in the background is there for the next one
  return !done.failure && values<float>(done.outputs[0]) == scaled(x);
}

// Which slot a request gets is a matter of who is awake, and each has its own graphs.
SessionOptions oneSlot(SessionOptions options = {}) {
  options.lane.slots = 1;
  return options;
}

}  // namespace

TEST("graphs: a shape's third use orders a context, the fourth captures it, later ones replay, with right answers") {
  fakes::reset();
  {
    Rig rig(plans::scale, oneSlot());
    for (int i = 0; i < 2; ++i) CHECK(replaysRight(rig, 4, i));
    CHECK_EQ(fakes::liveObjects().at("contexts"), 1);
    CHECK(replaysRight(rig, 4, 2));
    CHECK_EQ(fakes::liveObjects().at("contexts"), 2);
    CHECK_EQ(Seen().captures(), 0);
    CHECK(replaysRight(rig, 4, 3));
    CHECK(replaysRight(rig, 4, 4));
    const Seen captured;
    CHECK_EQ(captured.captures(), 1);
    CHECK_EQ(captured.launches(), 1);
    CHECK_EQ(captured.enqueues(), 5);  // four that ran, one that was captured
    for (int i = 5; i < 20; ++i) CHECK(replaysRight(rig, 4, i));
    CHECK_EQ(Seen().launches(), 16);
    CHECK_EQ(Seen().captures(), 1);
    CHECK_EQ(fakes::driverCounts().at("executions"), 20);
    // another shape does not disturb it
    for (int i = 0; i < 12; ++i) CHECK(replaysRight(rig, i % 2 == 0 ? 4 : 2, i));
    CHECK_EQ(Seen().captures(), 2);
    CHECK_EQ(values<float>(rig.run({input({4, 3}, numbers(4, 3, 8))}).outputs[0]), scaled(numbers(4, 3, 8)));
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: off means off") {
  fakes::reset();
  {
    SessionOptions options = oneSlot();
    options.lane.captureGraphs = false;
    Rig rig(plans::scale, options);
    for (int i = 0; i < 10; ++i) CHECK(replaysRight(rig, 4, i));
    CHECK_EQ(Seen().captures(), 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: as many as 128 MiB have room for, where each context counts as 4 MiB, and the least recently used goes") {
  fakes::reset();
  {
    Rig rig(
        "name many\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\n"
        "dims 0 x 1,3 4,3 64,3\nop scale a x scale=2 offset=1\nop relu y a\n",
        oneSlot());
    CHECK(replaysRight(rig, 64, 1));  // buffers for all
    for (int use = 0; use < 5; ++use) {
      for (int64_t rows = 1; rows <= 40; ++rows) CHECK(replaysRight(rig, rows, use));
    }
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 32);
    CHECK_EQ(fakes::liveObjects().at("contexts"), 33);
    CHECK_EQ(fakes::driverCounts().at("graphs"), 0);
    const long long before = Seen().captures();
    for (int use = 0; use < 3; ++use) {
      for (int64_t rows = 1; rows <= 40; ++rows) CHECK(replaysRight(rig, rows, use));
    }
    // whoever was thrown out earns the next capture anew: three rounds do not capture forty times each
    CHECK(Seen().captures() - before <= 40);
    CHECK(fakes::driverCounts().at("graphExecs") <= 32);
    CHECK(fakes::liveObjects().at("contexts") <= 33);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: forgotten when the buffers that they write to move") {
  fakes::reset();
  {
    Rig rig(plans::large, oneSlot());
    for (int i = 0; i < 5; ++i) CHECK(replaysRight(rig, 1, i, 12288));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 1);
    CHECK(replaysRight(rig, 4, 5, 12288));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 0);
    for (int i = 0; i < 5; ++i) CHECK(replaysRight(rig, 1, i, 12288));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 1);
    CHECK(replaysRight(rig, 3, 5, 12288));  // smaller than the largest: nothing moves
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 1);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: a capture that is refused costs nothing but the graph") {
  for (const char* rule :
       {"cuStreamBeginCapture_v2:1:900", "cuStreamEndCapture:1:901", "cuGraphInstantiateWithFlags:1:801",
        "cuStreamBeginCapture_v2:1:900:sticky", "cuGraphInstantiateWithFlags:1:801:sticky"}) {
    fakes::reset();
    fakes::driver("fail", rule);
    {
      Rig rig(plans::scale, oneSlot());
      for (int i = 0; i < 10; ++i) CHECK(replaysRight(rig, 4, i));
      CHECK_EQ(Seen().launches(), 0);
      CHECK(Seen().captures() <= 1);
    }
    CHECK_NOTHING_LIVE();
  }
  fakes::reset();
  fakes::tensorrt("fail", "enqueueV3:5");  // the fifth is the one that is captured
  {
    Rig rig(plans::scale, oneSlot());
    for (int i = 0; i < 10; ++i) CHECK(replaysRight(rig, 4, i));
    CHECK_EQ(Seen().launches(), 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: with merging and padding one graph serves all sizes") {
  fakes::reset();
  {
    SessionOptions options = oneSlot(merging(8));
    options.batching.pad = {8};
    Rig rig(plans::scale, options);
    for (int i = 0; i < 16; ++i) CHECK(replaysRight(rig, i % 8 + 1, i));
    CHECK_EQ(Seen().captures(), 1);
    CHECK_EQ(Seen().launches(), 12);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: one that cannot be launched is dropped, and the work goes on without it") {
  for (const char* rule : {"cuGraphLaunch:1:1", "cuGraphLaunch:1:1:sticky", "cuGraphLaunch:3:2"}) {
    fakes::reset();
    fakes::driver("fail", rule);
    {
      Rig rig(plans::scale, oneSlot());
      for (int i = 0; i < 12; ++i) CHECK(replaysRight(rig, 4, i));
      CHECK_EQ(fakes::driverCounts().at("graphExecs"), 0);
      CHECK_EQ(fakes::driverCounts().at("executions"), 12);
      CHECK_EQ(Seen().captures(), 1);  // it is not tried again
      for (int i = 0; i < 6; ++i) CHECK(replaysRight(rig, 2, i));
      CHECK_EQ(Seen().captures(), 2);
      const bool sticky = std::string(rule).find("sticky") != std::string::npos;
      CHECK_EQ(fakes::driverCounts().at("graphExecs"), sticky ? 0 : 1);
    }
    CHECK_NOTHING_LIVE();
  }
}

TEST("graphs: none writes to memory that was freed when a batch failed on its way") {
  fakes::reset();
  {
    Rig rig(plans::large, oneSlot());
    for (int i = 0; i < 5; ++i) CHECK(replaysRight(rig, 1, i, 12288));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 1);
    fakes::driver("fail", "cuMemcpyHtoDAsync_v2:1:1");  // the buffers have moved by then
    const std::vector<float> x = numbers(8, 12288, 1);
    CHECK_EQ(codeOf(rig.infer({input({8, 12288}, x)}).failure), "ERR_TRT_CUDA");
    fakes::reset();  // rules are over
    for (int i = 0; i < 5; ++i) CHECK(replaysRight(rig, 1, i, 12288));
    CHECK(replaysRight(rig, 8, 3, 12288));
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: device memory runs out at any step of a growth, and smaller shapes go on") {
  for (int n = 1; n <= 6; ++n) {
    for (const char* mode : {"", ":sticky"}) {
      fakes::reset();
      test::watchdog(20, "allocation " + std::to_string(n) + mode);
      {
        Rig rig(plans::large, oneSlot());
        for (int i = 0; i < 5; ++i) CHECK(replaysRight(rig, 1, i, 12288));
        fakes::driver("fail", "cuMemAlloc_v2:" + std::to_string(n) + ":2" + mode);
        const std::string code = codeOf(rig.infer({input({8, 12288}, numbers(8, 12288, 1))}).failure);
        CHECK(code.empty() || code == "ERR_TRT_OUT_OF_MEMORY");
        fakes::reset();  // rules are over
        for (const int64_t rows : {1, 2, 1, 1, 1, 1, 8, 1, 8}) CHECK(replaysRight(rig, rows, n, 12288));
      }
      CHECK_NOTHING_LIVE();
    }
  }
}

TEST("graphs: contexts of a lane share scratch memory of the largest profile that was used") {
  const std::string plan =
      "name p\nmemory 4096,262144\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\n"
      "dims 0 x 1,3 2,3 4,3\ndims 1 x 5,3 8,3 16,3\nop scale a x scale=2 offset=1\nop relu y a\n";
  fakes::reset();
  {
    const auto engine = load(plan);
    const auto live = [] { return fakes::liveObjects().at("contexts"); };
    Rig rig(engine, oneSlot());
    const std::size_t one = engine->account()->used();
    CHECK(one >= 4096 && one < 262144);
    CHECK_EQ(live(), 1);
    for (int i = 0; i < 8; ++i) CHECK(replaysRight(rig, 16, i));  // buffers for all
    CHECK_EQ(live(), 2);
    const std::size_t two = engine->account()->used();
    CHECK(two >= 262144 && two < 2 * 262144);
    for (int i = 0; i < 4; ++i) CHECK(replaysRight(rig, 4, i));
    CHECK(replaysRight(rig, 16, 1));
    CHECK_EQ(live(), 3);
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 2);
    CHECK_EQ(engine->account()->used(), two);
    CHECK_EQ(rig.session->memory().device, two);
  }
  {
    // the other way round: what was captured with the smaller one goes
    Rig rig(plan, oneSlot());
    for (int i = 0; i < 4; ++i) CHECK(replaysRight(rig, 4, i));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 1);
    CHECK(replaysRight(rig, 8, 1));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 0);
    for (int i = 0; i < 12; ++i) CHECK(replaysRight(rig, i % 2 == 0 ? 4 : 8, i));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 2);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: scratch memory that cannot be had fails its request, and the others go on") {
  const std::string plan =
      "name p\nmemory 4096,1048576\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\n"
      "dims 0 x 1,3 2,3 4,3\ndims 1 x 5,3 8,3 16,3\nop scale a x scale=2 offset=1\nop relu y a\n";
  fakes::reset();
  {
    Rig rig(load(plan, 0, 100000), oneSlot());
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 4; ++i) CHECK(replaysRight(rig, 4, i));
      CHECK_EQ(codeOf(rig.infer({input({8, 3}, numbers(8, 3, 1))}).failure), "ERR_TRT_OUT_OF_MEMORY");
    }
    CHECK(replaysRight(rig, 4, 3));
  }
  SessionOptions options;
  options.lane.profile = 1;
  CHECK_CODE("ERR_TRT_OUT_OF_MEMORY", Rig(load(plan, 0, 100000), options));
  CHECK_NOTHING_LIVE();
}

TEST("graphs: no request waits for a context that is being made") {
  fakes::reset();
  {
    const auto engine = load(plans::scale);
    Rig rig(engine, oneSlot());
    for (int i = 0; i < 2; ++i) CHECK(replaysRight(rig, 4, i));
    fakes::tensorrt("holdContexts", "1");
    for (int i = 0; i < 8; ++i) {
      const std::vector<float> x = numbers(4, 3, i);
      CHECK(scaledRight(rig.infer({input({4, 3}, x)}), x));
    }
    CHECK_EQ(fakes::liveObjects().at("contexts"), 1);
    CHECK_EQ(Seen().captures(), 0);
    fakes::tensorrt("holdContexts", "0");
    engine->awaitPrepared();
    CHECK_EQ(fakes::liveObjects().at("contexts"), 2);
    for (int i = 0; i < 3; ++i) CHECK(replaysRight(rig, 4, i));
    CHECK_EQ(Seen().captures(), 1);
    CHECK_EQ(Seen().launches(), 2);
    // one that is being made when the lane ends goes with it
    for (int i = 0; i < 2; ++i) CHECK(replaysRight(rig, 2, i));
    fakes::tensorrt("holdContexts", "1");
    const std::vector<float> x = numbers(2, 3, 1);
    CHECK(scaledRight(rig.infer({input({2, 3}, x)}), x));
    std::thread closing([&] { rig.session->close(); });
    fakes::tensorrt("holdContexts", "0");
    closing.join();
    CHECK_EQ(fakes::liveObjects().at("contexts"), 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: a context that cannot be made is told of, and its shapes run without") {
  fakes::reset();
  {
    Rig rig(plans::scale, oneSlot());
    fakes::tensorrt("fail", "createExecutionContext:1:sticky");
    for (int i = 0; i < 8; ++i) CHECK(replaysRight(rig, 4, i));
    CHECK_EQ(Seen().captures(), 0);
    CHECK_EQ(fakes::liveObjects().at("contexts"), 1);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: contexts count with the device memory that they hold, and go where a batch needs that") {
  const std::string plan = std::string(plans::large) + "persistent 50000000\n";
  fakes::reset();
  {
    const auto engine = load(plan);
    Rig rig(engine, oneSlot());
    CHECK(replaysRight(rig, 8, 1, 12288));  // buffers for all
    for (int use = 0; use < 5; ++use) {
      for (int64_t rows = 1; rows <= 4; ++rows) CHECK(replaysRight(rig, rows, use, 12288));
    }
    // two of 50 MB have room in 128 MiB, beside the plain one
    CHECK_EQ(fakes::liveObjects().at("contexts"), 3);
    CHECK(engine->deviceBytes() >= 150'000'000 && engine->deviceBytes() < 160'000'000);
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 2);
  }
  {
    // an engine that is as large may take as much
    Rig rig(plan + "weights 250000000\n", oneSlot());
    CHECK(replaysRight(rig, 8, 1, 12288));
    for (int use = 0; use < 5; ++use) {
      for (int64_t rows = 1; rows <= 4; ++rows) CHECK(replaysRight(rig, rows, use, 12288));
    }
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 4);
  }
  {
    Rig rig(plan, oneSlot());
    for (int i = 0; i < 5; ++i) CHECK(replaysRight(rig, 1, i, 12288));
    CHECK_EQ(fakes::liveObjects().at("contexts"), 2);
    fakes::driver("memory", std::to_string(fakes::driverCounts().at("deviceBytes") + 100'000));
    CHECK(replaysRight(rig, 8, 1, 12288));
    CHECK_EQ(fakes::liveObjects().at("contexts"), 1);
    fakes::reset();
  }
  {
    // no room for any: told once, and nothing is made
    Rig rig(std::string(plans::scale) + "persistent 150000000\n", oneSlot());
    for (int i = 0; i < 6; ++i) CHECK(replaysRight(rig, 4, i));
    CHECK_EQ(fakes::liveObjects().at("contexts"), 1);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: a plain context whose enqueues fail twice in a row is made anew") {
  fakes::reset();
  {
    SessionOptions options = oneSlot();
    options.lane.captureGraphs = false;
    Rig rig(plans::scale, options);
    const auto made = [] {
      const fakes::Counts calls = fakes::tensorrtCalls();
      const auto found = calls.find("VCudaEngine.createExecutionContext");
      return found == calls.end() ? 0 : found->second;
    };
    const std::vector<float> x = numbers(4, 3, 1);
    CHECK(replaysRight(rig, 4, 1));
    for (const long long failures : {1, 2, 1}) {
      const long long before = made();
      fakes::tensorrt("fail", "enqueueV3:1");
      if (failures == 2) fakes::tensorrt("fail", "enqueueV3:2");
      for (int i = 0; i < failures; ++i) CHECK_EQ(codeOf(rig.infer({input({4, 3}, x)}).failure), "ERR_TRT_EXECUTION");
      CHECK(replaysRight(rig, 4, 2));
      CHECK_EQ(made() - before, failures == 2 ? 1 : 0);
      CHECK_EQ(fakes::liveObjects().at("contexts"), 1);
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: growing and alternating shapes, several at a time") {
  fakes::reset();
  fakes::driver("computeMs", "0.2");
  {
    Rig rig(plans::large);
    unsigned seed = 11;
    std::vector<std::pair<uint64_t, std::vector<float>>> asked;
    for (int i = 0; i < 120; ++i) {
      seed = seed * 1103515245 + 12345;
      const int64_t rows = 1 + (seed >> 16) % static_cast<unsigned>(1 + i / 15);  // 1 to 8, more and more
      asked.emplace_back(0, numbers(rows, 12288, i));
      asked.back().first = rig.submit({input({rows, 12288}, asked.back().second)});
    }
    for (const auto& [request, x] : asked) {
      const Completion done = rig.take(request);
      CHECK(!done.failure && values<float>(done.outputs[0]) == scaled(x));
    }
    // while so many wait there is no moment for a capture
    for (int i = 0; i < 12; ++i) CHECK(replaysRight(rig, 1 + i % 2, i, 12288));
    CHECK(Seen().launches() > 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: a refused capture is told once, with the shapes and the reason") {
  for (const auto& [rule, reason] : {std::pair{"cuStreamBeginCapture_v2:1:900", "cuStreamBeginCapture failed"},
                                     {"cuGraphLaunch:1:1", "cuGraphLaunch failed"}}) {
    fakes::reset();
    fakes::driver("fail", rule);
    std::mutex mutex;
    std::vector<std::string> lines;
    const int subscription = nt::tensorrt::subscribeLog(3, [&](int32_t, const std::string& line) {
      const std::lock_guard lock(mutex);
      if (line.find("CUDA graph") != std::string::npos) lines.push_back(line);
    });
    {
      Rig rig(plans::scale, oneSlot());
      for (int i = 0; i < 8; ++i) CHECK(replaysRight(rig, 4, i));
    }
    nt::tensorrt::unsubscribeLog(subscription);
    CHECK_EQ(lines.size(), 1u);
    CHECK(!lines.empty() && lines[0].find("'x' [4, 3]") != std::string::npos);
    CHECK(!lines.empty() && lines[0].find(reason) != std::string::npos);
    CHECK_NOTHING_LIVE();
  }
}
