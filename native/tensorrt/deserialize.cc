#include "deserialize.h"

#include "plan.h"

namespace nt::tensorrt {

std::shared_ptr<CudaEngine> deserialize(const Library& library, const cuda::DeviceContext& device, const void* plan,
                                        std::size_t size) {
  device.makeCurrent();
  const LogCapture log(library.log());
  auto runtime = std::make_shared<Runtime>(library);
  void* object = runtime->deserialize(plan, size);
  if (object == nullptr) {
    device.throwIfBroken("deserializeCudaEngine");
    const auto header = readPlanHeader(plan, size);
    const std::string reason = log.lastError();
    Error error("ERR_TRT_PLAN", library.name() + " cannot load the plan of " + std::to_string(size) + " bytes" +
                                    (header ? ", built by " + header->name() : "") + ": " +
                                    (reason.empty() ? "no reason given" : reason));
    error.attachLog(log.lines());
    throw error;
  }
  return std::make_shared<CudaEngine>(runtime, object);
}

}  // namespace nt::tensorrt
