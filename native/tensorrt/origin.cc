#include "origin.h"

namespace nt::tensorrt {
namespace {

bool runsOn(const PlanOrigin& origin, const cuda::DeviceFacts& gpu) {
  constexpr int kAmpere = 8;
  switch (origin.reach) {
    case Reach::model:
      return origin.gpu == gpu.name && origin.computeCapability == gpu.computeCapability();
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

std::string PlanOrigin::text(const PlanHeader& header) const {
  return description.empty() ? "The plan was built by " + header.name() : description;
}

Reach reachByName(const std::string& name) {
  if (name == "model") return Reach::model;
  if (name == "computeCapability") return Reach::computeCapability;
  return name == "ampere" ? Reach::ampere : Reach::any;
}

bool accepts(const Library& library, const PlanHeader& plan, const PlanOrigin& origin) {
  if ((library.kind() == Kind::rtx) != plan.rtx) return false;
  if (!plan.version) return true;
  if (!origin.exactVersion) return plan.version->major == library.version().major;
  return library.hasBuilder() && plan.version->text() == library.version().text();
}

void checkGpu(const PlanOrigin& origin, const Library& library, const cuda::DeviceFacts& gpu) {
  if (origin.gpu.empty() || runsOn(origin, gpu)) return;
  const std::string here = gpu.name + " (" + gpu.computeCapability() + ")";
  throw Error("ERR_TRT_PLAN",
              origin.description + "; here is " + library.name() + " with " + here +
                  ". Build it for this GPU, or with hardware compatibility",
              {{"plan", origin.gpu + " (" + origin.computeCapability + ")"}, {"found", here}});
}

}  // namespace nt::tensorrt
