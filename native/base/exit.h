// What has to be done when the process ends without the hooks of its environments: process.exit(), an uncaught error.
// Threads of ours must not be inside the driver or TensorRT when their libraries are torn down. Nothing is freed.
#pragma once

#include <chrono>
#include <functional>

namespace nt {

using ExitDeadline = std::chrono::steady_clock::time_point;
// How long what cannot be cut off is waited for.
constexpr std::chrono::seconds kPatienceAtExit{2};

// `stop` is called then: it stops threads, and waits for them until the deadline at most. Whether none of them is
// inside of a library any more. Must not throw.
int addExitTask(std::function<bool(ExitDeadline)> stop);
void removeExitTask(int task);

// Registers the handler that calls them, at the end of those that there are. They run last in, first out, and this one
// has to run before the libraries' own, which destroy what threads are at work on. Libraries register theirs when they
// are opened, and more of them while they work, for each static that they reach first: so it is armed after each that
// is opened, and once more as the last thing of all, where JavaScript runs for the last time
// (Environment::leaveLibraries) or an environment ends with a thread that goes on. What was armed twice runs once.
// Where a thread is still inside of a library, the process ends at once, with its status: the libraries' handlers do
// not run.
void armExit();

// The patience has been spent already: what is inside of a library when the handler runs is not waited for any more.
void hurryExit();

}  // namespace nt
