// What this machine has: driver, GPUs, TensorRT libraries, onnxruntime.
#include <optional>

#include "../base/text.h"
#include "../cuda/driver.h"
#include "../finding/abilities.h"
#include "../finding/choose.h"
#include "../finding/find.h"
#include "../onnxruntime/library.h"
#include "../tensorrt/library.h"
#include "environment.h"
#include "errors.h"
#include "exports.h"
#include "values.h"

namespace nt::node {
namespace {

struct LibraryReport {
  std::string path, by, kind, version, name, error, parser, parserError, cannotRun, cannotBuild;
  bool hasBuilder = false, buildsWithoutGpu = false;
};

struct SystemReport {
  std::string driverPath, driverVersion, driverError, searchError;
  std::vector<cuda::DeviceFacts> devices;
  std::vector<LibraryReport> libraries;
};

// The reason that holds for all of the GPUs; empty where there is none, or for one there is not.
std::string forEach(const std::vector<cuda::DeviceFacts>& gpus, const finding::Identity& library,
                    std::string (*why)(const finding::Identity&, const cuda::DeviceFacts&)) {
  std::string first;
  for (const cuda::DeviceFacts& gpu : gpus) {
    std::string reason = why(library, gpu);
    if (reason.empty()) return {};
    if (first.empty()) first = std::move(reason);
  }
  return first;
}

LibraryReport inspectLibrary(const finding::Found& found, const std::vector<cuda::DeviceFacts>& gpus) {
  LibraryReport report;
  report.path = found.path;
  report.by = found.by;
  try {
    const finding::Identity library = finding::identifyWhole(found.path);
    report.path = library.path;
    report.kind = tensorrt::kindName(library.kind);
    report.version = library.version->text();
    report.name = library.name();
    report.hasBuilder = library.hasBuilder;
    report.buildsWithoutGpu = library.kind == tensorrt::Kind::rtx;
    report.cannotRun = forEach(gpus, library, finding::whyNotRun);
    if (!report.hasBuilder) return report;
    report.cannotBuild = forEach(gpus, library, finding::whyNotBuild);
    report.parser = finding::parserOf(library);
  } catch (const Error& error) {
    (report.name.empty() ? report.error : report.parserError) = error.what();
  }
  return report;
}

SystemReport systemReport(const std::string& explicitPath) {
  SystemReport report;
  try {
    const cuda::Driver& driver = cuda::Driver::get();
    report.driverPath = driver.path();
    report.driverVersion = driver.version();
    report.devices = cuda::listDevices(driver);
  } catch (const Error& error) {
    report.driverError = error.what();
  }
  try {
    for (const finding::Found& found : finding::findLibraries(explicitPath)) {
      LibraryReport library = inspectLibrary(found, report.devices);
      const bool known =
          std::ranges::any_of(report.libraries, [&](const auto& other) { return other.path == library.path; });
      if (!known) report.libraries.push_back(std::move(library));
    }
  } catch (const Error& error) {
    report.searchError = error.what();
  }
  return report;
}

// Empty texts are left out: absent means "nothing to say".
void setText(Napi::Object& object, const char* key, const std::string& text) {
  if (!text.empty()) object.Set(key, text);
}

Napi::Object libraryValue(Napi::Env env, const LibraryReport& library) {
  Napi::Object value = Napi::Object::New(env);
  setText(value, "path", library.path);
  setText(value, "foundBy", library.by);
  setText(value, "kind", library.kind);
  setText(value, "version", library.version);
  setText(value, "name", library.name);
  setText(value, "parser", library.parser);
  setText(value, "parserError", library.parserError);
  setText(value, "error", library.error);
  setText(value, "cannotRun", library.cannotRun);
  setText(value, "cannotBuild", library.cannotBuild);
  value.Set("hasBuilder", library.hasBuilder);
  value.Set("buildsWithoutGpu", library.buildsWithoutGpu);
  return value;
}

Napi::Object deviceValue(Napi::Env env, const cuda::DeviceFacts& device) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("index", device.index);
  value.Set("name", device.name);
  value.Set("computeCapability", device.computeCapability());
  value.Set("memory", static_cast<double>(device.memory));
  value.Set("multiprocessors", device.multiprocessors);
  value.Set("integrated", device.integrated);
  return value;
}

Napi::Value reportValue(Napi::Env env, const SystemReport& report) {
  Napi::Object value = Napi::Object::New(env);
  Napi::Object driver = Napi::Object::New(env);
  setText(driver, "path", report.driverPath);
  setText(driver, "version", report.driverVersion);
  setText(driver, "error", report.driverError);
  value.Set("driver", driver);
  const Napi::Array devices = Napi::Array::New(env);
  for (const auto& device : report.devices) devices.Set(devices.Length(), deviceValue(env, device));
  value.Set("devices", devices);
  const Napi::Array libraries = Napi::Array::New(env);
  for (const auto& library : report.libraries) libraries.Set(libraries.Length(), libraryValue(env, library));
  value.Set("libraries", libraries);
  setText(value, "searchError", report.searchError);
  return value;
}

// inspectSystem(explicitPath: string): Promise<report>
Napi::Value inspectSystem(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const std::string path = info.Length() > 0 && info[0].IsString() ? info[0].As<Napi::String>().Utf8Value() : "";
    return Environment::of(info.Env())->run(info.Env(), [path]() -> Environment::Finish {
      return [report = systemReport(path)](Napi::Env env) { return reportValue(env, report); };
    });
  });
}

