#include "choose.h"

#include "../cuda/driver.h"
#include "find.h"

namespace nt::tensorrt {
namespace {

std::string listed(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

// `details`: what lib/base/remedies.ts finds the remedy by.
[[noreturn]] void throwNoneFound(const std::string& what, const std::vector<std::string>& reasons,
                                 const std::string& explicitPath, Error::Details details = {}) {
  if (!explicitPath.empty()) details.emplace_back("path", explicitPath);
  throw Error("ERR_TRT_NO_LIBRARY", what + (reasons.empty() ? "" : " (" + listed(reasons) + ")"), std::move(details));
}

}  // namespace

const Library& chooseForBuilding(const std::string& explicitPath, int device, bool toRun) {
  // what a path names is looked at first, since it may be wrong whatever the machine has; else the driver is
  if (toRun && explicitPath.empty()) cuda::Driver::withDevice(device);
  std::vector<std::string> reasons;
  std::string loaded;
  std::optional<Error> noGpu;
  for (const Found& found : findLibraries(explicitPath)) {
    try {
      const Library& library = Library::open(found.path);
      loaded += (loaded.empty() ? "" : ", ") + library.name();
      if (!library.hasBuilder()) {
        reasons.push_back("the " + library.name() + " at " + library.path() + " only runs plans");
        continue;
      }
      if (toRun || !library.buildsWithoutGpu()) cuda::Driver::withDevice(device);
      library.parser();
      return library;
    } catch (const Error& error) {
      reasons.push_back(error.what());
      if (error.code() == "ERR_TRT_NO_DRIVER" || error.code() == "ERR_TRT_NO_GPU") noGpu = error;
    }
  }
  if (noGpu && toRun) throw *noGpu;
  if (noGpu) {
    Error::Details details = noGpu->details();
    details.emplace_back("need", "building");
    throw Error(noGpu->code(), "Building with the TensorRT that was found needs a GPU: " + std::string(noGpu->what()),
                std::move(details));
  }
  throwNoneFound("No TensorRT that can build was found", reasons, explicitPath,
                 loaded.empty() ? Error::Details{} : Error::Details{{"loaded", loaded}});
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
  throwNoneFound("The plan needs " + plan.name() + ", and no TensorRT was found", reasons, explicitPath,
                 {{"plan", plan.name()}});
}

}  // namespace nt::tensorrt
