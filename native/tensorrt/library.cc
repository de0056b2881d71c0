#include "library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "../base/shared_library.h"
#include "failure.h"

namespace nt::tensorrt {
namespace {

namespace fs = std::filesystem;

// Of the files that are open; leaked on purpose: nothing of ours is destroyed at exit, when TensorRT's threads may
// still run.
struct Opened {
  std::mutex mutex;
  std::map<std::string, const Library*> byPath;
};
Opened& opened() {
  static auto& instance = *new Opened;
  return instance;
}

}  // namespace

Kind kindOf(const std::string& path) {
  const std::string file = fs::path(path).filename().string();
  if (file.find("tensorrt_rtx") != std::string::npos) return Kind::rtx;
  if (file.find("_lean") != std::string::npos) return Kind::lean;
  if (file.find("_dispatch") != std::string::npos) return Kind::dispatch;
  return Kind::full;
}

Family familyOf(Kind kind, const Version& version) {
  if (kind == Kind::rtx) {
    if (version.major == 1 && version.minor == 5) return Family::rtx15;
    if (version.major == 1 && version.minor == 6) return Family::rtx16;
    if (version.major == 1 && version.minor == 7) return Family::rtx17;
    throw Error("ERR_TRT_UNSUPPORTED",
                "TensorRT-RTX " + version.text() +
                    " is not known here (its tables change from minor to minor): needs 1.5, 1.6 or 1.7");
  }
  if (version.major == 10) return Family::trt10;
  if (version.major == 11) return Family::trt11;
  throw Error("ERR_TRT_UNSUPPORTED", "TensorRT " + version.text() + " is not supported: needs 10.x or 11.x");
}

const char* kindName(Kind kind) noexcept {
  constexpr const char* names[] = {"full", "lean", "dispatch", "rtx"};
  return names[static_cast<std::size_t>(kind)];
}

std::string libraryName(Kind kind, const std::string& version) {
  if (kind == Kind::rtx) return "TensorRT-RTX " + version;
  if (kind == Kind::full) return "TensorRT " + version;
  return std::string("TensorRT ") + kindName(kind) + " runtime " + version;
}

const Library& Library::open(const std::string& path) {
  auto& [mutex, byPath] = tensorrt::opened();
  const std::lock_guard lock(mutex);
  if (const auto found = byPath.find(path); found != byPath.end()) return *found->second;
  auto* library = new Library(path);
  for (const auto& [_, other] : byPath) {  // another name of a file that is open already
    if (other->path_ == library->path_) {
      delete library;
      return *(byPath[path] = other);
    }
  }
  return *(byPath[path] = library);
}

const Library* Library::opened(const std::string& path) {
  auto& [mutex, byPath] = tensorrt::opened();
  const std::lock_guard lock(mutex);
  for (const auto& [_, library] : byPath) {
    if (library->path_ == path) return library;
  }
  return nullptr;
}

Library::Library(const std::string& path) {
  std::string reason;
  handle_ = openLibrary(path, reason);
  if (handle_ == nullptr) throw Error("ERR_TRT_NO_LIBRARY", "Cannot load " + path + ": " + reason);
  auto* versionOf = reinterpret_cast<int (*)()>(symbol("getInferLibVersion"));
  createRuntime_ = reinterpret_cast<Create>(symbol("createInferRuntime_INTERNAL"));
  if (versionOf == nullptr || createRuntime_ == nullptr) {
    throw Error("ERR_TRT_NO_LIBRARY",
                path + " is no TensorRT library: it has no getInferLibVersion or createInferRuntime_INTERNAL");
  }
  path_ = resolvedFileOf(reinterpret_cast<void*>(versionOf), path);
  versionNumber_ = versionOf();
  version_ = Version::fromNumber(versionNumber_);
  kind_ = kindOf(path_);
  family_ = familyOf(kind_, version_);
  createBuilder_ = reinterpret_cast<Create>(symbol("createInferBuilder_INTERNAL"));
  createRefitter_ = reinterpret_cast<CreateFrom>(symbol("createInferRefitter_INTERNAL"));
  for (std::size_t i = 0; i < kMethods; ++i) {
    index_[i] = static_cast<int16_t>(methodIndex(methodRows()[i], family_, version_));
  }
  logger_ = newLogger(family_, *log_);
}

void* Library::symbol(const char* name) const noexcept { return dlsym(handle_, name); }

void Library::throwMissing(Method method) const {
  const MethodRow& row = methodRows()[static_cast<std::size_t>(method)];
  throw Error("ERR_TRT_UNSUPPORTED", std::string("I") + (row.interface + 1) + "::" + row.method + " needs " +
                                         requirement(row.slots, family_) + "; this is " + name());
}

int32_t Library::require(Enumerator enumerator) const {
  const int32_t number = enumNumber(enumerator, family_, version_);
  if (number >= 0) return number;
  const EnumRow& row = enumRows()[static_cast<std::size_t>(enumerator)];
  throw Error("ERR_TRT_UNSUPPORTED", std::string(row.enumeration) + "::" + row.enumerator + " needs " +
                                         requirement(row.slots, family_) + "; this is " + name());
}

int32_t Library::requireType(const std::string& dtype) const {
  const auto type = dtypeByName(dtype);
  if (!type) throw Error("ERR_TRT_INVALID_ARGUMENT", "There is no data type " + dtype);
  const auto enumerator = dtypeEnumerator(*type);
  if (!enumerator) throw Error("ERR_TRT_UNSUPPORTED", "TensorRT has no data type " + dtype);
  return require(*enumerator);
}

std::string Library::dtypeText(int32_t number) const {
  const auto type = dtypeOf(number);
  return type ? dtypeName(*type) : "unknown";
}

void* Library::createRuntime() const {
  const LogCapture log(*log_);
  void* runtime = createRuntime_(logger_, versionNumber_);
  // Where CUDA does not start for TensorRT, it returns an offset within a null object (0x238).
  if (reinterpret_cast<uintptr_t>(runtime) < 4096) {
    throw failureOf(*this, " could not create a runtime");
  }
  return runtime;
}

void* Library::createBuilder() const {
  if (createBuilder_ == nullptr) {
    throw Error("ERR_TRT_UNSUPPORTED",
                "The " + name() + " at " + path_ + " has no builder: building needs the full TensorRT or TensorRT-RTX");
  }
  const LogCapture log(*log_);
  void* builder = createBuilder_(logger_, versionNumber_);
  // as TensorRT 11 does where the builder's resources for the GPU are missing
  if (builder == nullptr) throw failureOf(*this, " could not create a builder", "ERR_TRT_BUILD");
  return builder;
}

void* Library::createRefitter(void* engine) const {
  if (createRefitter_ == nullptr) {
    throw Error("ERR_TRT_UNSUPPORTED", "The " + name() + " at " + path_ + " has no refitter");
  }
  return createRefitter_(engine, logger_, versionNumber_);
}

const ParserLibrary& Library::parser() const {
  const std::lock_guard lock(parserMutex_);
  if (!parser_) parser_ = std::make_unique<ParserLibrary>(openParser());
  return *parser_;
}

std::string Library::parserFile(Kind kind, int major) {
  return (kind == Kind::rtx ? "libtensorrt_onnxparser_rtx.so." : "libnvonnxparser.so.") + std::to_string(major);
}

ParserLibrary Library::openParser() const {
  const std::string file = parserFile(kind_, version_.major);
  std::string reasons;
  for (const std::string& path : {(fs::path(path_).parent_path() / file).string(), file}) {
    if (!reasons.empty()) reasons += "; ";
    void* handle = openLibrary(path, reasons);
    if (handle == nullptr) continue;
    auto* create = dlsym(handle, "createNvOnnxParser_INTERNAL");
    auto* versionOf = reinterpret_cast<int (*)()>(dlsym(handle, "getNvOnnxParserVersion"));
    if (create == nullptr || versionOf == nullptr) {
      throw Error("ERR_TRT_NO_LIBRARY", path + " is no ONNX parser of TensorRT");
    }
    auto* createRefitter = dlsym(handle, "createNvOnnxParserRefitter_INTERNAL");
    return {resolvedFileOf(create, path), reinterpret_cast<ParserLibrary::Create>(create),
            reinterpret_cast<ParserLibrary::Create>(createRefitter), versionOf()};
  }
  throw Error("ERR_TRT_NO_LIBRARY", "No ONNX parser was found for the " + name() + " at " + path_ + ": " + reasons);
}

}  // namespace nt::tensorrt
