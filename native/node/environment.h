// What the addon keeps for one Node environment (the main thread or a worker): the way back to JavaScript from native
// threads, the work under way, and its end.
#pragma once

#include <napi.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "../base/condition.h"
#include "../base/exit.h"
#include "../base/mutex.h"
#include "completions.h"
#include "values.h"

namespace nt::node {

class Environment : public std::enable_shared_from_this<Environment> {
 public:
  using Call = std::function<void(Napi::Env)>;
  // Makes the promise's value on the JavaScript thread.
  using Finish = std::function<Napi::Value(Napi::Env)>;

  // Once per environment, when the addon is loaded there.
  static void attach(Napi::Env env);
  static std::shared_ptr<Environment> of(Napi::Env env);

  // What the end of the environment does with work that goes on though it was cancelled. `leave`: it is waited for as
  // long as at the end of the process, and then ends by itself; it has no memory of JavaScript's.
  enum class AtEnd : uint8_t { join, leave };

  // Runs `work` on a thread of its own; the promise's value is what it gives, a Finish or anything of toJs(), and what
  // it throws rejects the promise. `cancel` is called when the environment ends first. While it runs the process stays
  // alive. `patience`: how much longer than others it is waited for at the end of the process.
  template <class Work>
  Napi::Promise run(Napi::Env env, Work work, std::function<void()> cancel = {}, std::chrono::seconds patience = {},
                    AtEnd atEnd = AtEnd::join) {
    return start(env, finishing(std::move(work)), std::move(cancel), patience, atEnd);
  }
  // { promise, cancel() }: the same with a flag that cancel(), or the end of the environment, sets. `onCancel` is
  // called then, on any thread, to wake work that waits; it must not throw.
  template <class Work>
  Napi::Object runCancellable(Napi::Env env, Work work, AtEnd atEnd = AtEnd::join, std::function<void()> onCancel = {},
                              std::chrono::seconds patience = {}) {
    return startCancellable(env, finishing(std::move(work)), atEnd, std::move(onCancel), patience);
  }
  // The same without a promise, and without keeping the process alive. `work` must not throw.
  void background(std::function<void()> work, std::function<void()> cancel = {}, std::chrono::seconds patience = {},
                  AtEnd atEnd = AtEnd::join);

  // Calls back on the JavaScript thread, in order; one wake-up for all that came together. Dropped once the environment
  // ended.
  void post(Call call);

  // What became of inferences, from any thread; goes through the port on the JavaScript thread, with the same wake-up.
  void complete(std::vector<execution::Completion> completions);
  void connect(std::unique_ptr<CompletionPort> port) { port_ = std::move(port); }
  CompletionPort* port() const noexcept { return port_.get(); }
  ~Environment();

  // Between these, on the JavaScript thread, the process stays alive.
  void begin(Napi::Env env);
  void end(Napi::Env env, int count = 1);

  // A JavaScript object or function that native threads may name by number; released with release().
  int hold(const Napi::Object& value);
  void callHeld(Napi::Env env, int id, const std::vector<napi_value>& arguments);
  void release(int id);
  // Keeps a JavaScript object from being collected while there is a copy of the result, on whatever thread.
  std::shared_ptr<void> keep(const Napi::Object& value);

  // Something with threads that must be stopped before the environment is gone: `close` does that, and frees. `halt` is
  // called instead when the process ends without the environment's hooks, and frees nothing. `leave`, before either,
  // lets go of what is under way, and of nothing else: listeners of the exit may go on to use what is idle. Both say
  // whether no thread of it is inside of a library any more, at the deadline at the latest.
  using Stop = std::function<bool(ExitDeadline)>;
  struct Closer {
    std::function<void()> close;
    Stop halt;
    Stop leave;
  };
  using Closers = std::list<Closer>;
  Closers::iterator addCloser(std::function<void()> close, Stop halt = {}, Stop leave = {});
  // When JavaScript runs for the last time, and nothing is torn down yet: arms the exit handler as the last of all, so
  // that statics which libraries made until now outlive it, and gets threads out of the libraries, so that no more of
  // them are made. What does not end by kPatienceAtExit, or its own patience, is left to the exit handler.
  void leaveLibraries();
  void removeCloser(Closers::iterator closer);

 private:
  explicit Environment(Napi::Env env);
  static void wake(Napi::Env env, Napi::Function, Environment* self, void*);
  using WakeUp = Napi::TypedThreadSafeFunction<Environment, void, wake>;

  template <class Result>
  static Finish finishOf(Result result) {
    if constexpr (std::is_convertible_v<Result, Finish>) {
      return result;
    } else {
      return [shared = std::make_shared<const Result>(std::move(result))](Napi::Env env) { return toJs(env, *shared); };
    }
  }
  template <class Work>
  static auto finishing(Work work) {
    return [work = std::move(work)](auto&... arguments) mutable -> Finish {
      if constexpr (std::is_void_v<decltype(work(arguments...))>) {
        work(arguments...);
        return [](Napi::Env env) { return env.Undefined(); };
      } else {
        return finishOf(work(arguments...));
      }
    };
  }
  Napi::Promise start(Napi::Env env, std::function<Finish()> work, std::function<void()> cancel,
                      std::chrono::seconds patience, AtEnd atEnd);
  Napi::Object startCancellable(Napi::Env env, std::function<Finish(const std::atomic<bool>&)> work, AtEnd atEnd,
                                std::function<void()> onCancel, std::chrono::seconds patience);

  void wakeUp();
  void deliver(Napi::Env env);
  void shutDown();
  void endTasks();
  bool halt(ExitDeadline deadline);
  void cancelTasks();
  bool awaitTasks(std::unique_lock<std::mutex>& lock, ExitDeadline deadline);

  WakeUp wakeUp_;
  std::unique_ptr<CompletionPort> port_;
  int pending_ = 0;  // promises not settled yet; touched on the JavaScript thread only

  AdaptiveMutex mutex_;
  std::vector<Call> calls_;
  std::vector<execution::Completion> completions_;
  // what is being delivered; on the JavaScript thread only. The two change places, so that neither has to grow again.
  std::vector<execution::Completion> delivered_;
  bool woken_ = false;
  bool ended_ = false;

  std::mutex tasksMutex_;
  Condition tasksChanged_;
  struct Task {
    std::function<void()> cancel;  // empty where it cannot be
    std::chrono::seconds patience;
    AtEnd atEnd;
  };
  using Tasks = std::list<Task>;
  Tasks tasks_;
  Closers closers_;
  int exitTask_ = -1;

  std::map<int, Napi::ObjectReference> held_;
  int nextHeld_ = 0;
};

}  // namespace nt::node
