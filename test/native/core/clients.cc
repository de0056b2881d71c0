// Several front-ends of one session: they fill the same batches, and each has its own requests, their end and its own.
#include <thread>

#include "rig.h"

using namespace rig;
using namespace std::chrono_literals;

namespace {

// The owner's queue once more.
class Joined : public SessionRig {
 public:
  explicit Joined(const SessionRig& owner) : SessionRig(owner.session) {}
};

std::vector<Input> row(int seed) { return {input({1, 3}, numbers(1, 3, seed))}; }
bool isAnswer(const Completion& done, int seed) { return scaledRight(done, numbers(1, 3, seed)); }

}  // namespace

TEST("clients: two fill one batch, with the same numbers, and each hears of its own") {
  fakes::reset();
  {
    Rig owner(plans::scale, merging(16, 1h));
    Joined guest(owner);
    for (int i = 0; i < 8; ++i) {
      CHECK_EQ(owner.submit(row(i)), static_cast<uint64_t>(i + 1));
      CHECK_EQ(guest.submit(row(100 + i)), static_cast<uint64_t>(i + 1));
    }
    for (int i = 0; i < 8; ++i) {
      CHECK(isAnswer(owner.take(static_cast<uint64_t>(i + 1)), i));
      CHECK(isAnswer(guest.take(static_cast<uint64_t>(i + 1)), 100 + i));
    }
    CHECK_EQ(owner.session->stats()[nt::execution::Count::batches], 1u);
    CHECK_EQ(owner.session->stats()[nt::execution::Count::completed], 16u);
    CHECK(scaledRight(guest.run({input({2, 3}, numbers(2, 3, 5))}), numbers(2, 3, 5)));
  }
  CHECK_NOTHING_LIVE();
}

TEST("clients: a cancel takes out one's own request, and leaves another's of the same number") {
  fakes::reset();
  Rig owner(plans::scale, merging(16, 1h));
  Joined guest(owner);
  const uint64_t mine = owner.submit(row(1)), other = guest.submit(row(2));
  CHECK_EQ(mine, other);
  CHECK(owner.cancel(mine));
  CHECK(!owner.cancel(mine));
  CHECK_EQ(owner.session->waiting(), 1u);
  guest.client->close();
  CHECK(isAnswer(guest.take(other), 2));
  CHECK_EQ(owner.completed(), 0u);
}

TEST("clients: one that closes waits for what it asked for, not for more to fill the batch; the others go on") {
  fakes::reset();
  {
    Rig owner(plans::scale, merging(16, 1h));
    {
      Joined guest(owner);
      const uint64_t mine = owner.submit(row(1)), beside = guest.submit(row(2));
      owner.client->close();
      CHECK_EQ(owner.completed(), 1u);
      CHECK(isAnswer(owner.take(mine), 1));
      CHECK(isAnswer(guest.take(beside), 2));
      owner.client->close();
      CHECK_CODE("ERR_TRT_CLOSED", owner.submit(row(1)));
      CHECK_CODE("ERR_TRT_CLOSED", owner.run(row(1)));
      CHECK(isAnswer(guest.run(row(3)), 3));
      Joined third(owner);
      const uint64_t last = guest.submit(row(4));
      CHECK_EQ(guest.session->waiting(), 1u);
      guest.client->close();
      CHECK(isAnswer(guest.take(last), 4));
      CHECK_EQ(fakes::liveObjects().at("contexts"), 1);
      CHECK(isAnswer(third.run(row(5)), 5));
    }
    CHECK_EQ(fakes::liveObjects().at("contexts"), 0);
    CHECK_CODE("ERR_TRT_TOKEN", Joined(owner));
  }
  CHECK_NOTHING_LIVE();
}

