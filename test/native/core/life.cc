// Closing with work in flight, several threads at once, and runs on the caller's thread between them.
#include <thread>

#include "rig.h"

using namespace rig;
using namespace std::chrono_literals;

TEST("life: close lets what was asked for end, refuses what comes after, and may come twice") {
  fakes::reset();
  fakes::driver("computeMs", "2");
  {
    SessionOptions options;
    options.lanes = 2;
    Rig rig(plans::scale, options);
    std::vector<uint64_t> asked;
    for (int i = 0; i < 20; ++i) asked.push_back(rig.submit({input({2, 3}, numbers(2, 3, i))}));
    rig.session->close();
    CHECK_EQ(rig.completed(), 20u);
    for (int i = 0; i < 20; ++i) CHECK(scaledRight(rig.take(asked[static_cast<std::size_t>(i)]), numbers(2, 3, i)));
    CHECK_CODE("ERR_TRT_CLOSED", rig.submit({input({2, 3}, numbers(2, 3, 1))}));
    CHECK_CODE("ERR_TRT_CLOSED", rig.run({input({2, 3}, numbers(2, 3, 1))}));
    CHECK(!rig.cancel(asked[0]));
    rig.session->close();
    CHECK_EQ(rig.session->waiting() + rig.session->running(), 0u);
    CHECK_EQ(fakes::driverCounts().at("streams"), 0);
    CHECK_EQ(fakes::liveObjects().at("contexts"), 0);
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("life: close does not wait for maxDelay") {
  fakes::reset();
  Rig rig(plans::scale, merging(16, 1h));
  const uint64_t asked = rig.submit({input({2, 3}, numbers(2, 3, 1))});
  rig.session->close();
  CHECK(scaledRight(rig.take(asked), numbers(2, 3, 1)));
}

TEST("life: an engine outlives its sessions and is freed with the last") {
  fakes::reset();
  auto engine = load(plans::scale);
  {
    Rig first(engine, {});
    SessionOptions options = merging(8);
    options.lanes = 2;
    options.lane.highPriority = true;
    Rig second(engine, options);
    engine.reset();
    CHECK(scaledRight(first.infer({input({2, 3}, numbers(2, 3, 1))}), numbers(2, 3, 1)));
    CHECK(scaledRight(second.infer({input({2, 3}, numbers(2, 3, 2))}), numbers(2, 3, 2)));
    first.session->close();
    CHECK(scaledRight(second.infer({input({2, 3}, numbers(2, 3, 3))}), numbers(2, 3, 3)));
    CHECK_EQ(fakes::liveObjects().at("engines"), 1);
  }
  CHECK_NOTHING_LIVE();
}

TEST("life: cancelled requests leave the queue, those that run do not") {
  fakes::reset();
  fakes::driver("computeMs", "20");
  {
    Rig rig(plans::scale);
    std::vector<uint64_t> asked;
    for (int i = 0; i < 6; ++i) asked.push_back(rig.submit({input({2, 3}, numbers(2, 3, i))}));
    CHECK(rig.cancel(asked[5]));
    CHECK(rig.cancel(asked[4]));
    CHECK(!rig.cancel(asked[4]));
    for (int i = 0; i < 4; ++i) CHECK(scaledRight(rig.take(asked[static_cast<std::size_t>(i)]), numbers(2, 3, i)));
    CHECK(!rig.cancel(asked[0]));
    rig.session->close();
    CHECK_EQ(rig.completed(), 4u);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::cancelled], 2u);
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("life: a full queue refuses, and takes again") {
  fakes::reset();
  fakes::driver("computeMs", "10");
  {
    SessionOptions options;
    options.maxQueue = 4;
    Rig rig(plans::scale, options);
    std::vector<uint64_t> asked;
    std::string code;
    while (code.empty() && asked.size() < 20)
      code = codeOf([&] { asked.push_back(rig.submit({input({2, 3}, numbers(2, 3, 1))})); });
    CHECK_EQ(code, "ERR_TRT_QUEUE_FULL");
    for (const uint64_t request : asked) CHECK_EQ(codeOf(rig.take(request).failure), "");
    CHECK_EQ(codeOf(rig.infer({input({2, 3}, numbers(2, 3, 1))}).failure), "");
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("life: run() gets its turn while all lanes are busy") {
  fakes::reset();
  fakes::driver("computeMs", "1");
  {
    SessionOptions options;
    options.lanes = 2;
    Rig rig(plans::scale, options);
    std::atomic<bool> stop{false};
    std::thread feeder([&] {
      std::deque<uint64_t> asked;
      for (int i = 0; !stop; ++i) {
        asked.push_back(rig.submit({input({2, 3}, numbers(2, 3, i))}));
        if (asked.size() < 32) continue;
        CHECK(!rig.take(asked.front()).failure);
        asked.pop_front();
      }
      for (const uint64_t request : asked) CHECK(!rig.take(request).failure);
    });
    std::this_thread::sleep_for(20ms);
    const uint64_t before = rig.completed();
    for (int i = 0; i < 20; ++i) CHECK(scaledRight(rig.run({input({3, 3}, numbers(3, 3, i))}), numbers(3, 3, i)));
    const uint64_t others = (rig.completed() - before) / 20;
    test::say("run() under load: " + std::to_string(others) + " others meanwhile, of 32 that wait at a time");
    CHECK(others < 400);
    stop = true;
    feeder.join();
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("life: submit, cancel, run, stats and close from several threads") {
  fakes::reset();
  for (int round = 0; round < 6; ++round) {
    SessionOptions options = round % 2 == 0 ? merging(8, 100us) : SessionOptions{};
    options.lanes = 3;
    options.maxQueue = 100;
    Rig rig(plans::scale, options);
    std::atomic<std::size_t> accepted{0}, cancelled{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const std::string only = "";
        for (int i = 0; i < 150; ++i) {
          const std::vector<float> x = numbers(1 + i % 3, 3, i + t);
          uint64_t request = 0;
          const std::string code = codeOf([&] { request = rig.submit({input({1 + i % 3, 3}, x)}); });
          if (code == "ERR_TRT_QUEUE_FULL") continue;
          if (code == "ERR_TRT_CLOSED") return;
          CHECK_EQ(code, only);
          ++accepted;
          if (i % 7 == 0 && rig.cancel(request)) {
            ++cancelled;
          } else if (i % 5 == 0) {
            CHECK(scaledRight(rig.take(request), x));
          }
          if (i % 11 == 0) {
            (void)rig.session->stats();
            (void)rig.session->memory();
          }
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const std::vector<float> x = numbers(2, 3, i);
        const std::string code = codeOf([&] { CHECK(scaledRight(rig.run({input({2, 3}, x)}), x)); });
        if (code == "ERR_TRT_CLOSED") return;
        CHECK_EQ(code, std::string());
      }
    });
    if (round >= 3) std::this_thread::sleep_for(10ms);
    if (round >= 3) threads.emplace_back([&] { rig.session->close(); });
    if (round >= 4) threads.emplace_back([&] { rig.session->close(); });
    for (std::thread& thread : threads) thread.join();
    rig.session->close();
    CHECK_EQ(rig.completed(), accepted - cancelled);
    CHECK_EQ(rig.session->running() + rig.session->waiting(), 0u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("life: sessions that fail to start leave nothing") {
  for (const char* rule : {"createExecutionContext:1", "createExecutionContext:3", "createExecutionContext:2:sticky"}) {
    fakes::reset();
    {
      auto engine = load(plans::scale);
      fakes::tensorrt("fail", rule);
      SessionOptions options;
      options.lanes = 3;
      CHECK_CODE("ERR_TRT_EXECUTION", Rig(engine, options));
    }
    CHECK_NOTHING_LIVE();
  }
}

TEST("life: pinned memory is given back and taken again") {
  fakes::reset();
  const DeviceContext& device = DeviceContext::get(0);
  device.makeCurrent();
  auto& pool = nt::cuda::pinnedPool(device);
  const std::size_t used = pool.used();
  uint8_t* first = nullptr;
  {
    const auto block = pool.acquire(5 << 20);
    first = block->data();
    CHECK(block->capacity() >= std::size_t{5} << 20);
    CHECK_EQ(pool.used(), used + block->capacity());
  }
  CHECK_EQ(pool.used(), used);
  CHECK(pool.acquire(5 << 20)->data() == first);
  // when the driver has no more, what is kept in other sizes goes first
  const auto large = pool.acquire(7 << 20);
  CHECK(pool.kept() >= std::size_t{5} << 20);
  fakes::driver("fail", "cuMemHostAlloc:1:2");
  CHECK(pool.acquire(9 << 20) != nullptr);
  fakes::reset();
}
