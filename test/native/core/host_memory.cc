// Host memory: what is page-locked, by whom and how much, and who keeps it.
#include <thread>

#include "../../../native/base/host_ring.h"
#include "../../../native/execution/memory.h"
#include "rig.h"

using namespace rig;
using namespace std::chrono_literals;

namespace {

using Floats = std::vector<float>;
using nt::HostPool;
using nt::HostRing;

constexpr std::size_t kMiB = std::size_t{1} << 20;

long long pinnedNow() { return fakes::driverCounts().at("pinnedBytes"); }
// Calls of cuMemHostAlloc.
long long locked() {
  const auto calls = fakes::driverCalls();
  const auto found = calls.find("cuMemHostAlloc");
  return found == calls.end() ? 0 : found->second;
}

// x → y [-1, columns], y = relu(2 x + 1)
std::string wide(int64_t columns) {
  const std::string dims = "," + std::to_string(columns);
  return "name wide\ninput x float32 -1" + dims + " device 0 -1 1\noutput y float32 -1" + dims +
         " device 0 -1 1\ndims 0 x 1" + dims + " 1" + dims + " 64" + dims +
         "\nop scale a x scale=2 offset=1\nop relu y a\n";
}

// Ordinary memory that counts.
class Counted : public nt::HostMemory {
 public:
  explicit Counted(std::size_t& bytes, std::size_t& calls) : bytes_(bytes), calls_(calls) {}
  void* tryAllocate(std::size_t bytes) override {
    ++calls_;
    bytes_ += bytes;
    auto* memory = static_cast<std::size_t*>(std::aligned_alloc(nt::kAlignment, bytes + nt::kAlignment));
    *memory = bytes;
    return memory + nt::kAlignment / sizeof(std::size_t);
  }
  void free(void* memory) noexcept override {
    auto* start = static_cast<std::size_t*>(memory) - nt::kAlignment / sizeof(std::size_t);
    bytes_ -= *start;
    std::free(start);
  }
  [[noreturn]] void failOutOfMemory(std::size_t) override { throw nt::Error("ERR_TRT_OUT_OF_MEMORY", "as asked"); }

 private:
  std::size_t& bytes_;
  std::size_t& calls_;
};

// Memory that takes its time to come and to go, as page-locking does.
class Slow : public nt::HostMemory {
 public:
  explicit Slow(std::atomic<std::size_t>& peak) : peak_(peak) {}
  void* tryAllocate(std::size_t bytes) override {
    const std::size_t now = now_ += bytes;
    for (std::size_t before = peak_; before < now && !peak_.compare_exchange_weak(before, now);) continue;
    std::this_thread::sleep_for(200us);
    void* memory = std::aligned_alloc(nt::kAlignment, bytes);
    const std::lock_guard lock(mutex_);
    return sizes_[memory] = bytes, memory;
  }
  void free(void* memory) noexcept override {
    std::this_thread::sleep_for(500us);
    {
      const std::lock_guard lock(mutex_);
      now_ -= sizes_[memory];
    }
    std::free(memory);
  }
  [[noreturn]] void failOutOfMemory(std::size_t) override { throw nt::Error("ERR_TRT_OUT_OF_MEMORY", "as asked"); }

 private:
  std::atomic<std::size_t>& peak_;
  std::atomic<std::size_t> now_{0};
  std::mutex mutex_;
  std::map<void*, std::size_t> sizes_;
};

// Pinned memory of which there is so much, and whose freeing takes until it is let through.
class Gated : public nt::HostMemory {
 public:
  explicit Gated(std::size_t most) : left_(most) {}
  bool pinned() const noexcept override { return true; }
  void* tryAllocate(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (bytes > left_) return nullptr;
    left_ -= bytes;
    void* memory = std::aligned_alloc(nt::kAlignment, bytes);
    return sizes_[memory] = bytes, memory;
  }
  void free(void* memory) noexcept override {
    std::unique_lock lock(mutex_);
    here_ = here_ || std::this_thread::get_id() == owner_;
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ || here_; });
    --inside_;
    left_ += sizes_[memory];
    std::free(memory);
  }
  [[noreturn]] void failOutOfMemory(std::size_t) override { throw nt::Error("ERR_TRT_OUT_OF_MEMORY", "as asked"); }

  void awaitInside(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ == count || here_; });
  }
  void open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  int inside() {
    const std::lock_guard lock(mutex_);
    return inside_;
  }
  // Whether the thread that made this freed anything.
  bool here() {
    const std::lock_guard lock(mutex_);
    return here_;
  }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t left_;
  int inside_ = 0;
  bool open_ = false, here_ = false;
  std::map<void*, std::size_t> sizes_;
};

}  // namespace

