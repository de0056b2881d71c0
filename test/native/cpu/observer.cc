// What is counted of outputs: histograms against a plain loop in double, and engines that are observed.
#include "../../../native/cpu/observer.h"

#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "rig.h"

using namespace rig;
using nt::cpu::Histogram;
using nt::cpu::Observer;
using onnx::Dim;
using onnx::DType;
using onnx::Graph;

namespace {

using Floats = std::vector<float>;
using Counts = std::vector<uint64_t>;
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiniest = std::numeric_limits<float>::denorm_min(), kLargest = std::numeric_limits<float>::max();

// What a histogram is to say, by the definition: in double, where every step is exact.
struct Expected {
  uint64_t finite = 0, nonFinite = 0;
  double min = 0, max = 0, width = 0;
  Counts counts;
};

Expected expectedOf(const std::vector<Floats>& tensors) {
  Expected expected;
  Floats finite;
  for (const Floats& tensor : tensors) {
    for (const float value : tensor) std::isfinite(value) ? finite.push_back(value) : void(++expected.nonFinite);
  }
  expected.finite = finite.size();
  double largest = 0;
  for (std::size_t i = 0; i < finite.size(); ++i) {
    const double value = finite[i];
    expected.min = i == 0 ? value : std::min(expected.min, value);
    expected.max = i == 0 ? value : std::max(expected.max, value);
    largest = std::max(largest, std::abs(value));
  }
  if (largest > 0) {
    expected.width = std::ldexp(1.0, -200);
    while (largest >= 4096 * expected.width) expected.width *= 2;
  }
  for (const float value : finite) {
    const auto bin = largest > 0 ? static_cast<std::size_t>(std::abs(static_cast<double>(value)) / expected.width) : 0;
    if (expected.counts.size() <= bin) expected.counts.resize(bin + 1);
    ++expected.counts[bin];
  }
  return expected;
}

Histogram counted(const std::vector<Floats>& tensors) {
  const auto scratch = std::make_unique<Histogram::Scratch>();
  Histogram histogram;
  for (const Floats& tensor : tensors) histogram.add(tensor, *scratch);
  return histogram;
}

Counts countsOf(const Histogram& histogram) { return {histogram.counts().begin(), histogram.counts().end()}; }

void checkIs(const Histogram& histogram, const Expected& expected) {
  CHECK_EQ(histogram.finite(), expected.finite);
  CHECK_EQ(histogram.nonFinite(), expected.nonFinite);
  CHECK_EQ(histogram.min(), expected.min);
  CHECK_EQ(histogram.max(), expected.max);
  CHECK(!std::signbit(histogram.min()) || histogram.min() < 0);
  CHECK_EQ(histogram.width(), expected.width);
  CHECK(countsOf(histogram) == expected.counts);
}

void checkCounts(const std::vector<Floats>& tensors) { checkIs(counted(tensors), expectedOf(tensors)); }

void checkSame(const Histogram& one, const Histogram& other) {
  CHECK_EQ(one.finite(), other.finite());
  CHECK_EQ(one.nonFinite(), other.nonFinite());
  CHECK_EQ(one.min(), other.min());
  CHECK_EQ(one.max(), other.max());
  CHECK_EQ(one.width(), other.width());
  CHECK(countsOf(one) == countsOf(other));
}

// Numbers of a bell curve, of which some are zeros.
Floats bell(std::size_t count, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  Floats values(count);
  for (float& value : values) value = random() % 4 == 0 ? 0 : normal(random);
  return values;
}

// Bits at random: numbers of all sizes, denormals, infinities and NaN among them.
Floats anything(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Floats values(count);
  for (float& value : values) {
    const auto bits = static_cast<uint32_t>(random());
    std::memcpy(&value, &bits, sizeof(value));
  }
  return values;
}

// x [N] → y = 2 x, z = sums over all of x, i: what of x is not zero (int64).
std::string threeOutputs() {
  return Graph()
      .input("x", DType::float32, std::vector<Dim>{"N"})
      .constant<float>("two", DType::float32, {}, {2})
      .node("NonZero", {"x"}, {"i"})
      .node("Mul", {"x", "two"}, {"y"})
      .node("ReduceSum", {"x"}, {"z"}, {onnx::integer("keepdims", 0)})
      .output("y", DType::float32, std::vector<Dim>{"N"})
      .output("i", DType::int64, std::vector<Dim>{1, ""})
      .output("z", DType::float32, std::vector<Dim>{})
      .model();
}

std::shared_ptr<Engine> observed(const std::string& model) {
  nt::cpu::Options options;
  options.observe = true;
  return load(model, options);
}

SessionOptions lanes(int count) {
  SessionOptions options;
  options.lanes = count;
  return options;
}

Floats doubled(Floats values) {
  for (float& value : values) value *= 2;
  return values;
}

}  // namespace

