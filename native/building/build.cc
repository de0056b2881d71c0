#include "build.h"

#include <chrono>
#include <cstring>
#include <fstream>

#include "../base/text.h"
#include "parse.h"
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

void configure(tensorrt::BuilderConfig& config, const Request& request) {
  if (request.workspace > 0) config.setWorkspace(request.workspace);
  if (request.optimizationLevel >= 0) config.setOptimizationLevel(request.optimizationLevel);
  if (!request.tf32) config.clearFlag(tensorrt::Enumerator::BuilderFlag_kTF32);
}

}  // namespace

Result build(const tensorrt::Library& library, const Request& request, tensorrt::ProgressMonitor::Listener onProgress,
             const std::atomic<bool>& cancelled) {
  tensorrt::Builder builder(library);
  const auto network = builder.createNetwork();
  Result result;

  const auto parseStart = Clock::now();
  // the parser holds the weights that the network points at: it lives until the build has ended
  tensorrt::Parser parser(*network);
  {
    const bool fromFile = request.model.empty() && !request.path.empty();
    const std::vector<uint8_t> file = fromFile ? readFile(request.path) : std::vector<uint8_t>();
    const std::vector<uint8_t>& bytes = fromFile ? file : request.model;
    parseModel(parser, *network, bytes, request.path);
    result.parseMs = msSince(parseStart);
  }
  result.audit = audit(*network);
  if (request.parseOnly) return result;

  // made before the configuration, which points at it
  tensorrt::ProgressMonitor monitor(std::move(onProgress), cancelled);
  const auto config = builder.createConfig();
  configure(*config, request);
  addProfiles(builder, *config, *network, request.profiles);
  config->setProgressMonitor(&monitor);
  result.workspace = config->workspace();
  result.optimizationLevel = config->optimizationLevel();
  result.tf32 = config->flag(tensorrt::Enumerator::BuilderFlag_kTF32);

  if (cancelled.load(std::memory_order_relaxed)) throw Error("ABORTED", "The build was cancelled");
  const auto buildStart = Clock::now();
  result.plan = builder.buildSerializedNetwork(*network, *config);
  result.buildMs = msSince(buildStart);
  if (result.plan == nullptr) {
    if (cancelled.load(std::memory_order_relaxed)) throw Error("ABORTED", "The build was cancelled");
    throw Error("ERR_TRT_BUILD", library.name() + " could not build an engine from the model");
  }
  return result;
}

}  // namespace nt::building
