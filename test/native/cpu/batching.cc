// Requests that merge: each gets its own rows, whatever else is in the batch.
#include <thread>

#include "rig.h"

using namespace rig;
using namespace std::chrono_literals;

namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;
using Place = nt::execution::Output::Place;

// The lane is kept busy until it goes out of scope, so that what is asked for meanwhile waits together.
class Busy {
 public:
  explicit Busy(Rig& rig) : rig_(rig), request_(rig.submit({input({1, 1}, Floats{models::kForEver})})) {
    rig.waitUntilRunning(1);
  }
  ~Busy() {
    rig_.cancel(request_);
    CHECK(rig_.take(request_).abandoned);
  }

 private:
  Rig& rig_;
  const uint64_t request_;
};

}  // namespace

TEST("batching: merged requests with different row counts get their own rows, with padding and without") {
  for (const std::vector<int64_t>& pad : {std::vector<int64_t>{}, {4, 8, 16}, {64}}) {
    SessionOptions options = merging(17, 1h);  // only full batches leave, and the last one with close()
    options.batching.pad = pad;
    Rig rig(models::twoOutputs(), options);
    for (int round = 0; round < 6; ++round) {
      std::vector<std::pair<uint64_t, Floats>> asked;
      for (const int64_t rows : {1, 3, 2, 5, 2, 4}) {  // 17 rows
        Floats x = numbers(rows, 3, static_cast<int>(rows) + round);
        asked.emplace_back(rig.submit({input({rows, 3}, x)}), x);
      }
      for (const auto& [request, x] : asked) {
        const Completion done = rig.take(request);
        CHECK_EQ(codeOf(done.failure), "");
        const auto rows = static_cast<int64_t>(x.size() / 3);
        CHECK_EQ(done.outputs[0].shape.vector(), (Shape{rows, 3}));
        CHECK_EQ(done.outputs[1].shape.vector(), (Shape{rows}));
        Floats doubled, sums;
        for (const float each : x) doubled.push_back(each * 2);
        for (std::size_t i = 0; i < x.size(); i += 3) sums.push_back(x[i] + x[i + 1] + x[i + 2]);
        CHECK_EQ(values<float>(done.outputs[0]), doubled);
        CHECK_EQ(values<float>(done.outputs[1]), sums);
      }
    }
    CHECK_EQ(rig.session->stats()[nt::execution::Count::batches], 6u);
    const Floats x = numbers(3, 3, 1);
    CHECK_EQ(values<float>(rig.run({input({3, 3}, x)}).outputs[0])[4], x[4] * 2);
  }
  CHECK_NOTHING_LIVE();
}

