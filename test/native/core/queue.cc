// The queue by a clock that these cases hold: no waiting, exact times.
#include "../../../native/execution/queue.h"

#include <cstring>
#include <map>
#include <thread>

#include "rig.h"

using namespace rig;
using nt::execution::FrontEnd;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint kStart{1000s};

struct Clocked {
  TimePoint now = kStart;
  Queue queue;
  uint64_t next = 1;
  std::map<uint64_t, nt::execution::Ticket> tickets = {};  // by request
  Permit& permit;

  explicit Clocked(BatchingOptions batching, std::size_t limit = 1000)
      : queue(std::move(batching), limit,
              [](std::size_t bytes) {
                const DeviceContext& device = DeviceContext::get(0);
                device.makeCurrent();
                return nt::cuda::pinnedPool(device).acquire(bytes);
              }),
        permit(queue.addSeat(0)) {}

  Part part(int64_t rows) {
    Part part;
    part.request = next++;
    part.rows = rows;
    part.asked = now;
    return part;
  }
  // A request for `rows` rows of `columns` bytes, each row filled with the request's number.
  uint64_t add(int64_t rows = 1, int64_t columns = 8) {
    Part made = part(rows);
    const uint64_t request = made.request;
    const Queue::Place place = queue.reserve({{rows, columns}}, {static_cast<std::size_t>(columns)}, std::move(made));
    std::memset(place.data(0, static_cast<std::size_t>(columns)), static_cast<int>(request),
                static_cast<std::size_t>(rows * columns));
    tickets[request] = place.ticket;
    queue.commit(place);
    return request;
  }
  // One row of a front-end's.
  void addFor(FrontEnd& front) {
    Part made = part(1);
    made.front = &front;
    const uint64_t request = made.request;
    const Queue::Place place = queue.reserve({{1, 8}}, {8}, std::move(made));
    tickets[request] = place.ticket;
    queue.commit(place);
  }
  // Whether the request was taken out.
  bool cancel(uint64_t request, const FrontEnd* front = nullptr) {
    return queue.cancel(front, tickets[request]).waiting;
  }
  std::vector<uint64_t> take() {
    std::vector<uint64_t> requests;
    const auto batch = queue.take(permit, now);
    if (!batch) return requests;
    int64_t row = 0;
    for (const Part& part : batch->parts) {
      requests.push_back(part.request);
      CHECK_EQ(part.row, row);
      row += part.rows;
      const auto columns = batch->rowBytes[0];
      for (int64_t i = 0; i < part.rows; ++i) {
        const uint8_t* data = batch->dataOf(part, 0) + columns * static_cast<std::size_t>(i);
        CHECK(std::all_of(data, data + columns,
                          [&](uint8_t byte) { return byte == static_cast<uint8_t>(part.request); }));
      }
    }
    CHECK_EQ(batch->rows, row);
    queue.forget(*batch);
    return requests;
  }
};

BatchingOptions batching(int64_t maxBatch, Clock::duration delay, std::vector<int64_t> preferred = {}) {
  return {maxBatch, delay, std::move(preferred), {}};
}
using Ids = std::vector<uint64_t>;

}  // namespace

TEST("queue: 64 single requests with maxBatch 16 are exactly 4 batches") {
  Clocked q(batching(16, 2ms));
  for (int i = 0; i < 64; ++i) q.add();
  CHECK_EQ(q.queue.waiting(), 64u);
  for (uint64_t batch = 0; batch < 4; ++batch) {
    const Ids ids = q.take();
    CHECK_EQ(ids.size(), 16u);
    CHECK_EQ(ids.front(), batch * 16 + 1);
  }
  CHECK_EQ(q.take(), Ids{});
  CHECK_EQ(q.queue.waiting(), 0u);
}

TEST("queue: a batch leaves exactly at maxDelay and not a nanosecond before") {
  Clocked q(batching(16, 2ms));
  CHECK(!q.queue.nextDue());
  q.add();
  q.now += 500us;
  q.add();
  CHECK(q.queue.nextDue() == kStart + 2ms);
  q.now = kStart + 2ms - 1ns;
  CHECK_EQ(q.take(), Ids{});
  q.now += 1ns;
  CHECK_EQ(q.take(), (Ids{1, 2}));
  CHECK(!q.queue.nextDue());
}

