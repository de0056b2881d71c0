// openEngine(), attachEngine() and the object of an engine with lanes of its own.
#include "../gpu/engine.h"

#include "../execution/registry.h"
#include "audit.h"
#include "engine.h"
#include "errors.h"
#include "exports.h"
#include "handle.h"
#include "pinned.h"
#include "plan_to_open.h"
#include "refit.h"
#include "values.h"

namespace nt::node {
namespace {

using execution::IoTensor;
using execution::Session;

// undefined where a dimension has none
Napi::Array namesValue(Napi::Env env, const std::vector<std::string>& names) {
  const Napi::Array array = Napi::Array::New(env, names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    array.Set(static_cast<uint32_t>(i), names[i].empty() ? env.Undefined() : Napi::String::New(env, names[i]));
  return array;
}

Napi::Object tensorValue(Napi::Env env, const IoTensor& tensor) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("name", tensor.name);
  value.Set("dtype", dtypeName(tensor.dtype));
  value.Set("shape", shapeValue(env, tensor.shape));
  value.Set("format", tensor.format);
  const Napi::Array profiles = Napi::Array::New(env);
  for (const execution::ShapeRange& range : tensor.profiles) {
    const Napi::Object profile = Napi::Object::New(env);
    profile.Set("min", shapeValue(env, range.min));
    profile.Set("opt", shapeValue(env, range.opt));
    profile.Set("max", shapeValue(env, range.max));
    profiles.Set(profiles.Length(), profile);
  }
  value.Set("profiles", profiles);
  if (!tensor.dimensionNames.empty()) value.Set("dimensionNames", namesValue(env, tensor.dimensionNames));
  return value;
}

execution::Clock::duration milliseconds(const Napi::Object& object, const char* key) {
  const Napi::Value value = object.Get(key);
  const double ms = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : 0;
  return std::chrono::duration_cast<execution::Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

std::vector<int64_t> sizesOf(const Napi::Value& value) {
  std::vector<int64_t> sizes;
  if (!value.IsArray()) return sizes;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); ++i) sizes.push_back(array.Get(i).As<Napi::Number>().Int64Value());
  return sizes;
}

// Checked and completed by lib/backend/tensorrt.ts.
execution::SessionOptions sessionOptionsOf(const Napi::Object& options) {
  execution::SessionOptions session;
  session.lanes = static_cast<int>(integerOf(options, "lanes", 1));
  session.maxQueue = static_cast<std::size_t>(integerOf(options, "maxQueue", 4096));
  session.lane.profile = static_cast<int32_t>(integerOf(options, "profile", -1));
  session.lane.highPriority = integerOf(options, "highPriority", 0) != 0;
  session.lane.captureGraphs = integerOf(options, "graphs", 1) != 0;
  session.lane.slots = static_cast<int>(integerOf(options, "slots", 2));
  if (options.Get("batching").IsObject()) {
    const Napi::Object batching = options.Get("batching").As<Napi::Object>();
    session.lane.merging = true;
    session.lane.pad = sizesOf(batching.Get("pad"));
    session.batching.maxBatch = integerOf(batching, "maxBatch", 1);
    session.batching.maxDelay = milliseconds(batching, "maxDelayMs");
    session.batching.preferred = sizesOf(batching.Get("preferred"));
    session.batching.pad = session.lane.pad;
  }
  return session;
}

// Ends a session off the JavaScript thread. What waits is not run when the environment ends first: nobody is there to
// hear of it.
std::function<void()> ending(std::shared_ptr<Session> session) {
  return [session = std::move(session)]() mutable {
    if (session) session->close();
    session.reset();
  };
}
std::function<void()> dropping(const std::shared_ptr<Session>& session) {
  return [weak = std::weak_ptr<Session>(session)] {
    if (const auto closing = weak.lock()) closing->drop();
  };
}

// How long an engine that is being closed is waited for at the end of the process.
std::chrono::seconds patienceOf(const std::shared_ptr<Session>& session) {
  return session ? session->engine().patienceAtExit() : std::chrono::seconds(0);
}

// close(): refuses new work, runs what is queued, frees the lanes; the weights go with the last user of the engine
Napi::Value close(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    EngineHandle& handle = handleOf(info);
    auto session = std::exchange(handle.session, nullptr);
    const auto cancel = dropping(session);
    const auto patience = patienceOf(session);
    return handle.environment->run(
        info.Env(),
        [end = ending(std::move(session))]() mutable -> Environment::Finish {
          end();
          return [](Napi::Env env) { return env.Undefined(); };
        },
        cancel, patience);
  });
}

