// The tables of facts as they were compiled, for the tests that hold them against other sources.
#include <cstring>

#include "../tensorrt/enums.h"
#include "../tensorrt/methods.h"
#include "exports.h"

namespace nt::node {
namespace {

Napi::Object slotsValue(Napi::Env env, const std::array<tensorrt::Slot, tensorrt::kFamilies>& slots, const char* key) {
  const Napi::Object value = Napi::Object::New(env);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].index < 0) continue;
    const Napi::Object slot = Napi::Object::New(env);
    slot.Set(key, static_cast<double>(slots[i].index));
    slot.Set("since", static_cast<double>(slots[i].since));
    value.Set(tensorrt::kFamilyNames[i], slot);
  }
  return value;
}

Napi::Value methodTable(const Napi::CallbackInfo& info) {
  const Napi::Array rows = Napi::Array::New(info.Env());
  for (const tensorrt::MethodRow& row : tensorrt::methodRows()) {
    const bool destructor = std::strcmp(row.parameters, "~") == 0;
    const Napi::Object value = Napi::Object::New(info.Env());
    value.Set("interface", row.interface);
    value.Set("method", destructor ? "~" : row.method);
    value.Set("parameters", destructor ? "" : row.parameters);
    value.Set("slots", slotsValue(info.Env(), row.slots, "index"));
    rows.Set(rows.Length(), value);
  }
  return rows;
}

Napi::Value enumTable(const Napi::CallbackInfo& info) {
  const Napi::Array rows = Napi::Array::New(info.Env());
  for (const tensorrt::EnumRow& row : tensorrt::enumRows()) {
    const Napi::Object value = Napi::Object::New(info.Env());
    value.Set("enum", row.enumeration);
    value.Set("name", row.enumerator);
    value.Set("values", slotsValue(info.Env(), row.slots, "number"));
    rows.Set(rows.Length(), value);
  }
  return rows;
}

Napi::Value ortTable(const Napi::CallbackInfo& info) {
  const Napi::Array rows = Napi::Array::New(info.Env());
  const auto add = [&](const char* name, int index, int since) {
    const Napi::Object value = Napi::Object::New(info.Env());
    value.Set("name", name);
    value.Set("index", index);
    value.Set("since", since);
    rows.Set(rows.Length(), value);
  };
#define ORT_FUNCTION(index, since, name, returns, parameters) add(#name, index, since);
#include "../onnxruntime/functions.def"
#undef ORT_FUNCTION
  return rows;
}

}  // namespace

void exportTables(Napi::Env env, Napi::Object exports) {
  exports.Set("methodTable", Napi::Function::New(env, methodTable));
  exports.Set("enumTable", Napi::Function::New(env, enumTable));
  exports.Set("ortTable", Napi::Function::New(env, ortTable));
}

}  // namespace nt::node
