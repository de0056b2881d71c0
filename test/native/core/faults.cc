// Every call of the driver and of TensorRT fails, once, from then on, or with the device lost, at each place where it
// is made: a typed error or recovery, then a close that returns and leaves nothing.
//
// Each run has a device of its own, since a lost one stays lost for the process.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "rig.h"

extern char** environ;

using namespace rig;
using namespace std::chrono_literals;

namespace {

using Codes = std::vector<std::string>;

struct Scenario {
  const char* name;
  const char* plan;
  SessionOptions options;
  std::function<std::vector<Input>(int)> inputs;
  std::function<bool(const Completion&, int)> right;
  int warm = 6;         // requests one after another, before two are in flight
  bool chains = false;  // then through the engine twice more, on the device
};

// One input of so many rows at each turn: the buffers grow, and what was captured before comes back.
Scenario growing(const char* name, const char* plan, int64_t columns, std::vector<int64_t> rows,
                 SessionOptions options = {}) {
  const auto given = [columns, rows](int i) {
    const int64_t now = rows[static_cast<std::size_t>(i) % rows.size()];
    return std::pair(Shape{now, columns}, numbers(now, columns, i));
  };
  return {name,
          plan,
          std::move(options),
          [=](int i) { return std::vector<Input>{input(given(i).first, given(i).second)}; },
          [=](const Completion& done, int i) { return scaledRight(done, given(i).second); },
          static_cast<int>(rows.size())};
}

std::vector<Scenario> scenarios() {
  const auto rows = [](int64_t columns, int i) {
    return std::vector<Input>{input({1, columns}, numbers(1, columns, i))};
  };
  const auto right = [](int64_t columns) {
    return [columns](const Completion& done, int i) {
      return values<float>(done.outputs[0]) == scaled(numbers(1, columns, i));
    };
  };
  SessionOptions merged = merging(4, 200us);
  merged.batching.pad = {4};
  SessionOptions second;
  second.lane.highPriority = true;
  second.lane.profile = 1;
  static const std::string fitting =
      "name f\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\nmemory 8192,4096\n"
      "dims 0 x 5,3 8,3 16,3\ndims 1 x 1,3 2,3 4,3\nop scale a x scale=2 offset=1\nop relu y a\n";
  static const std::string hungry =
      "name h\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\ntemporary 4096\n"
      "dims 0 x 1,3 4,3 16,3\nop scale a x scale=2 offset=1\nop relu y a\n";
  static const std::string profiles =
      "name p\ninput x float32 -1,3 device 0 -1 1\noutput y float32 -1,3 device 0 -1 1\n"
      "dims 0 x 2,3 4,3 16,3\ndims 1 x 1,3 4,3 16,3\nop scale a x scale=2 offset=1\nop relu y a\n";
  return {
      {"one after another", plans::scale, {}, [=](int i) { return rows(3, i); }, right(3)},
      {"merged", plans::scale, merged, [=](int i) { return rows(3, i); }, right(3)},
      {"large", plans::large, {}, [=](int i) { return rows(12288, i); }, right(12288)},
      {"second profile", profiles.c_str(), second, [=](int i) { return rows(3, i); }, right(3)},
      {"data-dependent",
       plans::nonzero,
       {},
       [](int i) { return std::vector<Input>{input({200}, std::vector<float>(200, static_cast<float>(i + 1)))}; },
       [](const Completion& done, int) { return values<int64_t>(done.outputs[0]).size() == 200; }},
      {"host tensor",
       plans::reshape,
       {},
       [](int i) {
         return std::vector<Input>{input({12}, numbers(1, 12, i)), input({2}, i % 2 == 0 ? Shape{3, 4} : Shape{2, 6})};
       },
       [](const Completion& done, int i) { return values<float>(done.outputs[0]) == numbers(1, 12, i); }},
      {"tensors that stay", plans::scale, {}, [=](int i) { return rows(3, i); }, right(3), 6, true},
      {"tensors that stay, merged", plans::scale, merged, [=](int i) { return rows(3, i); }, right(3), 6, true},
      growing("growing and alternating", plans::scale, 3, {1, 1, 1, 1, 2, 2, 2, 2, 16, 16, 16, 1, 2, 16, 2, 1}),
      growing("large ones that grow", plans::large, 12288, {1, 1, 1, 1, 2, 2, 2, 1, 2}),
      growing("several profiles", fitting.c_str(), 3, {2, 2, 2, 8, 8, 8, 2, 8, 4, 16, 2, 8}),
      growing("memory for each enqueue", hungry.c_str(), 3, {2, 2, 2, 8, 2, 8}),
  };
}

// Up to the device, twice through the engine, and back.
void chain(Rig& rig) {
  const std::vector<float> x = numbers(2, 3, 9);
  const std::size_t bytes = x.size() * sizeof(float);
  auto& memory = rig.session->engine().tensors();
  std::shared_ptr<Resident> tensor = Resident::make(memory, bytes);
  const auto block = memory.hostPool().acquire(bytes);
  std::memcpy(block->data(), x.data(), bytes);
  memory.write(tensor->data(), block->data(), bytes);
  for (int i = 0; i < 2; ++i) {
    const Completion done = rig.infer({stayed({2, 3}, tensor)}, keeping());
    if (done.failure) std::rethrow_exception(done.failure);
    tensor = residentOf(done.outputs[0]);
  }
  CHECK(read(*tensor) == scaled(scaled(x)));
}

struct Stage {
  std::shared_ptr<Engine> engine;
  std::unique_ptr<Rig> rig;
  Codes codes;
  std::vector<Completion>* kept = nullptr;  // where results go