TEST("batching: padding repeats the last row") {
  {
    SessionOptions options = merging(8);
    options.batching.pad = {4, 8};
    Rig rig(models::totals(), options), table(models::gather(), options);
    // memory of the pool that is not a valid row
    const Landing stale(rig.pool(), 4096);
    for (const int64_t rows : {1, 2, 3, 4, 5, 8}) {
      Floats x;
      for (int64_t i = 0; i < rows; ++i) x.push_back(static_cast<float>(i + 1));
      const int64_t padded = rows <= 4 ? 4 : 8;
      const float total = static_cast<float>(rows * (rows + 1) / 2 + (padded - rows) * rows);
      for (const bool queued : {true, false}) {
        for (const bool lent : {true, false}) {
          const Input given = lent ? leased(rig.pool(), {rows, 1}, x) : input({rows, 1}, x);
          const Completion done = queued ? rig.infer({given}) : rig.run({given});
          CHECK_EQ(codeOf(done.failure), "");
          CHECK_EQ(done.outputs[0].shape.vector(), (Shape{rows, 1}));
          Floats wanted = x;
          for (float& each : wanted) each += total;
          CHECK_EQ(values<float>(done.outputs[0]), wanted);
        }
      }
      // an index into nowhere would fail the batch
      const Completion row = table.infer({input({rows, 1}, Longs(static_cast<std::size_t>(rows), 4))});
      CHECK_EQ(codeOf(row.failure), "");
      CHECK_EQ(values<float>(row.outputs[0])[1], 41.0F);
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("batching: leased rows among copied ones") {
  for (const std::vector<int64_t>& pad : {std::vector<int64_t>{}, {8}}) {
    SessionOptions options = merging(6, 1h);
    options.batching.pad = pad;
    options.batching.maxBatch = 7;
    Rig rig(models::sum(), options);
    for (int round = 0; round < 4; ++round) {
      std::vector<std::pair<uint64_t, Floats>> asked;
      for (const int64_t rows : {2, 1, 3, 1}) {
        const int seed = static_cast<int>(rows) + round;
        const Floats a = numbers(rows, 2, seed), b = numbers(rows, 2, seed + 100);
        const bool lendA = (rows + round) % 2 == 0, lendB = rows == 3;
        const uint64_t request = rig.submit({lendA ? leased(rig.pool(), {rows, 2}, a) : input({rows, 2}, a),
                                             lendB ? leased(rig.pool(), {rows, 2}, b) : input({rows, 2}, b)});
        Floats wanted = a;
        for (std::size_t i = 0; i < b.size(); ++i) wanted[i] += b[i];
        asked.emplace_back(request, wanted);
      }
      for (const auto& [request, wanted] : asked) {
        const Completion done = rig.take(request);
        CHECK_EQ(codeOf(done.failure), "");
        CHECK_EQ(values<float>(done.outputs[0]), wanted);
      }
    }
    CHECK_EQ(rig.session->stats()[nt::execution::Count::batches], 4u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("batching: targets and wanted outputs of single requests") {
  {
    Rig rig(models::twoOutputs(), merging(10, 1h));
    const Floats x = numbers(2, 3, 1);
    const Landing y(rig.pool(), 24), z(rig.pool(), 8), wrong(rig.pool(), 20);
    const uint64_t both = rig.submit({input({2, 3}, x)}, aim({y.target, z.target}));
    const uint64_t bad = rig.submit({input({2, 3}, x)}, aim({wrong.target, {}}));
    const uint64_t second = rig.submit({input({2, 3}, x)}, want(2));
    const uint64_t none = rig.submit({input({2, 3}, x)}, want(0));
    const uint64_t plain = rig.submit({input({2, 3}, x)});
    Completion done = rig.take(both);
    CHECK_EQ(codeOf(done.failure), "");
    CHECK(done.outputs[0].data() == y.target.data && done.outputs[1].data() == z.target.data);
    CHECK_EQ(values<float>(done.outputs[0])[5], x[5] * 2);
    CHECK_EQ(values<float>(done.outputs[1])[1], x[3] + x[4] + x[5]);
    CHECK_EQ(codeOf(rig.take(bad).failure), "ERR_TRT_SHAPE");
    CHECK_EQ(wrong.block->data()[0], 0xEE);
    done = rig.take(second);
    CHECK(done.outputs[0].place() == Place::none && done.outputs[1].place() == Place::here);
    done = rig.take(none);
    CHECK(!done.failure && done.outputs[0].place() == Place::none && done.outputs[1].place() == Place::none);
    done = rig.take(plain);
    CHECK_EQ(values<float>(done.outputs[0])[5], x[5] * 2);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::batches], 1u);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::failed], 1u);
  }
  {  // large rows, alone in a batch: into the target itself; padded: copied there
    for (const std::vector<int64_t>& pad : {std::vector<int64_t>{}, {4}}) {
      SessionOptions options = merging(4);
      options.batching.pad = pad;
      Rig rig(models::scale(5000), options);
      const Floats x = numbers(2, 5000, 1);
      const Landing landing(rig.pool(), x.size() * 4);
      const Completion done = rig.infer({input({2, 5000}, x)}, aim({landing.target}));
      CHECK(done.outputs[0].data() == landing.target.data);
      CHECK(scaledRight(done, x));
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("batching: results of one batch are held apart, and after all else is gone") {
  std::vector<std::pair<Completion, Floats>> held;
  {
    Rig rig(models::scale(100), merging(8, 1h));
    std::vector<std::pair<uint64_t, Floats>> asked;
    for (int i = 0; i < 32; ++i) {
      const Floats x = numbers(1, 100, i);
      asked.emplace_back(rig.submit({input({1, 100}, x)}), x);
    }
    for (const auto& [request, x] : asked) held.emplace_back(rig.take(request), x);
  }
  while (!held.empty()) {
    CHECK(scaledRight(held.back().first, held.back().second));
    held.pop_back();
    if (held.size() % 2 == 0 && !held.empty()) held.erase(held.begin());
  }
  CHECK_NOTHING_LIVE();
}

TEST("batching: what cannot merge is refused when the session is made, or alone") {
  {
    CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(models::nonzero(), merging(4)));
    CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(models::pools(), merging(4)));
    Rig rig(models::twoOutputs(), merging(4, 1ms));
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({0, 3}, Floats{})}));
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({5, 3}, numbers(5, 3, 1))}));
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({}, numbers(1, 1, 1))}));
    const uint64_t bad = rig.submit({input({1, 6}, numbers(1, 6, 1))});
    const uint64_t good = rig.submit({input({1, 3}, numbers(1, 3, 1))});
    CHECK_EQ(codeOf(rig.take(bad).failure), "ERR_TRT_SHAPE");
    CHECK_EQ(codeOf(rig.take(good).failure), "");
  }
  CHECK_NOTHING_LIVE();
}

