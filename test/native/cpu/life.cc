// Sessions and engines from their beginning to their end, several threads at once, and failures on the way.
#include <malloc.h>

#include <deque>
#include <thread>

#include "rig.h"

using namespace rig;
using namespace std::chrono_literals;

namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

std::atomic<int> trims{0};

}  // namespace

// In place of glibc's: it goes through all arenas with their locks held.
extern "C" int malloc_trim(std::size_t) noexcept { return ++trims; }

TEST("life: the heap is trimmed when much of it came free, and not by each engine that goes") {
  { Rig settled(models::scale()); }
  const auto closed = [](const std::string& model, int times) {
    const int before = trims;
    for (int i = 0; i < times; ++i) load(model);
    return trims - before;
  };
  CHECK(closed(models::scale(), 8) <= 1);
  const std::vector<float> weights(10 << 20, 0.5F);
  const onnx::Dims size = std::vector<onnx::Dim>{static_cast<int64_t>(weights.size())};
  onnx::Graph large;
  large.input("x", onnx::DType::float32, size).output("y", onnx::DType::float32, size);
  large.constant("w", onnx::DType::float32, {static_cast<int64_t>(weights.size())}, weights);
  large.node("Add", {"x", "w"}, {"y"});
  CHECK_EQ(closed(large.model(), 2), 2);
  CHECK_NOTHING_LIVE();
}

TEST("life: close lets what was asked for end, refuses what comes after, and may come twice") {
  {
    SessionOptions options;
    options.lanes = 2;
    Rig rig(models::scale(), options);
    std::vector<uint64_t> asked;
    for (int i = 0; i < 200; ++i) asked.push_back(rig.submit({input({2, 3}, numbers(2, 3, i))}));
    rig.session->close();
    CHECK_EQ(rig.completed(), 200u);
    for (int i = 0; i < 200; ++i) CHECK(scaledRight(rig.take(asked[static_cast<std::size_t>(i)]), numbers(2, 3, i)));
    CHECK_CODE("ERR_TRT_CLOSED", rig.submit({input({2, 3}, numbers(2, 3, 1))}));
    CHECK_CODE("ERR_TRT_CLOSED", rig.run({input({2, 3}, numbers(2, 3, 1))}));
    CHECK(!rig.cancel(asked[0]));
    rig.session->close();
    CHECK_EQ(rig.session->waiting() + rig.session->running(), 0u);
    CHECK_EQ(nt::cpu::live().lanes.load(), 0);
    CHECK_EQ(nt::cpu::live().engines.load(), 1);
  }
  {
    Rig rig(models::scale(), merging(16, 1h));
    const uint64_t asked = rig.submit({input({2, 3}, numbers(2, 3, 1))});
    rig.session->close();  // does not wait for maxDelay
    CHECK(scaledRight(rig.take(asked), numbers(2, 3, 1)));
  }
  CHECK_NOTHING_LIVE();
}

TEST("life: an engine outlives its sessions and is freed with the last") {
  {
    auto engine = load(models::scale());
    Rig first(engine, {});
    SessionOptions options = merging(8);
    options.lanes = 2;
    Rig second(engine, options);
    engine.reset();
    CHECK(scaledRight(first.infer({input({2, 3}, numbers(2, 3, 1))}), numbers(2, 3, 1)));
    CHECK(scaledRight(second.infer({input({2, 3}, numbers(2, 3, 2))}), numbers(2, 3, 2)));
    first.session->close();
    CHECK(scaledRight(second.infer({input({2, 3}, numbers(2, 3, 3))}), numbers(2, 3, 3)));
    CHECK_EQ(nt::cpu::live().engines.load(), 1);
  }
  CHECK_NOTHING_LIVE();
}

TEST("life: results outlive the session and the engine") {
  Completion small, large, made;
  const Floats x = numbers(1, 3, 1), y = numbers(1000, 3, 2);
  {
    Rig rig(models::scale()), nonzero(models::nonzero());
    small = rig.infer({input({1, 3}, x)});
    large = rig.infer({input({1000, 3}, y)});
    made = nonzero.infer({input({5000}, Floats(5000, 1.0F))});
  }
  CHECK_EQ(nt::cpu::live().engines.load(), 0);
  CHECK_EQ(nt::cpu::live().values.load(), 1);
  CHECK(scaledRight(small, x) && scaledRight(large, y));
  CHECK_EQ(values<int64_t>(made.outputs[0])[4999], 4999);
  CHECK(nt::HostPool::ordinary().used() >= y.size() * 4);
  for (Completion* each : {&small, &large, &made}) *each = {};
  CHECK_NOTHING_LIVE();
}

TEST("life: what fails in the library is typed, and leaves the lane usable") {
  {
    Rig rig(models::expand()), table(models::gather());
    for (int i = 0; i < 3; ++i) {
      CHECK_EQ(codeOf(rig.infer({input({3}, Floats{1, 2, 3}), input({1}, Longs{2})}).failure), "ERR_TRT_EXECUTION");
      CHECK_CODE("ERR_TRT_EXECUTION", rig.run({input({3}, Floats{1, 2, 3}), input({1}, Longs{2})}));
      CHECK_EQ(values<float>(rig.infer({input({1}, Floats{7}), input({1}, Longs{3})}).outputs[0]), (Floats{7, 7, 7}));
      // one whose outputs were lent memory, which it is not the fault of
      CHECK_EQ(codeOf(table.infer({input({1, 1}, Longs{5})}).failure), "ERR_TRT_EXECUTION");
      CHECK_EQ(values<float>(table.infer({input({1, 1}, Longs{2})}).outputs[0]), (Floats{20, 21}));
    }
    CHECK(dynamic_cast<const Engine&>(table.session->engine()).expectedShape(0, {{1, 1}}) == (Shape{1, 1, 2}));
    CHECK_EQ(rig.session->stats()[nt::execution::Count::failed], 6u);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their operator new ends the process
    // more memory than there is
    CHECK_EQ(codeOf(rig.infer({input({1}, Floats{7}), input({1}, Longs{int64_t{1} << 46})}).failure),
             "ERR_TRT_OUT_OF_MEMORY");
    CHECK_EQ(values<float>(rig.infer({input({1}, Floats{7}), input({1}, Longs{2})}).outputs[0]), (Floats{7, 7}));
#endif
  }
  CHECK_NOTHING_LIVE();
}