  void note(const Scenario& scenario, int i, const std::function<Completion()>& body) {
    codes.push_back(codeOf([&] {
      Completion done = body();
      if (done.failure) std::rethrow_exception(done.failure);
      CHECK(scenario.right(done, i));
      if (kept) kept->push_back(std::move(done));
    }));
  }
  // Loads, warms up until a graph is captured and replayed, has two requests in flight, runs one on this thread.
  void play(const Scenario& scenario, int device) {
    codes.push_back(codeOf([&] { engine = load(scenario.plan, device); }));
    if (!engine) return;
    codes.push_back(codeOf([&] { rig = std::make_unique<Rig>(engine, scenario.options); }));
    if (!rig) return;
    for (int i = 0; i < scenario.warm; ++i) note(scenario, i, [&] { return rig->infer(scenario.inputs(i)); });
    uint64_t first = 0, second = 0;
    const std::string firstCode = codeOf([&] { first = rig->submit(scenario.inputs(4)); });
    const std::string secondCode = codeOf([&] { second = rig->submit(scenario.inputs(5)); });
    codes.push_back(firstCode);
    codes.push_back(secondCode);
    if (first != 0) note(scenario, 4, [&] { return rig->take(first); });
    if (second != 0) note(scenario, 5, [&] { return rig->take(second); });
    note(scenario, 6, [&] { return rig->run(scenario.inputs(6)); });
    if (scenario.chains) codes.push_back(codeOf([&] { chain(*rig); }));
  }
  void close() {
    if (rig) rig->session->close();
    rig.reset();
    engine.reset();
  }
};

long long total(const fakes::Counts& counts) {
  long long sum = 0;
  for (const auto& [_, count] : counts) sum += count;
  return sum;
}

int nextDevice = 10;  // other cases use the devices before this one

enum class Mode { once, sticky, lost };
const char* modeName(Mode mode) {
  return mode == Mode::once ? "once" : mode == Mode::sticky ? "from then on" : "device lost";
}

// Returns the calls of one function that fail, one in each run. With a sanitizer a run costs several times as much. So
// unless CORE_TEST_WHOLE is set (scripts/test-core.mjs), it is the first or the last call, by turns: each function
// fails in each scenario, and in some of them at its first call and in others at its last.
std::vector<long long> places([[maybe_unused]] const std::string& function, [[maybe_unused]] Mode mode,
                              long long calls) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  if (std::getenv("CORE_TEST_WHOLE") == nullptr) {
    static std::map<std::pair<std::string, Mode>, int> turns;
    return {turns[{function, mode}]++ % 2 == 0 ? 1 : calls};
  }
  const long long first = 2, last = 1, between = 4;
#else
  const long long first = 12, last = 2, between = 8;
#endif
  std::vector<long long> places;
  const long long step = calls / between + 1;
  for (long long n = 1; n <= calls; ++n) {
    if (n <= first || n > calls - last || n % step == 0) places.push_back(n);
  }
  return places;
}

bool typed(const std::string& code) { return code.empty() || code.rfind("ERR_TRT_", 0) == 0; }

