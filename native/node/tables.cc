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
    value.Set(tensorrt::kFamilyNames[i], objectOf(env, Field(key, slots[i].index), Field("since", slots[i].since)));
  }
  return value;
}

std::vector<Napi::Object> methodTable(const Napi::CallbackInfo& info) {
  std::vector<Napi::Object> rows;
  for (const tensorrt::MethodRow& row : tensorrt::methodRows()) {
    const bool destructor = std::strcmp(row.parameters, "~") == 0;
    rows.push_back(objectOf(info.Env(), Field("interface", row.interface),
                            Field("method", destructor ? "~" : row.method),
                            Field("parameters", destructor ? "" : row.parameters),
                            Field("slots", slotsValue(info.Env(), row.slots, "index"))));
  }
  return rows;
}

std::vector<Napi::Object> enumTable(const Napi::CallbackInfo& info) {
  std::vector<Napi::Object> rows;
  for (const tensorrt::EnumRow& row : tensorrt::enumRows()) {
    rows.push_back(objectOf(info.Env(), Field("enum", row.enumeration), Field("name", row.enumerator),
                            Field("values", slotsValue(info.Env(), row.slots, "number"))));
  }
  return rows;
}

std::vector<Napi::Object> ortTable(const Napi::CallbackInfo& info) {
  std::vector<Napi::Object> rows;
#define ORT_FUNCTION(index, since, name, returns, parameters) \
  rows.push_back(objectOf(info.Env(), Field("name", #name), Field("index", index), Field("since", since)));
#include "../onnxruntime/functions.def"
#undef ORT_FUNCTION
  return rows;
}

}  // namespace

void exportTables(Napi::Object exports) {
  setFunctions(
      exports,
      {{"methodTable", guarded<methodTable>}, {"enumTable", guarded<enumTable>}, {"ortTable", guarded<ortTable>}});
}

}  // namespace nt::node