Napi::Value share(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    return Napi::String::New(info.Env(), execution::shareEngine(handleOf(info).open().sharedEngine()));
  });
}

Napi::Object percentilesValue(Napi::Env env, const execution::Samples::Percentiles& percentiles) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("p50", percentiles.p50);
  value.Set("p95", percentiles.p95);
  value.Set("p99", percentiles.p99);
  value.Set("count", static_cast<double>(percentiles.count));
  return value;
}

Napi::Value stats(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Env env = info.Env();
    const Session& session = handleOf(info).open();
    const execution::Stats::Snapshot snapshot = session.stats();
    const Napi::Object value = Napi::Object::New(env);
    value.Set("waiting", static_cast<double>(session.waiting()));
    value.Set("inFlight", static_cast<double>(session.running()));
    value.Set("completed", static_cast<double>(snapshot.counts.requests));
    value.Set("failed", static_cast<double>(snapshot.counts.failures));
    value.Set("cancelled", static_cast<double>(snapshot.counts.cancelled));
    value.Set("batches", static_cast<double>(snapshot.counts.batches));
    value.Set("bytesCopied", static_cast<double>(snapshot.counts.bytesCopied));
    value.Set("queueMs", percentilesValue(env, snapshot.queue));
    value.Set("copyInMs", percentilesValue(env, snapshot.copyIn));
    value.Set("computeMs", percentilesValue(env, snapshot.compute));
    value.Set("copyOutMs", percentilesValue(env, snapshot.copyOut));
    return value;
  });
}

Napi::Value memory(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Session::Memory memory = handleOf(info).open().memory();
    const Napi::Object value = Napi::Object::New(info.Env());
    value.Set("device", static_cast<double>(memory.device));
    value.Set("pinned", static_cast<double>(memory.pinned));
    value.Set("pinnedKept", static_cast<double>(memory.pinnedKept));
    return value;
  });
}

// allocate(bytes): an ArrayBuffer in pinned memory
Napi::Value allocate(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    constexpr double kMostSafe = 9007199254740991;  // Number.MAX_SAFE_INTEGER
    const double bytes = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : -1;
    if (!(bytes >= 0 && bytes <= kMostSafe)) {
      throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected a number of bytes");
    }
    const execution::Engine& engine = handleOf(info).open().engine();
    engine.enter();
    return allocatePinned(info.Env(), engine.pool(), static_cast<std::size_t>(bytes));
  });
}

// The last function of the object is gone: whatever still runs ends on a thread of its own, not on JavaScript's.
struct Dispose {
  void operator()(EngineHandle* handle) const {
    handle->environment->removeCloser(handle->closer);
    if (handle->session) {
      const auto cancel = dropping(handle->session);
      const auto patience = patienceOf(handle->session);
      try {
        handle->environment->background(ending(std::move(handle->session)), cancel, patience);
      } catch (const std::exception&) {
        // the system has no thread left: it has ended here
      }
    }
    delete handle;
  }
};

Napi::Value engineValue(Napi::Env env, std::shared_ptr<Session> session) {
  const auto environment = Environment::of(env);
  const std::shared_ptr<EngineHandle> handle(new EngineHandle{std::move(session), environment, {}, {}, {}, {}},
                                             Dispose{});
  // all of it is gone when the environment is: finalizers, which come later, would free it beside the process's own end
  const std::weak_ptr<Session> weak = handle->session;
  handle->closer = environment->addCloser(
      [handle = handle.get()] {
        const auto open = std::exchange(handle->session, nullptr);
        if (!open) return;
        open->drop();
        open->close();
      },
      [handle = handle.get(), weak](ExitDeadline deadline) {
        // one that is being closed ends by itself
        if (const auto open = handle->session ? weak.lock() : nullptr) open->halt(deadline);
      },
      [weak](ExitDeadline deadline) {
        if (const auto open = weak.lock()) open->leave(deadline);
      });
  const execution::Engine& engine = handle->session->engine();
  const Napi::Object value = Napi::Object::New(env);
  value.Set("inputs", tensorsValue(env, engine.inputs()));
  value.Set("outputs", tensorsValue(env, engine.outputs()));
  value.Set("unsupported", unsupportedValue(env, engine.unsupported()));
  value.Set("library", engine.runtime());
  value.Set("device", engine.deviceIndex());
  value.Set("close", bound(env, close, "close", handle));
  value.Set("share", bound(env, share, "share", handle));
  value.Set("stats", bound(env, stats, "stats", handle));
  value.Set("memory", bound(env, memory, "memory", handle));
  value.Set("allocate", bound(env, allocate, "allocate", handle));
  exportInference(env, value, handle);
  value.Set("audit", bound(env, audit, "audit", handle));
  return value;
}

