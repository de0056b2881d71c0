// What the functions of one JavaScript engine object share.
#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "../execution/session.h"
#include "environment.h"

namespace nt::node {

struct EngineHandle {
  std::shared_ptr<execution::Session> session;  // null once closed
  std::shared_ptr<Environment> environment;
  Environment::Closers::iterator closer;
  std::vector<execution::Target> targets;  // for the next call, by output; empty when none
  // What a call works in, kept for the next one. Nothing runs JavaScript while they are in use.
  std::vector<execution::Given> given;
  execution::Scratch scratch;

  // Throws ERR_TRT_CLOSED.
  execution::Session& open() const {
    if (!session) throw Error("ERR_TRT_CLOSED", "The engine is closed");
    return *session;
  }
};

// A function whose `this` does not matter: it belongs to the handle, and keeps it.
napi_value boundFunction(Napi::Env env, const char* name, napi_callback callback,
                         const std::shared_ptr<EngineHandle>& handle);

// A function of the engine's object, likewise; it finds the handle by handleOf().
Napi::Function bound(Napi::Env env, Napi::Value (*callback)(const Napi::CallbackInfo&), const char* name,
                     const std::shared_ptr<EngineHandle>& handle);
EngineHandle& handleOf(const Napi::CallbackInfo& info);

// The calls that every inference makes, kept to bare Node-API: submit, runSync, cancel, setTarget.
void exportInference(Napi::Env env, Napi::Object engine, const std::shared_ptr<EngineHandle>& handle);

}  // namespace nt::node
