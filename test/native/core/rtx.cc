// Contexts of TensorRT-RTX: compiled for once, with its own graphs, and what was compiled is kept.
#include "../../../native/gpu/audit.h"
#include "../../../native/tensorrt/logger.h"
#include "rig.h"

using namespace rig;

namespace {

using Bytes = std::vector<uint8_t>;

long long compiles() { return fakes::jit().at("compiles"); }
long long withGraphs() { return fakes::jit().at("withGraphs"); }
long long callsOf(const std::string& method) {
  const fakes::Counts calls = fakes::tensorrtCalls();
  const auto found = calls.find(method);
  return found == calls.end() ? 0 : found->second;
}

SessionOptions lanes(int count, bool graphs = true) {
  SessionOptions options;
  options.lanes = count;
  options.lane.captureGraphs = graphs;
  return options;
}

bool compilesRight(Rig& rig, int64_t rows, int seed) {
  const std::vector<float> x = numbers(rows, 3, seed);
  return scaledRight(rig.infer({input({rows, 3}, x)}), x);
}

// Our own lines of the log about what did not work.
class Lines {
 public:
  Lines()
      : subscription_(nt::tensorrt::subscribeLog(2, [this](int32_t, const std::string& line) {
          const std::lock_guard lock(mutex_);
          if (line.rfind("node-tensorrt: ", 0) == 0) lines_.push_back(line);
        })) {}
  ~Lines() { nt::tensorrt::unsubscribeLog(subscription_); }
  std::size_t with(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(lines_, [&](const std::string& line) { return line.find(text) != line.npos; }));
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  const int subscription_;
};

// What an engine compiled whose lane ran shapes of so many rows.
Bytes compiledFor(int64_t rows, Bytes kept = {}) {
  const auto engine = load(plans::scale, 0, 0, std::move(kept));
  Rig rig(engine, lanes(1));
  CHECK(compilesRight(rig, rows, 1));
  return engine->changedRuntimeCache().value_or(Bytes());
}

}  // namespace

TEST("rtx: two lanes, another session and an audit wait for one compilation") {
  fakes::reset();
  fakes::tensorrt("compileMs", "20");  // both lanes want their contexts meanwhile
  {
    const auto engine = load(plans::scale);
    Rig rig(engine, lanes(2));
    for (int i = 0; i < 20; ++i) CHECK(compilesRight(rig, 1 + i % 4, i));
    Rig other(engine, lanes(3, false));
    CHECK(compilesRight(other, 4, 1));
    rig.session->close();
    CHECK(compilesRight(other, 2, 1));
    const std::atomic<bool> cancelled{false};
    CHECK_EQ(std::get<int64_t>(nt::gpu::audit(engine, {}, cancelled).facts.front().second), 2);  // layers
    CHECK_EQ(compiles(), 1);
    CHECK_EQ(callsOf("VCudaEngine.createExecutionContext"), 0);
    CHECK_EQ(fakes::liveObjects().at("runtimeCaches"), 1);
  }
  CHECK_NOTHING_LIVE();
}

TEST("rtx: its own graphs and none of ours, unless they are turned off") {
  for (const bool graphs : {true, false}) {
    fakes::reset();
    {
      Rig rig(plans::scale, lanes(2, graphs));
      for (int i = 0; i < 20; ++i) CHECK(compilesRight(rig, 4, i));
      CHECK_EQ(withGraphs(), graphs ? 4 : 0);  // one for each slot: its graphs may hold addresses
      CHECK_EQ(callsOf("VRuntimeConfig.setCudaGraphStrategy"), 1);
      CHECK_EQ(fakes::driverCounts().at("graphLaunches"), 0);
      CHECK_EQ(fakes::liveObjects().at("contexts"), graphs ? 4 : 2);
    }
    CHECK_NOTHING_LIVE();
  }
}

