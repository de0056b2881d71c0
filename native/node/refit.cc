// openRefitter() and the object that it gives: a plan on a GPU whose weights are replaced. Each call runs on a thread
// of its own; lib/refitter.ts makes them one after another.
#include "refit.h"

#include <mutex>

#include "../tensorrt/deserialize.h"
#include "environment.h"
#include "errors.h"
#include "exports.h"
#include "plan_to_open.h"
#include "values.h"

namespace nt::node {
namespace {

using refitting::RefittableEngine;

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

RefitterHandle& refitterOf(const Napi::CallbackInfo& info) { return kept<RefitterHandle>(info); }

// Runs `work(refitter)` on a thread; it gives what makes the promise's value.
template <class Work>
Napi::Value onRefitter(const Napi::CallbackInfo& info, Work work) {
  const RefitterHandle& handle = refitterOf(info);
  if (!handle.shared) throw Error("ERR_TRT_CLOSED", "The refitter is closed");
  return handle.environment->run(info.Env(),
                                 [shared = handle.shared, work = std::move(work)]() mutable -> Environment::Finish {
                                   const std::lock_guard lock(shared->mutex);
                                   if (!shared->refitter) throw Error("ERR_TRT_CLOSED", "The refitter is closed");
                                   RefittableEngine& refitter = *shared->refitter;
                                   return tensorrt::withLog(refitter.engine().library().log(),
                                                            [&] { return Environment::Finish(work(refitter)); });
                                 });
}

Napi::Value undefined(Napi::Env env) { return env.Undefined(); }

Napi::Value weightsValue(Napi::Env env, const std::vector<refitting::WeightsFacts>& all) {
  const Napi::Array array = Napi::Array::New(env, all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Napi::Object value = Napi::Object::New(env);
    value.Set("name", all[i].name);
    if (all[i].dtype) value.Set("dtype", dtypeName(*all[i].dtype));
    if (all[i].count) value.Set("count", static_cast<double>(*all[i].count));
    value.Set("missing", all[i].missing);
    array.Set(static_cast<uint32_t>(i), value);
  }
  return array;
}

// weights(): Promise<{ name, dtype?, count?, missing }[]>
Napi::Value weights(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    return onRefitter(info, [](const RefittableEngine& refitter) {
      return [all = refitter.weights()](Napi::Env env) { return weightsValue(env, all); };
    });
  });
}

// set(name, dtype, elements, bytes: Uint8Array): Promise<void>
Napi::Value set(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const std::string name = info[0].As<Napi::String>().Utf8Value();
    const auto dtype = dtypeByName(info[1].As<Napi::String>().Utf8Value());
    if (!dtype) throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected a data type");
    const int64_t count = info[2].As<Napi::Number>().Int64Value();
    const auto bytes = std::make_shared<std::vector<uint8_t>>(bytesOf(info[3], "the weights"));
    if (byteSize(*dtype, {count}) != bytes->size()) {
      throw Error("ERR_TRT_SHAPE", "Expected as many bytes as the elements of '" + name + "' take");
    }
    return onRefitter(info, [name, dtype, count, bytes](RefittableEngine& refitter) {
      refitter.set(name, *dtype, count, std::move(*bytes));
      return undefined;
    });
  });
}

// setFromOnnx({ model } or { path }): Promise<void>
Napi::Value setFromOnnx(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const auto source = std::make_shared<std::optional<refitting::OnnxSource>>(onnxSourceOf(info[0]));
    if (!*source) throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected an ONNX model");
    return onRefitter(info, [source](RefittableEngine& refitter) {
      refitter.set(**source);
      return undefined;
    });
  });
}

// refit(refittable): Promise<{ plan, library, kind, version }>
Napi::Value refit(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const bool refittable = info[0].ToBoolean().Value();
    return onRefitter(info, [refittable](RefittableEngine& refitter) {
      const tensorrt::Library& library = refitter.engine().library();
      // asked before the engine is changed
      if (refittable) library.require(tensorrt::Enumerator::SerializationFlag_kINCLUDE_REFIT);
      refitter.refit();
      const std::shared_ptr<tensorrt::HostMemory> plan = refitter.serialize(refittable);
      return [plan, &library](Napi::Env env) -> Napi::Value {
        const Napi::Object value = Napi::Object::New(env);
        value.Set("plan", externalBuffer(env, plan->data(), plan->size(), plan));
        value.Set("library", library.name());
        value.Set("kind", tensorrt::kindName(library.kind()));
        value.Set("version", library.version().text());
        return value;
      };
    });
  });
}

// close(): waits for what runs, then frees
Napi::Value closeRefitter(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    RefitterHandle& handle = refitterOf(info);
    return handle.environment->run(info.Env(),
                                   [shared = std::exchange(handle.shared, nullptr)]() -> Environment::Finish {
                                     free(shared);
                                     return undefined;
                                   });
  });
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
  value.Set("weights", keeping(env, weights, "weights", handle));
  value.Set("set", keeping(env, set, "set", handle));
  value.Set("setFromOnnx", keeping(env, setFromOnnx, "setFromOnnx", handle));
  value.Set("refit", keeping(env, refit, "refit", handle));
  value.Set("close", keeping(env, closeRefitter, "close", handle));
  return value;
}

// openRefitter(plan: Uint8Array, { tensorrt, device, origin?, stripped? }): Promise<refitter>
Napi::Value openRefitter(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const PlanToOpen plan = planToOpen(info);
    return Environment::of(info.Env())->run(info.Env(), [plan]() -> Environment::Finish {
      const PlanToOpen::Place place = plan.place();
      const auto shared = std::make_shared<Shared>();
      tensorrt::withLog(place.library.log(), [&] {
        auto engine = tensorrt::deserialize(place.library, place.device, plan.source(), plan.needs);
        const bool stripped = refitting::isStripped(*engine, plan.stripped);
        shared->refitter = std::make_unique<RefittableEngine>(place.device, std::move(engine), stripped);
      });
      return [shared](Napi::Env env) { return refitterValue(env, shared); };
    });
  });
}

}  // namespace

std::optional<refitting::OnnxSource> onnxSourceOf(const Napi::Value& value) {
  if (!value.IsObject()) return std::nullopt;
  const Napi::Object object = value.As<Napi::Object>();
  refitting::OnnxSource source;
  source.path = stringOf(object, "path");
  if (!object.Get("model").IsUndefined()) source.model = bytesOf(object.Get("model"), "model");
  return source;
}

void exportRefit(Napi::Env env, Napi::Object exports) {
  exports.Set("openRefitter", Napi::Function::New(env, openRefitter));
}

}  // namespace nt::node