TEST("life: a full queue refuses, and takes again") {
  {
    SessionOptions options;
    options.maxQueue = 4;
    Rig rig(models::loop(), options);
    const std::vector<Input> one = {input({1, 1}, Floats{1})};
    const uint64_t busy = rig.submit({input({1, 1}, Floats{models::kForEver})});
    rig.waitUntilRunning(1);
    std::vector<uint64_t> asked;
    for (int i = 0; i < 4; ++i) asked.push_back(rig.submit(one));
    CHECK_CODE("ERR_TRT_QUEUE_FULL", rig.submit(one));
    CHECK_EQ(rig.session->waiting(), 4u);
    CHECK(rig.cancel(asked[3]));
    asked[3] = rig.submit(one);
    CHECK_CODE("ERR_TRT_QUEUE_FULL", rig.submit(one));
    rig.cancel(busy);
    CHECK(rig.take(busy).abandoned);
    for (const uint64_t request : asked) CHECK_EQ(codeOf(rig.take(request).failure), "");
  }
  CHECK_NOTHING_LIVE();
}

TEST("life: run() gets its turn while all lanes are busy") {
  {
    SessionOptions options;
    options.lanes = 2;
    Rig rig(models::scale(), options);
    std::atomic<bool> stop{false};
    std::thread feeder([&] {
      std::deque<std::pair<uint64_t, Floats>> asked;
      for (int i = 0; !stop || !asked.empty(); ++i) {
        if (!stop) {
          const Floats x = numbers(2, 3, i);
          asked.emplace_back(rig.submit({input({2, 3}, x)}), x);
          if (asked.size() < 32) continue;
        }
        CHECK(scaledRight(rig.take(asked.front().first), asked.front().second));
        asked.pop_front();
      }
    });
    for (int i = 0; i < 200; ++i) CHECK(scaledRight(rig.run({input({3, 3}, numbers(3, 3, i))}), numbers(3, 3, i)));
    stop = true;
    feeder.join();
  }
  CHECK_NOTHING_LIVE();
}

TEST("life: threads of one inference, shared by lanes") {
  {
    nt::cpu::Options options;
    options.threads = 2;
    options.deterministic = true;
    SessionOptions lanes;
    lanes.lanes = 3;
    Rig rig(load(models::scale(20000), options), lanes);
    std::vector<std::pair<uint64_t, Floats>> asked;
    for (int i = 0; i < 30; ++i) {
      const Floats x = numbers(4, 20000, i);
      asked.emplace_back(rig.submit({input({4, 20000}, x)}), x);
    }
    for (const auto& [request, x] : asked) CHECK(scaledRight(rig.take(request), x));
  }
  CHECK_NOTHING_LIVE();
}

TEST("life: submit, cancel, run, stats and close from several threads") {
  for (int round = 0; round < 6; ++round) {
    SessionOptions options = round % 2 == 0 ? merging(8, 100us) : SessionOptions{};
    options.lanes = 3;
    options.maxQueue = 100;
    options.batching.pad = {4};
    Rig rig(models::scale(), options);
    std::atomic<std::size_t> accepted{0}, cancelled{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 150; ++i) {
          const int64_t rows = 1 + i % 3;
          const Floats x = numbers(rows, 3, i + t);
          uint64_t request = 0;
          const std::string code = codeOf([&] {
            request = rig.submit({i % 4 == 0 ? leased(rig.pool(), {rows, 3}, x) : input({rows, 3}, x)});
          });
          if (code == "ERR_TRT_QUEUE_FULL") continue;
          if (code == "ERR_TRT_CLOSED") return;
          CHECK_EQ(code, "");
          ++accepted;
          if (i % 7 == 0) {
            if (rig.cancel(request)) ++cancelled;
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
        const Floats x = numbers(2, 3, i);
        const std::string code = codeOf([&] { CHECK(scaledRight(rig.run({input({2, 3}, x)}), x)); });
        if (code == "ERR_TRT_CLOSED") return;
        CHECK_EQ(code, "");
      }
    });
    if (round >= 3) std::this_thread::sleep_for(5ms);
    if (round >= 3) threads.emplace_back([&] { rig.session->close(); });
    if (round >= 4) threads.emplace_back([&] { rig.session->close(); });
    for (std::thread& thread : threads) thread.join();
    rig.session->close();
    CHECK_EQ(rig.completed(), accepted - cancelled);
    CHECK_EQ(rig.session->running() + rig.session->waiting(), 0u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("life: engines are loaded, run and dropped by several threads at once") {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 10; ++i) {
        Rig rig(models::scale());
        CHECK(scaledRight(rig.infer({input({2, 3}, numbers(2, 3, i + t))}), numbers(2, 3, i + t)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_NOTHING_LIVE();
}
