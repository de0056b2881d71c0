#include "options.h"

#include "values.h"

namespace nt::node {
namespace {

using building::LayerTypes;
using building::Names;
using building::TensorFormat;
using building::Value;

Value valueOf(const Napi::Value& value, const std::string& name) {
  if (value.IsBoolean()) return value.As<Napi::Boolean>().Value();
  if (value.IsNumber()) return value.As<Napi::Number>().Int64Value();
  if (value.IsString()) return value.As<Napi::String>().Utf8Value();
  return textsOf(value, name);
}

template <class Entry, class Read>
std::vector<Entry> listOf(const Napi::Object& options, const char* key, Read read) {
  std::vector<Entry> entries;
  const Napi::Value value = options.Get(key);
  if (value.IsUndefined()) return entries;
  if (!value.IsArray()) throwExpected("an array", key);
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Value entry = array.Get(i);
    if (!entry.IsObject()) throwExpected("an array of objects", key);
    entries.push_back(read(entry.As<Napi::Object>()));
  }
  return entries;
}

TensorFormat formatOf(const Napi::Object& entry) {
  return {stringOf(entry, "name"), stringOf(entry, "dtype"), textsOf(entry.Get("formats"), "formats")};
}

LayerTypes layerOf(const Napi::Object& entry) {
  Names types = textsOf(entry.Get("types"), "types");
  if (types.empty()) throwExpected("a data type", "types");
  return {stringOf(entry, "name"), std::move(types)};
}

struct ToJavaScript {
  Napi::Env env;
  Napi::Value operator()(bool value) const { return Napi::Boolean::New(env, value); }
  Napi::Value operator()(int64_t value) const { return Napi::Number::New(env, static_cast<double>(value)); }
  Napi::Value operator()(const std::string& value) const { return Napi::String::New(env, value); }
  Napi::Value operator()(const Names& value) const { return textsValue(env, value); }
};

Napi::Array formatsValue(Napi::Env env, const std::vector<TensorFormat>& formats) {
  const Napi::Array array = Napi::Array::New(env);
  for (const TensorFormat& format : formats) {
    const Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", format.name);
    entry.Set("dtype", format.dtype);
    entry.Set("formats", textsValue(env, format.formats));
    array.Set(array.Length(), entry);
  }
  return array;
}

Napi::Array layersValue(Napi::Env env, const std::vector<LayerTypes>& layers) {
  const Napi::Array array = Napi::Array::New(env);
  for (const LayerTypes& layer : layers) {
    const Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", layer.name);
    entry.Set("types", textsValue(env, layer.types));
    array.Set(array.Length(), entry);
  }
  return array;
}

}  // namespace

building::Options optionsOf(const Napi::Value& value) {
  if (!value.IsObject()) throwExpected("an object", "options");
  const Napi::Object given = value.As<Napi::Object>();
  building::Options options;
  if (!given.Get("values").IsObject()) throwExpected("an object", "values");
  const Napi::Object values = given.Get("values").As<Napi::Object>();
  const Napi::Array keys = values.GetPropertyNames();
  for (uint32_t i = 0; i < keys.Length(); ++i) {
    const std::string name = keys.Get(i).As<Napi::String>().Utf8Value();
    options.values.emplace_back(name, valueOf(values.Get(name), name));
  }
  options.inputFormats = listOf<TensorFormat>(given, "inputFormats", formatOf);
  options.outputFormats = listOf<TensorFormat>(given, "outputFormats", formatOf);
  options.layerPrecisions = listOf<LayerTypes>(given, "layerPrecisions", layerOf);
  options.layerOutputTypes = listOf<LayerTypes>(given, "layerOutputTypes", layerOf);
  return options;
}

Napi::Object settingsValue(Napi::Env env, const building::Options& settings) {
  const Napi::Object values = Napi::Object::New(env);
  for (const auto& [name, value] : settings.values) values.Set(name, std::visit(ToJavaScript{env}, value));
  const Napi::Object result = Napi::Object::New(env);
  result.Set("values", values);
  result.Set("inputFormats", formatsValue(env, settings.inputFormats));
  result.Set("outputFormats", formatsValue(env, settings.outputFormats));
  result.Set("layerPrecisions", layersValue(env, settings.layerPrecisions));
  result.Set("layerOutputTypes", layersValue(env, settings.layerOutputTypes));
  return result;
}

}  // namespace nt::node
