// openEngine(), attachEngine(), joinEngine() and the object of an engine with lanes of its own.
#include "../gpu/engine.h"

#include "../building/placeholder_ranges.h"
#include "../execution/registry.h"
#include "audit.h"
#include "benchmark.h"
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

using execution::Client;
using execution::IoTensor;
using execution::Session;

// undefined where a dimension has none
Napi::Array dimensionNamesValue(Napi::Env env, const std::vector<std::string>& names) {
  const Napi::Array array = Napi::Array::New(env, names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    array.Set(static_cast<uint32_t>(i), names[i].empty() ? env.Undefined() : Napi::String::New(env, names[i]));
  return array;
}

Napi::Array rangesValue(Napi::Env env, const std::vector<execution::ShapeRange>& ranges) {
  const Napi::Array array = Napi::Array::New(env);
  for (const execution::ShapeRange& range : ranges) {
    const Napi::Object value = Napi::Object::New(env);
    value.Set("min", shapeValue(env, range.min));
    value.Set("opt", shapeValue(env, range.opt));
    value.Set("max", shapeValue(env, range.max));
    array.Set(array.Length(), value);
  }
  return array;
}

Napi::Object tensorValue(Napi::Env env, const IoTensor& tensor) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("name", tensor.name);
  value.Set("dtype", dtypeName(tensor.dtype));
  value.Set("shape", shapeValue(env, tensor.shape));
  value.Set("format", tensor.format);
  value.Set("profiles", rangesValue(env, tensor.profiles));
  if (tensor.onHost) value.Set("values", rangesValue(env, tensor.values));
  if (!tensor.dimensionNames.empty()) value.Set("dimensionNames", dimensionNamesValue(env, tensor.dimensionNames));
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

execution::WaitMode waitOf(const Napi::Object& options) {
  if (!options.Get("wait").IsString()) return execution::WaitMode::adaptive;
  const std::string name = options.Get("wait").As<Napi::String>().Utf8Value();
  return name == "spin"    ? execution::WaitMode::spin
         : name == "block" ? execution::WaitMode::block
                           : execution::WaitMode::adaptive;
}

// Checked and completed by lib/backend/tensorrt.ts.
// Order, hold and levels of priority.
void readPolicies(const Napi::Object& options, execution::BatchingOptions& batching) {
  batching.preserveOrder = integerOf(options, "preserveOrder", 0) != 0;
  batching.holdUntil = static_cast<std::size_t>(integerOf(options, "holdUntil", 0));
  batching.defaultLevel = static_cast<uint32_t>(integerOf(options, "defaultLevel", 1));
  const Napi::Value levels = options.Get("levels");
  if (!levels.IsArray()) return;
  batching.levels.clear();
  for (uint32_t i = 0; i < levels.As<Napi::Array>().Length(); ++i) {
    const Napi::Value level = levels.As<Napi::Array>().Get(i);
    if (!level.IsObject()) throwExpected("an array of objects", "levels");
    const Napi::Object policy = level.As<Napi::Object>();
    batching.levels.push_back({static_cast<std::size_t>(integerOf(policy, "maxQueue", 0)),
                               milliseconds(policy, "queueTimeoutMs"), integerOf(policy, "delays", 0) != 0});
  }
  if (batching.defaultLevel < 1 || batching.defaultLevel > batching.levels.size())
    throwExpected("one of the levels", "defaultLevel");
}

execution::SessionOptions sessionOptionsOf(const Napi::Object& options) {
  execution::SessionOptions session;
  session.lanes = static_cast<int>(integerOf(options, "lanes", 1));
  session.maxQueue = static_cast<std::size_t>(integerOf(options, "maxQueue", 4096));
  session.maxQueueBytes = static_cast<std::size_t>(
      integerOf(options, "maxQueueBytes", static_cast<int64_t>(execution::SessionOptions::kQueueBytes)));
  session.wait = waitOf(options);
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
    readPolicies(batching, session.batching);
  }
  return session;
}

// Ends a client off the JavaScript thread. What waits is not run when the environment ends first: nobody is there to
// hear of it.
std::function<void()> ending(std::shared_ptr<Client> client) {
  return [client = std::move(client)]() mutable {
    if (client) client->close();
    client.reset();
  };
}
std::function<void()> dropping(const std::shared_ptr<Client>& client) {
  return [weak = std::weak_ptr<Client>(client)] {
    if (const auto closing = weak.lock()) closing->drop();
  };
}

// How long an engine that is being closed is waited for at the end of the process.
std::chrono::seconds patienceOf(const std::shared_ptr<Client>& client) {
  return client ? client->engine().patienceAtExit() : std::chrono::seconds(0);
}

