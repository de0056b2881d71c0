// build(): ONNX → plan on a thread of its own.
#include "../building/build.h"

#include <optional>

#include "../cuda/device.h"
#include "../finding/choose.h"
#include "audit.h"
#include "calibration.h"
#include "environment.h"
#include "errors.h"
#include "exports.h"
#include "options.h"
#include "values.h"

namespace nt::node {
namespace {

building::ProfileShapes profileOf(const Napi::Value& value) {
  building::ProfileShapes profile;
  const Napi::Array entries = value.As<Napi::Array>();
  for (uint32_t i = 0; i < entries.Length(); ++i) {
    const Napi::Object entry = entries.Get(i).As<Napi::Object>();
    profile.emplace_back(stringOf(entry, "name"),
                         building::ShapeRange{integersOf(entry.Get("min"), "min"), integersOf(entry.Get("opt"), "opt"),
                                              integersOf(entry.Get("max"), "max")});
  }
  return profile;
}

building::TimingCacheRequest timingCacheOf(const Napi::Value& value) {
  if (value.IsUndefined()) return {};
  const Napi::Object options = value.As<Napi::Object>();
  return {stringOf(options, "path"), integerOf(options, "errorOnMiss", 0) != 0, integerOf(options, "editable", 0) != 0};
}

building::Request requestOf(const Napi::Object& options, const std::shared_ptr<CalibrationFeed>& feed) {
  building::Request request;
  if (feed) request.calibration = calibrationOf(options.Get("calibration").As<Napi::Object>(), feed);
  request.path = stringOf(options, "path");
  if (!options.Get("model").IsUndefined()) request.model = bytesOf(options.Get("model"), "model");
  request.options = optionsOf(options.Get("options"));
  request.timingCache = timingCacheOf(options.Get("timingCache"));
  request.parseOnly = integerOf(options, "parseOnly", 0) != 0;
  const Napi::Array profiles = options.Get("profiles").As<Napi::Array>();
  for (uint32_t i = 0; i < profiles.Length(); ++i) request.profiles.push_back(profileOf(profiles.Get(i)));
  return request;
}

Napi::Object timingCacheValue(Napi::Env env, const building::TimingCacheFacts& facts) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("bytesBefore", static_cast<double>(facts.bytesBefore));
  value.Set("bytesAfter", static_cast<double>(facts.bytesAfter));
  return value;
}

// The GPU that a plan is for; nothing where the library builds without one.
std::optional<cuda::DeviceFacts> gpuOf(const tensorrt::Library& library, int device) {
  if (library.buildsWithoutGpu()) return std::nullopt;
  return cuda::listDevices(cuda::Driver::withDevice(device)).at(static_cast<std::size_t>(device));
}

void setGpu(Napi::Env env, Napi::Object& object, const std::optional<cuda::DeviceFacts>& gpu) {
  if (!gpu) return;
  Napi::Object value = Napi::Object::New(env);
  value.Set("name", gpu->name);
  value.Set("computeCapability", gpu->computeCapability());
  object.Set("gpu", value);
}

Napi::Object builtValue(Napi::Env env, const tensorrt::Library& library, building::Result& result) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("library", library.name());
  value.Set("kind", tensorrt::kindName(library.kind()));
  value.Set("version", library.version().text());
  const Napi::Object audit = auditValue(env, result.audit);
  for (const char* name : {"inputs", "outputs", "layers"}) value.Set(name, audit.Get(name));
  value.Set("audit", audit);
  value.Set("parseMs", result.parseMs);
  const std::shared_ptr<tensorrt::HostMemory> plan = std::move(result.plan);
  if (plan == nullptr) return value;  // only parsed
  value.Set("plan", externalBuffer(env, plan->data(), plan->size(), plan));
  value.Set("settings", settingsValue(env, result.settings));
  if (result.calibration) setCalibration(value, *result.calibration);
  if (result.timingCache) value.Set("timingCache", timingCacheValue(env, *result.timingCache));
  value.Set("buildMs", result.buildMs);
  return value;
}

building::Result runBuild(const tensorrt::Library& library, const building::Request& request,
                          tensorrt::ProgressMonitor::Listener listener, const std::atomic<bool>& cancelled) {
  const tensorrt::LogCapture log(library.log());
  try {
    return building::build(library, request, std::move(listener), cancelled);
  } catch (Error& error) {
    error.attachLog(log.lines());
    throw;
  }
}

Napi::Value answer(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    kept<CalibrationFeed>(info).answer(info[0]);
    return info.Env().Undefined();
  });
}

std::shared_ptr<CalibrationFeed> feedOf(const Napi::CallbackInfo& info) {
  if (info.Length() < 3 || !info[2].IsFunction()) return nullptr;
  return std::make_shared<CalibrationFeed>(Environment::of(info.Env()), info[2].As<Napi::Function>());
}

// build(options, onProgress, ask): { promise, cancel(), answer(value) }; the last two of a calibration
Napi::Value build(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Object options = objectArgument(info, 0, "options");
    const auto feed = feedOf(info);
    const auto request = std::make_shared<building::Request>(requestOf(options, feed));
    const std::string path = stringOf(options, "tensorrt");
    const int device = static_cast<int>(integerOf(options, "device", 0));
    const auto environment = Environment::of(info.Env());
    const int listener =
        info.Length() > 1 && info[1].IsFunction() ? environment->hold(info[1].As<Napi::Function>()) : -1;

    const auto report = [environment, listener](const tensorrt::ProgressEvent& event) {
      if (listener < 0) return;
      environment->post([environment, listener, event](Napi::Env env) {
        environment->callHeld(env, listener,
                              {Napi::String::New(env, event.phase), Napi::String::New(env, event.parent),
                               Napi::Number::New(env, event.step), Napi::Number::New(env, event.steps)});
      });
    };
    const Napi::Object running = environment->runCancellable(
        info.Env(),
        [environment, listener, request, path, device,
         report](const std::atomic<bool>& cancelled) -> Environment::Finish {
          const struct Released {
            const std::shared_ptr<Environment>& environment;
            int listener;
            ~Released() {
              environment->post(
                  [environment = environment, listener = listener](Napi::Env) { environment->release(listener); });
            }
          } released{environment, listener};
          const tensorrt::Library& library = finding::chooseForBuilding(path, device).library;
          std::optional<cuda::DeviceScope> scope;
          if (!library.buildsWithoutGpu()) scope.emplace(cuda::DeviceContext::get(device));
          if (scope && request->calibration) request->calibration->device = &cuda::DeviceContext::get(device);
          const auto result = std::make_shared<building::Result>(runBuild(library, *request, report, cancelled));
          return [&library, result, gpu = gpuOf(library, device)](Napi::Env env) {
            Napi::Object value = builtValue(env, library, *result);
            setGpu(env, value, gpu);
            return value;
          };
        },
        Environment::AtEnd::leave,  // TensorRT hears of its end between two steps only, and one may take minutes
        [feed] {
          if (feed) feed->cancel();
        });
    if (feed) running.Set("answer", keeping<CalibrationFeed>(info.Env(), answer, "answer", feed));
    return running;
  });
}

}  // namespace

void exportBuild(Napi::Env env, Napi::Object exports) { exports.Set("build", Napi::Function::New(env, build)); }

}  // namespace nt::node
