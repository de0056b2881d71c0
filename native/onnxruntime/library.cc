#include "library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <mutex>
#include <optional>

#include "../base/error.h"
#include "../base/shared_library.h"
#include "../base/text.h"

namespace nt::onnxruntime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNone = "ERR_TRT_NO_ONNXRUNTIME";

struct Opened {
  const OrtApiBase* base = nullptr;
  std::string path;
};

// Nothing where the file is not there or no onnxruntime; the reason is then appended.
std::optional<Opened> tryOpen(const std::string& file, std::string& reasons) {
  if (!reasons.empty()) reasons += "; ";
  void* handle = openLibrary(file, reasons);
  if (handle == nullptr) return std::nullopt;
  void* symbol = dlsym(handle, "OrtGetApiBase");
  if (symbol == nullptr) {
    reasons += file + " is no onnxruntime: it has no OrtGetApiBase";
    return std::nullopt;
  }
  return Opened{reinterpret_cast<const OrtApiBase* (*)()>(symbol)(), resolvedFileOf(symbol, file)};
}

Opened openMapped(const std::string& file) {
  std::string reason;
  if (auto opened = tryOpen(file, reason)) return *opened;
  throw Error(kNone, "Cannot use the onnxruntime that this process has loaded: " + reason);
}

Opened openFound(const Wanted& wanted) {
  std::string reasons;
  for (const std::string& file : findLibraries(wanted)) {
    if (auto opened = tryOpen(file, reasons)) return *opened;
  }
  if (!wanted.path.empty())
    throw Error(kNone, "Cannot load the onnxruntime at " + wanted.path + ": " + reasons, {{"path", wanted.path}});
  const bool installed = !wanted.package.empty();
  const std::string package = installed ? wanted.package : "a package onnxruntime-node";
  throw Error(kNone,
              "No onnxruntime was found in " + package +
                  ", by the dynamic loader, or in the folders of Python's packages: " + reasons,
              installed ? Error::Details{{"package", package}} : Error::Details{});
}

Opened openLibrary(const Wanted& wanted) {
  const std::string mapped = mappedLibrary();
  if (mapped.empty()) return openFound(wanted);
  requireSame(wanted, mapped);
  return openMapped(mapped);
}

bool saysOutOfMemory(const std::string& text) {
  return text.find("Failed to allocate memory") != text.npos || text.find("bad_alloc") != text.npos;
}

}  // namespace

const Library& Library::open(const Wanted& wanted) {
  // leaked on purpose: nothing of ours is destroyed at exit, when onnxruntime's threads may still run
  static auto& mutex = *new std::mutex;
  static const Library* opened = nullptr;
  const std::lock_guard lock(mutex);
  if (opened == nullptr) {
    const auto [base, path] = openLibrary(wanted);
    opened = new Library(*base, path);
  } else {
    requireSame(wanted, opened->path_);
  }
  return *opened;
}

Library::Library(const OrtApiBase& base, const std::string& path)
    : path_(path), version_(orEmpty(base.GetVersionString())) {
  const auto* api = reinterpret_cast<void* const*>(base.GetApi(kApiVersion));
  if (api == nullptr) {
    throw Error("ERR_TRT_UNSUPPORTED", "Expected onnxruntime 1." + std::to_string(kApiVersion) + " or newer at " +
                                           path_ + " but received onnxruntime " + version_);
  }
#define ORT_FUNCTION(index, since, name, returns, parameters) \
  name = reinterpret_cast<returns(*) parameters>(api[index]);
#include "functions.def"
#undef ORT_FUNCTION
  // lib/ has set it where it may, on the main thread; there is nothing to be changed then. Left are workers, whose
  // process.env is a copy, and callers in C++
  setenv("ORT_DISABLE_TELEMETRY", "1", 0);
  check(CreateEnv(kLogWarning, "node-tensorrt", &env_), kNone, this->name() + " could not start");
  check(CreateCpuMemoryInfo(kDeviceAllocator, kDefaultMemory, &cpuMemory_), kNone, this->name() + " could not start");
}

void Library::fail(OrtStatus* status, const char* code, const std::string& prefix) const {
  const std::string text = orEmpty(GetErrorMessage(status));
  if (GetErrorCode(status) == kNoSuchFile) code = "ERR_TRT_FILE";
  if (saysOutOfMemory(text)) code = "ERR_TRT_OUT_OF_MEMORY";
  ReleaseStatus(status);
  throw Error(code, prefix + ": " + text);
}

}  // namespace nt::onnxruntime
