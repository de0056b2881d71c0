// build(): ONNX → plan on a thread of its own.
#include "../building/build.h"

#include <optional>

#include "../cuda/device.h"
#include "../finding/choose.h"
#include "calibration.h"
#include "environment.h"
#include "exports.h"

namespace nt::node {

using building::InputShapes;
using building::LayerTypes;
using building::NetworkAudit;
using building::TensorFacts;
using building::TensorFormat;
using building::TimingCacheFacts;
using building::TimingCacheRequest;

template <>
inline constexpr auto fieldsOf<TensorFormat> = std::tuple(
    Field("name", &TensorFormat::name), Field("dtype", &TensorFormat::dtype), Field("formats", &TensorFormat::formats));
template <>
inline constexpr auto fieldsOf<LayerTypes> =
    std::tuple(Field("name", &LayerTypes::name), Field("types", &LayerTypes::types));
// The options of a build, and what TensorRT reports of them: NativeOptions of lib/backend/native-types.ts.
template <>
inline constexpr auto fieldsOf<building::Options> =
    std::tuple(Field("values", &building::Options::values), Field("inputFormats", &building::Options::inputFormats),
               Field("outputFormats", &building::Options::outputFormats),
               Field("layerPrecisions", &building::Options::layerPrecisions),
               Field("layerOutputTypes", &building::Options::layerOutputTypes));
template <>
inline constexpr auto fieldsOf<InputShapes> =
    std::tuple(Field("name", &InputShapes::name),
               Field(
                   "min", [](InputShapes& i) -> auto& { return i.range.min; }),
               Field(
                   "opt", [](InputShapes& i) -> auto& { return i.range.opt; }),
               Field(
                   "max", [](InputShapes& i) -> auto& { return i.range.max; }));
template <>
inline constexpr auto fieldsOf<TimingCacheRequest> =
    std::tuple(Field("path", &TimingCacheRequest::path), Field("errorOnMiss", &TimingCacheRequest::errorOnMiss),
               Field("editable", &TimingCacheRequest::editable));
template <>
inline constexpr auto fieldsOf<building::Request> =
    std::tuple(Field("path", &building::Request::path), Field("model", &building::Request::model),
               Field("options", &building::Request::options), Field("timingCache", &building::Request::timingCache),
               Field("parseOnly", &building::Request::parseOnly), Field("profiles", &building::Request::profiles));

template <>
inline constexpr auto fieldsOf<TimingCacheFacts> =
    std::tuple(Field("bytesBefore", &TimingCacheFacts::bytesBefore), Field("bytesAfter", &TimingCacheFacts::bytesAfter),
               Field("notKept", &TimingCacheFacts::notKept));
template <>
inline constexpr auto fieldsOf<TensorFacts> =
    std::tuple(Field("name", &TensorFacts::name), Field("dtype", &TensorFacts::dtype),
               Field("shape", &TensorFacts::shape), Field("dimensionNames", &TensorFacts::dimensionNames));
template <>
inline constexpr auto fieldsOf<NetworkAudit> =
    std::tuple(Field("layers", &NetworkAudit::layers), Field("layerTypes", &NetworkAudit::kinds),
               Field("outputTypes", &NetworkAudit::types), Field("quantize", &NetworkAudit::quantize),
               Field("dequantize", &NetworkAudit::dequantize), Field("weightBytes", &NetworkAudit::weightBytes),
               Field("inputs", &NetworkAudit::inputs), Field("outputs", &NetworkAudit::outputs));

template <>
inline building::Value fromJs(const Napi::Value& value, const std::string& name) {
  if (value.IsBoolean()) return fromJs<bool>(value, name);
  if (value.IsNumber()) return fromJs<int64_t>(value, name);
  if (value.IsString()) return fromJs<std::string>(value, name);
  return fromJs<building::Names>(value, name);
}

namespace {

building::Request requestOf(const Napi::Object& options, const std::shared_ptr<CalibrationFeed>& feed) {
  auto request = fromJs<building::Request>(options, "options");
  if (feed) request.calibration = calibrationOf(options.Get("calibration"), feed);
  for (const auto* layers : {&request.options.layerPrecisions, &request.options.layerOutputTypes})
    for (const LayerTypes& layer : *layers)
      if (layer.types.empty()) throwExpected("a data type", "types");
  return request;
}

// The GPU that a plan is for; nothing where the library builds without one.
std::optional<cuda::DeviceFacts> gpuOf(const tensorrt::Library& library, int device) {
  if (library.buildsWithoutGpu()) return std::nullopt;
  return cuda::listDevices(cuda::Driver::withDevice(device)).at(static_cast<std::size_t>(device));
}

Napi::Object builtValue(Napi::Env env, const tensorrt::Library& library, building::Result& result,
                        const std::optional<cuda::DeviceFacts>& gpu) {
  const Napi::Value audit = toJs(env, result.audit);
  const Napi::Object value =
      objectOf(env, Field("library", library.name()), Field("kind", tensorrt::kindName(library.kind())),
               Field("version", library.version().text()), Field("inputs", audit.As<Napi::Object>().Get("inputs")),
               Field("outputs", audit.As<Napi::Object>().Get("outputs")), Field("layers", result.audit.layers),
               Field("audit", audit), Field("parseMs", result.parseMs));
  if (gpu) {
    value.Set("gpu", objectOf(env, Field("name", gpu->name), Field("computeCapability", gpu->computeCapability())));
  }
  const std::shared_ptr<tensorrt::HostMemory> plan = std::move(result.plan);
  if (plan == nullptr) return value;  // only parsed
  value.Set("plan", externalBuffer(env, plan->data(), plan->size(), plan));
  value.Set("settings", toJs(env, result.settings));
  if (result.calibration) setCalibration(value, *result.calibration);
  if (result.timingCache) value.Set("timingCache", toJs(env, *result.timingCache));
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

void answer(const Napi::CallbackInfo& info) { kept<CalibrationFeed>(info).answer(info[0]); }

// build(options, onProgress, ask): { promise, cancel(), answer(value) }; the last two of a calibration
Napi::Value build(const Napi::CallbackInfo& info) {
  const auto options = fromJs<Napi::Object>(info[0], "options");
  const auto environment = Environment::of(info.Env());
  const auto feed =
      info[2].IsFunction() ? std::make_shared<CalibrationFeed>(environment, info[2].As<Napi::Function>()) : nullptr;
  const auto request = std::make_shared<building::Request>(requestOf(options, feed));
  const auto path = property<std::string>(options, "tensorrt");
  const int device = property<int>(options, "device");
  const int listener = info[1].IsFunction() ? environment->hold(info[1].As<Napi::Function>()) : -1;

  const auto report = [environment, listener](const tensorrt::ProgressEvent& event) {
    if (listener < 0) return;
    environment->post([environment, listener, event](Napi::Env env) {
      environment->callHeld(
          env, listener,
          {toJs(env, event.phase), toJs(env, event.parent), toJs(env, event.step), toJs(env, event.steps)});
    });
  };
  const Napi::Object running = environment->runCancellable(
      info.Env(),
      [environment, listener, request, path, device, report](const std::atomic<bool>& cancelled) {
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
          return builtValue(env, library, *result, gpu);
        };
      },
      Environment::AtEnd::leave,  // TensorRT hears of its end between two steps only, and one may take minutes
      [feed] {
        if (feed) feed->cancel();
      });
  if (feed) setFunctions(running, feed, {{"answer", guarded<answer>}});
  return running;
}

}  // namespace

void exportBuild(Napi::Object exports) { setFunctions(exports, {{"build", guarded<build>}}); }

}  // namespace nt::node
