#include "environment.h"

#include <algorithm>
#include <iterator>

#include "../base/thread.h"
#include "errors.h"

namespace nt::node {
namespace {

// What Node keeps for the environment; deleted with it. Native threads may hold the Environment a little longer.
struct InstanceData {
  std::shared_ptr<Environment> environment;
};

}  // namespace

void Environment::attach(Napi::Env env) {
  std::shared_ptr<Environment> self(new Environment(env));
  env.SetInstanceData(new InstanceData{self});
  // runs before the thread-safe function's own end, since hooks run last in, first out
  env.AddCleanupHook([self] { self->shutDown(); });
  self->exitTask_ = addExitTask([weak = std::weak_ptr<Environment>(self)](ExitDeadline deadline) {
    const auto environment = weak.lock();
    return environment == nullptr || environment->halt(deadline);
  });
}

std::shared_ptr<Environment> Environment::of(Napi::Env env) { return env.GetInstanceData<InstanceData>()->environment; }

Environment::Environment(Napi::Env env) {
  // as Node's own handles say it, to whoever looks for those that keep a process alive (Jest's --detectOpenHandles)
  const auto hasRef = [this](const Napi::CallbackInfo& info) { return Napi::Boolean::New(info.Env(), pending_ > 0); };
  const auto resource = objectOf(env, Field("hasRef", Napi::Function::New(env, hasRef, "hasRef")));
  wakeUp_ = WakeUp::New(env, resource, "node-tensorrt", 0, 1, this);
  wakeUp_.Unref(env);  // an idle engine does not keep the process alive
}

Environment::~Environment() { removeExitTask(exitTask_); }

void Environment::deliver(Napi::Env env) {
  constexpr std::size_t kKept = 1024;  // completions
  const struct Clear {
    std::vector<execution::Completion>& delivered;
    ~Clear() {
      delivered.clear();
      if (delivered.capacity() > kKept) delivered.shrink_to_fit();
    }
  } clear{delivered_};
  end(env, static_cast<int>(delivered_.size()));
  if (port_) port_->deliver(env, delivered_);
}

void Environment::begin(Napi::Env env) {
  if (pending_++ == 0) wakeUp_.Ref(env);
}

void Environment::end(Napi::Env env, int count) {
  pending_ -= count;
  if (pending_ == 0 && count > 0) wakeUp_.Unref(env);
}

Napi::Promise Environment::start(Napi::Env env, std::function<Finish()> work, std::function<void()> cancel,
                                 std::chrono::seconds patience, AtEnd atEnd) {
  const auto deferred = Napi::Promise::Deferred::New(env);
  auto body = [this, deferred, work = std::move(work)]() mutable {
    Finish finish;
    std::exception_ptr failure;
    try {
      finish = work();
    } catch (...) {
      failure = std::current_exception();
    }
    work = nullptr;  // what it held goes before anybody hears that it is done
    post([this, deferred, failure, finish = std::move(finish)](Napi::Env inner) {
      end(inner);
      try {
        if (failure) std::rethrow_exception(failure);
        deferred.Resolve(finish(inner));
      } catch (...) {
        deferred.Reject(toJavaScript(inner, std::current_exception()));
      }
    });
  };
  begin(env);
  try {
    background(std::move(body), std::move(cancel), patience, atEnd);
  } catch (...) {
    end(env);
    throw;
  }
  return deferred.Promise();
}

Napi::Object Environment::startCancellable(Napi::Env env, std::function<Finish(const std::atomic<bool>&)> work,
                                           AtEnd atEnd, std::function<void()> onCancel, std::chrono::seconds patience) {
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  const auto cancel = [cancelled, onCancel = std::move(onCancel)] {
    cancelled->store(true);
    if (onCancel) onCancel();
  };
  auto body = [cancelled, work = std::move(work)] { return work(*cancelled); };
  const Napi::Promise promise = start(env, std::move(body), cancel, patience, atEnd);
  return objectOf(env, Field("promise", promise),
                  Field("cancel", Napi::Function::New(env, [cancel](const Napi::CallbackInfo&) { cancel(); })));
}

void Environment::background(std::function<void()> work, std::function<void()> cancel, std::chrono::seconds patience,
                             AtEnd atEnd) {
  Tasks::iterator task;
  {
    const std::lock_guard lock(tasksMutex_);
    task = tasks_.insert(tasks_.end(), {std::move(cancel), patience, atEnd});
  }
  const auto finished = [self = shared_from_this(), task] {
    const std::lock_guard lock(self->tasksMutex_);
    self->tasks_.erase(task);
    self->tasksChanged_.notify_all();
  };
  try {
    startThread("one beside JavaScript's", [work = std::move(work), finished]() mutable {
      work();
      work = nullptr;
      finished();
    }).detach();
  } catch (...) {
    finished();
    throw;
  }
}

void Environment::post(Call call) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  calls_.push_back(std::move(call));
  wakeUp();
}

void Environment::complete(std::vector<execution::Completion> completions) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    std::move(completions.begin(), completions.end(), std::back_inserter(completions_));
    first = !std::exchange(woken_, true);
  }
  // after the lock, which JavaScript wants at once; lanes end before the environment lets go of wakeUp_
  if (first) wakeUp_.NonBlockingCall();
}

