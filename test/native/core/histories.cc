// Seeded histories: the queue and the model of it, batcher_model.h, give the same batches, rejections and refusals in
// the same order. CORE_TEST_HISTORIES: how many, 2,000 where it is not set; CORE_TEST_SEED: the one to run alone.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>

#include "batcher_model.h"
#include "batcher_rig.h"

namespace histories {

using batcher_rig::Ids;
using batcher_rig::Lanes;
using model::Time;

constexpr std::size_t kFronts = 2;

// Each makes sense whatever came before it, so that a history from which some are removed is a history still.
struct Event {
  enum class Kind : uint8_t { arrive, pass, take, cancel, expire, closeFront, close, drain } kind = Kind::expire;
  model::Request request{};  // arrive, but for its number
  Time time{0};              // pass
  std::size_t lane = 0;      // take: what it runs is over before
  uint64_t target = 0;       // cancel: the how-manieth request
  int front = 0;             // closeFront; cancel: other than the request's, if it is not -1
};

struct History {
  model::Options options;
  std::size_t lanes = 1;
  bool eager = false;  // a lane that has nothing to do takes after every event
  std::vector<Event> events;
};

std::string text(Time time) { return std::to_string(time.count() / 1000) + " us"; }
std::string text(const Ids& ids) { return test::text(ids); }

std::string describe(const History& history) {
  const model::Options& its = history.options;
  std::string out = "maxBatch " + std::to_string(its.maxBatch) + ", maxDelay " + text(its.maxDelay) + ", preferred " +
                    test::text(its.preferred) + ", default level " + std::to_string(its.defaultLevel) + ", holdUntil " +
                    std::to_string(its.holdUntil) + ", maxQueue " + std::to_string(its.maxQueue) + ", " +
                    std::to_string(history.lanes) + (history.eager ? " eager" : "") + " lanes; levels:";
  for (const model::Policy& level : its.levels)
    out += " {maxQueue " + std::to_string(level.maxQueue) + ", timeout " + text(level.timeout) +
           (level.delays ? ", delay}" : ", reject}");
  return out;
}

History generate(uint64_t seed) {
  std::mt19937_64 random(seed);
  // not std::uniform_int_distribution, which is another one in another library
  const auto upTo = [&](uint64_t most) { return random() % (most + 1); };
  const auto oneIn = [&](uint64_t n) { return random() % n == 0; };
  constexpr Time kUnit = std::chrono::microseconds(50);

  History history;
  model::Options& options = history.options;
  options.maxBatch = static_cast<int64_t>(1 + upTo(15));
  if (!oneIn(3)) options.maxDelay = kUnit * (1 + upTo(7));
  if (!oneIn(2)) {
    const uint64_t sizes = 1 + upTo(2);
    for (uint64_t i = 0; i < sizes; ++i)
      options.preferred.push_back(static_cast<int64_t>(1 + upTo(static_cast<uint64_t>(options.maxBatch) - 1)));
    std::sort(options.preferred.begin(), options.preferred.end());
    options.preferred.erase(std::unique(options.preferred.begin(), options.preferred.end()), options.preferred.end());
  }
  options.levels.resize(1 + upTo(3));
  for (model::Policy& level : options.levels) {
    if (oneIn(4)) level.maxQueue = 1 + upTo(7);
    if (oneIn(2)) level.timeout = kUnit * (1 + upTo(9));
    level.delays = oneIn(2);
  }
  options.defaultLevel = static_cast<uint32_t>(1 + upTo(options.levels.size() - 1));
  if (oneIn(5)) options.holdUntil = 1 + upTo(8);
  if (oneIn(5)) options.maxQueue = 4 + upTo(12);
  history.lanes = 1 + upTo(2);
  history.eager = oneIn(2);

  const uint64_t groups = upTo(2);
  const auto rowsMost = std::min<uint64_t>(static_cast<uint64_t>(options.maxBatch), oneIn(2) ? 9 : 3);
  const uint64_t arrivals = 20 + upTo(50);  // of 100 events
  const bool timeouts = oneIn(2);
  const uint64_t length = 20 + upTo(100);
  const uint64_t front = oneIn(3) ? length * 2 / 3 : ~uint64_t{0};
  const uint64_t end = oneIn(3) ? length * 5 / 6 : ~uint64_t{0};
  uint64_t arrived = 0;
  for (uint64_t i = 0; i < length; ++i) {
    Event event;
    if (i == front) {
      event.kind = Event::Kind::closeFront;
      event.front = static_cast<int>(upTo(kFronts - 1));
    } else if (i == end) {
      event.kind = Event::Kind::close;
    } else if (upTo(99) < arrivals) {
      event.kind = Event::Kind::arrive;
      model::Request& request = event.request;
      request.rows = static_cast<int64_t>(1 + upTo(rowsMost - 1));
      request.group = static_cast<int>(upTo(groups));
      request.level = oneIn(4) ? 0 : static_cast<uint32_t>(1 + upTo(options.levels.size() - 1));
      if (timeouts && oneIn(3)) request.timeout = kUnit * (1 + upTo(9));
      request.front = static_cast<int>(upTo(kFronts - 1));
      ++arrived;
    } else {
      const uint64_t which = upTo(9);
      if (which < 4) {
        event.kind = Event::Kind::pass;
        event.time = kUnit * (1 + upTo(3)) - (oneIn(8) ? Time(1) : Time(0));
      } else if (which < 8) {
        event.kind = Event::Kind::take;
        event.lane = upTo(history.lanes - 1);
      } else if (which < 9) {
        event.kind = Event::Kind::cancel;
        event.target = 1 + (oneIn(2) ? upTo(arrived) : arrived - std::min(arrived, upTo(4)));
        event.front = oneIn(8) ? static_cast<int>(upTo(kFronts - 1)) : -1;
      } else {
        event.kind = Event::Kind::expire;
      }
    }
    history.events.push_back(event);
  }
  if (oneIn(8)) history.events.push_back({.kind = Event::Kind::drain});
  return history;
}

// What was met in all histories, so that it is seen whether they are worth their name.
struct Met {
  uint64_t batches = 0, merged = 0, rejected = 0, full = 0, closed = 0, cancelled = 0, due = 0;
};

// A history, done by both; the log ends with the first difference.
class Run {
 public:
  explicit Run(const History& history)
      : history_(history),
        model_(history.options),
        lanes_(optionsOf(history.options), static_cast<int>(history.lanes), history.options.maxQueue) {}

