#include "exit.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

namespace nt {
namespace {

struct Tasks {
  std::mutex mutex;
  std::map<int, std::function<bool(ExitDeadline)>> all;
  int next = 0;
  bool over = false;
  std::atomic<bool> hurried{false};
};
Tasks& tasks() {
  static auto& instance = *new Tasks;  // leaked on purpose: it is needed at the very end
  return instance;
}

void stopAll(int status, void*) {
  static auto& all = *new std::map<int, std::function<bool(ExitDeadline)>>;  // what it holds is not freed
  {
    const std::lock_guard lock(tasks().mutex);
    if (tasks().over) return;
    tasks().over = true;
    all = tasks().all;
  }
  const std::chrono::seconds patience = tasks().hurried ? std::chrono::seconds(0) : kPatienceAtExit;
  const ExitDeadline deadline = std::chrono::steady_clock::now() + patience;
  bool ended = true;
  for (const auto& [_, stop] : all) ended = stop(deadline) && ended;
  // What did not end in time is still inside of a library, whose statics must not be destroyed beneath it.
  if (!ended) _exit(status);
}

}  // namespace

int addExitTask(std::function<bool(ExitDeadline)> stop) {
  const std::lock_guard lock(tasks().mutex);
  tasks().all[tasks().next] = std::move(stop);
  return tasks().next++;
}

void removeExitTask(int task) {
  const std::lock_guard lock(tasks().mutex);
  tasks().all.erase(task);
}

void armExit() { ::on_exit(stopAll, nullptr); }

void hurryExit() { tasks().hurried = true; }

}  // namespace nt