// close(): refuses new work, runs what it has queued; the last one frees the lanes, and the last user of the engine the
// weights
Napi::Value closeEngine(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    EngineHandle& handle = handleOf(info);
    auto client = std::exchange(handle.client, nullptr);
    const auto cancel = dropping(client);
    const auto patience = patienceOf(client);
    return handle.environment->run(
        info.Env(),
        [end = ending(std::move(client))]() mutable -> Environment::Finish {
          end();
          return [](Napi::Env env) { return env.Undefined(); };
        },
        cancel, patience);
  });
}

Napi::Value share(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    return Napi::String::New(info.Env(), execution::shareEngine(handleOf(info).open().session()));
  });
}

Napi::Value shareQueue(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    return Napi::String::New(info.Env(), execution::shareSession(handleOf(info).open().session()));
  });
}

Napi::Value memory(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Session::Memory memory = handleOf(info).open().session()->memory();
    const Napi::Object value = Napi::Object::New(info.Env());
    value.Set("device", static_cast<double>(memory.device));
    value.Set("pinned", static_cast<double>(memory.pinned));
    value.Set("pinnedKept", static_cast<double>(memory.pinnedKept));
    value.Set("queued", static_cast<double>(memory.queued));
    value.Set("tensors", static_cast<double>(memory.tensors));
    value.Set("tensorsKept", static_cast<double>(memory.tensorsKept));
    return value;
  });
}

// runtimeCache(): Promise<ArrayBuffer | undefined>: what TensorRT-RTX compiled, where that is more than was known
Napi::Value runtimeCache(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const EngineHandle& handle = handleOf(info);
    auto engine = std::dynamic_pointer_cast<gpu::Engine>(handle.open().sharedEngine());
    return handle.environment->run(info.Env(), [engine = std::move(engine)]() mutable -> Environment::Finish {
      // let go of on this thread, before the promise is settled
      const std::shared_ptr<gpu::Engine> held = std::exchange(engine, nullptr);
      auto changed = held ? held->changedRuntimeCache() : std::nullopt;
      if (!changed) return [](Napi::Env env) { return env.Undefined(); };
      const auto bytes = std::make_shared<std::vector<uint8_t>>(std::move(*changed));
      return [bytes](Napi::Env env) { return externalBuffer(env, bytes->data(), bytes->size(), bytes); };
    });
  });
}

// prepared(): Promise<void>, once all is there that the lanes have had made in the background
Napi::Value prepared(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const EngineHandle& handle = handleOf(info);
    auto engine = handle.open().sharedEngine();
    return handle.environment->run(info.Env(), [engine = std::move(engine)]() mutable -> Environment::Finish {
      std::exchange(engine, nullptr)->awaitPrepared();
      return [](Napi::Env env) { return env.Undefined(); };
    });
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
    engine.throwIfLost();
    return allocatePinned(info.Env(), engine.pool(), static_cast<std::size_t>(bytes));
  });
}

// The last function of the object is gone: whatever still runs ends on a thread of its own, not on JavaScript's.
struct DisposeEngine {
  void operator()(EngineHandle* handle) const {
    handle->environment->removeCloser(handle->closer);
    if (handle->client) {
      const auto cancel = dropping(handle->client);
      const auto patience = patienceOf(handle->client);
      try {
        handle->environment->background(ending(std::move(handle->client)), cancel, patience);
      } catch (const std::exception&) {
        // the system has no thread left: it has ended here
      }
    }
    delete handle;
  }
};

// What lib/ has to know of lanes and queue.
Napi::Object queueValue(Napi::Env env, const Session& session) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("batches", session.slots());
  value.Set("maxBatch", static_cast<double>(session.options().batching.maxBatch));
  value.Set("maxQueue", static_cast<double>(session.options().maxQueue));
  value.Set("levels", static_cast<double>(session.options().batching.levels.size()));
  value.Set("defaultLevel", session.options().batching.defaultLevel);
  value.Set("maxQueueBytes", static_cast<double>(session.options().maxQueueBytes));
  return value;
}

// Completions go to the environment; `session` is what the engine works with.
std::shared_ptr<Client> clientOf(const std::shared_ptr<Environment>& environment, std::shared_ptr<Session> session) {
  return std::make_shared<Client>(std::move(session), [environment](std::vector<execution::Completion> completions) {
    return environment->complete(std::move(completions));
  });
}

