#include "shared_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "exit.h"

namespace nt {

void* openLibrary(const std::string& file, std::string& reason) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle != nullptr) {
    armExit();
    return handle;
  }
  const char* text = dlerror();
  reason += text == nullptr ? "unknown error" : text;
  return nullptr;
}

std::string fileOf(void* symbol, const std::string& fallback) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : fallback;
}

std::string resolvedFileOf(void* symbol, const std::string& fallback) {
  const std::string file = fileOf(symbol, fallback);
  std::error_code failed;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(file, failed);
  return failed ? file : resolved.string();
}

}  // namespace nt