  // Whether they were alike.
  bool alike() {
    try {
      for (const Event& event : history_.events) {
        act(event);
        if (history_.eager)
          for (std::size_t lane = 0; lane < lanes_.lanes(); ++lane)
            if (lanes_.idle(lane)) take(lane);
        compare("waiting", lanes_.queue.waiting(), model_.waiting());
        if (different_) return false;
      }
      finish();
    } catch (const std::exception& error) {
      say(std::string("the queue threw: ") + error.what());
      different_ = true;
    }
    return !different_;
  }
  const std::vector<std::string>& log() const { return log_; }
  const Met& met() const { return met_; }

 private:
  static nt::execution::BatchingOptions optionsOf(const model::Options& options) {
    nt::execution::BatchingOptions made;
    made.maxBatch = options.maxBatch;
    made.maxDelay = options.maxDelay;
    made.preferred = options.preferred;
    made.levels.clear();
    for (const model::Policy& level : options.levels)
      made.levels.push_back({level.maxQueue, level.timeout, level.delays});
    made.defaultLevel = options.defaultLevel;
    made.holdUntil = options.holdUntil;
    return made;
  }

  void say(const std::string& what) { log_.push_back(text(now()) + ": " + what); }
  Time now() const { return lanes_.now - Lanes::kStart; }
  template <class T>
  void compare(const std::string& what, const T& got, const T& wanted) {
    if (different_) return;
    if (got != wanted) say("DIFFERENT " + what + ": got " + test::text(got) + ", expected " + test::text(wanted));
    different_ = got != wanted;
    if (!lanes_.fault().empty()) {
      say("DIFFERENT data: " + lanes_.fault());
      different_ = true;
    }
  }

