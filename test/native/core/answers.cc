// Right answers, for every kind of input and output.
#include <thread>

#include "rig.h"

using namespace rig;
using namespace std::chrono_literals;

namespace {

using Floats = std::vector<float>;

}  // namespace

TEST("answers: a static engine, queued and on the caller's thread") {
  fakes::reset();
  {
    Rig rig(plans::identity);
    for (int i = 0; i < 8; ++i) {
      const Floats x = numbers(1, 4, i);
      const Completion queued = rig.infer({input({4}, x)});
      CHECK_EQ(codeOf(queued.failure), "");
      CHECK_EQ(queued.outputs.size(), 1u);
      CHECK_EQ(queued.outputs[0].shape.vector(), (Shape{4}));
      CHECK_EQ(values<float>(queued.outputs[0]), x);
      CHECK(queued.timing.queue >= 0 && queued.timing.compute >= 0);
      CHECK_EQ(values<float>(rig.run({input({4}, x)}).outputs[0]), x);
    }
    const auto stats = rig.session->stats();
    CHECK_EQ(stats[nt::execution::Count::completed], 16u);
    CHECK_EQ(stats[nt::execution::Count::batches], 16u);
    CHECK_EQ(stats[nt::execution::Duration::compute].count, 16u);
    CHECK_EQ(stats[nt::execution::Count::bytesCopied], 16u * 16u);
    CHECK_EQ(rig.session->running(), 0u);
    CHECK(rig.session->memory().device > 0 && rig.session->memory().pinned == 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: a dynamic engine with every size in any order, small and large") {
  fakes::reset();
  for (const auto& [plan, columns, most] : {std::tuple{plans::scale, 3, 16}, std::tuple{plans::large, 12288, 4}}) {
    Rig rig(plan);
    for (const int64_t rows : {1, most, 2, most, 1, 3, 1}) {
      const Floats x = numbers(rows, columns, static_cast<int>(rows));
      const Completion done = rig.infer({input({rows, columns}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK_EQ(done.outputs[0].shape.vector(), (Shape{rows, columns}));
      CHECK(values<float>(done.outputs[0]) == scaled(x));
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: what the engine does not take is refused, and the next request works") {
  fakes::reset();
  {
    Rig rig(plans::scale);
    const Floats x = numbers(20, 3, 1);
    CHECK_EQ(codeOf(rig.infer({input({20, 3}, x)}).failure), "ERR_TRT_SHAPE");  // no profile takes it
    CHECK_EQ(codeOf(rig.infer({input({10, 6}, x)}).failure), "ERR_TRT_SHAPE");
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({60}, x)}));  // rank
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({}, x)}));
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({2, 3}, x)}));  // bytes
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({-1, 3}, x)}));
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({int64_t{1} << 62, 3}, x)}));
    CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", rig.submit({}));
    CHECK_CODE("ERR_TRT_SHAPE", rig.run({input({20, 3}, x)}));
    const Floats good = numbers(2, 3, 1);
    CHECK_EQ(values<float>(rig.infer({input({2, 3}, good)}).outputs[0]), scaled(good));
    CHECK_EQ(rig.session->stats()[nt::execution::Count::failed], 3u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: the profile that fits best is chosen, or the one that was asked for") {
  fakes::reset();
  const std::string plan =
      std::string("name three\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\n") +
      "dims 0 x 1,3 2,3 16,3\ndims 1 x 1,3 8,3 32,3\ndims 2 x 40,3 50,3 60,3\nop scale y x scale=2 offset=0\n";
  const auto engine = load(plan);
  for (const auto& [rows, profile] : {std::pair{1, 0}, {4, 0}, {6, 1}, {16, 1}, {20, 1}, {45, 2}}) {
    CHECK_EQ(engine->profileFor({{rows, 3}}), profile);
  }
  CHECK_CODE("ERR_TRT_SHAPE", engine->profileFor({{36, 3}}));
  for (const int32_t fixed : {-1, 0, 1}) {
    SessionOptions options;
    options.lane.profile = fixed;
    Rig rig(engine, options);
    for (const int64_t rows : {1, 8, 2, 16, 9}) {
      const Floats x = numbers(rows, 3, static_cast<int>(rows));
      const Completion done = rig.infer({input({rows, 3}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK(values<float>(done.outputs[0])[1] == x[1] * 2);
    }
    CHECK_EQ(codeOf(rig.infer({input({45, 3}, numbers(45, 3, 1))}).failure), fixed == -1 ? "" : "ERR_TRT_SHAPE");
  }
  SessionOptions options;
  options.lane.profile = 3;
  CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(engine, options));
}

TEST("answers: shapes that TensorRT refuses are told with what the profile takes") {
  fakes::reset();
  {
    SessionOptions options;
    options.lane.profile = 0;
    Rig rig(plans::scale, options);
    const Completion refused = rig.infer({input({17, 3}, numbers(17, 3, 1))});
    CHECK_EQ(codeOf(refused.failure), "ERR_TRT_SHAPE");
    CHECK_EQ(messageOf(refused.failure),
             "Expected a shape from [1, 3] to [16, 3] for input 'x', which optimization profile 0 takes, but received "
             "[17, 3]");
    CHECK_EQ(values<float>(rig.infer({input({16, 3}, numbers(16, 3, 1))}).outputs[0]), scaled(numbers(16, 3, 1)));
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: merged requests with different row counts get their own rows") {
  fakes::reset();
  for (const std::vector<int64_t>& pad : {std::vector<int64_t>{}, {4, 8, 16}, {64}}) {
    SessionOptions options = merging(16, 20ms);
    options.batching.pad = pad;
    Rig rig(plans::twoOutputs, options);
    for (int round = 0; round < 6; ++round) {
      std::vector<std::pair<uint64_t, Floats>> asked;
      for (const int64_t rows : {1, 3, 2, 5, 1, 4}) {  // 16 rows: full
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
        for (std::size_t i = 0; i < x.size(); ++i) doubled.push_back(x[i] * 2);
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

TEST("answers: padding runs the next size, and copies no padding out") {
  fakes::reset();
  {
    SessionOptions options = merging(16, 0ms);
    options.batching.pad = {8, 4};  // any order
    options.lane.slots = 1;         // each has contexts of its own
    Rig rig(plans::scale, options);
    for (const int64_t rows : {1, 2, 3, 4, 5, 8, 9}) {
      const auto before = fakes::driverCounts();
      const Floats x = numbers(rows, 3, static_cast<int>(rows));
      CHECK_EQ(values<float>(rig.infer({input({rows, 3}, x)}).outputs[0]), scaled(x));
      CHECK_EQ(fakes::driverCounts().at("bytesDtoH") - before.at("bytesDtoH"), rows * 12);
    }
    rig.session->engine().awaitPrepared();
    // 4, 8 and 9 rows, and 4 again for the context that is to be captured
    CHECK_EQ(fakes::tensorrtCalls().at("VExecutionContext.setInputShape"), 4);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: rows that only pad a batch repeat a row of it") {
  // y = x + the largest of all rows: what stands in the padding shows
  const std::string plan =
      "name all\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\n"
      "dims 0 x 1,3 4,3 16,3\nop reducemax m x axis=0 keep=1\nop add y x,m\n";
  fakes::reset();
  {
    SessionOptions options = merging(16, 0ms);
    options.batching.pad = {16};
    Rig rig(plan, options);
    for (const int64_t rows : {16, 1, 2, 3, 5, 9, 15}) {
      // the first batch leaves large values where the others have their padding
      Floats x = numbers(rows, 3, static_cast<int>(rows)), wanted = x;
      if (rows == 16) {
        for (float& value : x) value += 1e6F;
        wanted = x;
      }
      for (std::size_t column = 0; column < 3; ++column) {
        float most = x[column];
        for (std::size_t i = column; i < x.size(); i += 3) most = std::max(most, x[i]);
        for (std::size_t i = column; i < x.size(); i += 3) wanted[i] += most;
      }
      const bool leases = rows % 2 == 1;
      const Completion done = rig.infer({leases ? leased(rig.pool(), {rows, 3}, x) : input({rows, 3}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK_EQ(values<float>(done.outputs[0]), wanted);
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: what cannot merge is refused when the session is made, or alone") {
  fakes::reset();
  CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(plans::identity, merging(4)));
  CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(plans::nonzero, merging(4)));
  CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(plans::reshape, merging(4)));
  CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(plans::scale, merging(17)));  // the profile ends at 16
  // a dynamic dimension 0 that is not the number of rows
  const std::string turned =
      "name t\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,-1 device 0 -1 1\ndims 0 x 1,3 4,3 16,3\n"
      "op transpose y x perm=1,0\n";
  {
    Rig rig(turned, merging(4));
    CHECK_EQ(codeOf(rig.infer({input({2, 3}, numbers(2, 3, 1))}).failure), "ERR_TRT_EXECUTION");
  }
  {
    Rig rig(plans::twoOutputs, merging(4));
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

TEST("answers: outputs whose size depends on the data") {
  fakes::reset();
  {
    Rig rig(plans::nonzero);
    for (const int64_t count : {8, 1, 40000, 0, 5, 20000}) {
      Floats x = numbers(1, count, 3);
      std::vector<int64_t> wanted;
      for (int64_t i = 0; i < count; ++i) {
        if (i % 3 == 0) x[static_cast<std::size_t>(i)] = 0;
        if (x[static_cast<std::size_t>(i)] != 0) wanted.push_back(i);
      }
      const Completion done = rig.infer({input({count}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK_EQ(done.outputs[0].shape.vector(), (Shape{1, static_cast<int64_t>(wanted.size())}));
      CHECK(values<int64_t>(done.outputs[0]) == wanted);
      CHECK(done.outputs[0].data() != nullptr);
    }
    // into a target: the size must be the one that comes out
    const Floats x{0, 5, 6, 0, 7};
    Landing landing(rig.pool(), 3 * sizeof(int64_t));
    const Completion aimed = rig.infer({input({5}, x)}, aim({landing.target}));
    CHECK_EQ(codeOf(aimed.failure), "");
    CHECK(aimed.outputs[0].place() == nt::execution::Output::Place::target);
    CHECK_EQ(values<int64_t>(aimed.outputs[0]), (std::vector<int64_t>{1, 2, 4}));
    CHECK_EQ(codeOf(rig.infer({input({5}, Floats{1, 1, 1, 1, 1})}, aim({landing.target})).failure), "ERR_TRT_SHAPE");
    CHECK(fakes::driverCounts().at("graphLaunches") == 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: shape tensors on the host") {
  fakes::reset();
  {
    Rig rig(plans::reshape);
    const Floats x = numbers(3, 4, 2);
    for (const auto& shape : {Shape{3, 4}, Shape{12, 1}, Shape{2, 6}, Shape{3, 4}, Shape{2, 6}, Shape{2, 6}}) {
      const Completion done = rig.infer({input({12}, x), input({2}, shape)});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK_EQ(done.outputs[0].shape.vector(), shape);
      CHECK_EQ(values<float>(done.outputs[0]), x);
      const Completion lent = rig.infer({leased(rig.pool(), {12}, x), leased(rig.pool(), {2}, shape)});
      CHECK_EQ(codeOf(lent.failure), "");
      CHECK_EQ(lent.outputs[0].shape.vector(), shape);
      CHECK_EQ(values<float>(lent.outputs[0]), x);
    }
    CHECK_EQ(codeOf(rig.infer({input({12}, x), input({2}, Shape{5, 5})}).failure), "ERR_TRT_SHAPE");
    CHECK_EQ(codeOf(rig.infer({input({12}, x), input({2}, Shape{3, 4})}).failure), "");
    CHECK(fakes::driverCounts().at("graphLaunches") == 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: outputs that TensorRT writes on the host") {
  fakes::reset();
  {
    // the shape of x, as a shape tensor: known when the context enqueues, written then, and so in no graph
    Rig rig(std::string("name shape\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\n") +
            "output s int64 2 host 0 -1 1\ndims 0 x 1,3 4,3 16,3\nop scale y x scale=2 offset=0\nop shape s x\n");
    for (int i = 0; i < 6; ++i) {
      const int64_t rows = i < 4 ? 5 : 7;
      Completion done = rig.infer({input({rows, 3}, numbers(rows, 3, i))});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK_EQ(values<int64_t>(done.outputs[1]), (Shape{rows, 3}));
      Landing landing(rig.pool(), 16);
      done = rig.infer({input({rows, 3}, numbers(rows, 3, i))}, aim({{}, landing.target}));
      CHECK(done.outputs[1].place() == nt::execution::Output::Place::target);
      CHECK(done.outputs[0].place() != nt::execution::Output::Place::target);
      CHECK_EQ(values<int64_t>(done.outputs[1]), (Shape{rows, 3}));
      CHECK_EQ(codeOf(rig.infer({input({rows, 3}, numbers(rows, 3, i))}, want(1)).failure), "");
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: scalars, tensors without elements, every width of element") {
  fakes::reset();
  for (const auto& [type, bytes] : {std::pair{"float32", 4},
                                    {"float16", 2},
                                    {"bfloat16", 2},
                                    {"int8", 1},
                                    {"int32", 4},
                                    {"int64", 8},
                                    {"uint8", 1},
                                    {"bool", 1},
                                    {"float8e4m3", 1}}) {
    const std::string port = std::string(type) + " . device 0 -1 1\n";
    Rig rig("name scalar\ninput x " + port + "output y " + port + "op identity y x\n");
    std::vector<uint8_t> x;
    for (int i = 0; i < bytes; ++i) x.push_back(static_cast<uint8_t>(i + 1));
    for (int i = 0; i < 5; ++i) {
      const Completion done = rig.infer({input({}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK_EQ(done.outputs[0].shape.vector(), Shape{});
      CHECK_EQ(values<uint8_t>(done.outputs[0]), x);
    }
  }
  {
    Rig rig(
        "name empty\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\ndims 0 x 0,3 4,3 "
        "16,3\nop identity y x\n");
    for (const int64_t rows : {0, 2, 0, 0, 0, 0, 2}) {
      const Floats x = numbers(rows, 3, 1);
      const Completion done = rig.infer({input({rows, 3}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK_EQ(done.outputs[0].shape.vector(), (Shape{rows, 3}));
      CHECK(done.outputs[0].data() != nullptr);
      CHECK_EQ(values<float>(done.outputs[0]), x);
    }
  }
  {  // packed: two elements in a byte
    Rig rig("name packed\ninput x int4 5 device 0 -1 1\noutput y int4 5 device 0 -1 1\nop identity y x\n");
    const std::vector<uint8_t> x{0x21, 0x43, 0x05};
    CHECK_EQ(values<uint8_t>(rig.infer({input({5}, x)}).outputs[0]), x);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: leased inputs are copied by the device only") {
  fakes::reset();
  for (const SessionOptions& options : {SessionOptions{}, merging(4, 5ms)}) {
    Rig rig(plans::large, options);
    nt::HostPool& pool = rig.pool();
    const std::size_t row = 12288 * sizeof(float);
    const Floats a = numbers(1, 12288, 1), b = numbers(2, 12288, 2), c = numbers(1, 12288, 3);
    const auto before = fakes::driverCounts();
    const uint64_t first = rig.submit({leased(pool, {1, 12288}, a)});
    const uint64_t second = rig.submit({leased(pool, {2, 12288}, b)});
    const uint64_t third = rig.submit({input({1, 12288}, c)});
    for (const auto& [request, x] : {std::pair{first, a}, {second, b}, {third, c}}) {
      const Completion done = rig.take(request);
      CHECK_EQ(codeOf(done.failure), "");
      CHECK(values<float>(done.outputs[0]) == scaled(x));
    }
    CHECK_EQ(rig.session->stats()[nt::execution::Count::bytesCopied], row);
    const auto after = fakes::driverCounts();
    CHECK_EQ(after.at("bytesHtoD") - before.at("bytesHtoD"), static_cast<long long>(4 * row));
    CHECK_EQ(after.at("pageableCopies"), 0);
    CHECK_EQ(values<float>(rig.run({leased(pool, {1, 12288}, a)}).outputs[0])[7], scaled(a)[7]);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::bytesCopied], row);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: targets take outputs directly; one that does not fit fails alone") {
  fakes::reset();
  for (const bool merged : {false, true}) {
    Rig rig(plans::twoOutputs, merged ? merging(6, 50ms) : SessionOptions{});
    nt::HostPool& pool = rig.pool();
    const Floats x = numbers(2, 3, 1);
    const Landing y(pool, 24), z(pool, 8), wrong(pool, 20);
    const uint64_t both = rig.submit({input({2, 3}, x)}, aim({y.target, z.target}));
    const uint64_t bad = rig.submit({input({2, 3}, x)}, aim({wrong.target, {}}));
    const uint64_t plain = rig.submit({input({2, 3}, x)});
    Completion done = rig.take(both);
    CHECK_EQ(codeOf(done.failure), "");
    CHECK(done.outputs[0].data() == y.target.data && done.outputs[1].data() == z.target.data);
    CHECK_EQ(values<float>(done.outputs[0])[5], x[5] * 2);
    CHECK_EQ(values<float>(done.outputs[1])[1], x[3] + x[4] + x[5]);
    CHECK_EQ(codeOf(rig.take(bad).failure), "ERR_TRT_SHAPE");
    CHECK_EQ(wrong.block->data()[0], 0xEE);
    done = rig.take(plain);
    CHECK_EQ(codeOf(done.failure), "");
    CHECK(done.outputs[0].place() != nt::execution::Output::Place::target);
    CHECK_EQ(values<float>(done.outputs[0])[5], x[5] * 2);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::failed], 1u);
    CHECK_CODE("ERR_TRT_SHAPE", rig.run({input({2, 3}, x)}, aim({wrong.target, {}})));
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: outputs that nobody wants are not copied") {
  fakes::reset();
  {
    Rig rig(plans::twoOutputs);
    const Floats x = numbers(2, 3, 1);
    const auto before = fakes::driverCounts().at("bytesDtoH");
    Completion done = rig.infer({input({2, 3}, x)}, want(2));
    CHECK_EQ(fakes::driverCounts().at("bytesDtoH") - before, 8);
    CHECK(done.outputs[0].data() == nullptr && done.outputs[0].shape.empty());
    CHECK_EQ(values<float>(done.outputs[1])[0], x[0] + x[1] + x[2]);
    done = rig.infer({input({2, 3}, x)}, want(0));
    CHECK_EQ(codeOf(done.failure), "");
    CHECK(done.outputs[0].data() == nullptr && done.outputs[1].data() == nullptr);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: a plan that cannot be read says why") {
  fakes::reset();
  const std::string damaged = fakes::plan(plans::identity) + "x";
  CHECK_CODE("ERR_TRT_PLAN",
             Engine::load(library(), DeviceContext::get(0), nt::gpu::PlanSource(damaged.data(), damaged.size())));
  CHECK_CODE("ERR_TRT_UNSUPPORTED",
             load("name f\ninput x float32 4 device 1 0 4\noutput y float32 4 device 0 -1 1\nop identity y x\n"));
  CHECK_CODE("ERR_TRT_NO_GPU", load(plans::identity, 100000));
  CHECK_NOTHING_LIVE();
}
