// loadOnnx() and the object that it gives: an ONNX model on the CPU, before it has lanes.
#include "../cpu/engine.h"
#include "engine.h"
#include "environment.h"
#include "errors.h"
#include "exports.h"
#include "values.h"

namespace nt::node {
namespace {

std::vector<std::pair<std::string, std::string>> configOf(const Napi::Value& value) {
  std::vector<std::pair<std::string, std::string>> entries;
  if (!value.IsObject()) return entries;
  const Napi::Object object = value.As<Napi::Object>();
  const Napi::Array keys = object.GetPropertyNames();
  for (uint32_t i = 0; i < keys.Length(); ++i) {
    const std::string key = keys.Get(i).As<Napi::String>().Utf8Value();
    entries.emplace_back(key, stringOf(object, key.c_str()));
  }
  return entries;
}

cpu::Options cpuOptionsOf(const Napi::Object& options) {
  cpu::Options made;
  made.threads = static_cast<int>(integerOf(options, "threads", 1));
  made.optimization = static_cast<int>(integerOf(options, "optimization", made.optimization));
  made.deterministic = integerOf(options, "deterministic", 0) != 0;
  made.config = configOf(options.Get("config"));
  made.observe = integerOf(options, "observe", 0) != 0;
  return made;
}

std::vector<execution::ShapeRange> rangesOf(const Napi::Value& value) {
  std::vector<execution::ShapeRange> ranges;
  if (!value.IsArray()) return ranges;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Object range = array.Get(i).As<Napi::Object>();
    ranges.push_back({integersOf(range.Get("min"), "min"), integersOf(range.Get("opt"), "opt"),
                      integersOf(range.Get("max"), "max")});
  }
  return ranges;
}

std::vector<std::vector<execution::ShapeRange>> profilesOf(const Napi::Value& value) {
  std::vector<std::vector<execution::ShapeRange>> profiles;
  if (!value.IsArray()) return profiles;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); ++i) profiles.push_back(rangesOf(array.Get(i)));
  return profiles;
}

// Loaded, until open() hands it to a session.
using Loaded = std::shared_ptr<cpu::Engine>;

// open(options): Promise<engine>, once
Napi::Value open(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const auto engine = std::exchange(kept<Loaded>(info), nullptr);
    if (!engine) throw Error("ERR_TRT_CLOSED", "The model was opened already");
    const Napi::Object options = objectArgument(info, 0, "options");
    engine->setProfiles(profilesOf(options.Get("profiles")));
    return openSession(info.Env(), options, [engine] { return engine; });
  });
}

// discard(): the model is let go of at once, unless it was opened
Napi::Value discard(const Napi::CallbackInfo& info) {
  kept<Loaded>(info) = nullptr;
  return info.Env().Undefined();
}

Napi::Value modelValue(Napi::Env env, const std::shared_ptr<cpu::Engine>& engine) {
  const Napi::Object value = Napi::Object::New(env);
  value.Set("inputs", tensorsValue(env, engine->inputs()));
  value.Set("outputs", tensorsValue(env, engine->outputs()));
  const auto loaded = std::make_shared<Loaded>(engine);
  value.Set("open", keeping(env, open, "open", loaded));
  value.Set("discard", keeping(env, discard, "discard", loaded));
  return value;
}

// loadOnnx({ path } | { model: Uint8Array }, options): Promise<{ inputs, outputs, open, discard }>. Bytes are not
// copied, and are not to be changed meanwhile.
Napi::Value loadOnnx(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Object source = objectArgument(info, 0, "source");
    const Napi::Object given = objectArgument(info, 1, "options");
    const auto environment = Environment::of(info.Env());
    const onnxruntime::Wanted wanted{stringOf(given, "path"), stringOf(given, "package")};
    cpu::Model model;
    model.path = stringOf(source, "path");
    std::shared_ptr<void> kept;
    if (source.Get("model").IsTypedArray()) {
      const Bytes bytes = viewOf(source.Get("model"), "model");
      model.data = bytes.data;
      model.size = bytes.size;
      kept = environment->keep(source.Get("model").As<Napi::Object>());
    }
    const cpu::Options options = cpuOptionsOf(given);
    return environment->run(
        info.Env(),
        [wanted, model, options, kept]() -> Environment::Finish {
          const auto engine = cpu::Engine::load(onnxruntime::Library::open(wanted), model, options);
          return [engine](Napi::Env env) { return modelValue(env, engine); };
        },
        {}, cpu::kPatienceAtExit);
  });
}

// leaveLibraries(): in the process's last JavaScript
Napi::Value leaveLibraries(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    Environment::of(info.Env())->leaveLibraries();
    return info.Env().Undefined();
  });
}

// cpuLive(): what of the CPU's engines exists in the process
Napi::Value cpuLive(const Napi::CallbackInfo& info) {
  const Napi::Object value = Napi::Object::New(info.Env());
  value.Set("engines", static_cast<double>(cpu::live().engines));
  value.Set("lanes", static_cast<double>(cpu::live().lanes));
  value.Set("values", static_cast<double>(cpu::live().values));
  return value;
}

}  // namespace

void exportCpu(Napi::Env env, Napi::Object exports) {
  exports.Set("loadOnnx", Napi::Function::New(env, loadOnnx));
  exports.Set("leaveLibraries", Napi::Function::New(env, leaveLibraries));
  exports.Set("cpuLive", Napi::Function::New(env, cpuLive));
}

}  // namespace nt::node
