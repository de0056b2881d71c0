#include "origin.h"

namespace nt::finding {
namespace {

bool runsOn(const PlanOrigin& origin, const cuda::DeviceFacts& gpu) {
  constexpr int kAmpere = 8;
  switch (origin.reach) {
    case Reach::model:
    case Reach::computeCapability:
      return origin.computeCapability == gpu.computeCapability();
    case Reach::ampere:
      return gpu.computeMajor >= kAmpere;
    case Reach::any:
      return true;
  }
  return true;
}

}  // namespace

std::string PlanOrigin::text(const tensorrt::PlanHeader& header) const {
  return description.empty() ? "The plan was built by " + header.name() : description;
}

Reach reachByName(const std::string& name) {
  if (name == "model") return Reach::model;
  if (name == "computeCapability") return Reach::computeCapability;
  return name == "ampere" ? Reach::ampere : Reach::any;
}

Fit fitOf(const Identity& library, const tensorrt::PlanHeader& plan, const PlanOrigin& origin) {
  if ((library.kind == tensorrt::Kind::rtx) != plan.rtx) return Fit::none;
  // lean and dispatch runtimes run only plans that are version-compatible
  const bool isRuntime = library.kind == tensorrt::Kind::lean || library.kind == tensorrt::Kind::dispatch;
  if (!plan.version) return isRuntime ? Fit::exactRuntime : Fit::exact;
  if (library.major != 0 && library.major != plan.version->major) return Fit::none;
  if (origin.exactVersion && isRuntime) return Fit::none;
  if (!library.version) return Fit::unknown;
  const auto order = *library.version <=> *plan.version;
  if (order == 0) return isRuntime ? Fit::exactRuntime : Fit::exact;
  if (order < 0 || origin.exactVersion || library.version->major != plan.version->major) return Fit::none;
  return isRuntime ? Fit::newerRuntime : Fit::newer;
}

std::string checkGpu(const PlanOrigin& origin, const tensorrt::Library& library, const cuda::DeviceFacts& gpu) {
  if (origin.gpu.empty()) return {};
  const std::string here = gpu.name + " (" + gpu.computeCapability() + ")";
  const std::string bothSides = origin.description + "; here is " + library.name() + " with " + here;
  if (!runsOn(origin, gpu)) {
    throw Error("ERR_TRT_PLAN",
                bothSides +
                    ". Build it for this GPU, or with hardware compatibility; where it runs here all the same, " +
                    "the option tensorrt.anyGpu: true leaves that to TensorRT",
                {{"plan", origin.gpu + " (" + origin.computeCapability + ")"}, {"found", here}});
  }
  if (origin.reach != Reach::model || origin.gpu == gpu.name) return {};
  return bothSides + ". It runs, but may be slower than one that is built for this GPU";
}

}  // namespace nt::finding
