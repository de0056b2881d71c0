// onnxruntime in this process: found at run time, called through the table that it hands out.
#pragma once

#include <algorithm>
#include <string>

#include "find.h"
#include "types.h"

namespace nt::onnxruntime {

// The API version that has every function of the table.
inline constexpr uint32_t kApiVersion = std::max({
#define ORT_FUNCTION(index, since, name, returns, parameters) uint32_t{since},
#include "functions.def"
#undef ORT_FUNCTION
});

// Opened once and never closed: its threads do not survive dlclose. Where another part of the process has one already,
// it is that one, with that one's environment.
class Library {
 public:
  // Throws ERR_TRT_NO_ONNXRUNTIME (none was found, or it is another than the one that this process has) and
  // ERR_TRT_UNSUPPORTED (too old).
  static const Library& open(const Wanted& wanted);

#define ORT_FUNCTION(index, since, name, returns, parameters) returns(*name) parameters = nullptr;
#include "functions.def"
#undef ORT_FUNCTION

  const std::string& path() const noexcept { return path_; }
  // "1.30.0"
  const std::string& version() const noexcept { return version_; }
  // "onnxruntime 1.30.0"
  std::string name() const { return "onnxruntime " + version_; }
  // Shared with every other user of the library; it logs warnings and what is worse, unless another made it first.
  OrtEnv* env() const noexcept { return env_; }
  const OrtMemoryInfo* cpuMemory() const noexcept { return cpuMemory_; }

  // Throws what the status means, unless it is null, and releases it: ERR_TRT_FILE or ERR_TRT_OUT_OF_MEMORY where it
  // says so, else `code`. The message: "prefix: onnxruntime's text".
  void check(OrtStatus* status, const char* code, const std::string& prefix) const {
    if (status != nullptr) fail(status, code, prefix);
  }

 private:
  Library(const OrtApiBase& base, const std::string& path);
  [[noreturn]] void fail(OrtStatus* status, const char* code, const std::string& prefix) const;

  std::string path_;
  std::string version_;
  OrtEnv* env_ = nullptr;
  OrtMemoryInfo* cpuMemory_ = nullptr;
};

}  // namespace nt::onnxruntime
