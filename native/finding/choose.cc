#include "choose.h"

#include <algorithm>

#include "../cuda/driver.h"
#include "abilities.h"
#include "find.h"
#include "identify.h"

namespace nt::finding {
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

std::optional<cuda::DeviceFacts> gpuAt(int device) {
  try {
    return cuda::listDevices(cuda::Driver::withDevice(device)).at(static_cast<std::size_t>(device));
  } catch (const Error&) {
    return std::nullopt;  // which is told where a GPU is needed
  }
}

struct BuilderCandidate {
  Identity identity;
  std::string doubt;
};

// Those that have a builder, the doubtful ones last. `others`: the names of those that are not for this.
std::vector<BuilderCandidate> buildersFor(const std::string& explicitPath, int device, bool toRun, std::string& others,
                                          std::vector<std::string>& reasons) {
  std::vector<BuilderCandidate> candidates;
  std::optional<cuda::DeviceFacts> gpu;
  for (const Found& found : findLibraries(explicitPath)) {
    try {
      const Identity identity = identify(found.path);
      // TensorRT-RTX builds without the driver, which is left alone then
      if (!gpu && (toRun || identity.kind != tensorrt::Kind::rtx)) gpu = gpuAt(device);
      std::string refusal = toRun && gpu ? whyNotRun(identity, *gpu) : "";
      if (!identity.hasBuilder) refusal = "the " + identity.name() + " at " + identity.path + " only runs plans";
      if (refusal.empty()) {
        candidates.push_back({identity, gpu ? whyNotBuild(identity, *gpu) : ""});
        continue;
      }
      others += (others.empty() ? "" : ", ") + identity.name();
      reasons.push_back(std::move(refusal));
    } catch (const Error& error) {
      reasons.push_back(error.what());
    }
  }
  std::ranges::stable_partition(candidates, [](const BuilderCandidate& each) { return each.doubt.empty(); });
  return candidates;
}

struct Passed {
  const tensorrt::PlanHeader& header;
  const PlanOrigin& origin;
};
struct Candidate {
  Identity identity;
  Fit fit;
};

void addTo(std::string& others, const Identity& identity) {
  others += (others.empty() ? "" : ", ") + identity.name() + " at " + identity.path;
}

// Those that may run the plan, best first. Nothing is loaded for it.
std::vector<Candidate> candidatesFor(const Passed& plan, const std::string& explicitPath, std::string& others,
                                     std::vector<std::string>& reasons) {
  std::vector<Candidate> candidates;
  for (const Found& found : findLibraries(explicitPath)) {
    try {
      Identity identity = identify(found.path);
      const Fit fit = fitOf(identity, plan.header, plan.origin);
      if (fit == Fit::none)
        addTo(others, identity);
      else
        candidates.push_back({std::move(identity), fit});
    } catch (const Error& error) {
      reasons.push_back(error.what());
    }
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::fit);
  return candidates;
}

// The first that fits, loaded. One whose version only loading tells may turn out to be newer: others may fit better
// then.
const tensorrt::Library* bestOf(const Passed& plan, const std::vector<Candidate>& candidates, std::string& others,
                                std::vector<std::string>& reasons) {
  const tensorrt::Library* newer = nullptr;
  for (const Candidate& candidate : candidates) {
    if (newer != nullptr && candidate.fit != Fit::unknown) break;
    try {
      const tensorrt::Library& library = tensorrt::Library::open(candidate.identity.path);
      if (candidate.fit != Fit::unknown) return &library;
      const Identity identity = identify(library.path());
      const Fit fit = fitOf(identity, plan.header, plan.origin);
      if (fit < Fit::unknown) return &library;
      if (fit == Fit::none)
        addTo(others, identity);
      else if (newer == nullptr)
        newer = &library;
    } catch (const Error& error) {
      reasons.push_back(error.what());
    }
  }
  return newer;
}

}  // namespace

BuilderChoice chooseForBuilding(const std::string& explicitPath, int device, bool toRun) {
  // what a path names is looked at first, since it may be wrong whatever the machine has; else the driver is
  if (toRun && explicitPath.empty()) cuda::Driver::withDevice(device);
  std::vector<std::string> reasons;
  std::string loaded;
  std::optional<Error> noGpu;
  for (auto& [identity, doubt] : buildersFor(explicitPath, device, toRun, loaded, reasons)) {
    try {
      const tensorrt::Library& library = tensorrt::Library::open(identity.path);
      loaded += (loaded.empty() ? "" : ", ") + library.name();
      if (toRun || !library.buildsWithoutGpu()) cuda::Driver::withDevice(device);
      library.parser();
      return {library, std::move(doubt)};
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
  throwNoneFound(toRun ? "No TensorRT that can build and run here was found" : "No TensorRT that can build was found",
                 reasons, explicitPath, loaded.empty() ? Error::Details{} : Error::Details{{"loaded", loaded}});
}

const tensorrt::Library& chooseForPlan(const std::string& explicitPath, const void* bytes, std::size_t size,
                                       const PlanOrigin& origin) {
  const std::optional<tensorrt::PlanHeader> header = tensorrt::readPlanHeader(bytes, size);
  if (!header)
    throw Error("ERR_TRT_PLAN", "The " + std::to_string(size) + " bytes do not begin as a TensorRT plan does");
  std::vector<std::string> reasons;
  const Passed plan{*header, origin};
  std::string others;
  std::vector<Candidate> candidates = candidatesFor(plan, explicitPath, others, reasons);
  if (const tensorrt::Library* library = bestOf(plan, candidates, others, reasons)) return *library;
  if (!others.empty()) {
    throw Error("ERR_TRT_PLAN", origin.text(*header) + ", but this machine has only " + others,
                {{"plan", header->name()}, {"found", others}});
  }
  throwNoneFound("The plan needs " + header->name() + ", and no TensorRT was found", reasons, explicitPath,
                 {{"plan", header->name()}});
}

}  // namespace nt::finding