// What the driver was asked to free and did not is not there to be blamed on anybody.
bool frees(const std::string& function) {
  return function.find("Free") != std::string::npos || function.find("Destroy") != std::string::npos ||
         function == "cuCtxSetCurrent" || function == "cuCtxGetCurrent";
}

struct Live {
  long long things = 0;
  Live() {
    const fakes::Counts driver = fakes::driverCounts();
    for (const char* what : {"deviceAllocations", "streams", "events", "graphs", "graphExecs"})
      things += driver.at(what);
    things += total(fakes::liveObjects());
  }
};

void expect(bool ok, const std::string& what, const std::string& text, const Codes& codes) {
  test::note(ok, "faults", 0, what + ": " + text + (ok ? "" : " " + test::text(codes)));
}

void fault(const Scenario& scenario, bool tensorrt, const std::string& function, long long n, Mode mode) {
  const std::string what =
      std::string(scenario.name) + ", " + function + " " + std::to_string(n) + " " + modeName(mode);
  test::watchdog(20, what);
  fakes::reset();
  fakes::driver("inline", "1");
  const int device = nextDevice++;
  const Live before;
  const std::string rule = function + ":" + std::to_string(n);
  if (tensorrt) {
    fakes::tensorrt("fail", rule + (mode == Mode::sticky ? ":sticky" : ""));
  } else {
    const char* code = mode == Mode::lost ? ":719:lost" : function.find("Alloc") != std::string::npos ? ":2" : ":1";
    fakes::driver("fail", rule + code + (mode == Mode::sticky ? ":sticky" : ""));
  }
  Stage stage;
  stage.play(scenario, device);
  expect(std::ranges::all_of(stage.codes, typed), what, "all errors are typed", stage.codes);
  const bool saidLost = std::ranges::count(stage.codes, "ERR_TRT_DEVICE_LOST") > 0;
  expect(!saidLost || mode == Mode::lost, what, "the device is lost only when it is", stage.codes);
  if (mode == Mode::once && stage.rig) {
    stage.codes.clear();
    for (int i = 0; i < scenario.warm; ++i)
      stage.note(scenario, i, [&] { return stage.rig->infer(scenario.inputs(i)); });
    const auto bad = std::ranges::count_if(stage.codes, [](const std::string& code) { return !code.empty(); });
    // the call that fails may be one of these
    if (!stage.codes.back().empty()) stage.note(scenario, 0, [&] { return stage.rig->infer(scenario.inputs(0)); });
    expect(bad <= 1 && stage.codes.back().empty(), what, "later requests work", stage.codes);
  }
  if (saidLost && stage.rig) {
    expect(codeOf([&] { stage.rig->submit(scenario.inputs(0)); }) == "ERR_TRT_DEVICE_LOST", what, "lost for submit()",
           stage.codes);
    expect(codeOf([&] { stage.rig->run(scenario.inputs(0)); }) == "ERR_TRT_DEVICE_LOST", what, "lost for run()",
           stage.codes);
  }
  if (stage.engine) stage.engine->awaitPrepared();
  const long long calls = total(fakes::driverCalls());
  stage.close();
  if (saidLost)
    expect(total(fakes::driverCalls()) == calls, what, "closing a lost device does not touch CUDA", stage.codes);
  // A stream whose capture never ends lets nobody free memory; a real driver ends it, also where it fails.
  const bool stuck = function == "cuStreamEndCapture" && mode == Mode::sticky;
  if (mode != Mode::lost && !frees(function) && !stuck)
    expect(Live().things == before.things, what, "nothing is left", stage.codes);
  expect(fakes::driverCounts().at("wrongDevice") == 0, what, "each device is used while it is current", stage.codes);
  for (const auto& [misuse, count] : fakes::misuse()) {
    // what is enqueued while that capture lasts is captured
    if (function != "cuCtxGetCurrent" && !(stuck && misuse == "capturedBeforeItRan"))
      expect(count == 0, what, "misuse " + misuse, stage.codes);
  }
  fakes::reset();
}

// Two engines, each on a GPU of its own, at work by turns: what fails on one is nothing to the other.
struct Pair {
  Stage stages[2];
  std::vector<Completion> kept;  // until both have gone on: their memory is let go of while the other GPU is current

