// What TensorRT measured, kept in a file for later builds: of this process and of others, trtexec included.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../tensorrt/interfaces.h"

namespace nt::building {

struct TimingCacheRequest {
  std::string path;  // empty: none is wanted
  // a tactic that is not in the cache is an error, instead of being measured
  bool errorOnMiss = false;
  bool editable = false;
};

struct TimingCacheFacts {
  // of the file; 0 where there was none
  std::size_t bytesBefore = 0;
  std::size_t bytesAfter = 0;
  std::optional<std::string> notKept;  // why the file could not be written, if so
};

// The timing cache of one build. It must outlive the builder. The file is locked while it is read and while it is
// merged, not while the engine is built.
class TimingCacheFile {
 public:
  // Throws ERR_TRT_UNSUPPORTED.
  TimingCacheFile(const tensorrt::Library& library, const TimingCacheRequest& request,
                  const std::atomic<bool>& cancelled);

  // Before the build: gives it what the file has. Throws ERR_TRT_FILE, ERR_TRT_TIMING_CACHE, ERR_TRT_UNSUPPORTED,
  // ABORTED.
  void attach(tensorrt::BuilderConfig& config);

  // After the build: merges the new measurements into the file. Throws as attach() does, except ERR_TRT_FILE, because a
  // full disk must not discard the plan.
  TimingCacheFacts save(tensorrt::BuilderConfig& config);

 private:
  void merge(tensorrt::BuilderConfig& config);
  std::unique_ptr<tensorrt::TimingCache> parse(tensorrt::BuilderConfig& config,
                                               const std::vector<uint8_t>& bytes) const;
  [[noreturn]] void throwUnusable(const std::string& reason) const;

  const tensorrt::Library& library_;
  const TimingCacheRequest& request_;
  const std::atomic<bool>& cancelled_;
  std::unique_ptr<tensorrt::TimingCache> cache_;
  TimingCacheFacts facts_;
};

}  // namespace nt::building
