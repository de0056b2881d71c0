// Runs that nobody waits for any more, and the end of sessions and of the process while something runs.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <thread>

#include "rig.h"

extern char** environ;

using namespace rig;
using namespace std::chrono_literals;

namespace {

using Floats = std::vector<float>;

std::vector<Input> rounds(float count) { return {input({1, 1}, Floats{count})}; }

// Another process of this program with one case.
int child(const std::string& part) {
  std::string mark = "CPU_TEST_CHILD=1", path = library().path();
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
  environment.push_back(mark.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  char self[] = "/proc/self/exe";
  char* arguments[] = {self, path.data(), const_cast<char*>(part.c_str()), nullptr};
  pid_t pid = 0;
  int status = -1;
  const int spawned = posix_spawn(&pid, self, &quiet, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&quiet);
  if (spawned != 0) return -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
bool isChild() { return std::getenv("CPU_TEST_CHILD") != nullptr; }

}  // namespace

TEST("aborts: a run that nobody waits for is ended, and the lane goes on") {
  {
    Rig rig(models::loop());
    for (int i = 0; i < 20; ++i) {
      const uint64_t request = rig.submit(rounds(models::kForEver));
      rig.waitUntilRunning(1);
      CHECK(!rig.cancel(request));
      const Completion ended = rig.take(request);
      CHECK_EQ(codeOf(ended.failure), "ABORTED");
      CHECK(ended.abandoned && ended.outputs.empty());
      CHECK_EQ(values<float>(rig.infer(rounds(3)).outputs[0]), (Floats{6}));
    }
    CHECK_EQ(rig.session->stats()[nt::execution::Count::cancelled], 20u);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::failed], 0u);
    CHECK_EQ(rig.session->stats()[nt::execution::Count::completed], 20u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("aborts: one that is cancelled on its way from the queue to the lane is ended too") {
  {
    Rig rig(models::loop());
    for (int i = 0; i < 300; ++i) {
      const uint64_t request = rig.submit(rounds(models::kForEver));
      while (rig.session->waiting() > 0) std::this_thread::yield();
      CHECK(!rig.cancel(request));
      CHECK(rig.take(request).abandoned);
    }
    // the lane is lent, and its thread has taken the next one
    std::thread lent([&] { CHECK_EQ(values<float>(rig.run(rounds(200000)).outputs[0])[0], 400000.0F); });
    while (rig.session->stats()[nt::execution::Count::batches] == 300) std::this_thread::yield();
    const uint64_t request = rig.submit(rounds(models::kForEver));
    while (rig.session->waiting() > 0) std::this_thread::yield();
    CHECK(!rig.cancel(request));
    CHECK(rig.take(request).abandoned);
    lent.join();
    CHECK_EQ(values<float>(rig.infer(rounds(1)).outputs[0]), (Floats{2}));
  }
  CHECK_NOTHING_LIVE();
}

TEST("aborts: a merged batch is ended when nobody waits for any of it, not before") {
  {
    Rig rig(models::loop(), merging(3, 1h));
    const auto three = [&](float count) {
      std::vector<uint64_t> asked;
      for (int i = 0; i < 3; ++i) asked.push_back(rig.submit(rounds(count)));
      rig.waitUntilRunning(3);
      return asked;
    };
    std::vector<uint64_t> asked = three(models::kForEver);
    CHECK(!rig.cancel(asked[0]));
    CHECK(!rig.cancel(asked[0]));  // counts once
    CHECK(!rig.cancel(asked[2]));
    CHECK(!rig.cancel(999));
    std::this_thread::sleep_for(20ms);
    CHECK_EQ(rig.completed(), 0u);
    CHECK(!rig.cancel(asked[1]));
    for (const uint64_t request : asked) CHECK(rig.take(request).abandoned);
    asked = three(200000);
    rig.cancel(asked[0]);
    rig.cancel(asked[1]);
    for (const uint64_t request : asked) CHECK_EQ(values<float>(rig.take(request).outputs[0]), (Floats{400000}));
    CHECK_EQ(rig.session->stats()[nt::execution::Count::cancelled], 3u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("aborts: what was ended leaves leases and targets") {
  {
    Rig rig(models::loop());
    Input lent = leased(rig.pool(), {1, 1}, Floats{models::kForEver});
    Landing landing(rig.pool(), 4);
    const std::weak_ptr<void> input = lent.lease.owner, target = landing.target.owner;
    const uint64_t request = rig.submit({lent}, aim({landing.target}));
    rig.waitUntilRunning(1);
    lent = {};
    landing.target.owner.reset();
    landing.block.reset();
    CHECK(!input.expired() && !target.expired());
    rig.cancel(request);
    CHECK(rig.take(request).abandoned);
    CHECK(input.expired() && target.expired());
  }
  CHECK_NOTHING_LIVE();
}

TEST("aborts: drop() ends what runs, and lets go of what waits") {
  for (const int lanes : {1, 3}) {
    SessionOptions options;
    options.lanes = lanes;
    Rig rig(models::loop(), options);
    std::vector<uint64_t> asked;
    for (int i = 0; i < lanes + 4; ++i) asked.push_back(rig.submit(rounds(models::kForEver)));
    rig.waitUntilRunning(static_cast<std::size_t>(lanes));
    rig.session->drop();
    CHECK_EQ(rig.session->waiting(), 0u);
    CHECK_CODE("ERR_TRT_CLOSED", rig.submit(rounds(1)));
    rig.session->close();
    CHECK_EQ(rig.completed(), static_cast<std::size_t>(lanes));
    for (int i = 0; i < lanes; ++i) CHECK(rig.take(asked[static_cast<std::size_t>(i)]).abandoned);
  }
  CHECK_NOTHING_LIVE();
}

TEST("aborts: drop() ends what is just taken from the queue, and runs on callers' threads") {
  for (int round = 0; round < 100; ++round) {
    Rig rig(models::loop());
    std::string code;
    std::thread lent([&] { code = codeOf([&] { rig.run(rounds(models::kForEver)); }); });
    if (round % 3 == 0) {
      while (rig.session->stats()[nt::execution::Count::batches] == 0) std::this_thread::yield();
    }
    rig.submit(rounds(models::kForEver));
    if (round % 2 == 0) {
      // either of them has the lane
      const auto begun = [&] {
        return rig.session->waiting() == 0 || rig.session->stats()[nt::execution::Count::batches] > 0;
      };
      while (!begun()) std::this_thread::yield();
    }
    rig.session->drop();
    rig.session->close();
    lent.join();
    CHECK_EQ(code, "ERR_TRT_CLOSED");
    CHECK(rig.completed() <= 1);
  }
  CHECK_NOTHING_LIVE();
}

TEST("aborts: close() waits for what runs and for what waits, on threads of callers too") {
  {
    Rig rig(models::loop());
    std::vector<uint64_t> asked;
    for (int i = 0; i < 5; ++i) asked.push_back(rig.submit(rounds(20000)));
    std::thread lent([&] {
      const std::string code = codeOf([&] { CHECK_EQ(values<float>(rig.run(rounds(20000)).outputs[0])[0], 40000.0F); });
      CHECK(code.empty() || code == "ERR_TRT_CLOSED");
    });
    rig.session->close();
    lent.join();
    for (const uint64_t request : asked) CHECK_EQ(values<float>(rig.take(request).outputs[0])[0], 40000.0F);
    CHECK_CODE("ERR_TRT_CLOSED", rig.run(rounds(1)));
    CHECK_EQ(nt::cpu::live().lanes.load(), 0);
  }
  CHECK_NOTHING_LIVE();
}

TEST("aborts: a batch of two front-ends is ended only when neither waits for it any more") {
  {
    Rig owner(models::loop(), merging(2, 1h));
    {
      SessionRig guest(owner.session);
      guest.submit(rounds(models::kForEver));
      const uint64_t mine = owner.submit(rounds(3));
      owner.waitUntilRunning(2);
      guest.client->drop();
      CHECK(!owner.cancel(mine));
      guest.client->close();
      CHECK(owner.take(mine).abandoned);
      CHECK_EQ(guest.completed(), 0u);
    }
    SessionRig guest(owner.session);
    guest.submit(rounds(20000));
    const uint64_t mine = owner.submit(rounds(3));
    owner.waitUntilRunning(2);
    guest.client->drop();
    CHECK_EQ(values<float>(owner.take(mine).outputs[0]), (Floats{20003}));
    CHECK_EQ(guest.completed(), 0u);
  }
  CHECK_NOTHING_LIVE();
}

// Its threads stay for ever: a process of its own.
TEST("aborts: halt() waits until no thread is in the library any more, callers' among them") {
  if (!isChild()) {
    CHECK_EQ(child("halt() waits until"), 0);
    return;
  }
  SessionOptions options;
  options.lanes = 2;
  static auto& rig = *new Rig(models::pools(), options);
  const Floats x = numbers(768, 768, 1);
  std::atomic<bool> halted{false}, late{false}, left{false};
  // one node, which is not ended in its middle
  std::thread lent([&] {
    codeOf([&] { rig.run({input({1, 1, 768, 768}, x)}); });
    late = halted.load();
    left = true;
  });
  while (rig.session->stats()[nt::execution::Count::batches] == 0) std::this_thread::yield();
  std::this_thread::sleep_for(100ms);  // it is in the node by now
  rig.session->halt(Clock::now() + 40s);
  // for its way from the lane to its last line
  for (int i = 0; i < 20 && !left; ++i) std::this_thread::sleep_for(10ms);
  halted = true;
  lent.join();
  CHECK(!late);
}