Napi::Value engineValue(Napi::Env env, std::shared_ptr<Client> client) {
  const auto environment = Environment::of(env);
  const std::shared_ptr<EngineHandle> handle(new EngineHandle{std::move(client), environment, {}, {}, {}},
                                             DisposeEngine{});
  // all of it is gone when the environment is: finalizers, which come later, would free it beside the process's own end
  const std::weak_ptr<Client> weak = handle->client;
  handle->closer = environment->addCloser(
      [handle = handle.get()] {
        const auto open = std::exchange(handle->client, nullptr);
        if (!open) return;
        open->drop();
        open->close();
      },
      [handle = handle.get(), weak](ExitDeadline deadline) {
        // one that is being closed ends by itself
        const auto open = handle->client ? weak.lock() : nullptr;
        return open == nullptr || open->session()->halt(deadline);
      },
      [weak](ExitDeadline deadline) {
        const auto open = weak.lock();
        return open == nullptr || open->leave(deadline);
      });
  const execution::Engine& engine = handle->client->engine();
  const Napi::Object value = Napi::Object::New(env);
  value.Set("inputs", tensorsValue(env, engine.inputs()));
  value.Set("outputs", tensorsValue(env, engine.outputs()));
  value.Set("unsupported", unsupportedValue(env, engine.unsupported()));
  value.Set("library", engine.runtime());
  value.Set("device", engine.deviceIndex());
  value.Set("queue", queueValue(env, *handle->client->session()));
  value.Set("close", keeping(env, closeEngine, "close", handle));
  value.Set("share", keeping(env, share, "share", handle));
  value.Set("shareQueue", keeping(env, shareQueue, "shareQueue", handle));
  value.Set("memory", keeping(env, memory, "memory", handle));
  value.Set("runtimeCache", keeping(env, runtimeCache, "runtimeCache", handle));
  value.Set("prepared", keeping(env, prepared, "prepared", handle));
  value.Set("allocate", keeping(env, allocate, "allocate", handle));
  exportReleased(env, value);
  exportInference(env, value, handle);
  exportStats(env, value, handle);
  exportUpload(env, value, handle);
  exportObserved(env, value, handle);
  value.Set("audit", keeping(env, audit, "audit", handle));
  value.Set("benchmark", keeping(env, benchmark, "benchmark", handle));
  return value;
}

// Before anything runs on the engine: its weights, where the user gave them, or the refusal of one that has none, or
// whose outputs mean nothing.
decltype(gpu::Loading::prepare) preparing(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                          const PlanToOpen& plan, const std::optional<refitting::OnnxSource>& weights) {
  const bool noted = plan.stripped;
  const bool allowed = plan.placeholderRanges;
  return [&library, &device, noted, allowed, &weights](const std::shared_ptr<tensorrt::CudaEngine>& engine) {
    tensorrt::withLog(library.log(), [&] {
      if (!allowed && building::hasPlaceholderRanges(*engine)) {
        throw Error("ERR_TRT_PLACEHOLDER_RANGES",
                    "The plan '" + engine->name() + "' has ranges of INT8 that nobody measured");
      }
      const bool stripped = refitting::isStripped(*engine, noted);
      if (weights) return refitting::refitFromOnnx(device, engine, stripped, *weights);
      if (stripped) refitting::refuseStripped(device, engine);
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
    const auto memoryLimit = static_cast<std::size_t>(std::max<int64_t>(integerOf(options, "memoryLimit", 0), 0));
    const auto compiled =
        options.Has("runtimeCache") ? bytesOf(options.Get("runtimeCache"), "runtimeCache") : std::vector<uint8_t>();
    return openSession(info.Env(), options, [plan, weights, memoryLimit, compiled] {
      const auto [library, device] = plan.place();
      return gpu::Engine::load(library, device, plan.source(),
                               {plan.needs, preparing(library, device, plan, *weights), memoryLimit, compiled});
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

// joinEngine(name: string): engine, on its owner's lanes
Napi::Value joinEngine(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    auto session = execution::sharedSession(info[0].As<Napi::String>().Utf8Value());
    return engineValue(info.Env(), clientOf(Environment::of(info.Env()), std::move(session)));
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
    const auto made = clientOf(environment, std::make_shared<Session>(engine, session));
    return [made](Napi::Env inner) { return engineValue(inner, made); };
  });
}

void exportEngine(Napi::Env env, Napi::Object exports) {
  exports.Set("openEngine", Napi::Function::New(env, openEngine));
  exports.Set("attachEngine", Napi::Function::New(env, attachEngine));
  exports.Set("joinEngine", Napi::Function::New(env, joinEngine));
}

}  // namespace nt::node
