// inspectModel(): ONNX looked at, and nothing made of it.
#include "../building/external_data.h"
#include "../building/model_check.h"
#include "environment.h"
#include "errors.h"
#include "exports.h"
#include "values.h"

namespace nt::node {
namespace {

Napi::Value inspectedValue(Napi::Env env, const std::set<std::string>& files) {
  const Napi::Array list = Napi::Array::New(env);
  for (const std::string& file : files) list.Set(list.Length(), file);
  const Napi::Object value = Napi::Object::New(env);
  value.Set("externalFiles", list);
  return value;
}

Environment::Finish inspection(building::ModelBytes& bytes, const std::string& path) {
  const building::ModelParts files = building::checkModel(bytes, path);
  for (const std::string& file : files.named) building::checkExternalName(file, path);
  return [used = files.used](Napi::Env env) { return inspectedValue(env, used); };
}

// inspectModel({ model } or { path }): Promise<{ externalFiles }>. The bytes are not copied, and not to be changed.
Napi::Value inspectModel(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Object source = objectArgument(info, 0, "source");
    const auto environment = Environment::of(info.Env());
    const std::string path = stringOf(source, "path");
    if (!path.empty()) {
      return environment->run(info.Env(), [path] {
        building::ModelBytes bytes(path);
        return inspection(bytes, path);
      });
    }
    const Napi::Value given = source.Get("model");
    const Bytes model = viewOf(given, "model");
    const auto kept = environment->keep(given.As<Napi::Object>());
    return environment->run(info.Env(), [model, kept] {
      building::ModelBytes bytes(model.data, model.size);
      return inspection(bytes, "");
    });
  });
}

}  // namespace

void exportModel(Napi::Env env, Napi::Object exports) {
  exports.Set("inspectModel", Napi::Function::New(env, inspectModel));
}

}  // namespace nt::node