TEST("memory: pinned memory is freed on a thread of the pool's own, and who must not wait for that does not") {
  static auto& memory = *new Gated(40 * kMiB);
  static auto& pool = *new HostPool(std::unique_ptr<nt::HostMemory>(&memory), 8 * kMiB, 16 * kMiB);
  (void)pool.acquire(12 * kMiB);  // more than is kept
  memory.awaitInside(1);
  {
    const auto large = pool.acquireAtOnce(12 * kMiB);  // both are more than the pool may have
    CHECK_EQ(memory.inside(), 1);
    CHECK_EQ(pool.used(), 12 * kMiB);
    // who may wait does so
    std::thread waiting([&] { (void)pool.acquire(3 * kMiB); });
    memory.open(true);
    waiting.join();
  }
  memory.awaitInside(0);
  // what is kept in other sizes goes where there is no memory left, and is waited for even by those who must not
  { const auto four = pool.acquire(4 * kMiB), three = pool.acquire(3 * kMiB); }
  CHECK(pool.kept() > 0);
  CHECK(pool.acquireAtOnce(39 * kMiB) != nullptr);
  CHECK_EQ(codeOf([&] { (void)pool.acquireAtOnce(41 * kMiB); }), "ERR_TRT_OUT_OF_MEMORY");
  CHECK(!memory.here());
}

TEST("memory: a pool stays within its limits while several threads take and give back") {
  static std::atomic<std::size_t> peak{0};
  static auto& pool = *new HostPool(std::make_unique<Slow>(peak), 8 * kMiB, 16 * kMiB);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (std::size_t i = 0; i < 60; ++i) (void)pool.acquire((1 + (i * 7 + thread * 5) % 12) * kMiB / 4);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(peak <= 16 * kMiB);
  CHECK_EQ(pool.used(), 0u);
  CHECK(pool.kept() > 0 && pool.kept() <= 8 * kMiB);
}