// Once for all that came since JavaScript looked last; the lock is held.
void Environment::wakeUp() {
  if (!std::exchange(woken_, true)) wakeUp_.NonBlockingCall();
}

void Environment::wake(Napi::Env env, Napi::Function, Environment* self, void*) {
  if (static_cast<napi_env>(env) == nullptr) return;  // the environment is going away
  std::vector<Call> calls;
  {
    const std::lock_guard lock(self->mutex_);
    calls.swap(self->calls_);
    self->delivered_.swap(self->completions_);
    self->woken_ = false;
  }
  // what one of them throws, such as a listener's error, is told once the others have been called too
  std::exception_ptr failure;
  const auto attempt = [&](const auto& body) {
    const Napi::HandleScope scope(env);
    try {
      body();
    } catch (const Napi::Error&) {
      if (!failure) failure = std::current_exception();
    } catch (const Error&) {
      // a thread that is being terminated makes no objects any more, and nobody there waits for one
    }
  };
  if (!self->delivered_.empty()) attempt([&] { self->deliver(env); });
  for (const Call& call : calls) attempt([&] { call(env); });
  if (failure) throwInJavaScript(env, failure);
}

int Environment::hold(const Napi::Object& value) {
  held_.emplace(nextHeld_, Napi::Persistent(value));
  return nextHeld_++;
}

std::shared_ptr<void> Environment::keep(const Napi::Object& value) {
  const auto release = [self = shared_from_this(), id = hold(value)](void*) {
    self->post([self, id](Napi::Env) { self->release(id); });
  };
  return {this, release};
}

void Environment::callHeld(Napi::Env env, int id, const std::vector<napi_value>& arguments) {
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  found->second.Value().As<Napi::Function>().Call(env.Undefined(), arguments);
}

void Environment::release(int id) { held_.erase(id); }

Environment::Closers::iterator Environment::addCloser(std::function<void()> close, Stop halt, Stop leave) {
  const std::lock_guard lock(tasksMutex_);
  return closers_.insert(closers_.end(), {std::move(close), std::move(halt), std::move(leave)});
}

void Environment::leaveLibraries() {
  armExit();
  const ExitDeadline deadline = std::chrono::steady_clock::now() + kPatienceAtExit;
  Closers closers;
  {
    const std::lock_guard lock(tasksMutex_);
    cancelTasks();
    closers = closers_;
  }
  bool ended = true;
  for (const Closer& closer : closers) ended = (!closer.leave || closer.leave(deadline)) && ended;
  std::unique_lock lock(tasksMutex_);
  ended = awaitTasks(lock, deadline) && ended;
  if (ended) return;
  // what could not be ended has made statics meanwhile
  armExit();
  hurryExit();
}

// The lock is held.
void Environment::cancelTasks() {
  for (const Task& task : tasks_) {
    if (task.cancel) task.cancel();
  }
}

// The lock is held. Until no task is left, or the time is over, also of those that are waited for beyond the deadline;
// whether none is left.
bool Environment::awaitTasks(std::unique_lock<std::mutex>& lock, ExitDeadline deadline) {
  for (;;) {
    const auto longest = std::ranges::max_element(tasks_, {}, &Task::patience);
    if (longest == tasks_.end()) return true;
    if (tasksChanged_.wait_until(lock, deadline + longest->patience) == std::cv_status::timeout) return tasks_.empty();
  }
}

void Environment::removeCloser(Closers::iterator closer) {
  const std::lock_guard lock(tasksMutex_);
  closers_.erase(closer);
}

bool Environment::halt(ExitDeadline deadline) {
  bool ended = false;
  {
    const std::lock_guard lock(mutex_);
    ended = ended_;  // what is left of it is tasks
  }
  Closers closers;
  {
    const std::lock_guard lock(tasksMutex_);
    cancelTasks();
    if (!ended) closers = closers_;
  }
  bool left = true;
  for (const Closer& closer : closers) left = (!closer.halt || closer.halt(deadline)) && left;
  std::unique_lock lock(tasksMutex_);
  return awaitTasks(lock, deadline) && left;
}

// Cancels what runs and waits for it: without end, but for what may be left to itself.
void Environment::endTasks() {
  const ExitDeadline deadline = std::chrono::steady_clock::now() + kPatienceAtExit;
  std::unique_lock lock(tasksMutex_);
  cancelTasks();
  tasksChanged_.wait(
      lock, [this] { return std::ranges::all_of(tasks_, [](const Task& t) { return t.atEnd == AtEnd::leave; }); });
  tasksChanged_.wait_until(lock, deadline, [this] { return tasks_.empty(); });
  // where something was left, the end of the process has to wait for it, before anything that it has reached since is
  // torn down
  if (tasks_.empty()) {
    removeExitTask(exitTask_);
  } else {
    armExit();
  }
}

void Environment::shutDown() {
  std::vector<Call> calls;  // they may hold engines, which are not to end while the lock is held
  std::vector<execution::Completion> completions;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    calls.swap(calls_);
    completions.swap(completions_);
  }
  calls.clear();
  completions.clear();
  endTasks();
  Closers closers;
  {
    const std::lock_guard lock(tasksMutex_);
    closers = closers_;
  }
  for (const Closer& closer : closers) closer.close();
  held_.clear();
  port_.reset();
  wakeUp_.Release();
}

}  // namespace nt::node
