// Which lane gets which batch, and when. The device's clock stands still until a case moves it.
#include <thread>

#include "rig.h"

using namespace rig;
using namespace std::chrono_literals;

namespace {

// Whether it comes to hold.
bool comes(const std::function<bool()>& holds) {
  for (int i = 0; i < 20000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

void standStill() {
  fakes::reset();
  fakes::driver("clock", "manual");
  fakes::driver("computeMs", "5");
}

bool enqueued(long long count) {
  return comes([&] { return fakes::driverCounts().at("enqueues") >= count; });
}

SessionOptions laned(int lanes, SessionOptions options = {}) {
  options.lanes = lanes;
  options.lane.captureGraphs = false;
  return options;
}

const std::vector<float> x = numbers(1, 3, 1);
uint64_t ask(Rig& rig) { return rig.submit({input({1, 3}, x)}); }

// A queue of requests of 8 bytes, and the permits of its lanes.
struct Table {
  TimePoint now{1000s};
  Queue queue;
  uint64_t next = 1;
  std::vector<Permit*> permits;

  Table(BatchingOptions batching, int lanes, int slots)
      : queue(std::move(batching), 1000,
              [](std::size_t bytes) { return nt::cuda::pinnedPool(DeviceContext::get(0)).acquire(bytes); }) {
    DeviceContext::get(0).makeCurrent();
    for (int i = 0; i < lanes * slots; ++i) permits.push_back(&queue.addSeat(i / slots));
  }
  void add(int64_t rows = 1) { add({.rows = rows}); }
  // A request of a level, 0: the default one; those whose rows have other bytes do not merge.
  struct Asked {
    int64_t rows = 1;
    uint32_t level = 0;
    int64_t bytes = 8;
  };
  void add(const Asked& asked) {
    Part part;
    part.request = next++;
    part.rows = asked.rows;
    part.level = asked.level;
    part.asked = now;
    queue.commit(queue.reserve({{asked.rows, asked.bytes}}, {static_cast<std::size_t>(asked.bytes)}, std::move(part)));
  }
  // The first request of what the thread of a permit takes; 0: nothing.
  uint64_t take(std::size_t permit) {
    const auto batch = queue.take(*permits[permit], now);
    if (batch) queue.begun(*permits[permit]);
    return batch ? batch->parts.front().request : 0;
  }
};

// Four rows make a full batch, and the default level is the last.
BatchingOptions levels(std::size_t count) {
  BatchingOptions options;
  options.maxBatch = 4;
  options.levels.resize(count);
  options.defaultLevel = static_cast<uint32_t>(count);
  return options;
}

}  // namespace

TEST("dispatch: what waits is for a lane that has nothing to do, and only then for a second slot") {
  Table t({1, 0ms, {}, {}}, 2, 2);
  for (int i = 0; i < 4; ++i) t.add();
  CHECK_EQ(t.take(0), 1u);
  CHECK_EQ(t.take(1), 3u);  // the second one is the other lane's
  CHECK_EQ(t.take(2), 2u);
  CHECK_EQ(t.take(3), 4u);
  t.add();
  CHECK_EQ(t.take(1), 5u);  // its own is over
  t.add();
  CHECK_EQ(t.take(2), 6u);
  CHECK_EQ(t.take(2), 0u);
  CHECK_EQ(t.take(3), 0u);
  t.add();
  CHECK_EQ(t.take(1), 0u);  // it has just come free, but the other lane has nothing to do
  CHECK_EQ(t.take(3), 7u);
  CHECK_EQ(t.queue.waitedWhileIdle(), 0u);
}

TEST("dispatch: where order is to be kept a busy lane takes nothing before others have taken what comes first") {
  BatchingOptions options;
  options.preserveOrder = true;
  Table t(options, 2, 2);
  for (int i = 0; i < 4; ++i) t.add();
  CHECK_EQ(t.take(0), 1u);
  CHECK_EQ(t.take(1), 0u);
  CHECK_EQ(t.take(2), 2u);
  CHECK_EQ(t.take(1), 3u);
  CHECK_EQ(t.take(3), 4u);
  CHECK_EQ(t.queue.waitedWhileIdle(), 0u);
}

TEST("dispatch: a busy lane leaves a batch that may grow, unless it is full or overdue") {
  Table t({4, 0ms, {}, {}}, 1, 2);
  t.add();
  CHECK_EQ(t.take(0), 1u);
  for (int i = 0; i < 3; ++i) t.add();
  CHECK_EQ(t.take(1), 0u);
  t.add();
  CHECK_EQ(t.take(1), 2u);
  t.add();
  CHECK_EQ(t.take(0), 0u);  // the other slot is still at work
  CHECK_EQ(t.take(1), 6u);  // and now it is not
  t.add();
  t.queue.close();
  CHECK_EQ(t.take(0), 7u);

  Table delayed({4, 2ms, {3}, {}}, 1, 2);
  for (int i = 0; i < 3; ++i) delayed.add();  // a preferred size
  CHECK_EQ(delayed.take(0), 1u);
  delayed.add();
  CHECK_EQ(delayed.take(1), 0u);
  delayed.now += 2ms;
  CHECK_EQ(delayed.take(1), 4u);
}

TEST("dispatch: with several levels a busy lane takes early only what begins with the first one") {
  Table t(levels(3), 1, 2);
  t.add();
  CHECK_EQ(t.take(0), 1u);
  t.add(4);
  CHECK_EQ(t.take(1), 0u);  // full, but a request of the first level may still come before it
  t.add({.rows = 4, .level = 2});
  CHECK_EQ(t.take(1), 0u);
  t.add({.level = 1});
  CHECK_EQ(t.take(1), 4u);  // the batch that it begins is as large as it can be: four more rows do not fit
  CHECK_EQ(t.take(1), 0u);  // its own is over, the other slot's is not
  CHECK_EQ(t.take(0), 3u);  // now the lane has nothing to do
  CHECK_EQ(t.take(1), 0u);
  CHECK_EQ(t.take(0), 2u);
  CHECK_EQ(t.queue.waiting(), 0u);
}

TEST("dispatch: a busy lane takes a batch of the first level early although one of a lower level came before") {
  Table t(levels(2), 1, 2);
  t.add();
  CHECK_EQ(t.take(0), 1u);
  t.add({.rows = 4, .bytes = 16});
  CHECK_EQ(t.take(1), 0u);
  for (int i = 0; i < 3; ++i) t.add({.level = 1});
  CHECK_EQ(t.take(1), 0u);  // these may grow
  t.add({.level = 1});
  CHECK_EQ(t.take(1), 3u);
  t.add({.rows = 4, .level = 1});
  CHECK_EQ(t.take(0), 7u);
  CHECK_EQ(t.take(1), 0u);
  CHECK_EQ(t.take(0), 2u);
}

TEST("dispatch: neither a close nor a delay that is over has a busy lane take a lower level early") {
  BatchingOptions delayed = levels(2);
  delayed.maxDelay = 2ms;
  for (const bool closes : {false, true}) {
    Table t(delayed, 1, 2);
    t.add(4);
    CHECK_EQ(t.take(0), 1u);
    t.add();
    closes ? t.queue.close() : void(t.now += 2ms);
    CHECK_EQ(t.take(1), 0u);
    CHECK_EQ(t.take(0), 2u);  // its own is over: it has nothing to do
  }
}

TEST("dispatch: with one level a busy lane takes a full batch early, whatever number the level has in a request") {
  for (const uint32_t level : {0u, 1u}) {
    Table t(levels(1), 1, 2);
    t.add();
    CHECK_EQ(t.take(0), 1u);
    t.add({.rows = 4, .level = level});
    CHECK_EQ(t.take(1), 2u);
  }
}

TEST("dispatch: what a busy lane leaves to one with nothing to do does not let it take a lower level early") {
  for (const uint32_t level : {1u, 2u}) {
    Table t(levels(2), 2, 2);
    t.add(4);
    CHECK_EQ(t.take(0), 1u);
    t.add({.rows = 4, .level = 1});  // for the other lane
    t.add({.rows = 4, .level = level});
    CHECK_EQ(t.take(1), level == 1 ? 3u : 0u);
    CHECK_EQ(t.take(2), 2u);
  }
}

TEST("dispatch: of two lanes that are busy neither takes a lower level early, and one that is free does") {
  Table t(levels(2), 2, 2);
  for (int i = 0; i < 2; ++i) {
    t.add(4);
    CHECK_EQ(t.take(static_cast<std::size_t>(2 * i)), static_cast<uint64_t>(i + 1));
  }
  t.add(4);
  t.add({.rows = 4, .level = 1});
  t.add(4);
  CHECK_EQ(t.take(1), 4u);
  CHECK_EQ(t.take(3), 0u);
  CHECK_EQ(t.take(2), 3u);
  CHECK_EQ(t.take(3), 0u);
  CHECK_EQ(t.take(2), 5u);
}

TEST("dispatch: a lane whose batches are over at once is left to one thread, unless one takes longer after all") {
  Table t({1, 0ms, {}, {}}, 1, 2);
  t.permits[0]->shortBatches = true;
  for (int i = 0; i < 4; ++i) t.add();
  CHECK_EQ(t.take(0), 1u);
  CHECK_EQ(t.take(0), 2u);
  t.now += 50us;
  CHECK_EQ(t.take(1), 0u);
  t.now += 100us;
  CHECK_EQ(t.take(1), 3u);
}

TEST(
    "dispatch: a caller takes the permit of the lane with the least to do, and one that comes free before what is "
    "queued") {
  Table t({1, 0ms, {}, {}}, 2, 1);
  t.add();
  CHECK_EQ(t.take(0), 1u);
  Permit* const borrowed = t.queue.borrow(nt::execution::Clock::now());
  CHECK(borrowed == t.permits[1]);
  t.add();
  CHECK_EQ(t.take(1), 0u);  // it is lent
  Permit* second = nullptr;
  std::atomic<bool> waiting{false};
  std::thread caller([&] {
    waiting = true;
    second = t.queue.borrow(nt::execution::Clock::now());
  });
  comes([&] { return waiting.load(); });
  std::this_thread::sleep_for(5ms);
  t.queue.giveBack(*borrowed);
  caller.join();
  CHECK(second == t.permits[1]);
  CHECK_EQ(t.take(0), 2u);
  t.queue.giveBack(*second);
  t.queue.close();
  CHECK(t.queue.borrow(nt::execution::Clock::now()) == nullptr);
}

TEST("dispatch: two requests at once run at once where two lanes have nothing to do") {
  for (int i = 0; i < 30; ++i) {
    standStill();
    Rig rig(plans::scale, laned(2));
    const uint64_t pair[] = {ask(rig), ask(rig)};
    // of one lane the second would wait for the first
    CHECK(comes([] { return fakes::driverCounts().at("peakConcurrent") == 2; }));
    CHECK_EQ(rig.session->waitedWhileIdle(), 0u);
    fakes::driver("clock", "real");
    for (const uint64_t request : pair) CHECK(scaledRight(rig.take(request), x));
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("dispatch: of 10000 pairs none waits while a lane has nothing to do") {
  fakes::reset();
  {
    Rig rig(plans::scale, laned(2));
    for (int i = 0; i < 10000; ++i) {
      const uint64_t pair[] = {ask(rig), ask(rig)};
      for (const uint64_t request : pair) CHECK(scaledRight(rig.take(request), x));
    }
    CHECK_EQ(rig.session->waitedWhileIdle(), 0u);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::batches], 20000u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("dispatch: what comes while a lane waits is copied in and enqueued before the batch there ends") {
  for (const bool merging : {false, true}) {
    standStill();
    // where requests merge, a batch of one row is full
    Rig rig(plans::scale, laned(1, merging ? rig::merging(4) : SessionOptions{}));
    const uint64_t first = ask(rig);
    CHECK(enqueued(1));
    std::vector<uint64_t> others;
    for (int i = 0; i < (merging ? 4 : 1); ++i) others.push_back(ask(rig));
    CHECK(enqueued(2));
    CHECK_EQ(rig.completed(), 0u);
    fakes::driver("clock", "real");
    CHECK(scaledRight(rig.take(first), x));
    for (const uint64_t request : others) CHECK(scaledRight(rig.take(request), x));
    CHECK_EQ(rig.session->stats()[nt::execution::Count::batches], 2u);
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("dispatch: run() has a slot of its own while the lane waits for another") {
  standStill();
  {
    Rig rig(plans::scale, laned(1));
    const uint64_t first = ask(rig);
    CHECK(enqueued(1));
    std::thread caller([&] { CHECK(scaledRight(rig.run({input({1, 3}, x)}), x)); });
    CHECK(enqueued(2));
    CHECK_EQ(rig.completed(), 0u);
    fakes::driver("clock", "real");
    caller.join();
    CHECK(scaledRight(rig.take(first), x));
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("dispatch: how a lane waits: one that spins never sleeps, one that blocks never asks") {
  using nt::execution::WaitMode;
  for (const WaitMode wait : {WaitMode::spin, WaitMode::block, WaitMode::adaptive}) {
    fakes::reset();
    fakes::driver("computeMs", "1");
    SessionOptions options = laned(1);
    options.wait = wait;
    Rig rig(plans::scale, options);
    for (int i = 0; i < 8; ++i) CHECK(scaledRight(rig.infer({input({1, 3}, x)}), x));
    CHECK(scaledRight(rig.run({input({1, 3}, x)}), x));
    fakes::Counts calls = fakes::driverCalls();
    if (wait == WaitMode::spin) CHECK(calls["cuEventQuery"] > 9 && calls["cuEventSynchronize"] == 0);
    if (wait == WaitMode::block) CHECK(calls["cuEventQuery"] == 0 && calls["cuEventSynchronize"] == 9);
    if (wait == WaitMode::adaptive) CHECK(calls["cuEventSynchronize"] > 0);  // a millisecond is not asked for
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}
