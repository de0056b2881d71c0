// Events.
#include "driver.h"

using namespace fake;

static std::shared_ptr<Event> find(Handle handle) {
  const auto found = state().events.find(handle);
  return found == state().events.end() ? nullptr : found->second;
}

#define NEED_EVENT(handle)         \
  NEED_CONTEXT();                  \
  Lock lock(state().mutex);        \
  const auto event = find(handle); \
  if (!event) return kInvalidHandle

FAKE_API CUresult cuEventCreate(Handle* out, unsigned flags) {
  ENTER(cuEventCreate);
  NEED_CONTEXT();
  if (!out || flags > 7) return kInvalidValue;
  Lock lock(state().mutex);
  *out = newHandle();
  auto event = std::make_shared<Event>();
  event->timing = !(flags & 2);  // CU_EVENT_DISABLE_TIMING
  state().events[*out] = std::move(event);
  return kOk;
}

FAKE_API CUresult cuEventDestroy_v2(Handle handle) {
  ENTER(cuEventDestroy_v2);
  if (!current()) return kInvalidContext;
  Lock lock(state().mutex);
  return state().events.erase(handle) ? current()->error.load() : kInvalidHandle;
}

FAKE_API CUresult cuEventRecord(Handle handle, Handle streamHandle) {
  ENTER(cuEventRecord);
  NEED_EVENT(handle);
  const auto stream = findStream(streamHandle);
  if (!stream) return kInvalidHandle;
  event->mark = std::make_shared<Mark>();
  if (stream->capture) {
    event->mark->captured = stream->capture.get();
    return kOk;
  }
  Operation operation;
  operation.record = event->mark;
  submit(lock, stream, std::move(operation));
  return kOk;
}

FAKE_API CUresult cuEventSynchronize(Handle handle) {
  ENTER(cuEventSynchronize);
  const Inside inside;
  NEED_EVENT(handle);
  const auto mark = event->mark;
  if (!mark) return kOk;
  if (mark->captured) return kCapturedEvent;
  mark->cv.wait(lock, [&] { return mark->done; });
  return current()->error;
}

FAKE_API CUresult cuEventQuery(Handle handle) {
  ENTER(cuEventQuery);
  NEED_EVENT(handle);
  if (!event->mark) return kOk;
  if (event->mark->captured) return kCapturedEvent;
  if (!event->mark->done) return kNotReady;
  return current()->error;  // what broke meanwhile, too: nothing after that has run
}

static CUresult elapsed(float* milliseconds, Handle from, Handle to) {
  NEED_CONTEXT();
  Lock lock(state().mutex);
  const auto first = find(from), second = find(to);
  if (!first || !second || !first->timing || !second->timing) return kInvalidHandle;
  if (!first->mark || !second->mark) return kInvalidHandle;
  if (first->mark->captured || second->mark->captured) return kCapturedEvent;
  if (!first->mark->done || !second->mark->done) return kNotReady;
  *milliseconds = static_cast<float>(second->mark->time - first->mark->time);
  return kOk;
}

FAKE_API CUresult cuEventElapsedTime(float* milliseconds, Handle from, Handle to) {
  ENTER(cuEventElapsedTime);
  return elapsed(milliseconds, from, to);
}
FAKE_API CUresult cuEventElapsedTime_v2(float* milliseconds, Handle from, Handle to) {
  ENTER(cuEventElapsedTime_v2);
  return elapsed(milliseconds, from, to);
}
