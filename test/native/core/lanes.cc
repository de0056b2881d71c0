// One lane, used as a session may: one thread enqueues, another finishes.
#include <deque>
#include <random>
#include <thread>

#include "rig.h"

using namespace rig;
using nt::execution::Lane;
using nt::execution::LaneOptions;
using nt::execution::Wait;

namespace {

constexpr int64_t kColumns = 64;

std::shared_ptr<Batch> batchOf(const Engine& engine, uint64_t request, const std::vector<float>& x) {
  auto batch = std::make_shared<Batch>();
  Part part;
  part.request = request;
  part.asked = Clock::now();
  const auto rows = static_cast<int64_t>(x.size()) / kColumns;
  layOut(*batch, {{rows, kColumns}}, {x.size() * sizeof(float)}, part, 1,
         [&](std::size_t bytes) { return engine.pool().acquire(bytes); });
  std::memcpy(batch->memory[0]->at(0, 0, 0), x.data(), x.size() * sizeof(float));
  batch->add(std::move(part));
  return batch;
}

// What was enqueued and is not finished yet, between two threads.
class Under {
 public:
  struct Way {
    int slot;
    std::vector<float> x;
  };
  explicit Under(int slots) {
    for (int slot = 0; slot < slots; ++slot) free_.push_back(slot);
  }
  int takeSlot() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !free_.empty(); });
    const int slot = free_.front();
    free_.pop_front();
    return slot;
  }
  void giveSlot(int slot) {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
    changed_.notify_all();
  }
  void push(Way way) {
    const std::lock_guard lock(mutex_);
    ways_.push_back(std::move(way));
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  // false: that was all
  bool next(Way& way) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !ways_.empty(); });
    if (ways_.empty()) return false;
    way = std::move(ways_.front());
    ways_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> free_;
  std::deque<Way> ways_;
  bool ended_ = false;
};

const std::string kPlan =
    "name l\nmemory 4096,65536\ninput x float32 -1,64 device 0 -1 1\noutput y float32 -1,64 device 0 -1 1\n"
    "dims 0 x 1,64 4,64 8,64\ndims 1 x 9,64 64,64 512,64\nop scale a x scale=2 offset=1\nop relu y a\n";

// How many batches failed.
int play(const std::shared_ptr<Engine>& engine, int batches, unsigned seed) {
  engine->enter();
  const std::unique_ptr<Lane> lane = engine->createLane(LaneOptions{});
  Under under(lane->slots());
  std::atomic<int> failed{0};
  std::thread finisher([&] {
    engine->enter();
    for (Under::Way way; under.next(way);) {
      try {
        const std::vector<Completion> done =
            lane->finish(way.slot, nt::execution::Wait{std::chrono::microseconds(100)});
        CHECK(done.size() == 1 && scaledRight(done[0], way.x));
      } catch (const nt::Error&) {
        ++failed;
      }
      under.giveSlot(way.slot);
    }
  });
  std::mt19937 random(seed);
  for (int i = 0; i < batches; ++i) {
    // few shapes that come often, and more and more of others
    const int64_t rows =
        random() % 4 != 0 ? 1 + random() % 3 : 1 + random() % static_cast<unsigned>(2 + i * 500 / batches);
    std::vector<float> x = numbers(rows, kColumns, i);
    const int slot = under.takeSlot();
    try {
      lane->enqueue(slot, batchOf(*engine, static_cast<uint64_t>(i + 1), x));
      under.push({slot, std::move(x)});
    } catch (const nt::Error&) {
      ++failed;
      under.giveSlot(slot);
    }
  }
  under.end();
  finisher.join();
  return failed;
}

}  // namespace

TEST("lanes: one thread enqueues while another finishes") {
  fakes::reset();
  {
    const auto engine = load(kPlan);
    CHECK_EQ(play(engine, 1500, 5), 0);
    CHECK(fakes::driverCounts().at("graphLaunches") > 100);
  }
  CHECK_NOTHING_LIVE();
}

TEST("lanes: a capture waits for a moment at which less waits than the lanes begin at once, but not for ever") {
  fakes::reset();
  {
    const auto engine = load(kPlan);
    engine->enter();
    bool isPressed = false;
    LaneOptions options;
    options.slots = 1;
    options.isPressed = [&] { return isPressed; };
    const std::unique_ptr<Lane> lane = engine->createLane(options);
    const auto run = [&](int64_t rows, int times) {
      for (int i = 0; i < times; ++i) {
        const std::vector<float> x = numbers(rows, kColumns, i);
        lane->enqueue(0, batchOf(*engine, 1, x));
        CHECK(scaledRight(lane->finish(0, Wait::block).at(0), x));
        engine->awaitPrepared();
      }
    };
    const auto graphs = [] { return fakes::driverCounts().at("graphExecs"); };
    run(2, 3);  // the context is there
    isPressed = true;
    run(2, 8);
    CHECK_EQ(graphs(), 0);
    isPressed = false;
    run(2, 1);
    CHECK_EQ(graphs(), 1);
    isPressed = true;
    run(3, 3 + 32);
    const long long before = graphs();
    run(3, 1);
    CHECK_EQ(graphs() - before, 1);
  }
  CHECK_NOTHING_LIVE();
}

TEST("lanes: what fails on either thread does not disturb the other") {
  for (const char* function : {"cuEventQuery", "cuMemcpyDtoHAsync_v2", "cuGraphLaunch", "cuStreamEndCapture",
                               "cuMemAlloc_v2", "cuStreamSynchronize", "cuEventRecord"}) {
    fakes::reset();
    test::watchdog(60, function);
    const auto engine = load(kPlan);
    for (const int n : {3, 10, 17, 40, 41, 90})
      fakes::driver("fail", std::string(function) + ":" + std::to_string(n) + ":1");
    CHECK(play(engine, 300, 7) <= 6);
    fakes::reset();  // rules are over
    CHECK_EQ(play(engine, 1, 7), 0);
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}
