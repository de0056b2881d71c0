#include "plan_to_open.h"

#include "../finding/choose.h"
#include "environment.h"
#include "values.h"

namespace nt::node {

using finding::PlanOrigin;

template <>
inline finding::Reach fromJs(const Napi::Value& value, const std::string& name) {
  return finding::reachByName(fromJs<std::string>(value, name));
}
// From lib/plan/origin.ts; without it only the header tells something.
template <>
inline constexpr auto fieldsOf<PlanOrigin> =
    std::tuple(Field("description", &PlanOrigin::description), Field("exactVersion", &PlanOrigin::exactVersion),
               Field("gpu", &PlanOrigin::gpu), Field("computeCapability", &PlanOrigin::computeCapability),
               Field("reach", &PlanOrigin::reach));
template <>
inline constexpr auto fieldsOf<gpu::PlanNeeds> =
    std::tuple(Field("hostCode", &gpu::PlanNeeds::hostCode), Field("plugins", &gpu::PlanNeeds::plugins));
template <>
inline constexpr auto fieldsOf<PlanToOpen> = std::tuple(
    Field("tensorrt", &PlanToOpen::path), Field("device", &PlanToOpen::device), Field("origin", &PlanToOpen::origin),
    Field("stripped", &PlanToOpen::stripped), Field("allowPlaceholderRanges", &PlanToOpen::allowPlaceholderRanges));

namespace {

// process.emitWarning(text, { type, code }), as lib/cache does
void emitWarning(Napi::Env env, const std::string& text) {
  const Napi::Object process = env.Global().Get("process").As<Napi::Object>();
  const Napi::Object options = objectOf(env, Field("type", "TensorRTWarning"), Field("code", "TRT_OTHER_GPU"));
  process.Get("emitWarning").As<Napi::Function>().Call(process, {Napi::String::New(env, text), options});
}

}  // namespace

PlanToOpen planToOpen(const Napi::CallbackInfo& info) {
  const auto options = fromJs<Napi::Object>(info[1], "options");
  auto plan = fromJs<PlanToOpen>(options, "options");
  readFields(options, plan.needs);
  plan.warn = [environment = Environment::of(info.Env())](const std::string& text) {
    environment->post([text](Napi::Env env) { emitWarning(env, text); });
  };
  if (info[0].IsNumber()) {
    plan.file = std::make_shared<const gpu::PlanFile>(info[0].As<Napi::Number>().Int32Value());
  } else {
    plan.bytes = std::make_shared<const std::vector<uint8_t>>(bytesOf(info[0], "plan"));
  }
  return plan;
}

gpu::PlanSource PlanToOpen::source() const {
  return file ? gpu::PlanSource(*file) : gpu::PlanSource(bytes->data(), bytes->size());
}

PlanToOpen::Place PlanToOpen::place() const {
  const std::vector<uint8_t>& known = file ? file->head() : *bytes;
  const tensorrt::Library& library = finding::chooseForPlan(path, known.data(), known.size(), origin);
  // asked before TensorRT: without a driver its entry points return garbage
  const cuda::DeviceContext& context = cuda::DeviceContext::get(device);
  const auto gpus = cuda::listDevices(context.driver());
  const std::string warning = finding::checkGpu(origin, library, gpus.at(static_cast<std::size_t>(device)));
  if (!warning.empty()) warn(warning);
  return {library, context};
}

}  // namespace nt::node
