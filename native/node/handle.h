// What the functions of one JavaScript engine object share.
#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "../execution/client.h"
#include "environment.h"
#include "functions.h"

namespace nt::node {

struct EngineHandle {
  std::shared_ptr<execution::Client> client;  // null once closed
  std::shared_ptr<Environment> environment;
  Environment::Closers::iterator closer;
  // What a call works in, kept for the next one. Nothing runs JavaScript while they are in use.
  std::vector<execution::InputView> given;
  execution::Scratch scratch;

  // Throws ERR_TRT_CLOSED.
  execution::Client& open() const {
    if (!client) throw Error("ERR_TRT_CLOSED", "The engine is closed");
    return *client;
  }
};

// The handle of a function of the engine's object that keeping() made.
inline EngineHandle& handleOf(const Napi::CallbackInfo& info) { return kept<EngineHandle>(info); }

// The calls that every inference makes, kept to bare Node-API: submit, runSync, cancel.
void exportInference(Napi::Object engine, const std::shared_ptr<EngineHandle>& handle);

// What a session has done, read on any thread: what stats() and counters() tell.
struct Report {
  std::size_t waiting = 0;
  std::size_t inFlight = 0;
  execution::Stats::Snapshot stats;
  execution::Counters::Snapshot counters;
};
Report reportOf(const execution::Session& session);
// { stats, counters }
Napi::Object reportValue(Napi::Env env, const Report& report);

// What the engine has done: stats, counters; observed, where it is one that is observed.
void exportStats(Napi::Object engine, const std::shared_ptr<EngineHandle>& handle);

// What brings a tensor to the engine's device, to stay there: upload.
void exportUpload(Napi::Object engine, const std::shared_ptr<EngineHandle>& handle);

}  // namespace nt::node
