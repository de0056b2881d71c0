// inspectModel(): ONNX looked at, and nothing made of it.
#include "../building/external_data.h"
#include "../building/model_check.h"
#include "environment.h"
#include "exports.h"

namespace nt::node {
namespace {

Environment::Finish inspection(building::ModelBytes& bytes, const std::string& path) {
  const building::ModelParts files = building::checkModel(bytes, path);
  for (const std::string& file : files.named) building::checkExternalName(file, path);
  return [used = files.used](Napi::Env env) { return objectOf(env, Field("externalFiles", used)); };
}

// inspectModel({ model } or { path }): Promise<{ externalFiles }>. The bytes are not copied, and not to be changed.
Napi::Value inspectModel(const Napi::CallbackInfo& info) {
  const Napi::Object source = fromJs<Napi::Object>(info[0], "source");
  const auto environment = Environment::of(info.Env());
  const std::string path = property<std::string>(source, "path");
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
}

}  // namespace

void exportModel(Napi::Object exports) { setFunctions(exports, {{"inspectModel", guarded<inspectModel>}}); }

}  // namespace nt::node