// findOnnxruntime(path, package): Promise<{ path, version, name }>, of the one that this process uses from now on
Napi::Value findOnnxruntime(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const onnxruntime::Wanted wanted{textArgument(info, 0, "path"), textArgument(info, 1, "package")};
    return Environment::of(info.Env())->run(info.Env(), [wanted]() -> Environment::Finish {
      return [&library = onnxruntime::Library::open(wanted)](Napi::Env env) -> Napi::Value {
        const Napi::Object value = Napi::Object::New(env);
        value.Set("path", library.path());
        value.Set("version", library.version());
        value.Set("name", library.name());
        return value;
      };
    });
  });
}

// locateOnnxruntime(path, package): string, of the one that would be used; none is loaded
Napi::Value locateOnnxruntime(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const onnxruntime::Wanted wanted{textArgument(info, 0, "path"), textArgument(info, 1, "package")};
    return Napi::String::New(info.Env(), onnxruntime::locateLibrary(wanted));
  });
}

// The GPU to build for. TensorRT-RTX builds without one.
std::optional<cuda::DeviceFacts> gpuFor(const tensorrt::Library& library, int device) {
  try {
    return cuda::listDevices(cuda::Driver::withDevice(device)).at(static_cast<std::size_t>(device));
  } catch (const Error& error) {
    const bool isAbsent = error.code() == "ERR_TRT_NO_DRIVER" || error.code() == "ERR_TRT_NO_GPU";
    if (!isAbsent || !library.buildsWithoutGpu()) throw;
    return std::nullopt;
  }
}

// Empty where the library has none here: then a build says so.
std::string parserOf(const tensorrt::Library& library) {
  try {
    return library.parser().path;
  } catch (const Error&) {
    return "";
  }
}

Napi::Value choiceValue(Napi::Env env, const finding::BuilderChoice& choice,
                        const std::optional<cuda::DeviceFacts>& gpu, const std::string& parser) {
  const tensorrt::Library& library = choice.library;
  Napi::Object value = Napi::Object::New(env);
  value.Set("path", library.path());
  value.Set("kind", tensorrt::kindName(library.kind()));
  value.Set("version", library.version().text());
  value.Set("name", library.name());
  setText(value, "doubt", choice.doubt);
  setText(value, "parser", parser);
  if (gpu) value.Set("gpu", deviceValue(env, *gpu));
  return value;
}

// chooseBuilder({ tensorrt, device, toRun?, parser? }): Promise<choice>: who would build, as build() chooses; toRun:
// and can run it; parser: and with which ONNX parser, which is loaded for it.
Napi::Value chooseBuilder(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Object options = objectArgument(info, 0, "options");
    const std::string path = stringOf(options, "tensorrt");
    const int device = static_cast<int>(integerOf(options, "device", 0));
    const bool toRun = integerOf(options, "toRun", 0) != 0;
    const bool withParser = integerOf(options, "parser", 0) != 0;
    return Environment::of(info.Env())->run(info.Env(), [path, device, toRun, withParser]() -> Environment::Finish {
      const finding::BuilderChoice choice = finding::chooseForBuilding(path, device, toRun);
      const std::string parser = withParser ? parserOf(choice.library) : "";
      return [choice, parser, gpu = gpuFor(choice.library, device)](Napi::Env env) {
        return choiceValue(env, choice, gpu, parser);
      };
    });
  });
}

}  // namespace

void exportSystem(Napi::Env env, Napi::Object exports) {
  exports.Set("chooseBuilder", Napi::Function::New(env, chooseBuilder));
  exports.Set("locateOnnxruntime", Napi::Function::New(env, locateOnnxruntime));
  exports.Set("findOnnxruntime", Napi::Function::New(env, findOnnxruntime));
  exports.Set("inspectSystem", Napi::Function::New(env, inspectSystem));
}

}  // namespace nt::node