  void play(const Scenario& scenario) {
    for (Stage& stage : stages) {
      stage.kept = &kept;
      stage.codes.push_back(codeOf([&] { stage.engine = load(scenario.plan, nextDevice++); }));
      if (stage.engine)
        stage.codes.push_back(codeOf([&] { stage.rig = std::make_unique<Rig>(stage.engine, scenario.options); }));
    }
    for (int i = 0; i < scenario.warm; ++i)
      for (Stage& stage : stages) ask(scenario, stage, i);
  }
  void ask(const Scenario& scenario, Stage& stage, int i) {
    if (!stage.rig) return;
    const auto inputs = scenario.inputs(i);
    stage.note(scenario, i, [&] { return i % 2 == 0 ? stage.rig->run(inputs) : stage.rig->infer(inputs); });
    if (kept.size() > 3) kept.erase(kept.begin());
  }
  bool failed(int which) const {
    return std::ranges::any_of(stages[which].codes, [](const std::string& code) { return !code.empty(); });
  }
  Codes codes() const {
    Codes all = stages[0].codes;
    all.insert(all.end(), stages[1].codes.begin(), stages[1].codes.end());
    return all;
  }
  // The first one's memory goes while the second one is at work.
  void close() {
    stages[0].close();
    kept.clear();
    stages[1].close();
  }
};

void faultOfTwo(const Scenario& scenario, const std::string& function, long long n, Mode mode) {
  const std::string what =
      std::string("two GPUs, ") + scenario.name + ", " + function + " " + std::to_string(n) + " " + modeName(mode);
  test::watchdog(20, what);
  fakes::reset();
  fakes::driver("inline", "1");
  const Live before;
  const char* code = mode == Mode::lost ? ":719:lost" : function.find("Alloc") != std::string::npos ? ":2" : ":1";
  fakes::driver("fail", function + ":" + std::to_string(n) + code);
  Pair pair;
  pair.play(scenario);
  const Codes codes = pair.codes();
  expect(std::ranges::all_of(codes, typed), what, "all errors are typed", codes);
  // the fake loses the device that is current, and these are called before the right one is
  const bool either = mode == Mode::lost && frees(function);
  if (!either) expect(!pair.failed(0) || !pair.failed(1), what, "what fails on one GPU is nothing to the other", codes);
  pair.close();
  if (mode != Mode::lost && !frees(function)) expect(Live().things == before.things, what, "nothing is left", codes);
  expect(fakes::driverCounts().at("wrongDevice") == 0, what, "each device is used while it is current", codes);
  for (const auto& [misuse, count] : fakes::misuse()) {
    if (function != "cuCtxGetCurrent") expect(count == 0, what, "misuse " + misuse, codes);
  }
  fakes::reset();
}

void allFaults(bool tensorrt, const std::vector<Mode>& modes) {
  std::set<std::string> functions;
  std::size_t runs = 0;
  for (const Scenario& scenario : scenarios()) {
    fakes::reset();
    fakes::driver("inline", "1");
    Stage dry;
    dry.play(scenario, nextDevice++);
    dry.close();
    expect(std::ranges::all_of(dry.codes, [](const std::string& code) { return code.empty(); }), scenario.name,
           "nothing fails without a fault", dry.codes);
    for (const auto& [function, calls] : tensorrt ? fakes::tensorrtCalls() : fakes::driverCalls()) {
      functions.insert(function);
      for (const Mode mode : modes) {
        for (const long long n : places(function, mode, calls)) {
          fault(scenario, tensorrt, function, n, mode);
          ++runs;
        }
      }
    }
  }
  test::say(std::to_string(functions.size()) + " functions, " + std::to_string(runs) + " runs");
}