TEST("queue: without a delay a batch leaves at once, with all that came until then") {
  Clocked q(batching(16, 0ms));
  q.add();
  q.add(3);
  CHECK_EQ(q.take(), (Ids{1, 2}));
}

TEST("queue: a preferred size leaves without waiting") {
  Clocked q(batching(16, 2ms, {4, 8}));
  for (int i = 0; i < 3; ++i) q.add();
  CHECK_EQ(q.take(), Ids{});
  q.add();
  CHECK_EQ(q.take(), (Ids{1, 2, 3, 4}));
  q.add(5);
  CHECK_EQ(q.take(), Ids{});
  q.add(3);
  CHECK_EQ(q.take(), (Ids{5, 6}));
}

TEST("queue: other shapes are other batches, and each has its own time") {
  Clocked q(batching(16, 2ms));
  q.add(1, 8);
  q.now += 1ms;
  q.add(1, 4);
  q.add(2, 8);
  q.now = kStart + 2ms;
  CHECK_EQ(q.take(), (Ids{1, 3}));
  CHECK_EQ(q.take(), Ids{});
  CHECK(q.queue.nextDue() == kStart + 3ms);
  q.now = kStart + 3ms;
  CHECK_EQ(q.take(), (Ids{2}));
}

TEST("queue: what does not fit seals the batch, which leaves at once") {
  Clocked q(batching(8, 2ms));
  q.add(6);
  CHECK_EQ(q.take(), Ids{});
  q.add(3);
  q.add(1);  // would fit the first, but does not overtake
  CHECK_EQ(q.take(), (Ids{1}));
  CHECK_EQ(q.take(), Ids{});
  q.now += 2ms;
  CHECK_EQ(q.take(), (Ids{2, 3}));
}

TEST("queue: cancelling closes the gap, others keep their rows") {
  Clocked q(batching(16, 2ms));
  for (const int64_t rows : {1, 3, 2, 1}) q.add(rows);
  CHECK(q.cancel(2));
  CHECK(!q.cancel(2));
  CHECK(!q.cancel(99));
  CHECK_EQ(q.queue.waiting(), 3u);
  q.add(4);
  CHECK(q.cancel(1));
  CHECK(q.cancel(5));
  q.now += 2ms;
  CHECK_EQ(q.take(), (Ids{3, 4}));
  CHECK(!q.cancel(3));
}

TEST("queue: cancelling the oldest moves the time, cancelling the last removes the batch") {
  Clocked q(batching(16, 2ms));
  q.add();
  q.now += 1ms;
  q.add();
  CHECK(q.cancel(1));
  CHECK(q.queue.nextDue() == kStart + 3ms);
  CHECK(q.cancel(2));
  CHECK(!q.queue.nextDue());
  CHECK_EQ(q.queue.waiting(), 0u);
  q.now += 10ms;
  CHECK_EQ(q.take(), Ids{});
}

TEST("queue: a full batch from which a request is taken waits again") {
  Clocked q(batching(4, 2ms));
  for (int i = 0; i < 4; ++i) q.add();
  CHECK(q.cancel(2));
  CHECK_EQ(q.take(), Ids{});
  q.add();
  CHECK_EQ(q.take(), (Ids{1, 3, 4, 5}));
}

TEST("queue: of a batch that is over nobody's cancel is left when it is used again") {
  for (const int64_t maxBatch : {1, 4}) {
    Clocked q({maxBatch, 0ms, {}, {}});
    const uint64_t request = q.add();
    std::shared_ptr<Batch> batch = q.queue.take(q.permit, q.now);
    CHECK(batch != nullptr);
    if (!batch) return;
    batch->clear();  // the lane is done with it, and the queue has not heard of that yet
    CHECK(q.queue.cancel(nullptr, q.tickets[request]).abandoned.batch == batch);
    const Batch* const used = batch.get();
    CHECK(q.queue.take(q.permit, q.now, std::move(batch)) == nullptr);
    q.add();
    batch = q.queue.take(q.permit, q.now);
    CHECK(batch.get() == used);
    CHECK(!batch->abandoned);
    q.queue.forget(*batch);
  }
}

