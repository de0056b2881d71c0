#include "build.h"

#include <chrono>
#include <cstring>
#include <fstream>

#include "../base/text.h"
#include "configure.h"
#include "formats.h"
#include "layers.h"
#include "parse.h"
#include "precision.h"
#include "profiles.h"

namespace nt::building {
namespace {

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::vector<uint8_t> readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  std::vector<uint8_t> bytes(size > 0 ? static_cast<std::size_t>(size) : 0);
  file.seekg(0);
  if (size < 0 || !file.read(reinterpret_cast<char*>(bytes.data()), size)) {
    throw Error("ERR_TRT_FILE", "Cannot read the model " + path + ": " + std::strerror(errno), {{"path", path}});
  }
  return bytes;
}

}  // namespace

Result build(const tensorrt::Library& library, const Request& request, tensorrt::ProgressMonitor::Listener onProgress,
             const std::atomic<bool>& cancelled) {
  const Options& options = request.options;
  const bool stronglyTyped = isStronglyTyped(library, options);
  // made before the builder, which must not outlive its timing cache
  std::optional<TimingCacheFile> timings;
  if (!request.timingCache.path.empty()) timings.emplace(library, request.timingCache, cancelled);
  tensorrt::Builder builder(library);
  loadPlugins(builder, options);
  const auto network = builder.createNetwork(stronglyTyped);
  // made before the configuration, which points at it
  tensorrt::ProgressMonitor monitor(std::move(onProgress), cancelled);
  const auto config = builder.createConfig();
  // before the model is read: what this version lacks is known at once
  configure(*config, options);
  configurePrecision(*config, options, stronglyTyped);
  Result result;

  const auto parseStart = Clock::now();
  // the parser holds the weights that the network points at: it lives until the build has ended
  tensorrt::Parser parser(*network);
  configureParser(parser, options);
  {
    const bool fromFile = request.model.empty() && !request.path.empty();
    const std::vector<uint8_t> file = fromFile ? readFile(request.path) : std::vector<uint8_t>();
    const std::vector<uint8_t>& bytes = fromFile ? file : request.model;
    parseModel(parser, *network, bytes, request.path);
    result.parseMs = msSince(parseStart);
  }
  result.audit = audit(*network);
  if (request.parseOnly) return result;

  checkPrecision(*network, options, stronglyTyped);
  applyFormats(*network, options, stronglyTyped);
  applyLayerTypes(*network, options, result.settings);
  markRefittable(*network, options);
  addProfiles(builder, *config, *network, request.profiles);
  config->setProgressMonitor(&monitor);
  readConfiguration(*config, parser, result.settings);
  readPrecision(*config, *network, stronglyTyped, result.settings);
  readFormats(*network, options, result.settings);
  if (timings) timings->attach(*config);

  if (cancelled.load(std::memory_order_relaxed)) throw Error("ABORTED", "The build was cancelled");
  const auto buildStart = Clock::now();
  result.plan = builder.buildSerializedNetwork(*network, *config);
  result.buildMs = msSince(buildStart);
  if (result.plan == nullptr) {
    if (cancelled.load(std::memory_order_relaxed)) throw Error("ABORTED", "The build was cancelled");
    throw Error("ERR_TRT_BUILD", library.name() + " could not build an engine from the model");
  }
  if (timings) result.timingCache = timings->save(*config);
  return result;
}

}  // namespace nt::building