TEST("batching: a batch has memory for the rows that came; one that has no size is refused") {
  {
    const int64_t most = int64_t{1} << 61;
    Rig rig(models::scale(4), merging(most));  // of 16 bytes: 0 in 64 bits
    for (const int64_t rows : {1, 300, 5000}) {
      CHECK(scaledRight(rig.infer({input({rows, 4}, numbers(rows, 4, 1))}), numbers(rows, 4, 1)));
      CHECK(scaledRight(rig.infer({leased(rig.pool(), {rows, 4}, numbers(rows, 4, 2))}), numbers(rows, 4, 2)));
    }
    SessionOptions options = merging(most);
    options.batching.pad = {most};
    Rig padded(models::scale(4), options);
    CHECK_CODE("ERR_TRT_OUT_OF_MEMORY", padded.run({input({300, 4}, numbers(300, 4, 1))}));
    CHECK_EQ(codeOf(padded.infer({input({300, 4}, numbers(300, 4, 1))}).failure), "ERR_TRT_OUT_OF_MEMORY");
    CHECK_EQ(codeOf(padded.infer({leased(rig.pool(), {300, 4}, numbers(300, 4, 1))}).failure), "ERR_TRT_OUT_OF_MEMORY");
  }
  CHECK_NOTHING_LIVE();
}

TEST("batching: what is cancelled in a batch that waits leaves it, and the others keep their rows") {
  {
    Rig rig(models::loop(), merging(6));
    std::vector<std::pair<uint64_t, Floats>> asked;
    {
      const Busy busy(rig);
      for (const int64_t rows : {1, 2, 1, 2}) {
        Floats x(static_cast<std::size_t>(rows), static_cast<float>(asked.size() + 1));
        asked.emplace_back(rig.submit({input({rows, 1}, x)}), x);
      }
      CHECK_EQ(rig.session->waiting(), 4u);
      CHECK(rig.cancel(asked[1].first));
      CHECK(!rig.cancel(asked[1].first));
      CHECK_EQ(rig.session->waiting(), 3u);
    }
    for (const std::size_t i : {0u, 2u, 3u}) {
      const auto& [request, x] = asked[i];
      Floats wanted = x;
      for (float& each : wanted) each += 4;
      CHECK_EQ(values<float>(rig.take(request).outputs[0]), wanted);
    }
    CHECK_EQ(rig.session->stats()[nt::execution::Count::batches], 2u);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::cancelled], 2u);
  }
  CHECK_NOTHING_LIVE();
}