TEST("queue: without batching each request is a batch of its own, in order") {
  Clocked q(batching(1, 0ms));
  q.add(1, 8);
  q.add(1, 8);
  CHECK_EQ(q.take(), (Ids{1}));
  CHECK(q.cancel(2));
  CHECK_EQ(q.take(), Ids{});
}

TEST("queue: a full queue says so, and takes again when there is room") {
  Clocked q(batching(4, 2ms), 3);
  for (int i = 0; i < 3; ++i) q.add();
  CHECK_CODE("ERR_TRT_QUEUE_FULL", q.add());
  CHECK_EQ(q.queue.waiting(), 3u);
  CHECK(q.cancel(2));
  q.add();
  CHECK_CODE("ERR_TRT_QUEUE_FULL", q.add());
}

TEST("queue: a batch that is still being written does not leave") {
  Clocked q(batching(4, 0ms));
  const Queue::Place place = q.queue.reserve({{1, 8}}, {8}, q.part(1));
  CHECK_EQ(q.take(), Ids{});
  CHECK(!q.cancel(1));
  std::memset(place.data(0, 8), 1, 8);
  q.queue.commit(place);
  CHECK_EQ(q.take(), (Ids{1}));
}

TEST("queue: a request of its own gets a batch that is done with, and none that somebody still holds") {
  Clocked q(batching(1, 0ms), 2);
  q.add(1, 8);
  std::shared_ptr<Batch> batch = q.queue.take(q.permit, q.now);
  const Batch* const spent = batch.get();
  batch->clear();
  CHECK(q.queue.take(q.permit, q.now, std::move(batch)) == nullptr);
  q.add(1, 8);
  batch = q.queue.take(q.permit, q.now);
  CHECK(batch.get() == spent && batch->parts.size() == 1 && batch->rows == 1);
  CHECK(q.queue.take(q.permit, q.now, batch) == nullptr);
  q.add(1, 8);
  CHECK(q.queue.take(q.permit, q.now).get() != spent);
}

TEST("queue: a batch that is used again is laid out anew where the request is not alike") {
  Clocked q(batching(1, 0ms));
  int left = 1;
  const auto allocate = [&](std::size_t bytes) -> std::shared_ptr<nt::HostBlock> {
    if (left-- == 0) throw nt::Error("ERR_TRT_OUT_OF_MEMORY", "as asked");
    return nt::cuda::pinnedPool(DeviceContext::get(0)).acquire(bytes);
  };
  Batch batch;
  const Part plain;
  layOut(batch, {{4}, {8}}, {300, 8}, plain, 1, allocate);
  CHECK_EQ(batch.memory[0]->offsets, (std::vector<std::size_t>{0, 512}));
  const uint8_t* const memory = batch.memory[0]->block->data();
  layOut(batch, {{4}, {8}}, {300, 8}, plain, 1, allocate);
  CHECK(batch.memory[0]->block->data() == memory && batch.memory[0]->offsets[1] == 512);
  layOut(batch, {{4}, {8}}, {100, 8}, plain, 1, allocate);
  CHECK_EQ(batch.memory[0]->offsets, (std::vector<std::size_t>{0, 256}));
  Part leasing;
  uint8_t elsewhere = 0;
  leasing.leases = {{nullptr, &elsewhere}, {}};
  layOut(batch, {{4}, {8}}, {100, 8}, leasing, 1, allocate);
  CHECK_EQ(batch.memory[0]->offsets, (std::vector<std::size_t>{0, 0}));
  layOut(batch, {{4}, {8}}, {100, 8}, plain, 1, allocate);
  CHECK_EQ(batch.memory[0]->offsets, (std::vector<std::size_t>{0, 256}));
  // larger than what is there: what fails is not taken for laid out
  for (int i = 0; i < 2; ++i) {
    left = 0;
    CHECK_CODE("ERR_TRT_OUT_OF_MEMORY", layOut(batch, {{4}, {8}}, {1 << 20, 8}, plain, 1, allocate));
  }
  left = 1;
  layOut(batch, {{4}, {8}}, {1 << 20, 8}, plain, 1, allocate);
  CHECK(batch.memory[0]->block->capacity() > 1 << 20);
}

