#include "plan_to_open.h"

#include "../finding/choose.h"
#include "environment.h"
#include "values.h"

namespace nt::node {
namespace {

// From lib/plan/origin.ts; without it only the header tells something.
finding::PlanOrigin originOf(const Napi::Object& options) {
  finding::PlanOrigin origin;
  if (!options.Get("origin").IsObject()) return origin;
  const Napi::Object given = options.Get("origin").As<Napi::Object>();
  origin.description = stringOf(given, "description");
  origin.exactVersion = integerOf(given, "exactVersion", 0) != 0;
  origin.gpu = stringOf(given, "gpu");
  origin.computeCapability = stringOf(given, "computeCapability");
  origin.reach = finding::reachByName(stringOf(given, "reach", "any"));
  return origin;
}

// process.emitWarning(text, { type, code }), as lib/cache does
void emitWarning(Napi::Env env, const std::string& text) {
  const Napi::Object process = env.Global().Get("process").As<Napi::Object>();
  const Napi::Object options = Napi::Object::New(env);
  options.Set("type", "TensorRTWarning");
  options.Set("code", "TRT_OTHER_GPU");
  process.Get("emitWarning").As<Napi::Function>().Call(process, {Napi::String::New(env, text), options});
}

tensorrt::PlanNeeds needsOf(const Napi::Object& options) {
  tensorrt::PlanNeeds needs;
  needs.hostCode = integerOf(options, "hostCode", 0) != 0;
  if (options.Has("plugins")) needs.plugins = textsOf(options.Get("plugins"), "plugins");
  return needs;
}

}  // namespace

PlanToOpen planToOpen(const Napi::CallbackInfo& info) {
  const Napi::Object options = objectArgument(info, 1, "options");
  const auto environment = Environment::of(info.Env());
  PlanToOpen plan{
      {},
      {},
      stringOf(options, "tensorrt"),
      static_cast<int>(integerOf(options, "device", 0)),
      originOf(options),
      needsOf(options),
      integerOf(options, "stripped", 0) != 0,
      integerOf(options, "placeholderRanges", 0) != 0,
      [environment](const std::string& text) { environment->post([text](Napi::Env env) { emitWarning(env, text); }); }};
  if (info[0].IsNumber()) {
    plan.file = std::make_shared<const tensorrt::PlanFile>(info[0].As<Napi::Number>().Int32Value());
  } else {
    plan.bytes = std::make_shared<const std::vector<uint8_t>>(bytesOf(info[0], "plan"));
  }
  return plan;
}

tensorrt::PlanSource PlanToOpen::source() const {
  return file ? tensorrt::PlanSource(*file) : tensorrt::PlanSource(bytes->data(), bytes->size());
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
