#include "timing_cache.h"

#include <algorithm>
#include <span>

#include "../base/file.h"
#include "../base/file_lock.h"

namespace nt::building {

using tensorrt::BuilderConfig;
using tensorrt::Enumerator;
using tensorrt::LogCapture;

TimingCacheFile::TimingCacheFile(const tensorrt::Library& library, const TimingCacheRequest& request,
                                 const std::atomic<bool>& cancelled)
    : library_(library), request_(request), cancelled_(cancelled) {
  if (library.kind() == tensorrt::Kind::rtx) {
    throw Error("ERR_TRT_UNSUPPORTED",
                library.name() + " has no use for a timing cache, here " + request.path +
                    ": it measures nothing when it builds. Timing caches need TensorRT 10 or 11");
  }
  if (request.editable) library.require(Enumerator::BuilderFlag_kEDITABLE_TIMING_CACHE);
}

void TimingCacheFile::attach(BuilderConfig& config) {
  if (request_.errorOnMiss) config.setFlag(Enumerator::BuilderFlag_kERROR_ON_TIMING_CACHE_MISS);
  if (request_.editable) config.setFlag(Enumerator::BuilderFlag_kEDITABLE_TIMING_CACHE);
  std::vector<uint8_t> bytes;
  {
    const FileLock lock(request_.path, cancelled_);
    bytes = readFileIfThere(request_.path);
  }
  facts_.bytesBefore = bytes.size();
  cache_ = parse(config, bytes);
  const LogCapture log(library_.log());
  if (!config.setTimingCache(*cache_)) throwUnusable(log.lastError());
}

TimingCacheFacts TimingCacheFile::save(BuilderConfig& config) {
  try {
    merge(config);
  } catch (const Error& error) {
    if (error.code() != "ERR_TRT_FILE") throw;
    facts_.bytesAfter = facts_.bytesBefore;
    facts_.notKept = error.what();
  }
  return facts_;
}

void TimingCacheFile::merge(BuilderConfig& config) {
  const FileLock lock(request_.path, cancelled_);
  const std::vector<uint8_t> there = readFileIfThere(request_.path);
  const auto merged = parse(config, there);
  const LogCapture log(library_.log());
  if (!merged->combine(*cache_)) throwUnusable(log.lastError());
  const auto memory = merged->serialize();
  if (memory == nullptr) {
    throw Error("ERR_TRT_BUILD", library_.name() + " could not serialize its timing cache: " + log.lastError());
  }
  const std::span bytes(static_cast<const uint8_t*>(memory->data()), memory->size());
  if (!std::ranges::equal(bytes, there)) replaceFile(request_.path, bytes.data(), bytes.size());
  facts_.bytesAfter = bytes.size();
}

std::unique_ptr<tensorrt::TimingCache> TimingCacheFile::parse(BuilderConfig& config,
                                                              const std::vector<uint8_t>& bytes) const {
  const LogCapture log(library_.log());
  auto cache = config.createTimingCache(bytes.empty() ? nullptr : bytes.data(), bytes.size());
  if (cache == nullptr) throwUnusable(log.lastError());
  return cache;
}

void TimingCacheFile::throwUnusable(const std::string& reason) const {
  throw Error("ERR_TRT_TIMING_CACHE",
              library_.name() + " cannot use the timing cache " + request_.path + " on this GPU" +
                  (reason.empty() ? "" : ": " + reason) +
                  ". It is damaged, or of another TensorRT or GPU: name another file, or delete this one",
              {{"path", request_.path}, {"library", library_.name()}, {"reason", reason}});
}

}  // namespace nt::building
