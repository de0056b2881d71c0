// openRefitter() and the object that it gives: a plan on a GPU whose weights are replaced. Each call runs on a thread
// of its own; lib/refitter.ts makes them one after another.
#include "refit.h"

#include <mutex>

#include "../gpu/deserialize.h"
#include "environment.h"
#include "exports.h"
#include "plan_to_open.h"

namespace nt::node {

using building::WeightsFacts;

template <>
inline constexpr auto fieldsOf<WeightsFacts> =
    std::tuple(Field("name", &WeightsFacts::name), Field("dtype", &WeightsFacts::dtype),
               Field("count", &WeightsFacts::count), Field("missing", &WeightsFacts::missing));

namespace {

using building::RefittableEngine;

struct Shared {
  std::mutex mutex;  // TensorRT's refitter is for one thread at a time
  std::unique_ptr<RefittableEngine> refitter;
};

struct RefitterHandle {
  std::shared_ptr<Shared> shared;  // null once closed
  std::shared_ptr<Environment> environment;
  Environment::Closers::iterator closer;
};

void free(const std::shared_ptr<Shared>& shared) {
  if (!shared) return;
  const std::lock_guard lock(shared->mutex);
  shared->refitter.reset();
}

// Runs `work(refitter)` on a thread.
template <class Work>
Napi::Value onRefitter(const Napi::CallbackInfo& info, Work work) {
  const RefitterHandle& handle = kept<RefitterHandle>(info);
  if (!handle.shared) throw Error("ERR_TRT_CLOSED", "The refitter is closed");
  return handle.environment->run(info.Env(), [shared = handle.shared, work = std::move(work)]() mutable {
    const std::lock_guard lock(shared->mutex);
    if (!shared->refitter) throw Error("ERR_TRT_CLOSED", "The refitter is closed");
    RefittableEngine& refitter = *shared->refitter;
    return tensorrt::withLog(refitter.engine().library().log(), [&] { return work(refitter); });
  });
}

// weights(): Promise<{ name, dtype?, count?, missing }[]>
Napi::Value weights(const Napi::CallbackInfo& info) {
  return onRefitter(info, [](const RefittableEngine& refitter) { return refitter.weights(); });
}

// set(name, dtype, elements, bytes: Uint8Array): Promise<void>
Napi::Value set(const Napi::CallbackInfo& info) {
  const auto name = fromJs<std::string>(info[0], "the name");
  const auto dtype = fromJs<DType>(info[1], "the weights");
  const auto count = fromJs<int64_t>(info[2], "the number of elements");
  const auto bytes = std::make_shared<std::vector<uint8_t>>(bytesOf(info[3], "the weights"));
  if (byteSize(dtype, {count}) != bytes->size()) {
    throw Error("ERR_TRT_SHAPE", "Expected as many bytes as the elements of '" + name + "' take");
  }
  return onRefitter(info, [name, dtype, count, bytes](RefittableEngine& refitter) {
    refitter.set(name, dtype, count, std::move(*bytes));
  });
}

// setFromOnnx({ model } or { path }): Promise<void>
Napi::Value setFromOnnx(const Napi::CallbackInfo& info) {
  if (!info[0].IsObject()) throwExpected("an ONNX model");
  const auto source = std::make_shared<building::OnnxSource>(fromJs<building::OnnxSource>(info[0], "source"));
  return onRefitter(info, [source](RefittableEngine& refitter) { refitter.set(*source); });
}

// refit(refittable): Promise<{ plan, library, kind, version }>
Napi::Value refit(const Napi::CallbackInfo& info) {
  const bool refittable = info[0].ToBoolean().Value();
  return onRefitter(info, [refittable](RefittableEngine& refitter) {
    const tensorrt::Library& library = refitter.engine().library();
    // asked before the engine is changed
    if (refittable) library.require(tensorrt::Enumerator::SerializationFlag_kINCLUDE_REFIT);
    refitter.refit();
    const std::shared_ptr<tensorrt::HostMemory> plan = refitter.serialize(refittable);
    return [plan, &library](Napi::Env env) {
      return objectOf(env, Field("plan", externalBuffer(env, plan->data(), plan->size(), plan)),
                      Field("library", library.name()), Field("kind", tensorrt::kindName(library.kind())),
                      Field("version", library.version().text()));
    };
  });
}

// close(): waits for what runs, then frees
Napi::Value closeRefitter(const Napi::CallbackInfo& info) {
  auto& handle = kept<RefitterHandle>(info);
  return handle.environment->run(info.Env(), [shared = std::exchange(handle.shared, nullptr)] { free(shared); });
}

// The last function of the object is gone: freeing may take a while, so it is done on a thread.
struct DisposeRefitter {
  void operator()(RefitterHandle* handle) const {
    handle->environment->removeCloser(handle->closer);
    if (handle->shared) {
      try {
        handle->environment->background([shared = std::move(handle->shared)] { free(shared); });
      } catch (const std::exception&) {
        // the system has no thread left: it goes here
      }
    }
    delete handle;
  }
};

Napi::Value refitterValue(Napi::Env env, std::shared_ptr<Shared> shared) {
  const auto environment = Environment::of(env);
  const std::shared_ptr<RefitterHandle> handle(new RefitterHandle{std::move(shared), environment, {}},
                                               DisposeRefitter{});
  handle->closer = environment->addCloser([handle = handle.get()] { free(std::exchange(handle->shared, nullptr)); });
  const Napi::Object value = Napi::Object::New(env);
  setFunctions(value, handle,
               {{"weights", guarded<weights>},
                {"set", guarded<set>},
                {"setFromOnnx", guarded<setFromOnnx>},
                {"refit", guarded<refit>},
                {"close", guarded<closeRefitter>}});
  return value;
}

// openRefitter(plan: Uint8Array, { tensorrt, device, origin?, stripped? }): Promise<refitter>
Napi::Value openRefitter(const Napi::CallbackInfo& info) {
  const PlanToOpen plan = planToOpen(info);
  return Environment::of(info.Env())->run(info.Env(), [plan] {
    const PlanToOpen::Place place = plan.place();
    const auto shared = std::make_shared<Shared>();
    tensorrt::withLog(place.library.log(), [&] {
      auto engine = gpu::deserialize(place.library, place.device, plan.source(), plan.needs);
      const bool stripped = building::isStripped(*engine, plan.stripped);
      shared->refitter = std::make_unique<RefittableEngine>(place.device, std::move(engine), stripped);
    });
    return [shared](Napi::Env env) { return refitterValue(env, shared); };
  });
}

}  // namespace

void exportRefit(Napi::Object exports) { setFunctions(exports, {{"openRefitter", guarded<openRefitter>}}); }

}  // namespace nt::node