  void act(const Event& event) {
    switch (event.kind) {
      case Event::Kind::arrive:
        return arrive(event.request);
      case Event::Kind::pass:
        lanes_.now += event.time;
        return;
      case Event::Kind::take:
        return take(event.lane);
      case Event::Kind::cancel:
        return cancel(event);
      case Event::Kind::expire:
        return expire();
      case Event::Kind::closeFront:
        // what is held goes when the queue is closed
        if (model_.held()) return;
        say("front " + std::to_string(event.front) + " closes");
        model_.closeFront(event.front);
        lanes_.queue.closeFor(fronts_[static_cast<std::size_t>(event.front)]);
        return;
      case Event::Kind::close:
        say("close");
        model_.close();
        lanes_.queue.close();
        return;
      case Event::Kind::drain: {
        Ids wanted = model_.drain(), got = lanes_.drain();
        say("drain: " + text(wanted));
        std::sort(wanted.begin(), wanted.end());
        std::sort(got.begin(), got.end());
        return compare("drained", got, wanted);
      }
    }
  }

  void arrive(model::Request request) {
    request.id = ++arrivals_;
    frontOf_.push_back(request.front);
    std::string code;
    try {
      lanes_.arrive({request.rows, request.group, request.level, request.timeout,
                     &fronts_[static_cast<std::size_t>(request.front)]});
    } catch (const nt::Error& error) {
      code = error.code();
    }
    const model::Refusal refusal = model_.arrive(now(), request);
    const std::string wanted = refusal == model::Refusal::queueFull ? "ERR_TRT_QUEUE_FULL"
                               : refusal == model::Refusal::closed  ? "ERR_TRT_CLOSED"
                                                                    : "";
    say("arrive " + std::to_string(request.id) + ": rows " + std::to_string(request.rows) + ", group " +
        std::to_string(request.group) + ", level " + std::to_string(request.level) + ", timeout " +
        text(request.timeout) + ", front " + std::to_string(request.front) + " " + wanted);
    compare("refusal", code, wanted);
    met_.full += refusal == model::Refusal::queueFull ? 1 : 0;
    met_.closed += refusal == model::Refusal::closed ? 1 : 0;
    // whether time goes on in a queue that is closed is seen by nobody
    if (refusal == model::Refusal::closed) expire();
  }

  void take(std::size_t lane) {
    const Ids wanted = model_.take(now());
    const Ids got = lanes_.take(lane);
    met_.batches += wanted.empty() ? 0 : 1;
    met_.merged += wanted.size() > 1 ? 1 : 0;
    if (!wanted.empty() || !got.empty()) say("lane " + std::to_string(lane) + " takes " + text(wanted));
    compare("batch of lane " + std::to_string(lane), got, wanted);
    if (different_ || !wanted.empty() || model_.anyTimed() || model_.held()) return;
    const auto due = lanes_.queue.nextDue();
    const auto dueTime = due ? std::optional<Time>(*due - Lanes::kStart) : std::nullopt;
    const std::optional<Time> wantedDue = model_.nextDue();
    met_.due += wantedDue ? 1 : 0;
    compare("time when the next batch is due", dueTime ? text(*dueTime) : "none",
            wantedDue ? text(*wantedDue) : "none");
  }

  void cancel(const Event& event) {
    const uint64_t id = event.target;
    const bool known = id <= frontOf_.size();
    bool wanted = false, got = false;
    if (event.front < 0 || !known || event.front == frontOf_[id - 1]) {
      wanted = model_.cancel(id);
      got = lanes_.cancel(id);
    } else {
      got = lanes_.cancelFor(&fronts_[static_cast<std::size_t>(event.front)], id);
    }
    say("cancel " + std::to_string(id) + (event.front < 0 ? "" : " by front " + std::to_string(event.front)) +
        (wanted ? "" : ", which does not wait"));
    met_.cancelled += wanted ? 1 : 0;
    compare("cancel", got, wanted);
  }