// Before anything runs on the engine: its weights, where the user gave them, or the refusal of one that has none.
gpu::Engine::Prepare weighing(const tensorrt::Library& library, const cuda::DeviceContext& device,
                              const std::optional<refitting::OnnxSource>& weights) {
  return [&library, &device, &weights](const std::shared_ptr<tensorrt::CudaEngine>& engine) {
    tensorrt::withLog(library.log(), [&] {
      if (weights) return refitting::refitFromOnnx(device, engine, *weights);
      refitting::refuseStripped(device, engine);
    });
  };
}

// openEngine(plan: Uint8Array, options): Promise<engine>
Napi::Value openEngine(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const PlanToOpen plan = planToOpen(info);
    const Napi::Object options = objectArgument(info, 1, "options");
    const auto weights =
        std::make_shared<const std::optional<refitting::OnnxSource>>(onnxSourceOf(options.Get("weights")));
    return openSession(info.Env(), options, [plan, weights] {
      const auto [library, device] = plan.place();
      return gpu::Engine::load(library, device, plan.bytes->data(), plan.bytes->size(),
                               weighing(library, device, *weights));
    });
  });
}

// attachEngine(name: string, options): Promise<engine>
Napi::Value attachEngine(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const std::string name = info[0].As<Napi::String>().Utf8Value();
    // found now, so that it stays when its owner closes before this is done
    const auto engine = execution::sharedEngine(name);
    return openSession(info.Env(), objectArgument(info, 1, "options"), [engine] { return engine; });
  });
}

}  // namespace

Napi::Array tensorsValue(Napi::Env env, const std::vector<IoTensor>& tensors) {
  const Napi::Array array = Napi::Array::New(env);
  for (const IoTensor& tensor : tensors) array.Set(array.Length(), tensorValue(env, tensor));
  return array;
}

Napi::Array unsupportedValue(Napi::Env env, const std::vector<execution::UnsupportedTensor>& tensors) {
  const Napi::Array array = Napi::Array::New(env);
  for (const execution::UnsupportedTensor& tensor : tensors) {
    const Napi::Object value = Napi::Object::New(env);
    value.Set("name", tensor.name);
    value.Set("use", tensor.input ? "input" : "output");
    value.Set("type", tensor.type);
    array.Set(array.Length(), value);
  }
  return array;
}

Napi::Value openSession(Napi::Env env, const Napi::Object& options,
                        std::function<std::shared_ptr<execution::Engine>()> engineOf) {
  const auto environment = Environment::of(env);
  const execution::SessionOptions session = sessionOptionsOf(options);
  return environment->run(env, [environment, session, engineOf = std::move(engineOf)]() -> Environment::Finish {
    const auto engine = engineOf();
    if (std::max(engine->inputs().size(), engine->outputs().size()) > CompletionPort::kMostTensors) {
      throw Error("ERR_TRT_UNSUPPORTED",
                  "Expected at most " + std::to_string(CompletionPort::kMostTensors) + " inputs and as many outputs");
    }
    const auto made = std::make_shared<Session>(engine, session, [environment](std::vector<execution::Completion> c) {
      return environment->complete(std::move(c));
    });
    return [made](Napi::Env inner) { return engineValue(inner, made); };
  });
}

EngineHandle& handleOf(const Napi::CallbackInfo& info) {
  return **static_cast<std::shared_ptr<EngineHandle>*>(info.Data());
}

Napi::Function bound(Napi::Env env, Napi::Value (*callback)(const Napi::CallbackInfo&), const char* name,
                     const std::shared_ptr<EngineHandle>& handle) {
  auto* kept = new std::shared_ptr<EngineHandle>(handle);
  const Napi::Function function = Napi::Function::New(env, callback, name, kept);
  function.AddFinalizer([](Napi::Env, std::shared_ptr<EngineHandle>* data) { delete data; }, kept);
  return function;
}

void exportEngine(Napi::Env env, Napi::Object exports) {
  exports.Set("openEngine", Napi::Function::New(env, openEngine));
  exports.Set("attachEngine", Napi::Function::New(env, attachEngine));
}

}  // namespace nt::node
