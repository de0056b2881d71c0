// loadOnnx() and the object that it gives: an ONNX model on the CPU, before it has lanes.
#include "../cpu/engine.h"
#include "engine.h"
#include "environment.h"
#include "exports.h"

namespace nt::node {

template <>
inline constexpr auto fieldsOf<cpu::Options> =
    std::tuple(Field("threads", &cpu::Options::threads), Field("optimization", &cpu::Options::optimization),
               Field("deterministic", &cpu::Options::deterministic), Field("config", &cpu::Options::config),
               Field("freeDimensions", &cpu::Options::freeDimensions), Field("customOps", &cpu::Options::customOps),
               Field("observe", &cpu::Options::observe));

namespace {

// Loaded, until open() hands it to a session.
using Loaded = std::shared_ptr<cpu::Engine>;

// open(options): Promise<engine>, once
Napi::Value open(const Napi::CallbackInfo& info) {
  const auto engine = std::exchange(kept<Loaded>(info), nullptr);
  if (!engine) throw Error("ERR_TRT_CLOSED", "The model was opened already");
  const auto options = fromJs<Napi::Object>(info[0], "options");
  engine->setProfiles(property<std::vector<std::vector<ShapeRange>>>(options, "profiles"));
  return openSession(info.Env(), options, [engine] { return engine; });
}

// discard(): the model is let go of at once, unless it was opened
void discard(const Napi::CallbackInfo& info) { kept<Loaded>(info) = nullptr; }

Napi::Value modelValue(Napi::Env env, const std::shared_ptr<cpu::Engine>& engine) {
  const Napi::Object value = objectOf(env, Field("inputs", engine->inputs()), Field("outputs", engine->outputs()));
  setFunctions(value, std::make_shared<Loaded>(engine), {{"open", guarded<open>}, {"discard", guarded<discard>}});
  return value;
}

// loadOnnx({ path } | { model: Uint8Array }, options): Promise<{ inputs, outputs, open, discard }>. Bytes are not
// copied, and are not to be changed meanwhile.
Napi::Value loadOnnx(const Napi::CallbackInfo& info) {
  const auto source = fromJs<Napi::Object>(info[0], "source");
  const auto given = fromJs<Napi::Object>(info[1], "options");
  const auto environment = Environment::of(info.Env());
  const onnxruntime::Wanted wanted{property<std::string>(given, "path"), property<std::string>(given, "package")};
  cpu::Model model;
  model.path = property<std::string>(source, "path");
  std::shared_ptr<void> kept;
  if (source.Get("model").IsTypedArray()) {
    const Bytes bytes = viewOf(source.Get("model"), "model");
    model.data = bytes.data;
    model.size = bytes.size;
    kept = environment->keep(source.Get("model").As<Napi::Object>());
  }
  const auto load = [wanted, model, options = fromJs<cpu::Options>(given, "options"), kept] {
    const auto engine = cpu::Engine::load(onnxruntime::Library::open(wanted), model, options);
    return [engine](Napi::Env env) { return modelValue(env, engine); };
  };
  return environment->run(info.Env(), load, {}, cpu::kPatienceAtExit);
}

// leaveLibraries(): in the process's last JavaScript
void leaveLibraries(const Napi::CallbackInfo& info) { Environment::of(info.Env())->leaveLibraries(); }

// cpuLive(): what of the CPU's engines exists in the process
Napi::Value cpuLive(const Napi::CallbackInfo& info) {
  return objectOf(info.Env(), Field("engines", cpu::live().engines.load()), Field("lanes", cpu::live().lanes.load()),
                  Field("values", cpu::live().values.load()));
}

}  // namespace

void exportCpu(Napi::Object exports) {
  setFunctions(
      exports,
      {{"loadOnnx", guarded<loadOnnx>}, {"leaveLibraries", guarded<leaveLibraries>}, {"cpuLive", guarded<cpuLive>}});
}

}  // namespace nt::node
