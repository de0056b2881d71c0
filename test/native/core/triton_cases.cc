// Cases of Triton's own suites for its batcher and queue policies, written anew from their names and its documents, on
// the queue. Most of those of L0_batcher are on a model with max_batch_size 8 and preferred sizes 2 and 6, which is
// `batcher()` here; TRITONSERVER_DELAY_SCHEDULER is `holdUntil`.
#include <array>

#include "batcher_rig.h"

namespace triton_cases {

using batcher_rig::Ids;
using batcher_rig::Lanes;
using nt::execution::BatchingOptions;
using nt::execution::QueuePolicy;
using rig::codeOf;
using namespace std::chrono_literals;

constexpr auto kDelay = 500ms;

BatchingOptions batcher(std::size_t holdUntil = 0, nt::execution::Clock::duration delay = kDelay) {
  BatchingOptions options;
  options.maxBatch = 8;
  options.maxDelay = delay;
  options.preferred = {2, 6};
  options.holdUntil = holdUntil;
  return options;
}
// Of L0_model_queue: requests wait for one another only where the lane is busy.
BatchingOptions policies(std::vector<QueuePolicy> levels, uint32_t defaultLevel = 1, int64_t maxBatch = 1) {
  BatchingOptions options;
  options.maxBatch = maxBatch;
  options.levels = std::move(levels);
  options.defaultLevel = defaultLevel;
  return options;
}

// Nothing leaves but at the delay of what came at the start, and then this.
void checkLeavesAtDelay(Lanes& lanes, const Ids& ids) {
  CHECK_EQ(lanes.take(), Ids{});
  lanes.now = Lanes::kStart + kDelay - 1ns;
  CHECK_EQ(lanes.take(), Ids{});
  lanes.now = Lanes::kStart + kDelay;
  CHECK_EQ(lanes.take(), ids);
  CHECK_EQ(lanes.fault(), std::string());
}

TEST("L0_batcher: test_static_batch_preferred") {
  Lanes lanes(batcher());
  lanes.arrive(2);
  CHECK_EQ(lanes.take(), (Ids{1}));
  lanes.arrive(6);
  CHECK_EQ(lanes.take(), (Ids{2}));
}

TEST("L0_batcher: test_static_batch_lt_any_preferred") {
  Lanes lanes(batcher());
  lanes.arrive(1);
  checkLeavesAtDelay(lanes, {1});
}

TEST("L0_batcher: test_static_batch_not_preferred") {
  Lanes lanes(batcher());
  lanes.arrive(3);
  checkLeavesAtDelay(lanes, {1});
}

// Triton sends what is over the largest preferred size at once. Ours waits out the delay, since one row more would make
// a full batch of it.
TEST("L0_batcher: test_static_batch_gt_max_preferred") {
  Lanes lanes(batcher());
  lanes.arrive(7);
  checkLeavesAtDelay(lanes, {1});
}

// Triton sends a batch as soon as a request of another shape comes. Ours has a queue for each shape, and a time for
// each. (…_allow_ragged_batch is not written: there are no ragged batches.)
TEST("L0_batcher: test_multi_batch_different_shape") {
  Lanes lanes(batcher());
  lanes.arrive(1, 0);
  lanes.now += 1ms;
  lanes.arrive(1, 1);
  checkLeavesAtDelay(lanes, {1});
  CHECK_EQ(lanes.take(), Ids{});
  lanes.now += 1ms;
  CHECK_EQ(lanes.take(), (Ids{2}));
}

TEST("L0_batcher: test_multi_batch_not_preferred") {
  Lanes lanes(batcher());
  lanes.arrive(1);
  lanes.arrive(3);
  checkLeavesAtDelay(lanes, {1, 2});
}

// As above: the first shape's rows wait for their own delay, not for another shape.
TEST("L0_batcher: test_multi_batch_not_preferred_different_shape") {
  Lanes lanes(batcher());
  lanes.arrive(1, 0);
  lanes.arrive(3, 0);
  lanes.now += 1ms;
  lanes.arrive(1, 1);
  checkLeavesAtDelay(lanes, {1, 2});
  lanes.now += 1ms;
  CHECK_EQ(lanes.take(), (Ids{3}));
}

TEST("L0_batcher: test_multi_batch_preferred_different_shape") {
  Lanes lanes(batcher());
  lanes.arrive(1, 0);
  lanes.arrive(1, 0);
  lanes.arrive(1, 1);
  lanes.arrive(5, 1);
  CHECK_EQ(lanes.take(), (Ids{1, 2}));
  CHECK_EQ(lanes.take(), (Ids{3, 4}));
  CHECK_EQ(lanes.fault(), std::string());
}

// 3 cannot grow, since 7 do not fit behind it. The 7 wait (Triton sends them at once, see test_static_batch_gt_max_…).
TEST("L0_batcher: test_multi_batch_gt_max_preferred") {
  Lanes lanes(batcher());
  lanes.arrive(3);
  lanes.arrive(7);
  CHECK_EQ(lanes.take(), (Ids{1}));
  checkLeavesAtDelay(lanes, {2});
}

// 7 rows: no preferred size can be formed of 3 and 4, so that they wait for a full batch (Triton sends 7 at once).
TEST("L0_batcher: test_multi_batch_sum_gt_max_preferred") {
  Lanes lanes(batcher());
  lanes.arrive(3);
  lanes.arrive(4);
  checkLeavesAtDelay(lanes, {1, 2});
}

// test_multi_same_output0, …output1, test_multi_different_outputs, …_order: which outputs a request wants is no matter
// to the batch, and each keeps its own.
TEST("L0_batcher: test_multi_same_output and test_multi_different_outputs") {
  Lanes lanes(batcher());
  rig::Permit& permit = lanes.queue.addSeat(1);
  std::shared_ptr<rig::Batch> batch;
  for (const std::array<uint64_t, 2>& wanted : {std::array<uint64_t, 2>{1, 1}, {2, 2}, {1, 2}, {3, 1}}) {
    for (const uint64_t outputs : wanted) {
      rig::Part part;
      part.outputs = outputs;
      part.asked = lanes.now;
      const auto place = lanes.queue.reserve({{1, 8}}, {8}, std::move(part));
      std::memset(place.data(0, 8), static_cast<int>(outputs), 8);
      lanes.queue.commit(place);
    }
    if (batch) batch->clear();
    batch = lanes.queue.take(permit, lanes.now, std::exchange(batch, nullptr));
    CHECK(batch != nullptr && batch->parts.size() == 2);
    if (batch == nullptr || batch->parts.size() != 2) return;
    CHECK_EQ(batch->rows, 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK_EQ(batch->parts[i].outputs, wanted[i]);
      CHECK_EQ(static_cast<uint64_t>(*batch->dataOf(batch->parts[i], 0)), wanted[i]);
    }
  }
}

// Held until both are there. Triton splits what is over the largest preferred size (3, then 4); ours sends the largest
// preferred size where one can be formed, which here is none.
TEST("L0_batcher: test_multi_batch_delayed_sum_gt_max_preferred") {
  Lanes lanes(batcher(2));
  lanes.arrive(3);
  CHECK_EQ(lanes.take(), Ids{});
  lanes.arrive(4);
  checkLeavesAtDelay(lanes, {1, 2});
}

TEST("L0_batcher: test_multi_batch_delayed_use_max_batch") {
  Lanes lanes(batcher(3));
  lanes.arrive(3);
  lanes.arrive(4);
  lanes.now += 2 * kDelay;
  CHECK_EQ(lanes.take(), Ids{});
  lanes.arrive(1);
  CHECK_EQ(lanes.take(), (Ids{1, 2, 3}));
}

TEST("L0_batcher: test_multi_batch_delayed_preferred_different_shape") {
  Lanes lanes(batcher(4));
  lanes.arrive(1, 0);
  lanes.arrive(1, 1);
  lanes.arrive(1, 0);
  CHECK_EQ(lanes.take(), Ids{});
  lanes.arrive(5, 1);
  CHECK_EQ(lanes.take(), (Ids{1, 3}));
  CHECK_EQ(lanes.take(), (Ids{2, 4}));
}

TEST("L0_batcher: test_multi_batch_use_biggest_preferred") {
  Lanes lanes(batcher(6));
  for (int i = 0; i < 6; ++i) {
    CHECK_EQ(lanes.take(), Ids{});
    lanes.arrive();
  }
  CHECK_EQ(lanes.take(), (Ids{1, 2, 3, 4, 5, 6}));
}

// Triton, too: 2 leave, and the third waits out its delay.
TEST("L0_batcher: test_multi_batch_use_best_preferred") {
  Lanes lanes(batcher(3));
  for (int i = 0; i < 3; ++i) lanes.arrive();
  CHECK_EQ(lanes.take(), (Ids{1, 2}));
  checkLeavesAtDelay(lanes, {3});
}

// Batches leave in the order of arrival whichever lane takes them; the order of answers is in the cases of sessions.
TEST("L0_batcher: test_multi_batch_preserve_ordering") {
  BatchingOptions options = batcher(12);
  options.preferred = {4};
  options.preserveOrder = true;
  Lanes lanes(options, 3);
  for (int i = 0; i < 12; ++i) lanes.arrive();
  CHECK_EQ(lanes.take(2), (Ids{1, 2, 3, 4}));
  CHECK_EQ(lanes.take(0), (Ids{5, 6, 7, 8}));
  CHECK_EQ(lanes.take(1), (Ids{9, 10, 11, 12}));
}

// Its one case of a queue timeout: what waits for others longer than it may is rejected, also with a lane free.
TEST("L0_batcher: queue_timeout") {
  BatchingOptions options = batcher();
  options.levels = {{0, 100ms, false}};
  Lanes lanes(options);
  lanes.arrive();
  lanes.now += 100ms - 1ns;
  CHECK_EQ(lanes.expire(), Ids{});
  lanes.now += 1ns;
  CHECK_EQ(lanes.take(), Ids{});
  CHECK_EQ(lanes.queue.waiting(), 0u);
  CHECK_EQ(lanes.expire(), (Ids{1}));
  CHECK_EQ(lanes.expire(), Ids{});
}

// What runs does not count. (Triton answers "Exceeds maximum queue size".)
TEST("L0_model_queue: test_max_queue_size") {
  Lanes lanes(policies({{8, 0ms, false}}));
  lanes.arrive();
  CHECK_EQ(lanes.take(), (Ids{1}));
  for (int i = 0; i < 8; ++i) lanes.arrive();
  for (int i = 0; i < 15; ++i) CHECK_CODE("ERR_TRT_QUEUE_FULL", lanes.arrive());
  CHECK_EQ(lanes.queue.waiting(), 8u);
  CHECK_EQ(lanes.take(), (Ids{2}));
  lanes.arrive();
  CHECK_CODE("ERR_TRT_QUEUE_FULL", lanes.arrive());
}

TEST("L0_model_queue: test_policy_reject") {
  Lanes lanes(policies({{0, 10ms, false}}, 1, 4));
  lanes.arrive();
  CHECK_EQ(lanes.take(), (Ids{1}));
  lanes.arrive();
  lanes.now += 1ms;
  lanes.arrive();
  lanes.now += 9ms;
  CHECK_EQ(lanes.take(), (Ids{3}));
  CHECK_EQ(lanes.expire(), (Ids{2}));
}

// Those that were delayed are served after all others of their level, also after those that came later.
TEST("L0_model_queue: test_policy_delay") {
  Lanes lanes(policies({{0, 10ms, true}}, 1, 2));
  for (int i = 0; i < 2; ++i) lanes.arrive();
  lanes.now += 10ms;
  for (int i = 0; i < 3; ++i) lanes.arrive();
  CHECK_EQ(lanes.take(), (Ids{3, 4}));
  CHECK_EQ(lanes.take(), (Ids{5, 1}));
  lanes.now += 1h;
  CHECK_EQ(lanes.take(), (Ids{2}));
  CHECK_EQ(lanes.expire(), Ids{});
}

// A call's own timeout shortens that of the policy and never lengthens it. (In Triton only with allow_timeout_override;
// ours always may.)
TEST("L0_model_queue: test_timeout_override") {
  Lanes lanes(policies({{0, 10ms, false}}));
  lanes.arrive({.timeout = 1ms});
  lanes.arrive({.timeout = 1h});
  lanes.arrive();
  lanes.now += 1ms;
  CHECK_EQ(lanes.expire(), (Ids{1}));
  lanes.now += 9ms - 1ns;
  CHECK_EQ(lanes.expire(), Ids{});
  lanes.now += 1ns;
  CHECK_EQ(lanes.expire(), (Ids{2, 3}));
}

TEST("L0_model_queue: test_timeout_override without a timeout of the policy") {
  Lanes lanes(policies({{}}));
  lanes.arrive();
  lanes.arrive({.timeout = 1us});
  lanes.now += 1us;
  CHECK_EQ(lanes.expire(), (Ids{2}));
  CHECK_EQ(lanes.take(), (Ids{1}));
}

TEST("L0_model_queue: test_priority_levels") {
  Lanes lanes(policies({{}, {}}, 2, 2));
  for (int i = 0; i < 3; ++i) lanes.arrive();
  lanes.arrive({.level = 1});
  lanes.arrive({.level = 2});
  CHECK_EQ(lanes.take(), (Ids{4, 1}));
  CHECK_EQ(lanes.take(), (Ids{2, 3}));
  CHECK_EQ(lanes.take(), (Ids{5}));
}

// Triton takes levels up to the largest number of 64 bits; ours 100. Each is a level of its own, and there is none
// beyond.
TEST("L0_model_queue: test_max_priority_levels") {
  Lanes lanes(policies(std::vector<QueuePolicy>(100), 100));
  for (uint32_t level = 100; level > 0; --level) lanes.arrive({.level = level});
  lanes.arrive();
  CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", lanes.arrive({.level = 101}));
  for (uint64_t id = 100; id > 0; --id) CHECK_EQ(lanes.take(), (Ids{id}));
  CHECK_EQ(lanes.take(), (Ids{101}));
}

// Each level has its own policy: rejecting, delaying, limited.
TEST("L0_model_queue: test_priority_with_policy") {
  Lanes lanes(policies({{0, 10ms, false}, {2, 20ms, true}, {0, 0ms, false}}, 3));
  lanes.arrive({.level = 1});
  lanes.arrive({.level = 2});
  lanes.arrive({.level = 2});
  CHECK_CODE("ERR_TRT_QUEUE_FULL", lanes.arrive({.level = 2}));
  lanes.arrive();
  lanes.now += 10ms;
  CHECK_EQ(lanes.expire(), (Ids{1}));
  lanes.now += 10ms;
  // delayed, and still of level 2: they count for its limit, and come before level 3
  CHECK_CODE("ERR_TRT_QUEUE_FULL", lanes.arrive({.level = 2}));
  CHECK_EQ(lanes.take(), (Ids{2}));
  lanes.arrive({.level = 2});
  CHECK_EQ(lanes.take(), (Ids{7}));
  CHECK_EQ(lanes.take(), (Ids{3}));
  CHECK_EQ(lanes.take(), (Ids{5}));
}

// Under a load of the first level the second one starves, as in Triton.
TEST("L0_priority: the highest priority is served first for as long as there is any") {
  Lanes lanes(policies({{}, {}}, 2));
  lanes.arrive();
  for (uint64_t id = 2; id < 50; ++id) {
    lanes.now += 1h;
    lanes.arrive({.level = 1});
    CHECK_EQ(lanes.take(), (Ids{id}));
  }
  CHECK_EQ(lanes.take(), (Ids{1}));
}

TEST("L0_request_cancellation: test_dynamic_batch_scheduler_request_cancellation") {
  Lanes lanes(policies({{}}));
  lanes.arrive();
  CHECK_EQ(lanes.take(), (Ids{1}));
  for (int i = 0; i < 3; ++i) lanes.arrive();
  CHECK(lanes.cancel(2));
  CHECK(lanes.cancel(4));
  CHECK(!lanes.cancel(1));  // it runs
  CHECK_EQ(lanes.queue.waiting(), 1u);
  CHECK_EQ(lanes.take(), (Ids{3}));
  CHECK_EQ(lanes.take(), Ids{});
  CHECK_EQ(lanes.queue.waitingBytes(), 0u);
}

}  // namespace triton_cases
