// subscribeLog(): what TensorRT says, for whoever listens; tellLog(), logLevel(): what it says in our child processes.
#include "../tensorrt/logger.h"
#include "environment.h"
#include "exports.h"

namespace nt::node {
namespace {

// subscribeLog(level: number, listener): unsubscribe()
Napi::Value subscribeLog(const Napi::CallbackInfo& info) {
  const auto environment = Environment::of(info.Env());
  if (!info[0].IsNumber() || !info[1].IsFunction()) {
    throwExpected("a level and a function");
  }
  const int level = info[0].As<Napi::Number>().Int32Value();
  const int listener = environment->hold(info[1].As<Napi::Function>());
  const int subscription =
      tensorrt::subscribeLog(level, [environment, listener](int32_t severity, const std::string& line) {
        environment->post([environment, listener, severity, line](Napi::Env env) {
          environment->callHeld(env, listener, {Napi::Number::New(env, severity), Napi::String::New(env, line)});
        });
      });
  // no line after the environment's end
  const auto closer = environment->addCloser([subscription] { tensorrt::unsubscribeLog(subscription); });
  const auto over = std::make_shared<bool>(false);
  return Napi::Function::New(info.Env(), [=](const Napi::CallbackInfo&) {
    if (std::exchange(*over, true)) return;
    tensorrt::unsubscribeLog(subscription);
    environment->release(listener);
    environment->removeCloser(closer);
  });
}

// tellLog(severity: number, line: string)
void tellLog(const Napi::CallbackInfo& info) {
  if (!info[0].IsNumber() || !info[1].IsString()) {
    throwExpected("a severity and a line");
  }
  tensorrt::tellLog(info[0].As<Napi::Number>().Int32Value(), info[1].As<Napi::String>());
}

Napi::Value logLevel(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), tensorrt::subscribedLevel());
}

}  // namespace

void exportLog(Napi::Object exports) {
  setFunctions(
      exports,
      {{"subscribeLog", guarded<subscribeLog>}, {"tellLog", guarded<tellLog>}, {"logLevel", guarded<logLevel>}});
}

}  // namespace nt::node