TEST("few: elements within, and many outside") {
  nt::SmallVector<std::vector<int>, 2> few;
  CHECK(few.empty() && few.begin() == few.end());
  for (const std::size_t size : {1u, 2u, 3u, 9u, 2u, 0u}) {
    few.reset(size);
    CHECK_EQ(few.size(), size);
    int next = 0;
    for (std::vector<int>& each : few) {
      CHECK(each.empty());
      each.assign(3, next++);
    }
    nt::SmallVector<std::vector<int>, 2> moved = std::move(few);
    CHECK(few.empty());
    few = std::move(moved);
    CHECK(few.size() == size && moved.empty());
    for (std::size_t i = 0; i < size; ++i) CHECK_EQ(few[i], std::vector<int>(3, static_cast<int>(i)));
  }
}

TEST("queue: what fails to find memory leaves nothing behind") {
  int left = 1;
  Queue queue(batching(4, 0ms), 10, [&](std::size_t bytes) -> std::shared_ptr<nt::HostBlock> {
    if (left-- == 0) throw nt::Error("ERR_TRT_OUT_OF_MEMORY", "as asked");
    return nt::cuda::pinnedPool(DeviceContext::get(0)).acquire(bytes);
  });
  Permit& permit = queue.addSeat(0);
  queue.commit(queue.reserve({{1, 8}}, {8}, {}));
  CHECK_CODE("ERR_TRT_OUT_OF_MEMORY", queue.reserve({{1, 4}}, {4}, {}));
  CHECK_EQ(queue.waiting(), 1u);
  CHECK(queue.take(permit, kStart + 1h) != nullptr);
  CHECK(queue.take(permit, kStart + 1h) == nullptr);
}

TEST("queue: closed, it refuses, and what waits leaves without delay") {
  Clocked q(batching(4, 1h));
  q.add();
  q.queue.close();
  CHECK(q.queue.closed());
  CHECK_CODE("ERR_TRT_CLOSED", q.add());
  CHECK_EQ(q.take(), (Ids{1}));
  CHECK(q.queue.waitAndTake(q.permit) == nullptr);
}

TEST("queue: drain takes all at once") {
  Clocked q(batching(2, 1h));
  for (int i = 0; i < 5; ++i) q.add();
  CHECK_EQ(q.queue.drain().size(), 5u);
  CHECK_EQ(q.queue.waiting(), 0u);
}

TEST("queue: threads that wait all go when the last batch is written and taken after the close") {
  for (int round = 0; round < 20; ++round) {
    Clocked q(batching(4, 0ms));
    q.now = Clock::now();
    const Queue::Place place = q.queue.reserve({{1, 8}}, {8}, q.part(1));
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, &permit = i == 0 ? q.permit : q.queue.addSeat(i % 2)] {
        while (q.queue.waitAndTake(permit)) ++taken;
      });
    }
    std::this_thread::sleep_for(1ms);
    q.queue.close();
    std::this_thread::sleep_for(1ms);
    q.queue.commit(place);
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(taken.load(), 1);
  }
}

TEST("queue: what a front-end that closes has waiting leaves without delay, with what waits beside it") {
  Clocked q(batching(4, 1h));
  FrontEnd closing({}), other({});
  q.addFor(closing);
  q.addFor(other);
  q.addFor(other);
  CHECK(!q.queue.take(q.permit, q.now));
  q.queue.closeFor(closing);
  CHECK(q.cancel(2, &other));
  CHECK(!q.cancel(1, &other));
  CHECK_CODE("ERR_TRT_CLOSED", q.addFor(closing));
  q.addFor(other);  // with the others
  const auto left = q.queue.take(q.permit, q.now);
  CHECK_EQ(left->parts.size(), 3u);
  CHECK_EQ(q.queue.asked(closing), 1u);
  CHECK_EQ(q.queue.asked(other), 2u);
  q.addFor(other);
  CHECK(!q.queue.take(q.permit, q.now));
  CHECK_EQ(q.queue.cancelAll(other).parts.size(), 1u);
  CHECK_EQ(q.queue.asked(other), 2u);
  CHECK_EQ(q.queue.waiting(), 0u);
}
