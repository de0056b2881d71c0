#include "exit.h"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>

namespace nt {
namespace {

struct Tasks {
  std::mutex mutex;
  std::map<int, std::function<void(ExitDeadline)>> all;
  int next = 0;
  bool over = false;
};
Tasks& tasks() {
  static auto& instance = *new Tasks;  // leaked on purpose: it is needed at the very end
  return instance;
}

void stopAll(int status, void*) {
  static auto& all = *new std::map<int, std::function<void(ExitDeadline)>>;  // what it holds is not freed
  {
    const std::lock_guard lock(tasks().mutex);
    if (tasks().over) return;
    tasks().over = true;
    all = tasks().all;
  }
  const ExitDeadline deadline = std::chrono::steady_clock::now() + kPatienceAtExit;
  for (const auto& [_, stop] : all) stop(deadline);
  // What did not end in time is still inside of a library, whose statics must not be destroyed beneath it.
  if (std::chrono::steady_clock::now() >= deadline) _exit(status);
}

}  // namespace

int addExitTask(std::function<void(ExitDeadline)> stop) {
  const std::lock_guard lock(tasks().mutex);
  tasks().all[tasks().next] = std::move(stop);
  return tasks().next++;
}

void removeExitTask(int task) {
  const std::lock_guard lock(tasks().mutex);
  tasks().all.erase(task);
}

void armExit() { ::on_exit(stopAll, nullptr); }

}  // namespace nt
