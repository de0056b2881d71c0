#include "choose.h"

#include "../cuda/driver.h"
#include "find.h"

namespace nt::tensorrt {
namespace {

constexpr const char* kRtxHint = "TensorRT-RTX builds without a GPU: pip install tensorrt-rtx-cu13-libs==1.7.1.116";

std::string listed(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

[[noreturn]] void throwNoneFound(const std::string& what, const std::vector<std::string>& reasons) {
  throw Error("ERR_TRT_NO_LIBRARY", what + (reasons.empty() ? "" : " (" + listed(reasons) + ")") + ". " + kRtxHint +
                                        ", or set TENSORRT_PATH to the folder that holds libnvinfer");
}

}  // namespace

const Library& chooseForBuilding(const std::string& explicitPath, int device) {
  std::vector<std::string> reasons;
  std::optional<Error> noGpu;
  for (const Found& found : findLibraries(explicitPath)) {
    try {
      const Library& library = Library::open(found.path);
      if (!library.hasBuilder()) {
        reasons.push_back("the " + library.name() + " at " + library.path() + " only runs plans");
        continue;
      }
      if (!library.buildsWithoutGpu()) cuda::Driver::withDevice(device);
      return library;
    } catch (const Error& error) {
      reasons.push_back(error.what());
      if (error.code() == "ERR_TRT_NO_DRIVER" || error.code() == "ERR_TRT_NO_GPU") noGpu = error;
    }
  }
  if (noGpu) {
    throw Error(noGpu->code(), "Building with the TensorRT that was found needs a GPU: " + std::string(noGpu->what()) +
                                   ". " + kRtxHint);
  }
  throwNoneFound("No TensorRT that can build was found", reasons);
}

const Library& chooseForPlan(const std::string& explicitPath, const void* bytes, std::size_t size,
                             const PlanOrigin& origin) {
  const std::optional<PlanHeader> header = readPlanHeader(bytes, size);
  if (!header)
    throw Error("ERR_TRT_PLAN", "The " + std::to_string(size) + " bytes do not begin as a TensorRT plan does");
  const PlanHeader& plan = *header;
  std::vector<std::string> reasons;
  std::string others;
  for (const Found& found : findLibraries(explicitPath)) {
    try {
      const Library& library = Library::open(found.path);
      if (accepts(library, plan, origin)) return library;
      others += (others.empty() ? "" : ", ") + library.name() + " at " + library.path();
    } catch (const Error& error) {
      reasons.push_back(error.what());
    }
  }
  if (!others.empty()) {
    throw Error("ERR_TRT_PLAN", origin.text(plan) + ", but this machine has only " + others,
                {{"plan", plan.name()}, {"found", others}});
  }
  throwNoneFound("The plan needs " + plan.name() + ", and no TensorRT was found", reasons);
}

}  // namespace nt::tensorrt