TEST("memory: a pool keeps what was used last, within its limits") {
  static std::size_t bytes = 0, calls = 0;
  static auto& pool = *new HostPool(std::make_unique<Counted>(bytes, calls), 8 * kMiB, 16 * kMiB);
  for (std::size_t i = 0; i < 100; ++i) {
    (void)pool.acquire(4096 + i * 70'000);
    CHECK(bytes <= 8 * kMiB);
  }
  CHECK_EQ(pool.used(), 0u);
  CHECK_EQ(pool.kept(), bytes);
  // the last ones are there still, the first are not
  const std::size_t before = calls;
  (void)pool.acquire(4096 + 99 * 70'000);
  CHECK_EQ(calls, before);
  (void)pool.acquire(4096);
  CHECK_EQ(calls, before + 1);
  // while much is in use, nothing is kept
  {
    const auto large = pool.acquire(16 * kMiB);
    CHECK_EQ(bytes, 16 * kMiB);
    (void)pool.acquire(kMiB);
    CHECK_EQ(bytes, 16 * kMiB);
    CHECK_EQ(pool.kept(), 0u);
  }
}

TEST("memory: a ring gives out pieces, takes them back, and never asks the driver for them") {
  static std::size_t bytes = 0, calls = 0;
  static auto& pool = *new HostPool(std::make_unique<Counted>(bytes, calls), 64 * kMiB);
  auto ring = std::make_shared<HostRing>(pool, 8 * kMiB, 1);
  const auto input = HostRing::For::input, result = HostRing::For::result;
  CHECK(ring->take(1000, input) == nullptr);
  CHECK_EQ(calls, 0u);
  ring->grow();
  CHECK_EQ(bytes, kMiB);
  {
    std::vector<std::shared_ptr<nt::HostBlock>> all;
    while (auto block = ring->take(100'000, input)) all.push_back(std::move(block));
    CHECK_EQ(all.size(), 10u);
    for (std::size_t i = 1; i < all.size(); ++i)
      CHECK(all[i]->data() >= all[i - 1]->data() + 100'000 || all[i]->data() + 100'000 <= all[i - 1]->data());
    CHECK_EQ(pool.used(), 10 * nt::aligned(100'000));
    CHECK_EQ(pool.used() + pool.kept(), kMiB);
    // every second one, then the rest: neighbours are one again
    for (std::size_t i = 0; i < all.size(); i += 2) all[i].reset();
    CHECK(ring->take(150'000, input) == nullptr);
  }
  CHECK_EQ(pool.used(), 0u);
  CHECK(ring->take(kMiB, input) != nullptr);
  CHECK_EQ(calls, 1u);
  // what waits leaves something for results, and the other way round
  std::vector<std::shared_ptr<nt::HostBlock>> inputs, results;
  while (auto block = ring->takeOrGrow(kMiB / 2, input)) inputs.push_back(std::move(block));
  CHECK_EQ(inputs.size(), 12u);
  while (auto block = ring->takeOrGrow(kMiB / 2, result)) results.push_back(std::move(block));
  CHECK_EQ(results.size(), 4u);
  inputs.clear();
  while (auto block = ring->takeOrGrow(kMiB / 2, result)) results.push_back(std::move(block));
  CHECK_EQ(results.size(), 8u);
  CHECK(bytes <= 8 * kMiB);
  results.clear();
  // one larger than what there is in one piece: what nobody uses makes room
  CHECK(ring->takeOrGrow(6 * kMiB, input) != nullptr);
  CHECK(ring->take(7 * kMiB, input) == nullptr);
  const auto last = ring->takeOrGrow(kMiB, result);
  ring.reset();
  CHECK_EQ(pool.used(), kMiB);
}

TEST("memory: a ring for which there is none goes without, whatever forbids page-locking") {
  for (const char* code : {"2", "304", "801", "1"}) {
    fakes::reset();
    fakes::driver("fail", std::string("cuMemHostAlloc:1:") + code + ":sticky");
    {
      Rig rig(wide(4096), merging(4));
      const Floats x = numbers(2, 4096, 1);
      CHECK(scaledRight(rig.infer({input({2, 4096}, x)}), x));
      CHECK(scaledRight(rig.run({input({2, 4096}, x)}), x));
      // who wants it, and nothing else, hears why there is none
      CHECK_CODE(code == std::string("2") ? "ERR_TRT_OUT_OF_MEMORY" : "ERR_TRT_CUDA", rig.pool().acquire(77 * kMiB));
      fakes::reset();
      for (int i = 0; i < 3; ++i) CHECK(scaledRight(rig.infer({input({2, 4096}, x)}), x));
    }
    CHECK_NOTHING_LIVE();
  }
}

TEST("memory: a caller never page-locks, however much it asks for") {
  fakes::reset();
  const long long others = pinnedNow();  // what the pool keeps of earlier cases
  {
    constexpr int64_t columns = 640 * 640 * 3;  // 4.9 MB
    SessionOptions options = merging(64, 1h);
    Rig rig(wide(columns), options);
    const Input given = input({1, columns}, numbers(1, columns, 1));
    const long long before = locked();
    std::vector<uint64_t> asked;
    std::string code;
    // no batch is full: all calls of the driver meanwhile would be this thread's
    while (code.empty() && asked.size() < 64) code = codeOf([&] { asked.push_back(rig.submit({given})); });
    CHECK_EQ(locked(), before);
    CHECK_EQ(code, "ERR_TRT_QUEUE_FULL");
    CHECK_EQ(asked.size(), SessionOptions::kQueueBytes / given.bytes.size());
    CHECK_EQ(rig.session->memory().queued, asked.size() * given.bytes.size());
    CHECK(rig.pool().used() + HostPool::ordinary().used() <=
          SessionOptions::kQueueBytes + SessionOptions::kQueueBytes / 8);
    CHECK(pinnedNow() - others <= static_cast<long long>(64 * kMiB));
    for (const uint64_t request : asked) CHECK(rig.cancel(request));
    CHECK_EQ(rig.session->memory().queued, 0u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("memory: sizes that never come again take no more than the ring") {
  fakes::reset();
  const long long others = pinnedNow();  // what the pool keeps of earlier cases
  {
    Rig rig(
        "name any\ninput x float32 -1 device 0 -1 1\noutput y float32 -1 device 0 -1 1\n"
        "dims 0 x 1 1000 3000000\nop scale a x scale=2 offset=1\nop relu y a\n");
    const long long before = locked();
    for (int i = 0; i < 100; ++i) {
      const int64_t count = 17'000 + i * 3'001;
      const Floats x = numbers(1, count, i);
      CHECK(scaledRight(rig.infer({input({count}, x)}), x));
      CHECK(pinnedNow() - others <= static_cast<long long>(64 * kMiB));
    }
    CHECK(locked() - before <= 16);
    test::say("100 new sizes: " + std::to_string(locked() - before) + " calls of cuMemHostAlloc");
  }
  CHECK_NOTHING_LIVE();
}

TEST("memory: pictures at once, and results that are all kept") {
  fakes::reset();
  const long long others = pinnedNow();  // what the pool keeps of earlier cases
  {
    constexpr int64_t columns = 150'528;  // 602,112 bytes
#if defined(__SANITIZE_THREAD__)
    constexpr std::size_t kPictures = 60;  // the fake device's work takes long there
#else
    constexpr std::size_t kPictures = 300;
#endif
    Rig rig(wide(columns));
    const Floats x = numbers(1, columns, 3);
    std::vector<uint64_t> asked;
    for (std::size_t i = 0; i < kPictures; ++i) asked.push_back(rig.submit({input({1, columns}, x)}));
    std::vector<Completion> kept;
    for (const uint64_t request : asked) {
      kept.push_back(rig.take(request));
      CHECK(pinnedNow() - others <= static_cast<long long>(64 * kMiB));
    }
    for (const Completion& each : kept) CHECK(scaledRight(each, x));
    CHECK_EQ(fakes::driverCounts().at("pageableCopies"), 0);
    const auto copied = rig.session->stats()[nt::execution::Count::bytesCopied];
    CHECK(copied >= kPictures * columns * 4 && copied <= 2 * kPictures * columns * 4);
  }
  CHECK_NOTHING_LIVE();
}

TEST("memory: what is in the ring is copied once, what is not twice, and both are right in one batch") {
  fakes::reset();
  {
    constexpr int64_t columns = 20'000;  // 80,000 bytes: each request has memory of its own
    SessionOptions options = merging(16, 1h);
    Rig rig(wide(columns), options);
    auto& ring = *rig.session->ring();
    for (const int round : {0, 1, 2}) {  // the ring grows, has room, has none
      const bool full = round == 2;
      std::vector<std::shared_ptr<nt::HostBlock>> all;
      while (auto block = full ? ring.take(columns * 4, HostRing::For::input) : nullptr)
        all.push_back(std::move(block));
      const uint64_t before = rig.session->stats()[nt::execution::Count::bytesCopied];
      std::vector<std::pair<uint64_t, Floats>> asked;
      for (const int64_t rows : {1, 3, 2, 4, 1, 5}) {  // 16: full
        Floats x = numbers(rows, columns, static_cast<int>(asked.size()));
        // one of them leased
        const bool leases = rows == 2;
        Input given = leases ? leased(rig.pool(), {rows, columns}, x) : input({rows, columns}, x);
        asked.emplace_back(rig.submit({given}), std::move(x));
      }
      for (const auto& [request, x] : asked) CHECK(scaledRight(rig.take(request), x));
      if (round > 0)
        CHECK_EQ(rig.session->stats()[nt::execution::Count::bytesCopied] - before,
                 (full ? 2u : 1u) * 14u * columns * 4u);
    }
    CHECK_EQ(fakes::driverCounts().at("pageableCopies"), 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("memory: whoever keeps a result of a batch keeps nothing of the others") {
  fakes::reset();
  for (const int64_t columns : {int64_t{1000}, int64_t{50'000}}) {
    Rig rig(wide(columns), merging(16, 1h));
    const std::size_t pinned = rig.pool().used(), ordinary = HostPool::ordinary().used();
    std::vector<uint64_t> asked;
    const Floats x = numbers(1, columns, 5);
    for (int i = 0; i < 16; ++i) asked.push_back(rig.submit({input({1, columns}, x)}));
    Completion kept;
    for (const uint64_t request : asked) kept = rig.take(request);
    // the batch goes back when the lane asks for the next one
    CHECK(scaledRight(rig.run({input({1, columns}, x)}), x));
    const std::size_t held = rig.pool().used() - pinned + HostPool::ordinary().used() - ordinary;
    const auto own = static_cast<std::size_t>(columns) * 4;
    CHECK(held >= own && held <= own + own / 4 + HostPool::kLeast);
    CHECK(scaledRight(kept, x));
  }
  CHECK_NOTHING_LIVE();
}

TEST("memory: requests leave a batch of several pieces, and the others keep their rows") {
  fakes::reset();
  for (const int64_t columns : {int64_t{3}, int64_t{5'000}, int64_t{40'000}}) {
    Rig rig(wide(columns), merging(16, 1h));
    std::vector<std::pair<uint64_t, Floats>> asked;
    for (const int64_t rows : {2, 1, 3, 1, 4}) {
      Floats x = numbers(rows, columns, static_cast<int>(asked.size()) * 3);
      asked.emplace_back(rig.submit({input({rows, columns}, x)}), std::move(x));
    }
    for (const std::size_t i : {0u, 2u, 3u}) CHECK(rig.cancel(asked[i].first));
    CHECK_EQ(rig.session->memory().queued, static_cast<std::size_t>(columns) * 4 * 5);
    for (const int64_t rows : {6, 5}) {
      Floats x = numbers(rows, columns, static_cast<int>(asked.size()) * 3);
      asked.emplace_back(rig.submit({input({rows, columns}, x)}), std::move(x));
    }
    for (const std::size_t i : {1u, 4u, 5u, 6u}) CHECK(scaledRight(rig.take(asked[i].first), asked[i].second));
    CHECK_EQ(rig.session->stats()[nt::execution::Count::batches], 1u);
    CHECK_EQ(rig.session->memory().queued, 0u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("memory: a queue that is full of bytes says so, loses nothing, and works on") {
  fakes::reset();
  fakes::driver("computeMs", "5");
  for (const int64_t maxBatch : {int64_t{1}, int64_t{2}}) {
    SessionOptions options = merging(maxBatch, 1ms);
    options.maxQueueBytes = 5 * 12'000;
    Rig rig(wide(1000), options);
    const Floats x = numbers(3, 1000, 2);
    const Floats small = numbers(1, 1000, 4);
    std::vector<uint64_t> asked;
    std::string code;
    while (code.empty() && asked.size() < 100)
      code = codeOf([&] { asked.push_back(rig.submit({input({1, 1000}, small)})); });
    CHECK_EQ(code, "ERR_TRT_QUEUE_FULL");
    CHECK(rig.session->memory().queued <= 60'000);
    // what is leased does not count
    asked.push_back(rig.submit({leased(rig.pool(), {1, 1000}, small)}));
    for (const uint64_t request : asked) CHECK(scaledRight(rig.take(request), small));
    CHECK(scaledRight(rig.infer({input({1, 1000}, small)}), small));
    CHECK_EQ(rig.session->memory().queued, 0u);
    if (maxBatch == 1) {
      const Floats large = numbers(16, 1000, 2);
      try {
        rig.submit({input({16, 1000}, large)});
        CHECK(false);
      } catch (const nt::Error& error) {
        CHECK_EQ(std::string(error.code()), "ERR_TRT_QUEUE_FULL");
        CHECK_EQ(std::string(error.what()),
                 "The engine's queue is full: 0 bytes wait, maxQueueBytes is 60000, the request has 64000");
      }
      CHECK(scaledRight(rig.run({input({16, 1000}, large)}), large));  // it does not wait in a queue
    }
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}