  void expire() {
    const Ids wanted = model_.expire(now());
    if (!wanted.empty()) say("rejected: " + text(wanted));
    met_.rejected += wanted.size();
    compare("rejected", lanes_.expire(), wanted);
  }

  // All leaves, and is back at its start.
  void finish() {
    expire();
    act({.kind = Event::Kind::close});
    for (std::size_t left = model_.waiting() + lanes_.lanes() + 1; left > 0 && !different_; --left)
      for (std::size_t lane = 0; lane < lanes_.lanes() && !different_; ++lane) take(lane);
    expire();
    compare("waiting at the end", lanes_.queue.waiting(), std::size_t{0});
    compare("waiting at the end, model", model_.waiting(), std::size_t{0});
    compare("bytes at the end", lanes_.queue.waitingBytes(), std::size_t{0});
    compare("due at the end", lanes_.queue.nextDue().has_value(), false);
  }

  const History& history_;
  model::Batcher model_;
  nt::execution::FrontEnd fronts_[kFronts] = {nt::execution::FrontEnd({}), nt::execution::FrontEnd({})};
  Lanes lanes_;
  std::vector<int> frontOf_;
  uint64_t arrivals_ = 0;
  std::vector<std::string> log_;
  Met met_;
  bool different_ = false;
};

// As few events of it as still make a difference.
History shrink(History history) {
  for (std::size_t size = history.events.size() / 2; size > 0; size /= 2) {
    bool removed = true;
    while (removed) {
      removed = false;
      for (std::size_t at = 0; at < history.events.size();) {
        History shorter = history;
        const auto from = shorter.events.begin() + static_cast<std::ptrdiff_t>(at);
        shorter.events.erase(from, from + static_cast<std::ptrdiff_t>(std::min(size, shorter.events.size() - at)));
        if (Run(shorter).alike()) {
          at += size;
        } else {
          history = std::move(shorter);
          removed = true;
        }
      }
    }
  }
  return history;
}

uint64_t number(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

}  // namespace histories

TEST("histories: the queue does what the model of it does") {
  using namespace histories;
  const uint64_t alone = number("CORE_TEST_SEED", 0);
  const uint64_t first = alone > 0 ? alone : 1;
  const uint64_t last = alone > 0 ? alone : number("CORE_TEST_HISTORIES", 2000);
  nt::HostPool& pool = nt::cuda::pinnedPool(rig::DeviceContext::get(0));
  int differences = 0;
  Met all;
  for (uint64_t seed = first; seed <= last && differences < 3; ++seed) {
    const std::size_t before = pool.used();
    const History history = generate(seed);
    bool alike = false;
    {
      Run run(history);
      alike = run.alike();
      const Met& met = run.met();
      all.batches += met.batches;
      all.merged += met.merged;
      all.rejected += met.rejected;
      all.full += met.full;
      all.closed += met.closed;
      all.cancelled += met.cancelled;
      all.due += met.due;
    }
    if (!alike) {
      ++differences;
      const History shortest = shrink(history);
      Run run(shortest);
      run.alike();
      test::say("seed " + std::to_string(seed) + ": " + describe(shortest));
      for (const std::string& line : run.log()) test::say("  " + line);
    }
    test::note(alike, __FILE__, __LINE__, "the history of seed " + std::to_string(seed) + " is the model's");
    CHECK_EQ(pool.used(), before);
  }
  if (alone > 0 || differences > 0) return;
  const auto say = [](uint64_t count, const char* what) { return ", " + std::to_string(count) + " " + what; };
  test::say(std::to_string(last) + " histories" + say(all.batches, "batches") + say(all.merged, "of several requests") +
            say(all.rejected, "timeouts") + say(all.full, "refused by a limit") +
            say(all.closed, "refused after a close") + say(all.cancelled, "cancelled") +
            say(all.due, "times of a batch to come"));
  for (const uint64_t count : {all.batches, all.merged, all.rejected, all.full, all.closed, all.cancelled, all.due})
    CHECK(count >= last / 2);
}