TEST("observer: bins of a bell curve, of few values and of many, and of values that lie on an edge") {
  for (const std::size_t count : {1, 7, 4095, 16384, 100'003}) checkCounts({bell(count, 1.5F, 3)});
  Floats edges;
  for (int i = 0; i < 4096; ++i) {
    for (const float value : {static_cast<float>(i), std::nextafter(static_cast<float>(i), 0.0F)})
      edges.push_back(-value);
  }
  checkCounts({edges});
  // 4096 needs bins of the next width, and the largest below it does not
  checkCounts({edges, {4096.0F}});
  CHECK_EQ(counted({{4096.0F}}).width(), 2.0);
  CHECK_EQ(counted({{std::nextafter(4096.0F, 0.0F)}}).width(), 1.0);
}

TEST("observer: zeros, nothing at all, and tensors without elements") {
  checkCounts({});
  checkCounts({Floats{}});
  checkCounts({Floats(5000), {}, {-0.0F}});
  CHECK_EQ(counted({Floats(9)}).width(), 0.0);
  CHECK_EQ(countsOf(counted({Floats(9)})), Counts{9});
  checkCounts({Floats(5000), {0.001F, -3}, Floats(20'000)});
}

TEST("observer: NaN and infinities are counted apart, wherever they stand") {
  checkCounts({{kNan}});
  checkCounts({{kInfinity, -kInfinity, -kNan}, {}});
  checkCounts({{1, kNan, -2, kInfinity, -kInfinity, 3}});
  Floats mixed = bell(50'000, 1, 5);
  for (std::size_t i = 0; i < mixed.size(); i += 1 + i % 7919) mixed[i] = i % 2 == 0 ? kNan : -kInfinity;
  checkCounts({mixed, {100}});
}

TEST("observer: the smallest and the largest floats, apart and together") {
  const float smallest = std::numeric_limits<float>::min();
  for (const float value : {kTiniest, 5000 * kTiniest, smallest, std::nextafter(smallest, 0.0F), kLargest}) {
    checkCounts({{value}});
    checkCounts({{-value, 0, value / 2}});
    checkCounts({Floats(40'000, value), Floats(3, -value)});
  }
  checkCounts({{kTiniest, 3 * kTiniest}, {smallest}, {1}, {kLargest}});
  checkCounts({Floats(20'000, kTiniest), Floats(20'000, 1e-30F), Floats(20'000, -1e-20F)});
  // around the width from which on floats are multiplied
  for (int exponent = -120; exponent < -110; ++exponent) {
    checkCounts(
        {{std::ldexp(1.0F, exponent), std::ldexp(1.7F, exponent - 3), std::ldexp(1.0F, exponent - 12), kTiniest}});
  }
}

TEST("observer: floats of any bits, in tensors that grow") {
  for (unsigned seed = 1; seed <= 20; ++seed) checkCounts({anything(seed * 97, seed), anything(20'000, seed + 100)});
  std::vector<Floats> growing;
  for (int k = -150; k < 128; ++k) growing.push_back(bell(50, std::ldexp(1.0F, k), 7));
  checkCounts(growing);
}

TEST("observer: neither the order of tensors nor how they are split changes anything") {
  std::vector<Floats> tensors;
  for (int i = 0; i < 40; ++i) tensors.push_back(bell(200 + 1000 * (i % 5), std::ldexp(1.0F, i % 13 - 6), i));
  tensors[3] = anything(3000, 9);
  tensors[4] = Floats(500);
  const Histogram wanted = counted(tensors);
  checkIs(wanted, expectedOf(tensors));
  std::mt19937 random(11);
  for (int round = 0; round < 5; ++round) {
    std::ranges::shuffle(tensors, random);
    checkSame(counted(tensors), wanted);
  }
  Floats joined;
  for (const Floats& tensor : tensors) joined.insert(joined.end(), tensor.begin(), tensor.end());
  checkSame(counted({joined}), wanted);
}

TEST("observer: of an engine, all of float32 and nothing else, and requests get nothing") {
  {
    const auto engine = observed(threeOutputs());
    CHECK_EQ(engine->outputs().size(), 0u);
    std::vector<std::string> names;
    for (const auto& output : engine->observer()->outputs()) names.push_back(output.name);
    CHECK_EQ(names, (std::vector<std::string>{"y", "z"}));
    Rig rig(engine, {});
    CHECK(!engine->observer()->seen(0).any);
    std::vector<Floats> xs{{1, -2, 0, 5}, {0.25F, kNan}, bell(30'000, 3, 1)};
    for (const Floats& x : xs) {
      const Shape shape{static_cast<int64_t>(x.size())};
      const Completion done = x.size() == 2 ? rig.run({input(shape, x)}) : rig.infer({input(shape, x)});
      CHECK_EQ(codeOf(done.failure), "");
      CHECK(done.timing.compute >= 0);
    }
    const Observer::Seen y = engine->observer()->seen(0), z = engine->observer()->seen(1);
    CHECK_EQ(y.shape, Shape{4});
    CHECK_EQ(z.shape, Shape{});
    checkIs(y.histogram, expectedOf({doubled(xs[0]), doubled(xs[1]), doubled(xs[2])}));
    CHECK_EQ(z.histogram.finite(), 2u);
    CHECK_EQ(z.histogram.nonFinite(), 1u);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::completed], 3u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("observer: one lane and three count the same, whatever the order") {
  std::vector<Floats> xs;
  for (int i = 0; i < 60; ++i) xs.push_back(bell(100 + 4000 * (i % 9), std::ldexp(1.0F, i % 17 - 8), i));
  std::vector<Floats> ys;
  for (const Floats& x : xs) ys.push_back(doubled(x));
  std::vector<Histogram> sums;
  for (const int count : {1, 3}) {
    {
      const auto engine = observed(threeOutputs());
      Rig rig(engine, lanes(count));
      std::vector<uint64_t> requests;
      for (const Floats& x : xs) requests.push_back(rig.submit({input({static_cast<int64_t>(x.size())}, x)}));
      for (const uint64_t request : requests) CHECK_EQ(codeOf(rig.take(request).failure), "");
      checkIs(engine->observer()->seen(0).histogram, expectedOf(ys));
      sums.push_back(engine->observer()->seen(1).histogram);
    }
    CHECK_NOTHING_LIVE();
  }
  checkSame(sums[0], sums[1]);
}

TEST("observer: it is read while lanes count") {
  const auto engine = observed(threeOutputs());
  {
    Rig rig(engine, lanes(2));
    const Floats x = bell(20'000, 1, 1);
    std::vector<uint64_t> requests;
    for (int i = 0; i < 30; ++i) requests.push_back(rig.submit({input({20'000}, x)}));
    for (uint64_t last = 0; last < 30 * x.size();) {
      const Histogram histogram = engine->observer()->seen(0).histogram;
      uint64_t sum = 0;
      for (const uint64_t each : histogram.counts()) sum += each;
      CHECK_EQ(sum, histogram.finite());
      CHECK(histogram.finite() >= last && histogram.finite() % x.size() == 0);
      last = histogram.finite();
    }
    for (const uint64_t request : requests) CHECK_EQ(codeOf(rig.take(request).failure), "");
  }
  CHECK_EQ(engine->observer()->seen(0).histogram.finite(), 600'000u);
}

TEST("observer: of an inference that fails, or that is given up, nothing is counted") {
  {
    const auto engine = observed(models::expand());
    Rig rig(engine, {});
    const std::vector<int64_t> three{3}, four{4};
    CHECK_EQ(codeOf(rig.infer({input({3}, Floats{1, 2, 3}), input({1}, four)}).failure), "ERR_TRT_EXECUTION");
    CHECK(!engine->observer()->seen(0).any);
    CHECK_EQ(codeOf(rig.infer({input({3}, Floats{1, 2, 3}), input({1}, three)}).failure), "");
    CHECK_EQ(engine->observer()->seen(0).histogram.finite(), 3u);

    const auto endless = observed(models::loop());
    Rig loop(endless, {});
    const uint64_t request = loop.submit({input({1, 1}, Floats{models::kForEver})});
    loop.waitUntilRunning(1);
    loop.cancel(request);
    CHECK_EQ(codeOf(loop.take(request).failure), "ABORTED");
    CHECK(!endless->observer()->seen(0).any);
  }
  CHECK_NOTHING_LIVE();
}

TEST("observer: an output that is an input or a constant, batching, and a model with nothing to observe") {
  {
    const auto engine = observed(Graph()
                                     .input("x", DType::float32, std::vector<Dim>{"N"})
                                     .constant<float>("c", DType::float32, {2}, {1, -7})
                                     .node("Identity", {"x"}, {"y"})
                                     .output("x", DType::float32, std::vector<Dim>{"N"})
                                     .output("c", DType::float32, std::vector<Dim>{2})
                                     .output("y", DType::float32, std::vector<Dim>{"N"})
                                     .model());
    Rig rig(engine, {});
    for (int i = 0; i < 3; ++i) CHECK_EQ(codeOf(rig.infer({input({3}, Floats{1, 2, -3})}).failure), "");
    for (std::size_t i = 0; i < 3; ++i) {
      const Histogram histogram = engine->observer()->seen(i).histogram;
      const Floats once = i == 1 ? Floats{1, -7} : Floats{1, 2, -3};
      checkIs(histogram, expectedOf({once, once, once}));
    }
    CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", Rig(engine, merging(4)));
    CHECK_CODE("ERR_TRT_INVALID_ARGUMENT", observed(models::nonzero()));
  }
  CHECK_NOTHING_LIVE();
}
