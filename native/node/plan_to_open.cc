#include "plan_to_open.h"

#include "../tensorrt/choose.h"
#include "values.h"

namespace nt::node {
namespace {

// From lib/plan/origin.ts; without it only the header tells something.
tensorrt::PlanOrigin originOf(const Napi::Object& options) {
  tensorrt::PlanOrigin origin;
  if (!options.Get("origin").IsObject()) return origin;
  const Napi::Object given = options.Get("origin").As<Napi::Object>();
  origin.description = stringOf(given, "description");
  origin.exactVersion = integerOf(given, "exactVersion", 0) != 0;
  origin.gpu = stringOf(given, "gpu");
  origin.computeCapability = stringOf(given, "computeCapability");
  origin.reach = tensorrt::reachByName(stringOf(given, "reach", "any"));
  return origin;
}

}  // namespace

PlanToOpen planToOpen(const Napi::CallbackInfo& info) {
  const Napi::Object options = objectArgument(info, 1, "options");
  return {std::make_shared<const std::vector<uint8_t>>(bytesOf(info[0], "plan")), stringOf(options, "tensorrt"),
          static_cast<int>(integerOf(options, "device", 0)), originOf(options)};
}

PlanToOpen::Place PlanToOpen::place() const {
  const tensorrt::Library& library = tensorrt::chooseForPlan(path, bytes->data(), bytes->size(), origin);
  // asked before TensorRT: without a driver its entry points return garbage
  const cuda::DeviceContext& context = cuda::DeviceContext::get(device);
  const auto gpus = cuda::listDevices(context.driver());
  tensorrt::checkGpu(origin, library, gpus.at(static_cast<std::size_t>(device)));
  return {library, context};
}

}  // namespace nt::node
