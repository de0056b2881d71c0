// Graphs: the operations of a capture, replayed in the order in which they were captured.
#include "driver.h"

using namespace fake;

FAKE_API CUresult cuGraphInstantiateWithFlags(Handle* out, Handle handle, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags);
  NEED_CONTEXT();
  Lock lock(state().mutex);
  const auto graph = state().graphs.find(handle);
  if (!out || graph == state().graphs.end()) return kInvalidValue;
  *out = newHandle();
  state().execs[*out] = graph->second;
  return kOk;
}

FAKE_API CUresult cuGraphLaunch(Handle handle, Handle streamHandle) {
  ENTER(cuGraphLaunch);
  NEED_CONTEXT();
  Lock lock(state().mutex);
  const auto exec = state().execs.find(handle);
  const auto stream = findStream(streamHandle);
  if (exec == state().execs.end() || !stream) return kInvalidHandle;
  if (stream->capture) return stream->capture->invalid = true, kCaptureUnsupported;
  // A copy keeps the graph alive: launching, then destroying it, is allowed.
  const auto graph = exec->second;
  lock.unlock();
  for (const auto& operation : graph->operations)
    if (operation.launched) operation.launched();
  lock.lock();
  ++state().counters.graphLaunches;
  for (const auto& operation : graph->operations) {
    Operation copy = operation;
    copy.launched = nullptr;
    copy.replays = graph;
    submit(lock, stream, std::move(copy));
  }
  return kOk;
}

FAKE_API CUresult cuGraphExecDestroy(Handle handle) {
  ENTER(cuGraphExecDestroy);
  std::shared_ptr<Graph> last;  // destroyed after the lock
  Lock lock(state().mutex);
  const auto exec = state().execs.find(handle);
  if (exec == state().execs.end()) return kInvalidValue;
  last = exec->second;
  state().execs.erase(exec);
  lock.unlock();
  return kOk;
}

FAKE_API CUresult cuGraphDestroy(Handle handle) {
  ENTER(cuGraphDestroy);
  std::shared_ptr<Graph> last;
  Lock lock(state().mutex);
  const auto graph = state().graphs.find(handle);
  if (graph == state().graphs.end()) return kInvalidValue;
  last = graph->second;
  state().graphs.erase(graph);
  lock.unlock();
  return kOk;
}
