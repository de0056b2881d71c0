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
#include "exports.h"

namespace nt::node {
namespace {

struct LibraryReport {
  std::string path, by, kind, version, name, error, parser, parserError, cannotRun, cannotBuild;
  bool hasBuilder = false, buildsWithoutGpu = false;
};

struct DriverReport {
  std::string path, version, error;
};

struct SystemReport {
  DriverReport driver;
  std::string searchError;
  std::vector<cuda::DeviceFacts> devices;
  std::vector<LibraryReport> libraries;
};

}  // namespace

using cuda::DeviceFacts;

// An empty text is left out: absent means "nothing to say".
template <>
inline constexpr auto fieldsOf<LibraryReport> = std::tuple(
    fieldIfAny("path", &LibraryReport::path), fieldIfAny("foundBy", &LibraryReport::by),
    fieldIfAny("kind", &LibraryReport::kind), fieldIfAny("version", &LibraryReport::version),
    fieldIfAny("name", &LibraryReport::name), fieldIfAny("parser", &LibraryReport::parser),
    fieldIfAny("parserError", &LibraryReport::parserError), fieldIfAny("error", &LibraryReport::error),
    fieldIfAny("cannotRun", &LibraryReport::cannotRun), fieldIfAny("cannotBuild", &LibraryReport::cannotBuild),
    Field("hasBuilder", &LibraryReport::hasBuilder), Field("buildsWithoutGpu", &LibraryReport::buildsWithoutGpu));
template <>
inline constexpr auto fieldsOf<DeviceFacts> =
    std::tuple(Field("index", &DeviceFacts::index), Field("name", &DeviceFacts::name),
               Field("computeCapability", &DeviceFacts::computeCapability), Field("memory", &DeviceFacts::memory),
               Field("multiprocessors", &DeviceFacts::multiprocessors), Field("integrated", &DeviceFacts::integrated));
template <>
inline constexpr auto fieldsOf<DriverReport> =
    std::tuple(fieldIfAny("path", &DriverReport::path), fieldIfAny("version", &DriverReport::version),
               fieldIfAny("error", &DriverReport::error));
template <>
inline constexpr auto fieldsOf<SystemReport> =
    std::tuple(Field("driver", &SystemReport::driver), Field("devices", &SystemReport::devices),
               Field("libraries", &SystemReport::libraries), fieldIfAny("searchError", &SystemReport::searchError));

namespace {

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
    report.driver.path = driver.path();
    report.driver.version = driver.version();
    report.devices = cuda::listDevices(driver);
  } catch (const Error& error) {
    report.driver.error = error.what();
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

// inspectSystem(explicitPath: string): Promise<report>
Napi::Value inspectSystem(const Napi::CallbackInfo& info) {
  const std::string path = info[0].IsString() ? fromJs<std::string>(info[0], "path") : "";
  return Environment::of(info.Env())->run(info.Env(), [path] { return systemReport(path); });
}

onnxruntime::Wanted wantedIn(const Napi::CallbackInfo& info) {
  return {fromJs<std::string>(info[0], "path"), fromJs<std::string>(info[1], "package")};
}

// findOnnxruntime(path, package): Promise<{ path, version, name }>, of the one that this process uses from now on
Napi::Value findOnnxruntime(const Napi::CallbackInfo& info) {
  return Environment::of(info.Env())->run(info.Env(), [wanted = wantedIn(info)] {
    return [&library = onnxruntime::Library::open(wanted)](Napi::Env env) {
      return objectOf(env, Field("path", library.path()), Field("version", library.version()),
                      Field("name", library.name()));
    };
  });
}

// locateOnnxruntime(path, package): string, of the one that would be used; none is loaded
std::string locateOnnxruntime(const Napi::CallbackInfo& info) { return onnxruntime::locateLibrary(wantedIn(info)); }

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

// chooseBuilder({ tensorrt, device, toRun?, parser? }): Promise<choice>: who would build, as build() chooses; toRun:
// and can run it; parser: and with which ONNX parser, which is loaded for it.
Napi::Value chooseBuilder(const Napi::CallbackInfo& info) {
  const auto options = fromJs<Napi::Object>(info[0], "options");
  const auto path = property<std::string>(options, "tensorrt");
  const int device = property<int>(options, "device");
  const bool toRun = property<bool>(options, "toRun");
  const bool withParser = property<bool>(options, "parser");
  return Environment::of(info.Env())->run(info.Env(), [path, device, toRun, withParser] {
    const finding::BuilderChoice choice = finding::chooseForBuilding(path, device, toRun);
    const std::string parser = withParser ? parserOf(choice.library) : "";
    return [choice, parser, gpu = gpuFor(choice.library, device)](Napi::Env env) {
      const tensorrt::Library& library = choice.library;
      return objectOf(env, Field("path", library.path()), Field("kind", tensorrt::kindName(library.kind())),
                      Field("version", library.version().text()), Field("name", library.name()),
                      fieldIfAny("doubt", choice.doubt), fieldIfAny("parser", parser), Field("gpu", gpu));
    };
  });
}

}  // namespace

void exportSystem(Napi::Object exports) {
  setFunctions(exports, {{"chooseBuilder", guarded<chooseBuilder>},
                         {"locateOnnxruntime", guarded<locateOnnxruntime>},
                         {"findOnnxruntime", guarded<findOnnxruntime>},
                         {"inspectSystem", guarded<inspectSystem>}});
}

}  // namespace nt::node
