// CUDA graphs: when they are captured, that replays give right answers, when they are forgotten.
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

bool right(Rig& rig, int64_t rows, int seed, int64_t columns = 3) {
  const std::vector<float> x = numbers(rows, columns, seed);
  const Completion done = rig.infer({input({rows, columns}, x)});
  return !done.failure && values<float>(done.outputs[0]) == scaled(x);
}

}  // namespace

TEST("graphs: captured at the third use of a shape, replayed from then on, with right answers") {
  fakes::reset();
  {
    Rig rig(plans::scale);
    for (int i = 0; i < 2; ++i) CHECK(right(rig, 4, i));
    CHECK_EQ(Seen().captures(), 0);
    CHECK(right(rig, 4, 2));
    CHECK(right(rig, 4, 3));
    const Seen captured;
    CHECK_EQ(captured.captures(), 1);
    CHECK_EQ(captured.launches(), 1);
    CHECK_EQ(captured.enqueues(), 4);  // three that ran, one that was captured
    for (int i = 4; i < 20; ++i) CHECK(right(rig, 4, i));
    CHECK_EQ(Seen().launches(), 17);
    CHECK_EQ(Seen().captures(), 1);
    CHECK_EQ(fakes::driverCounts().at("executions"), 20);
    // another shape does not disturb it
    for (int i = 0; i < 12; ++i) CHECK(right(rig, i % 2 == 0 ? 4 : 2, i));
    CHECK_EQ(Seen().captures(), 2);
    CHECK_EQ(values<float>(rig.run({input({4, 3}, numbers(4, 3, 8))}).outputs[0]), scaled(numbers(4, 3, 8)));
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: off means off") {
  fakes::reset();
  {
    SessionOptions options;
    options.lane.captureGraphs = false;
    Rig rig(plans::scale, options);
    for (int i = 0; i < 10; ++i) CHECK(right(rig, 4, i));
    CHECK_EQ(Seen().captures(), 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: at most 16 in a lane, the least recently used goes") {
  fakes::reset();
  {
    Rig rig(
        "name many\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\n"
        "dims 0 x 1,3 4,3 64,3\nop scale a x scale=2 offset=1\nop relu y a\n");
    CHECK(right(rig, 64, 1));  // buffers for all
    for (int use = 0; use < 4; ++use) {
      for (int64_t rows = 1; rows <= 20; ++rows) CHECK(right(rig, rows, use));
    }
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 16);
    CHECK_EQ(fakes::driverCounts().at("graphs"), 0);
    const long long before = Seen().captures();
    for (int use = 0; use < 2; ++use) {
      for (int64_t rows = 1; rows <= 20; ++rows) CHECK(right(rig, rows, use));
    }
    // whoever was thrown out earns the next capture anew: two rounds do not capture twenty times each
    CHECK(Seen().captures() - before <= 20);
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 16);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: forgotten when the buffers that they write to move") {
  fakes::reset();
  {
    Rig rig(plans::large);
    for (int i = 0; i < 5; ++i) CHECK(right(rig, 1, i, 12288));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 1);
    CHECK(right(rig, 4, 5, 12288));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 0);
    for (int i = 0; i < 5; ++i) CHECK(right(rig, 1, i, 12288));
    CHECK_EQ(fakes::driverCounts().at("graphExecs"), 1);
    CHECK(right(rig, 3, 5, 12288));  // smaller than the largest: nothing moves
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
      Rig rig(plans::scale);
      for (int i = 0; i < 10; ++i) CHECK(right(rig, 4, i));
      CHECK_EQ(Seen().launches(), 0);
      CHECK(Seen().captures() <= 1);
    }
    CHECK_NOTHING_LIVE();
  }
  fakes::reset();
  fakes::tensorrt("fail", "enqueueV3:4");  // the fourth is the one that is captured
  {
    Rig rig(plans::scale);
    for (int i = 0; i < 10; ++i) CHECK(right(rig, 4, i));
    CHECK_EQ(Seen().launches(), 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("graphs: with merging and padding one graph serves all sizes") {
  fakes::reset();
  {
    SessionOptions options = merging(8);
    options.batching.pad = {8};
    Rig rig(plans::scale, options);
    for (int i = 0; i < 16; ++i) CHECK(right(rig, i % 8 + 1, i));
    CHECK_EQ(Seen().captures(), 1);
    CHECK_EQ(Seen().launches(), 13);
  }
  CHECK_NOTHING_LIVE();
}
