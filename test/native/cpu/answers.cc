// Right answers, for every kind of input and output.
#include <thread>

#include "rig.h"

using namespace rig;
using onnx::Dim;
using onnx::Dims;
using onnx::DType;

namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;
using Place = nt::execution::Output::Place;

}  // namespace

TEST("answers: queued and on the caller's thread, every size in any order") {
  {
    Rig rig(models::scale());
    for (const int64_t rows : {1, 16, 2, 1000, 1, 3}) {
      const Floats x = numbers(rows, 3, static_cast<int>(rows));
      const Completion queued = rig.infer({input({rows, 3}, x)});
      CHECK_EQ(codeOf(queued.failure), "");
      CHECK_EQ(queued.outputs[0].shape.vector(), (Shape{rows, 3}));
      CHECK(values<float>(queued.outputs[0]) == scaled(x));
      CHECK(queued.timing.queue >= 0 && queued.timing.compute >= 0 && queued.timing.copyIn < 0);
      CHECK(values<float>(rig.run({input({rows, 3}, x)}).outputs[0]) == scaled(x));
    }
    const auto stats = rig.session->stats();
    CHECK_EQ(stats[nt::execution::Count::completed], 12u);
    CHECK_EQ(stats[nt::execution::Count::batches], 12u);
    CHECK_EQ(stats[nt::execution::Duration::compute].count, 12u);
    CHECK_EQ(stats[nt::execution::Count::bytesCopied], 2u * 12u * (1 + 16 + 2 + 1000 + 1 + 3));
    CHECK_EQ(rig.session->running() + rig.session->memory().device, 0u);
    CHECK(!rig.session->engine().runtime().empty());
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: several inputs and outputs, of which some are wanted, or none") {
  {
    Rig two(models::twoOutputs()), sum(models::sum());
    const Floats x = numbers(2, 3, 1), a{1, 2, 3, 4}, b{10, 20, 30, 40};
    CHECK_EQ(values<float>(sum.infer({input({2, 2}, a), input({2, 2}, b)}).outputs[0]), (Floats{11, 22, 33, 44}));
    Completion done = two.infer({input({2, 3}, x)});
    CHECK_EQ(values<float>(done.outputs[0])[5], x[5] * 2);
    CHECK_EQ(values<float>(done.outputs[1]), (Floats{x[0] + x[1] + x[2], x[3] + x[4] + x[5]}));
    done = two.infer({input({2, 3}, x)}, want(2));
    CHECK(done.outputs[0].place() == Place::none && done.outputs[0].data() == nullptr);
    CHECK_EQ(values<float>(done.outputs[1])[0], x[0] + x[1] + x[2]);
    done = two.infer({input({2, 3}, x)}, want(0));
    CHECK_EQ(codeOf(done.failure), "");
    CHECK(done.outputs[0].place() == Place::none && done.outputs[1].place() == Place::none);
    CHECK_EQ(codeOf([&] { two.run({input({2, 3}, x)}, want(0)); }), "");
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: what the model does not take is refused, and the next request works") {
  {
    Rig rig(models::scale());
    const Floats x = numbers(20, 3, 1);
    CHECK_EQ(codeOf(rig.infer({input({10, 6}, x)}).failure), "ERR_TRT_SHAPE");
    CHECK_CODE("ERR_TRT_SHAPE", rig.run({input({10, 6}, x)}));
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({60}, x)}));
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({2, 3}, x)}));
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({-1, 3}, x)}));
    CHECK_CODE("ERR_TRT_SHAPE", rig.submit({input({int64_t{1} << 62, 3}, x)}));
    CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", rig.submit({}));
    CHECK(scaledRight(rig.infer({input({20, 3}, x)}), x));
    CHECK_EQ(rig.session->stats()[nt::execution::Count::failed], 2u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: outputs whose size depends on the data") {
  {
    Rig rig(models::nonzero());
    for (const int64_t count : {8, 1, 40000, 0, 5, 20000}) {
      Floats x = numbers(1, count, 3);
      Longs wanted;
      for (int64_t i = 0; i < count; ++i) {
        if (i % 3 == 0) x[static_cast<std::size_t>(i)] = 0;
        if (x[static_cast<std::size_t>(i)] != 0) wanted.push_back(i);
      }
      const Completion done = rig.infer({input({count}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK_EQ(done.outputs[0].shape.vector(), (Shape{1, static_cast<int64_t>(wanted.size())}));
      CHECK(values<int64_t>(done.outputs[0]) == wanted);
    }
    // into a target: the size must be the one that comes out
    const Floats x{0, 5, 6, 0, 7};
    const Landing landing(rig.pool(), 3 * sizeof(int64_t));
    const Completion aimed = rig.infer({input({5}, x)}, aim({landing.target}));
    CHECK_EQ(codeOf(aimed.failure), "");
    CHECK(aimed.outputs[0].place() == Place::target && aimed.outputs[0].data() == landing.target.data);
    CHECK_EQ(values<int64_t>(aimed.outputs[0]), (Longs{1, 2, 4}));
    CHECK_EQ(codeOf(rig.infer({input({5}, Floats{1, 1, 1, 1, 1})}, aim({landing.target})).failure), "ERR_TRT_SHAPE");
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: every data type that the library runs, from a scalar to what does not fit into an output") {
  const auto bytesOf = [](std::size_t count) {
    std::vector<uint8_t> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + 1);
    return bytes;
  };
  std::size_t ran = 0;
  for (std::size_t i = 0; i < nt::kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (nt::dtypeBits(type) == 0) continue;  // texts.cc
    std::unique_ptr<Rig> rig, scalar;
    const std::string code = codeOf([&] {
      rig = std::make_unique<Rig>(models::identity(type));
      scalar = std::make_unique<Rig>(models::identity(type, std::vector<Dim>{}));
    });
    CHECK(code.empty() || code == "ERR_TRT_ONNX_PARSE");
    test::say(std::string(nt::dtypeName(type)) + ": " + (code.empty() ? "runs" : code));
    if (!code.empty()) continue;
    ++ran;
    CHECK(rig->session->engine().inputs()[0].dtype == type && rig->session->engine().outputs()[0].dtype == type);
    for (const int64_t count : {1, 3, 16, 500, 9000, 0}) {
      std::vector<uint8_t> x = bytesOf(nt::byteSize(type, {count}));
      if (type == DType::boolean) {
        for (uint8_t& each : x) each &= 1;
      }
      const Completion done = rig->infer({input({count}, x)});
      CHECK_EQ(codeOf(done.failure), "");
      if (done.failure) continue;
      CHECK_EQ(done.outputs[0].shape.vector(), (Shape{count}));
      CHECK(values<uint8_t>(done.outputs[0]) == x);
    }
    const std::vector<uint8_t> one(nt::byteSize(type, {}), 1);
    const Completion done = scalar->infer({input({}, one)});
    CHECK_EQ(codeOf(done.failure), "");
    CHECK(done.outputs[0].shape.empty() && values<uint8_t>(done.outputs[0]) == one);
  }
  CHECK(ran >= 13);  // all but those of fewer than eight bits
  CHECK_NOTHING_LIVE();
}

TEST("answers: tensors without elements") {
  {
    Rig rig(models::scale()), two(models::twoOutputs());
    for (const int64_t rows : {0, 2, 0, 0, 2}) {
      const Floats x = numbers(rows, 3, 1);
      const Completion done = rig.infer({input({rows, 3}, x)});
      CHECK_EQ(done.outputs[0].shape.vector(), (Shape{rows, 3}));
      CHECK(scaledRight(done, x));
      CHECK_EQ(two.infer({input({rows, 3}, x)}).outputs[1].shape.vector(), (Shape{rows}));
    }
    const Landing landing(rig.pool(), 0);
    CHECK_EQ(codeOf(rig.infer({input({0, 3}, Floats{})}, aim({landing.target})).failure), "");
    CHECK_EQ(codeOf(rig.infer({leased(rig.pool(), {0, 3}, Floats{})}).failure), "");
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: a leased input is read where it is, and stays as it was") {
  {
    Rig rig(models::scale(12288));
    const Floats x = numbers(2, 12288, 1);
    const Input lent = leased(rig.pool(), {2, 12288}, x);
    CHECK(scaledRight(rig.infer({lent}), x));
    CHECK(scaledRight(rig.run({lent}), x));
    CHECK_EQ(std::memcmp(lent.lease.data, x.data(), x.size() * sizeof(float)), 0);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::bytesCopied], 0u);
    // one of two inputs
    Rig sum(models::sum());
    const Floats a{1, 2, 3, 4}, b{10, 20, 30, 40};
    CHECK_EQ(values<float>(sum.infer({input({2, 2}, a), leased(sum.pool(), {2, 2}, b)}).outputs[0]),
             (Floats{11, 22, 33, 44}));
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: targets take outputs directly; one that does not fit fails alone") {
  {
    Rig rig(models::twoOutputs());
    const Floats x = numbers(2, 3, 1);
    const Landing y(rig.pool(), 24), z(rig.pool(), 8), wrong(rig.pool(), 20);
    const Completion both = rig.infer({input({2, 3}, x)}, aim({y.target, z.target}));
    CHECK_EQ(codeOf(both.failure), "");
    CHECK(both.outputs[0].data() == y.target.data && both.outputs[1].data() == z.target.data);
    CHECK_EQ(values<float>(both.outputs[0])[5], x[5] * 2);
    CHECK_EQ(values<float>(both.outputs[1])[1], x[3] + x[4] + x[5]);
    CHECK_EQ(codeOf(rig.infer({input({2, 3}, x)}, aim({wrong.target, {}})).failure), "ERR_TRT_SHAPE");
    CHECK_EQ(wrong.block->data()[0], 0xEE);
    CHECK_CODE("ERR_TRT_SHAPE", rig.run({input({2, 3}, x)}, aim({{}, wrong.target})));
    // one that is not wanted stays as it is
    const Landing left(rig.pool(), 24);
    Part part = aim({left.target, z.target});
    part.outputs = 2;
    CHECK(rig.infer({input({2, 3}, x)}, std::move(part)).outputs[0].place() == Place::none);
    CHECK_EQ(left.block->data()[0], 0xEE);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::failed], 2u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("answers: shapes beyond all that were allowed are refused") {
  {
    const auto engine = load(models::scale());
    engine->setProfiles({{{{1, 3}, {2, 3}, {4, 3}}, {{8, 3}, {8, 3}, {8, 3}}}});
    Rig rig(engine, {});
    for (const int64_t rows : {1, 4, 5, 8, 9}) {
      const bool allowed = rows <= 4 || rows == 8;
      const Floats x = numbers(rows, 3, 1);
      CHECK_EQ(codeOf(rig.infer({input({rows, 3}, x)}).failure), allowed ? "" : "ERR_TRT_SHAPE");
    }
    CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(engine, merging(16)));
  }
  // for one input of two
  const auto sum = load(models::sum());
  sum->setProfiles({{{{1, 2}, {1, 2}, {4, 2}}}, {}});
  CHECK_EQ(codeOf([&] { Rig(sum, merging(4)); }), "");
  CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(sum, merging(5)));
  // what does not fit the model, or together
  const auto other = load(models::sum());
  CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", other->setProfiles({{{{1, 2}, {1, 2}, {4, 2}}}, {{{1}, {1, 2}, {4, 2}}}}));
  CHECK_CODE("ERR_TRT_INVALID_ARGUMENT",
             other->setProfiles({{{{1, 2}, {1, 2}, {4, 2}}, {{1, 2}, {1, 2}, {4, 2}}}, {{{1, 2}, {1, 2}, {4, 2}}}}));
  CHECK_EQ(other->profiles(), 0);
}