TEST("rtx: what was compiled once is not compiled by the next engine that is given it") {
  fakes::reset();
  const Bytes kept = compiledFor(1);
  CHECK(!kept.empty());
  CHECK_EQ(compiles(), 1);
  {
    const auto engine = load(plans::scale, 0, 0, kept);
    Rig rig(engine, lanes(2));
    CHECK_EQ(compiles(), 1);
    CHECK(!engine->changedRuntimeCache());
    CHECK(compilesRight(rig, 1, 1));
    CHECK(!engine->changedRuntimeCache());
    CHECK(compilesRight(rig, 3, 1));  // shapes for which something is compiled in the background
    const auto more = engine->changedRuntimeCache();
    CHECK(more && more->size() > kept.size());
    CHECK(!engine->changedRuntimeCache());
  }
  CHECK(compiledFor(1, kept).empty());
  CHECK_EQ(compiles(), 1);
  // of another plan: what is new comes with it
  {
    const auto engine = load(plans::twoOutputs, 0, 0, kept);
    Rig rig(engine, lanes(1));
    CHECK_EQ(compiles(), 2);
    CHECK(engine->changedRuntimeCache().has_value());
  }
  CHECK_NOTHING_LIVE();
}

TEST("rtx: a cache that is damaged or of another GPU is told of, and replaced") {
  fakes::reset();
  const Bytes kept = compiledFor(1);
  Bytes truncated(kept.begin(), kept.end() - 3), other = kept;
  other[0] ^= 1;
  for (const Bytes& bytes : {truncated, other, Bytes{0}}) {
    fakes::reset();
    Lines log;
    const Bytes again = compiledFor(1, bytes);
    CHECK(again == kept);
    CHECK_EQ(compiles(), 1);
    CHECK_EQ(log.with("deserialize of the runtime cache that was kept failed"), 1u);
    CHECK_EQ(log.with("IRuntimeCache::deserialize"), 1u);  // TensorRT's reason
  }
  fakes::tensorrt("device", "sm_120");
  const Bytes elsewhere = compiledFor(1, kept);
  CHECK(!elsewhere.empty() && elsewhere != kept);
  CHECK(compiledFor(1, elsewhere).empty());
  CHECK_NOTHING_LIVE();
}

TEST("rtx: what fails of it costs nothing but itself, and the log says so") {
  struct Row {
    const char* rule;
    long long compiles, graphs;  // of two lanes with two slots each
    const char* told;
  };
  for (const Row& row : {Row{"createRuntimeConfig:1:sticky", 4, 0, "createRuntimeConfig failed"},
                         Row{"createRuntimeConfig:1", 2, 3, "createRuntimeConfig failed"},
                         Row{"createRuntimeCache:1:sticky", 4, 4, "createRuntimeCache failed"},
                         Row{"setRuntimeCache:1:sticky", 4, 4, "setRuntimeCache failed"},
                         Row{"setCudaGraphStrategy:1:sticky", 1, 0, "setCudaGraphStrategy failed"},
                         Row{"VRuntimeCache.serialize:1:sticky", 1, 4, "serialize of the runtime cache failed"}}) {
    fakes::reset();
    Lines log;
    fakes::tensorrt("fail", row.rule);
    {
      const auto engine = load(plans::scale);
      Rig rig(engine, lanes(2));
      for (int i = 0; i < 6; ++i) CHECK(compilesRight(rig, 4, i));
      CHECK_EQ(compiles(), row.compiles);
      CHECK_EQ(withGraphs(), row.graphs);
      engine->changedRuntimeCache();
      CHECK(log.with(row.told) > 0);
      CHECK(log.with("told to fail") > 0);
    }
    CHECK_NOTHING_LIVE();
  }
  fakes::reset();
  fakes::tensorrt("fail", "createExecutionContextWithRuntimeConfig:1");
  CHECK_CODE("ERR_TRT_EXECUTION", Rig(plans::scale, lanes(2)));
  CHECK_NOTHING_LIVE();
}
