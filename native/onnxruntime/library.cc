#include "library.h"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>

#include "../base/error.h"
#include "../base/exit.h"
#include "../base/text.h"

namespace nt::onnxruntime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNone = "ERR_TRT_NO_ONNXRUNTIME";

// null where it cannot be loaded; the reason is then appended
void* tryOpen(const std::string& file, std::string& reasons) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + (reason == nullptr ? file : std::string(reason));
  }
  return handle;
}

// What is to be opened, which is there to be opened.
std::string loadable(const Wanted& wanted) {
  const std::string mapped = mappedLibrary();
  if (!mapped.empty()) {
    requireSame(wanted, mapped);
    return mapped;
  }
  std::string reasons;
  for (const std::string& file : findLibraries(wanted)) {
    if (tryOpen(file, reasons) != nullptr) return file;
  }
  if (!wanted.path.empty())
    throw Error(kNone, "Cannot load the onnxruntime at " + wanted.path + ": " + reasons, {{"path", wanted.path}});
  throw Error(kNone, "No onnxruntime was found: neither " +
                         (wanted.package.empty() ? "in a package onnxruntime-node" : "in " + wanted.package) +
                         ", nor by the dynamic loader, nor in the folders of Python's packages (" + reasons + ")");
}

// The file that the library came from, with links resolved.
std::string fileOf(void* symbol, const std::string& fallback) {
  Dl_info info{};
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return fallback;
  std::error_code failed;
  const fs::path resolved = fs::weakly_canonical(info.dli_fname, failed);
  return failed ? info.dli_fname : resolved.string();
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
    opened = new Library(loadable(wanted));
  } else {
    requireSame(wanted, opened->path_);
  }
  return *opened;
}

Library::Library(const std::string& file) {
  std::string reason;
  void* handle = tryOpen(file, reason);
  if (handle == nullptr) throw Error(kNone, "Cannot load onnxruntime: " + reason);
  armExit();
  auto* getBase = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (getBase == nullptr) throw Error(kNone, file + " is no onnxruntime: it has no OrtGetApiBase", {{"path", file}});
  path_ = fileOf(reinterpret_cast<void*>(getBase), file);
  const OrtApiBase* base = getBase();
  version_ = orEmpty(base->GetVersionString());
  const auto* api = reinterpret_cast<void* const*>(base->GetApi(kApiVersion));
  if (api == nullptr) {
    throw Error("ERR_TRT_UNSUPPORTED", "Expected onnxruntime 1." + std::to_string(kApiVersion) + " or newer at " +
                                           path_ + " but received onnxruntime " + version_);
  }
#define ORT_FUNCTION(index, since, name, returns, parameters) \
  name = reinterpret_cast<returns(*) parameters>(api[index]);
#include "functions.def"
#undef ORT_FUNCTION
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
