// openEngine(), attachEngine(), joinEngine() and the object of an engine with lanes of its own.
#include "../gpu/engine.h"

#include "../building/placeholder_ranges.h"
#include "../execution/registry.h"
#include "benchmark.h"
#include "engine.h"
#include "exports.h"
#include "handle.h"
#include "pinned.h"
#include "plan_to_open.h"
#include "refit.h"

namespace nt::node {

using execution::BatchingOptions;
using execution::Client;
using execution::LaneOptions;
using execution::QueuePolicy;
using execution::Session;
using execution::SessionOptions;
using execution::WaitMode;

template <>
inline WaitMode fromJs(const Napi::Value& value, const std::string& name) {
  const auto mode = fromJs<std::string>(value, name);
  return mode == "spin" ? WaitMode::spin : mode == "block" ? WaitMode::block : WaitMode::adaptive;
}
// NativeSessionOptions of lib/backend/native-types.ts, where they are checked and completed.
template <>
inline constexpr auto fieldsOf<QueuePolicy> =
    std::tuple(Field("maxQueue", &QueuePolicy::maxQueue), Field("queueTimeoutMs", &QueuePolicy::timeout),
               Field("delays", &QueuePolicy::delays));
template <>
inline constexpr auto fieldsOf<BatchingOptions> =
    std::tuple(Field("maxBatch", &BatchingOptions::maxBatch), Field("maxDelayMs", &BatchingOptions::maxDelay),
               Field("preferred", &BatchingOptions::preferred), Field("pad", &BatchingOptions::pad),
               Field("preserveOrder", &BatchingOptions::preserveOrder), Field("holdUntil", &BatchingOptions::holdUntil),
               Field("defaultLevel", &BatchingOptions::defaultLevel), Field("levels", &BatchingOptions::levels));
template <>
inline constexpr auto fieldsOf<LaneOptions> =
    std::tuple(Field("profile", &LaneOptions::profile), Field("highPriority", &LaneOptions::highPriority),
               Field("graphs", &LaneOptions::captureGraphs), Field("slots", &LaneOptions::slots));
template <>
inline constexpr auto fieldsOf<SessionOptions> =
    std::tuple(Field("lanes", &SessionOptions::lanes), Field("maxQueue", &SessionOptions::maxQueue),
               Field("maxQueueBytes", &SessionOptions::maxQueueBytes), Field("wait", &SessionOptions::wait),
               Field("batching", &SessionOptions::batching));
// NativePlanOptions there, as far as they are limits.
template <>
inline constexpr auto fieldsOf<cuda::Limits> = std::tuple(Field("memoryLimit", &cuda::Limits::memory));
template <>
inline constexpr auto fieldsOf<Session::Memory> =
    std::tuple(Field("device", &Session::Memory::device), Field("pinned", &Session::Memory::pinned),
               Field("pinnedKept", &Session::Memory::pinnedKept), Field("queued", &Session::Memory::queued),
               Field("tensors", &Session::Memory::tensors), Field("tensorsKept", &Session::Memory::tensorsKept));

namespace {

SessionOptions sessionOptionsOf(const Napi::Object& options) {
  SessionOptions session;
  readFields(options, session);
  readFields(options, session.lane);
  session.lane.merging = !options.Get("batching").IsUndefined();
  session.lane.pad = session.batching.pad;
  if (session.batching.defaultLevel < 1 || session.batching.defaultLevel > session.batching.levels.size())
    throwExpected("one of the levels", "defaultLevel");
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

// close(): Promise<{ stats, counters } | undefined>: refuses new work, runs what it has queued; the last one frees the
// lanes, and the last user of the engine the weights. What all of it came to; nothing where it was closed before.
Napi::Value closeEngine(const Napi::CallbackInfo& info) {
  EngineHandle& handle = handleOf(info);
  auto client = std::exchange(handle.client, nullptr);
  const auto cancel = dropping(client);
  const auto patience = patienceOf(client);
  auto end = [client = std::move(client)]() mutable -> Environment::Finish {
    if (!client) return [](Napi::Env env) { return env.Undefined(); };
    client->close();
    const auto report = std::make_shared<const Report>(reportOf(*client->session()));
    client.reset();
    return [report](Napi::Env env) { return reportValue(env, *report); };
  };
  return handle.environment->run(info.Env(), std::move(end), cancel, patience);
}

std::string share(const Napi::CallbackInfo& info) { return execution::shareEngine(handleOf(info).open().session()); }

std::string shareQueue(const Napi::CallbackInfo& info) {
  return execution::shareSession(handleOf(info).open().session());
}

Session::Memory memory(const Napi::CallbackInfo& info) { return handleOf(info).open().session()->memory(); }

// runtimeCache(): Promise<ArrayBuffer | undefined>: what TensorRT-RTX compiled, where that is more than was known
Napi::Value runtimeCache(const Napi::CallbackInfo& info) {
  const EngineHandle& handle = handleOf(info);
  const auto engine = std::dynamic_pointer_cast<gpu::Engine>(handle.open().sharedEngine());
  return handle.environment->run(info.Env(), [engine]() -> Environment::Finish {
    auto changed = engine ? engine->changedRuntimeCache() : std::nullopt;
    if (!changed) return [](Napi::Env env) { return env.Undefined(); };
    const auto bytes = std::make_shared<std::vector<uint8_t>>(std::move(*changed));
    return [bytes](Napi::Env env) { return externalBuffer(env, bytes->data(), bytes->size(), bytes); };
  });
}

// prepared(): Promise<number>, once all is there that the lanes have had made in the background: how much of it none of
// them has met
Napi::Value prepared(const Napi::CallbackInfo& info) {
  const EngineHandle& handle = handleOf(info);
  return handle.environment->run(info.Env(), [engine = handle.open().sharedEngine()]() -> Environment::Finish {
    const auto unmet = static_cast<double>(engine->awaitPrepared());
    return [unmet](Napi::Env env) { return Napi::Number::New(env, unmet); };
  });
}

// allocate(bytes): an ArrayBuffer in pinned memory
Napi::Value allocate(const Napi::CallbackInfo& info) {
  constexpr double kMostSafe = 9007199254740991;  // Number.MAX_SAFE_INTEGER
  const double bytes = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : -1;
  if (!(bytes >= 0 && bytes <= kMostSafe)) {
    throwExpected("a number of bytes");
  }
  const execution::Engine& engine = handleOf(info).open().engine();
  engine.throwIfLost();
  return allocatePinned(info.Env(), engine.pool(), static_cast<std::size_t>(bytes));
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
  const SessionOptions& options = session.options();
  return objectOf(env, Field("batches", session.slots()), Field("maxBatch", options.batching.maxBatch),
                  Field("maxQueue", options.maxQueue), Field("levels", options.batching.levels.size()),
                  Field("defaultLevel", options.batching.defaultLevel), Field("maxQueueBytes", options.maxQueueBytes));
}

// Completions go to the environment; `session` is what the engine works with.
std::shared_ptr<Client> clientOf(const std::shared_ptr<Environment>& environment, std::shared_ptr<Session> session) {
  return std::make_shared<Client>(std::move(session), [environment](std::vector<execution::Completion> completions) {
    environment->complete(std::move(completions));
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
  const Napi::Object value =
      objectOf(env, Field("inputs", engine.inputs()), Field("outputs", engine.outputs()),
               Field("optionalInputs", engine.optionals()), Field("customMetadata", engine.metadata()),
               Field("unsupported", engine.unsupported()), Field("library", engine.runtime()),
               Field("device", engine.deviceIndex()), Field("queue", queueValue(env, *handle->client->session())));
  setFunctions(value, handle,
               {{"close", guarded<closeEngine>},
                {"share", guarded<share>},
                {"shareQueue", guarded<shareQueue>},
                {"memory", guarded<memory>},
                {"runtimeCache", guarded<runtimeCache>},
                {"prepared", guarded<prepared>},
                {"allocate", guarded<allocate>},
                {"audit", guarded<audit>},
                {"benchmark", guarded<benchmark>}});
  exportReleased(value);
  exportInference(value, handle);
  exportStats(value, handle);
  exportUpload(value, handle);
  return value;
}

// Before anything runs on the engine: its weights, where the user gave them, or the refusal of one that has none, or
// whose outputs mean nothing.
decltype(gpu::Loading::prepare) preparing(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                          const PlanToOpen& plan, const std::optional<building::OnnxSource>& weights) {
  const bool noted = plan.stripped;
  const bool allowed = plan.allowPlaceholderRanges;
  return [&library, &device, noted, allowed, &weights](const std::shared_ptr<tensorrt::CudaEngine>& engine) {
    tensorrt::withLog(library.log(), [&] {
      if (!allowed && building::hasPlaceholderRanges(*engine)) {
        throw Error("ERR_TRT_PLACEHOLDER_RANGES",
                    "The plan '" + engine->name() + "' has ranges of INT8 that nobody measured");
      }
      const bool stripped = building::isStripped(*engine, noted);
      if (weights) return building::refitFromOnnx(device, engine, stripped, *weights);
      if (stripped) building::refuseStripped(device, engine);
    });
  };
}

// openEngine(plan: Uint8Array, options): Promise<engine>
Napi::Value openEngine(const Napi::CallbackInfo& info) {
  const PlanToOpen plan = planToOpen(info);
  const auto options = fromJs<Napi::Object>(info[1], "options");
  using Weights = std::optional<building::OnnxSource>;
  const auto weights = std::make_shared<const Weights>(property<Weights>(options, "weights"));
  const auto loading = std::make_shared<gpu::Loading>();
  loading->needs = plan.needs;
  loading->limits = fromJs<cuda::Limits>(options, "options");
  loading->runtimeCache = property<std::vector<uint8_t>>(options, "runtimeCache");
  loading->metadata = property<execution::Metadata>(options, "customMetadata");
  return openSession(info.Env(), options, [plan, weights, loading] {
    const auto [library, device] = plan.place();
    loading->prepare = preparing(library, device, plan, *weights);
    return gpu::Engine::load(library, device, plan.source(), *loading);
  });
}

// attachEngine(name: string, options): Promise<engine>
Napi::Value attachEngine(const Napi::CallbackInfo& info) {
  // found now, so that it stays when its owner closes before this is done
  const auto engine = execution::sharedEngine(fromJs<std::string>(info[0], "name"));
  return openSession(info.Env(), fromJs<Napi::Object>(info[1], "options"), [engine] { return engine; });
}

// joinEngine(name: string): engine, on its owner's lanes
Napi::Value joinEngine(const Napi::CallbackInfo& info) {
  auto session = execution::sharedSession(fromJs<std::string>(info[0], "name"));
  return engineValue(info.Env(), clientOf(Environment::of(info.Env()), std::move(session)));
}

}  // namespace

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

void exportEngine(Napi::Object exports) {
  setFunctions(exports, {{"openEngine", guarded<openEngine>},
                         {"attachEngine", guarded<attachEngine>},
                         {"joinEngine", guarded<joinEngine>}});
}

}  // namespace nt::node