TEST("clients: one that is dropped hears of nothing more, and its leases end; others' rows are right") {
  fakes::reset();
  {
    Rig owner(plans::scale, merging(16, 1h));
    std::weak_ptr<void> lease;
    {
      Joined guest(owner);
      for (int i = 0; i < 3; ++i) {
        owner.submit(row(i));
        guest.submit(row(50 + i));
      }
      Input lent = leased(owner.pool(), {4, 3}, numbers(4, 3, 9));
      lease = lent.lease.owner;
      guest.submit({lent});
      lent.lease = {};
      CHECK(!lease.expired());
      guest.client->drop();
      CHECK(lease.expired());
      CHECK_EQ(owner.session->waiting(), 3u);
      CHECK_CODE("ERR_TRT_CLOSED", guest.submit(row(1)));
      CHECK_EQ(guest.completed(), 0u);
    }
    for (int i = 3; i < 16; ++i) owner.submit(row(i));
    for (int i = 0; i < 16; ++i) CHECK(isAnswer(owner.take(static_cast<uint64_t>(i + 1)), i));
    CHECK_EQ(owner.session->stats()[nt::execution::Count::batches], 1u);
    CHECK_EQ(owner.session->stats()[nt::execution::Count::cancelled], 4u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("clients: one that is dropped while its work runs ends when that has ended") {
  fakes::reset();
  fakes::driver("computeMs", "30");
  {
    Rig owner(plans::scale);
    std::weak_ptr<void> lease;
    {
      Joined guest(owner);
      const Landing landing(owner.pool(), 12);
      lease = landing.block;
      guest.submit(row(1), aim({landing.target}));
      while (guest.session->running() == 0) std::this_thread::yield();
      guest.client->drop();
      guest.client->close();
      CHECK_EQ(guest.session->running(), 0u);
      CHECK_EQ(guest.completed(), 0u);
    }
    CHECK(lease.expired());
    CHECK(isAnswer(owner.infer(row(2)), 2));
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("clients: a batch that fails tells each of its own, and the queue's limit is for all") {
  fakes::reset();
  {
    SessionOptions options = merging(4, 1h);
    options.maxQueue = 3;
    Rig owner(plans::scale, options);
    Joined guest(owner);
    const std::vector<uint64_t> asked{owner.submit(row(1)), guest.submit(row(2)), owner.submit(row(3))};
    CHECK_CODE("ERR_TRT_QUEUE_FULL", guest.submit(row(4)));
    fakes::tensorrt("fail", "enqueueV3:1");
    guest.client->close();
    CHECK_EQ(codeOf(owner.take(asked[0]).failure), "ERR_TRT_EXECUTION");
    CHECK_EQ(codeOf(owner.take(asked[2]).failure), "ERR_TRT_EXECUTION");
    CHECK_EQ(codeOf(guest.take(asked[1]).failure), "ERR_TRT_EXECUTION");
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

namespace {

// A front-end's life amid those of others.
void live(const SessionRig& owner, int seed, bool dropped) {
  Joined guest(owner);
  std::size_t cancelled = 0;
  for (int i = 0; i < 60; ++i) {
    const std::vector<float> x = numbers(1 + i % 3, 3, seed + i);
    const uint64_t request = guest.submit({input({1 + i % 3, 3}, x)});
    if (i % 7 == 0 && guest.cancel(request)) {
      ++cancelled;
    } else if (i % 5 == 0) {
      CHECK(scaledRight(guest.take(request), x));
    } else if (i % 13 == 0) {
      CHECK(scaledRight(guest.run({input({1 + i % 3, 3}, x)}), x));
    }
  }
  if (dropped) guest.client->drop();
  guest.client->close();
  CHECK(dropped || guest.completed() == 60 - cancelled);
  CHECK(guest.completed() <= 60 - cancelled);
}

}  // namespace

TEST("clients: many come, work, are dropped and go, in several threads, and the last one ends the lanes") {
  fakes::reset();
  for (int round = 0; round < 6; ++round) {
    SessionOptions options = round % 2 == 0 ? merging(8, 100us) : SessionOptions{};
    options.lanes = 1 + round % 3;
    Rig owner(plans::scale, options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int life = 0; life < 4; ++life) live(owner, t * 17 + life, (t + life) % 2 == 0);
      });
    }
    const std::vector<float> x = numbers(2, 3, round);
    for (int i = 0; i < 100; ++i) CHECK(scaledRight(owner.infer({input({2, 3}, x)}), x));
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(owner.session->running() + owner.session->waiting(), 0u);
    owner.client->close();
    CHECK_EQ(fakes::liveObjects().at("contexts"), 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("clients: all of them close at once, with work under way") {
  fakes::reset();
  for (int round = 0; round < 20; ++round) {
    Rig owner(plans::scale, round % 2 == 0 ? merging(16, 1h) : SessionOptions{});
    std::vector<std::unique_ptr<Joined>> guests;
    for (int i = 0; i < 4; ++i) guests.push_back(std::make_unique<Joined>(owner));
    for (int i = 0; i < 3; ++i) {
      for (const auto& guest : guests) guest->submit(row(i));
    }
    std::vector<std::thread> threads;
    for (const auto& guest : guests) threads.emplace_back([&guest] { guest->client->close(); });
    owner.client->close();
    for (std::thread& thread : threads) thread.join();
    for (const auto& guest : guests) {
      for (int i = 0; i < 3; ++i) CHECK(isAnswer(guest->take(static_cast<uint64_t>(i + 1)), i));
    }
    CHECK_EQ(fakes::liveObjects().at("contexts"), 0);
  }
  CHECK_NOTHING_LIVE();
}