// Runs this program again, with the driver failing from its first call on, for good or until it is asked again.
int child(const std::string& rule, bool forGood) {
  const std::string fail = "FAKE_CUDA_FAIL=" + rule;
  const std::string mark = std::string("CORE_TEST_FIRST_USE=") + (forGood ? "for good" : "once");
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
  environment.push_back(const_cast<char*>(fail.c_str()));
  environment.push_back(const_cast<char*>(mark.c_str()));
  environment.push_back(nullptr);
  const std::string folder = fakes::library().substr(0, fakes::library().rfind('/')), part = "first use in a process";
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  char self[] = "/proc/self/exe";
  char* arguments[] = {self, const_cast<char*>(folder.c_str()), const_cast<char*>(part.c_str()), nullptr};
  pid_t pid = 0;
  int status = -1;
  const int spawned = posix_spawn(&pid, self, &quiet, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&quiet);
  if (spawned != 0) return -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

// Before all others: what a lost device had stays alive.
TEST("faults: memory of the device runs out and comes back") {
  fakes::reset();
  {
    const auto engine = rig::load(plans::large);
    Rig rig(engine, {});
    const auto x = numbers(1, 12288, 1), more = numbers(8, 12288, 1);
    CHECK_EQ(codeOf(rig.infer({input({1, 12288}, x)}).failure), "");
    fakes::driver("memory", "400000");
    CHECK_EQ(codeOf(rig.infer({input({8, 12288}, more)}).failure), "ERR_TRT_OUT_OF_MEMORY");
    // its input alone had room, which another slot can need now
    CHECK(engine->account()->used() < 8 * 12288 * sizeof(float));
    CHECK_EQ(codeOf(rig.infer({input({1, 12288}, x)}).failure), "");
    fakes::driver("memory", "10000000");
    CHECK(values<float>(rig.infer({input({8, 12288}, more)}).outputs[0]) == scaled(more));
  }
  {
    Rig rig(plans::nonzero);
    fakes::driver("memory", "120000");
    CHECK_EQ(codeOf(rig.infer({input({20000}, std::vector<float>(20000, 1.0F))}).failure), "ERR_TRT_OUT_OF_MEMORY");
    CHECK_EQ(codeOf(rig.infer({input({2000}, std::vector<float>(2000, 1.0F))}).failure), "");
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("faults: the driver fails once at each place") { allFaults(false, {Mode::once}); }
TEST("faults: the driver fails from each place on") { allFaults(false, {Mode::sticky}); }
TEST("faults: TensorRT fails once, or from then on, at each place") { allFaults(true, {Mode::once, Mode::sticky}); }

TEST("faults: two GPUs, and the driver fails or one of them is lost at each place") {
  std::size_t runs = 0;
  for (const Scenario& scenario : scenarios()) {
    if (scenario.warm < 10) continue;  // those that grow
    fakes::reset();
    fakes::driver("inline", "1");
    Pair dry;
    dry.play(scenario);
    dry.close();
    expect(!dry.failed(0) && !dry.failed(1), scenario.name, "nothing fails without a fault", dry.codes());
    for (const auto& [function, calls] : fakes::driverCalls()) {
      for (const Mode mode : {Mode::once, Mode::lost}) {
        for (const long long n : places(function, mode, calls)) {
          faultOfTwo(scenario, function, n, mode);
          ++runs;
        }
      }
    }
  }
  test::say(std::to_string(runs) + " runs");
}

// What a lost device had stays alive, so each run after these costs more.
TEST("faults: the device is lost at each place") { allFaults(false, {Mode::lost}); }

TEST("faults: a kernel breaks the device while it runs") {
  for (int n = 1; n <= 12; ++n) {
    fakes::reset();
    test::watchdog(20, "operation " + std::to_string(n));
    Stage stage;
    const Scenario scenario = scenarios()[static_cast<std::size_t>(n % 3)];
    const int device = nextDevice++;
    fakes::driver("failOperation", std::to_string(n) + ":700");
    stage.play(scenario, device);
    CHECK(std::ranges::all_of(stage.codes, typed));
    CHECK(std::ranges::count(stage.codes, "ERR_TRT_DEVICE_LOST") > 0);
    CHECK_EQ(stage.codes.back(), "ERR_TRT_DEVICE_LOST");
    // another device of the process does not mind
    Stage other;
    other.play(scenario, nextDevice++);
    CHECK(std::ranges::all_of(other.codes, [](const std::string& code) { return code.empty(); }));
    other.close();
    stage.close();
  }
  fakes::reset();
}

TEST("faults: at the first use in a process") {
  if (const char* use = std::getenv("CORE_TEST_FIRST_USE")) {
    const std::string code = codeOf([] { load(plans::identity); });
    CHECK(typed(code) && !code.empty());
    // a driver that could not start is asked to again, as often as anybody wants it
    CHECK_EQ(codeOf([] { load(plans::identity); }), std::string(use) == "for good" ? code : "");
    return;
  }
  for (const char* rule : {"cuInit:1:999:sticky", "cuInit:1:100:sticky", "cuDeviceGetCount:1:999:sticky"})
    CHECK_EQ(child(rule, true), 0);
  // 802: the system is not ready yet, as before nvidia-fabricmanager has started
  for (const char* rule : {"cuInit:1:802", "cuInit:1:100", "cuDeviceGetCount:1:3"}) CHECK_EQ(child(rule, false), 0);
}
