// openEngine() and the object that it gives: a plan on a GPU.
#include "../execution/executor.h"
#include "../tensorrt/choose.h"
#include "environment.h"
#include "errors.h"
#include "exports.h"
#include "values.h"

namespace nt::node {
namespace {

using execution::IoTensor;

constexpr napi_type_tag kEngineTag = {0x6e6f64652d747274, 0x656e67696e652031};

// What the JavaScript object holds. Closed before the environment ends, at the latest by its closer there.
struct EngineHandle {
  std::shared_ptr<execution::Engine> engine;
  std::shared_ptr<execution::Executor> executor;
  std::shared_ptr<Environment> environment;
  Environment::Closers::iterator closer;
};

Napi::Object tensorValue(Napi::Env env, const IoTensor& tensor) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("name", tensor.name);
  value.Set("dtype", tensorrt::dtypeName(tensor.dtype));
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
  return value;
}

Napi::Array tensorsValue(Napi::Env env, const std::vector<IoTensor>& tensors) {
  const Napi::Array array = Napi::Array::New(env);
  for (const IoTensor& tensor : tensors) array.Set(array.Length(), tensorValue(env, tensor));
  return array;
}

EngineHandle& handleOf(const Napi::CallbackInfo& info) {
  bool tagged = false;
  if (info.This().IsObject()) napi_check_object_type_tag(info.Env(), info.This(), &kEngineTag, &tagged);
  if (!tagged) throw Napi::TypeError::New(info.Env(), "Illegal invocation");
  void* handle = nullptr;
  napi_unwrap(info.Env(), info.This(), &handle);
  return *static_cast<EngineHandle*>(handle);
}

std::vector<execution::InputTensor> inputsOf(const Napi::CallbackInfo& info, const execution::Engine& engine) {
  if (info.Length() < 1 || !info[0].IsArray()) throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected an array for inputs");
  const Napi::Array values = info[0].As<Napi::Array>();
  if (values.Length() != engine.inputs().size()) {
    throw Error("ERR_TRT_MISSING_INPUT", "Expected " + std::to_string(engine.inputs().size()) +
                                             " inputs but received " + std::to_string(values.Length()));
  }
  std::vector<execution::InputTensor> inputs;
  for (uint32_t i = 0; i < values.Length(); ++i) {
    const Napi::Object value = values.Get(i).As<Napi::Object>();
    const IoTensor& tensor = engine.inputs()[i];
    execution::InputTensor input{shapeOf(value.Get("shape"), tensor.name.c_str()),
                                 bytesOf(value.Get("data"), tensor.name.c_str())};
    const std::size_t wanted = tensorrt::byteSize(tensor.dtype, input.shape);
    if (input.bytes.size() != wanted) {
      throw Error("ERR_TRT_SHAPE", "Expected " + std::to_string(wanted) + " bytes for input '" + tensor.name +
                                       "' but received " + std::to_string(input.bytes.size()));
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Napi::Value outputsValue(Napi::Env env, std::vector<execution::OutputTensor>& outputs) {
  const Napi::Array array = Napi::Array::New(env);
  for (execution::OutputTensor& output : outputs) {
    const Napi::Object value = Napi::Object::New(env);
    uint8_t* data = output.bytes.get();
    value.Set("shape", shapeValue(env, output.shape));
    value.Set("data", externalBuffer(env, data, output.size, std::shared_ptr<uint8_t[]>(std::move(output.bytes))));
    array.Set(array.Length(), value);
  }
  return array;
}

// engine.run([{ shape, data }]): Promise<[{ shape, data: ArrayBuffer }]>, in the engine's order of inputs and outputs
Napi::Value run(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    EngineHandle& handle = handleOf(info);
    if (!handle.engine) throw Error("ERR_TRT_CLOSED", "The engine is closed");
    Environment::Settle settle;
    execution::Job job{inputsOf(info, *handle.engine), {}};
    const Napi::Promise promise = handle.environment->promise(info.Env(), settle);
    job.done = [settle](std::vector<execution::OutputTensor> outputs, std::exception_ptr failure) {
      const auto kept = std::make_shared<std::vector<execution::OutputTensor>>(std::move(outputs));
      settle(failure, [kept](Napi::Env env) { return outputsValue(env, *kept); });
    };
    try {
      handle.executor->submit(std::move(job));
    } catch (...) {
      settle(std::current_exception(), {});
    }
    return promise;
  });
}

// engine.close(): Promise<void>
Napi::Value close(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    EngineHandle& handle = handleOf(info);
    // the weights go with the last lane, not when the object is collected
    return handle.environment->run(
        info.Env(), [executor = handle.executor, engine = std::move(handle.engine)]() mutable -> Environment::Finish {
          executor->close();
          engine.reset();
          return [](Napi::Env env) { return env.Undefined(); };
        });
  });
}

void finalize(napi_env, void* data, void*) {
  auto* handle = static_cast<EngineHandle*>(data);
  handle->environment->removeCloser(handle->closer);
  // joins the lane's thread, which may still be at work: not on the JavaScript thread
  std::thread([handle] { delete handle; }).detach();
}

Napi::Value engineValue(Napi::Env env, std::shared_ptr<execution::Engine> engine,
                        std::shared_ptr<execution::Executor> executor) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("inputs", tensorsValue(env, engine->inputs()));
  value.Set("outputs", tensorsValue(env, engine->outputs()));
  value.Set("library", engine->library().name());
  value.Set("run", Napi::Function::New(env, run));
  value.Set("close", Napi::Function::New(env, close));
  const auto environment = Environment::of(env);
  auto* handle = new EngineHandle{std::move(engine), executor, environment,
                                  environment->addCloser([executor] { executor->close(); })};
  if (napi_wrap(env, value, handle, finalize, nullptr, nullptr) != napi_ok ||
      napi_type_tag_object(env, value, &kEngineTag) != napi_ok) {
    throw Error("ERR_TRT_EXECUTION", "Node refused to wrap an engine");
  }
  return value;
}

// openEngine(plan: Uint8Array, { tensorrt, device }): Promise<engine>
Napi::Value openEngine(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const auto plan = std::make_shared<std::vector<uint8_t>>(bytesOf(info[0], "plan"));
    const Napi::Object options = objectArgument(info, 1, "options");
    const std::string path = stringOf(options, "tensorrt");
    const int device = static_cast<int>(integerOf(options, "device", 0));
    return Environment::of(info.Env())->run(info.Env(), [plan, path, device]() -> Environment::Finish {
      const auto header = tensorrt::readPlanHeader(plan->data(), plan->size());
      if (!header)
        throw Error("ERR_TRT_PLAN",
                    "The " + std::to_string(plan->size()) + " bytes do not begin as a TensorRT plan does");
      const tensorrt::Library& library = tensorrt::chooseForPlan(path, *header);
      // asked before TensorRT: without a driver its entry points return garbage
      const cuda::DeviceContext& context = cuda::DeviceContext::get(device);
      auto engine = execution::Engine::load(library, context, plan->data(), plan->size());
      auto executor = std::make_shared<execution::Executor>(engine);
      return [engine, executor](Napi::Env env) { return engineValue(env, engine, executor); };
    });
  });
}

}  // namespace

void exportEngine(Napi::Env env, Napi::Object exports) {
  exports.Set("openEngine", Napi::Function::New(env, openEngine));
}

}  // namespace nt::node
