// What has to be done when the process ends without the hooks of its environments: process.exit(), an uncaught error.
// Threads of ours must not be inside the driver or TensorRT when their libraries are torn down. Nothing is freed.
#pragma once

#include <chrono>
#include <functional>

namespace nt {

using ExitDeadline = std::chrono::steady_clock::time_point;
// How long what cannot be cut off is waited for.
constexpr std::chrono::seconds kPatienceAtExit{2};

// `stop` is called then: it stops threads, and waits for them until the deadline at most. Must not throw.
int addExitTask(std::function<void(ExitDeadline)> stop);
void removeExitTask(int task);

// After each library that is opened: handlers run last in, first out, and ours has to run before the library's own.
// Where the deadline passes, the process ends at once, with its status: the handlers of the libraries do not run.
void armExit();

}  // namespace nt
