#include "build.h"

#include <chrono>

#include "../base/text.h"
#include "../tensorrt/failure.h"
#include "calibration.h"
#include "configure.h"
#include "formats.h"
#include "layers.h"
#include "model_bytes.h"
#include "parse.h"
#include "placeholder_ranges.h"
#include "precision.h"
#include "profiles.h"

namespace nt::building {
namespace {

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

[[noreturn]] void throwAborted() { throw Error("ABORTED", "The build was cancelled"); }

}  // namespace

Result build(const tensorrt::Library& library, const Request& request, tensorrt::ProgressMonitor::Listener onProgress,
             const std::atomic<bool>& cancelled) {
  const Options& options = request.options;
  if (request.calibration) requireCalibrators(library);
  const bool stronglyTyped = isStronglyTyped(library, options);
  requirePlaceholderRanges(library, options);
  // made before the builder, which must not outlive its timing cache
  std::optional<TimingCacheFile> timings;
  if (!request.timingCache.path.empty()) timings.emplace(library, request.timingCache, cancelled);
  tensorrt::Builder builder(library);
  loadPlugins(builder, options);
  const auto network = builder.createNetwork(stronglyTyped);
  // both live longer than the configuration, which points at them
  std::optional<Calibration> calibration;
  const auto stopped = [&] {
    return cancelled.load(std::memory_order_relaxed) || (calibration && calibration->failed());
  };
  tensorrt::ProgressMonitor monitor(onProgress, stopped);
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
    const std::vector<uint8_t> file = fromFile ? readModel(request.path) : std::vector<uint8_t>();
    const std::vector<uint8_t>& bytes = fromFile ? file : request.model;
    parseModel(parser, *network, bytes, request.path);
    result.parseMs = msSince(parseStart);
  }
  result.audit = audit(*network);
  if (request.parseOnly) return result;

  checkPrecision(*network, options, stronglyTyped, request.calibration.has_value());
  applyPlaceholderRanges(*network, options, result.settings);
  applyFormats(*network, options, stronglyTyped);
  applyLayerTypes(*network, options, result.settings);
  markRefittable(*network, options);
  addProfiles(builder, *config, *network, request.profiles);
  config->setProgressMonitor(&monitor);
  readConfiguration(*config, parser, result.settings);
  readPrecision(*config, *network, stronglyTyped, result.settings);
  readFormats(*network, options, result.settings);
  if (timings) timings->attach(*config);

  if (request.calibration) {
    calibration.emplace(*network, *request.calibration, std::move(onProgress));
    calibration->attach(builder, *config, request.profiles);
  }

  if (stopped()) throwAborted();
  const auto buildStart = Clock::now();
  result.plan = builder.buildSerializedNetwork(*network, *config);
  result.buildMs = msSince(buildStart);
  if (calibration) calibration->throwIfFailed();
  // a calibration that was cut short looks to TensorRT like one that is done: its plan is none
  if (stopped() && (result.plan == nullptr || calibration)) throwAborted();
  if (result.plan == nullptr) {
    throw tensorrt::failureOf(library, " could not build an engine from the model", "ERR_TRT_BUILD");
  }
  if (calibration) result.calibration = calibration->facts();
  if (timings) result.timingCache = timings->save(*config);
  return result;
}

}  // namespace nt::building
